"""The embedded demo corpus: English sentences with all five layers, made by a grammar written for this project.

The grammar draws every sentence as one tree that carries the annotations of all layers, so the layers always agree.
From the outside in: ``sentences``, ``questions``, ``clauses`` (with ``conjugation`` and ``complements``),
``nominals``, ``phrases`` and ``adjuncts``, the words in ``lexicon`` and ``verbs``; ``tree`` reads the layers off.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from stemcell.corpora.demo.sentences import sentence
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Sentence, read_off
from stemcell.corpora.formats import bio, brackets, conll12, conllu
from stemcell.corpora.layers import LAYERS, SPLITS, Example
from stemcell.errors import UserError
from stemcell.files import disk_errors, staged_folder
from stemcell.home import home

LONGEST = 40
_SEEDS = {"train": 20210, "dev": 20211, "test": 20212}

_README = """\
The demo corpus of stemcell: {sizes} English sentences for training, development and test.

All sentences were made by a grammar; they mean nothing and name nobody. Each has all five layers:
parts of speech and dependencies (SPLIT.conllu), entities (SPLIT.ner.tsv), constituents (SPLIT.ptb),
predicates and their arguments (SPLIT.conll12, which repeats the others except dependencies).
Dev and test use some names that train does not. The same version of stemcell always writes the same files.
"""


def demo_sentences(split: str, n: int) -> list[Sentence]:
    """The first ``n`` sentences of a split (``train``, ``dev`` or ``test``), 1 to 40 words each.

    The same call gives the same sentences on every machine. Dev and test use some names that train does not.
    """
    return list(itertools.islice(_endless(split), n))


def demo_examples(split: str, n: int) -> dict[str, list[Example]]:
    """The same sentences as examples of each layer."""
    sentences = demo_sentences(split, n)
    return {layer: [Example(one.id, one.words, one.layers[layer]) for one in sentences] for layer in LAYERS}


def write_demo(out: Path, sizes: tuple[int, int, int] = (2000, 300, 300)) -> None:
    """Write the corpus with so many sentences for train, dev and test; ``out`` appears only when it is complete.

    Raises:
        UserError: if ``out`` is there already and not empty.
    """
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is already there and not empty; give another folder")
    with staged_folder(out) as partial:
        for split, size in zip(SPLITS, sizes, strict=True):
            _write_split(partial / split, split, size)
        text = _README.format(sizes=", ".join(map(str, sizes)))
        (partial / "README.txt").write_text(text, encoding="utf-8", newline="\n")


def demo_folder() -> Path:
    """The demo corpus in the run home, written the first time."""
    from filelock import FileLock

    out = home() / "demo"
    with disk_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(out.with_name(".demo.lock")):
            if not out.exists():
                write_demo(out)
    return out


def _endless(split: str) -> Iterator[Sentence]:
    speaker = Speaker(_SEEDS[split], all_names=split != "train")
    number = 1
    while True:
        # The id is the one that CoNLL-2012's document, part and number make, so it survives that format.
        drawn = read_off(sentence(speaker), f"demo-{split}.0.{number}")
        if len(drawn.words) <= LONGEST:
            number += 1
            yield drawn


def _write_split(folder: Path, split: str, size: int) -> None:
    folder.mkdir(parents=True)
    layers = demo_examples(split, size)
    conllu.write(folder / f"{split}.conllu", layers["pos"], layers["dep"])
    bio.write(folder / f"{split}.ner.tsv", layers["ner"])
    brackets.write(folder / f"{split}.ptb", layers["con"])
    conll12.write(folder / f"{split}.conll12", {layer: layers[layer] for layer in LAYERS if layer != "dep"})
