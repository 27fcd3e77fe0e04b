"""What He and Choi (2021) published of their probes (tables 7 to 11): facts, to be put beside one's own numbers.

``probe_ENCODER_TASK.tsv``: per label the best head's score in per cent on OntoNotes 5 test, for the pretrained
encoder, STL, each pair (``+task``) and MTL-5, with the deviation over three runs (``…_std``). Another corpus gives
other numbers.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

from stemcell.corpora.layers import LAYERS
from stemcell.encoders.names import short_name
from stemcell.tables import Measured

ENCODERS = ("bert", "roberta", "electra", "deberta")


@dataclass(frozen=True)
class Published:
    """A published table.

    Attributes:
        models: ``pretrained``, ``stl``, ``+ner`` …, ``mtl-5``, in the paper's order.
        scores: label -> model -> per cent and its deviation; a model that has none for a label is not there.
        fault: why the numbers are not right; empty where nothing is known against them.
    """

    models: tuple[str, ...]
    scores: dict[str, dict[str, Measured]]
    fault: str


def probes(encoder: str, task: str) -> Published | None:
    """The published probe scores of an encoder (its short name or the hub's) and a task; None where there are none."""
    short = short_name(encoder)
    if short not in ENCODERS or task not in LAYERS:
        return None
    text = (files("stemcell.published") / f"probe_{short}_{task}.tsv").read_text("utf-8")
    lines = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    models = tuple(name for name in lines.fieldnames or () if name != "label" and not name.endswith("_std"))
    scores: dict[str, dict[str, Measured]] = {}
    for row in lines:
        found = {name: (row[name], row.get(f"{name}_std")) for name in models if row[name]}
        scores[row["label"]] = {name: Measured(float(a), float(b) if b else None) for name, (a, b) in found.items()}
    return Published(models, scores, fault(short, task))


def fault(encoder: str, task: str) -> str:
    """What is wrong with the published probes of an encoder and a task; "" if nothing (docs/method.md, section 6.4)."""
    if encoder == "roberta":
        return "the release hid <s> and showed padding, in training and probing"
    if encoder in ("electra", "deberta") and task in ("pos", "ner", "con"):
        return "the release applied the output projection twice when it took the attended values"
    return ""
