"""A small corpus made for these tests, in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stemcell.corpora.formats import bio, brackets, conll12, conllu
from stemcell.corpora.layers import LAYERS, Arcs, Argument, Constituents, Example, Frames, Span
from stemcell.corpora.report import Report

Layers = dict[str, list[Example]]


@pytest.fixture
def report() -> Report:
    return Report()


@pytest.fixture
def layers() -> Layers:
    """Two sentences with all five layers."""
    first = ("Mira", "Voss", "(", "she", "says", ")", "wants", "to", "paint", "doors", ".")
    second = ("Oslo", "slept")
    tags = (("NNP", "NNP", "-LRB-", "PRP", "VBZ", "-RRB-", "VBZ", "TO", "VB", "NNS", "."), ("NNP", "VBD"))
    trees = (
        (
            *(Span(0, 10, "TOP"), Span(0, 10, "S"), Span(0, 1, "NP"), Span(2, 5, "PRN"), Span(3, 4, "S")),
            *(Span(3, 3, "NP"), Span(4, 4, "VP"), Span(6, 9, "VP"), Span(7, 9, "S"), Span(7, 9, "VP")),
            *(Span(8, 9, "VP"), Span(9, 9, "NP")),
        ),
        (Span(0, 1, "TOP"), Span(0, 1, "S"), Span(0, 0, "NP"), Span(1, 1, "VP")),
    )
    heads = ((7, 1, 5, 5, 7, 5, 0, 9, 7, 9, 7), (2, 0))
    relations = (
        ("nsubj", "flat", "punct", "nsubj", "parataxis", "punct", "root", "mark", "xcomp", "obj", "punct"),
        ("nsubj", "root"),
    )
    frames = (
        Frames(
            (4, 6, 8),
            (
                *(Argument(4, 0, 1, "ARG1"), Argument(4, 3, 3, "ARG0"), Argument(4, 6, 9, "C-ARG1")),
                *(Argument(6, 0, 1, "ARG0"), Argument(6, 7, 9, "ARG1")),
                *(Argument(8, 0, 1, "ARG0"), Argument(8, 9, 9, "ARG1")),
            ),
        ),
        Frames((1,), (Argument(1, 0, 0, "ARG0"),)),
    )
    entities = ((Span(0, 1, "PER"),), (Span(0, 0, "LOC"),))
    words = (first, second)
    return {
        "pos": [Example(f"made.0.{i + 1}", words[i], tags[i]) for i in range(2)],
        "ner": [Example(f"made.0.{i + 1}", words[i], entities[i]) for i in range(2)],
        "dep": [Example(f"made.0.{i + 1}", words[i], Arcs(heads[i], relations[i])) for i in range(2)],
        "con": [Example(f"made.0.{i + 1}", words[i], Constituents(tags[i], trees[i])) for i in range(2)],
        "srl": [Example(f"made.0.{i + 1}", words[i], frames[i]) for i in range(2)],
    }


@pytest.fixture
def corpus(tmp_path: Path, layers: Layers) -> Path:
    """A corpus folder in which each split holds these sentences in all four formats."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        conllu.write(folder / f"{split}.conllu", layers["pos"], layers["dep"])
        bio.write(folder / f"{split}.ner.tsv", layers["ner"])
        brackets.write(folder / f"{split}.ptb", layers["con"])
        conll12.write(folder / f"{split}.conll12", {layer: layers[layer] for layer in LAYERS if layer != "dep"})
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of a name with a content and give its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
