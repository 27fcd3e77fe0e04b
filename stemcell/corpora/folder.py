"""A corpus as a folder: which files belong to which split, and what they hold together.

Files lie in folders ``train``, ``dev`` and ``test``, at any depth, or side by side as ``train.*`` and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stemcell.corpora.formats import bio, brackets, conll12, conllu
from stemcell.corpora.layers import BLANK, LAYERS, SPLITS, Example
from stemcell.corpora.report import Report
from stemcell.errors import UserError

ENDINGS = {
    "conllu": (".conllu", ".conllx"),
    "bio": (".ner.tsv", ".bio", ".bio2", ".iob", ".iob1", ".iob2", ".bioes", ".iobes", ".bilou"),
    "brackets": (".ptb", ".mrg", ".parse", ".brackets"),
    "conll12": (".conll12", "gold_conll"),
}
GIVES = {"conllu": ("pos", "dep"), "bio": ("ner",), "brackets": ("con",), "conll12": ("srl", "pos", "con", "ner")}
"""Layers by format. Those that another format gives too are taken from CoNLL-2012 only where no other file has them."""

Corpus = dict[str, dict[str, list[Example]]]
"""Examples by split and layer; a layer that a split lacks is there, and empty."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a corpus."""

    path: Path
    split: str
    format: str


def find(folder: Path, report: Report) -> list[Source]:
    """The files of a corpus by split and path. Others are ignored, and noted by the ends of their names.

    Raises:
        UserError: if there is no such folder, it cannot be read, or no file of a known kind is in it.
    """
    sources = []
    try:
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; give a folder with train, dev and test in it")
        for split in SPLITS:
            beside = (path for path in folder.iterdir() if _is_file(path) and path.name.startswith(f"{split}."))
            for path in sorted([*beside, *_files(folder / split, report)]):
                if kind := _format(path):
                    sources.append(Source(path, split, kind))
                else:
                    report.note(f"files of no known kind ignored: *{path.suffix or path.name}")
        for path in sorted(folder.iterdir()):
            if _is_file(path) and not path.name.startswith((".", *(f"{split}." for split in SPLITS))):
                report.note(f"files of no split ignored: *{path.suffix or path.name}")
    except OSError as error:
        what = f"{error.filename}: cannot be read ({error.strerror})"
        raise UserError(f"{what}; give yourself the right to, or a copy elsewhere") from error
    if not sources:
        endings = ", ".join(f"train{ending}" for ending, *_ in ENDINGS.values())
        raise UserError(f"{folder}: no corpus here; expected files such as {endings}, or folders train, dev and test")
    return sources


def read(sources: Iterable[Source], report: Report, *, pos_column: str = "xpos", skip_broken: bool = False) -> Corpus:
    """All layers of all splits; what is wrong or odd goes to ``report``. Files of a split are read in sorted order.

    Raises:
        UserError: if ``pos_column`` is unknown, or a file cannot be opened.
    """
    own: Corpus = {split: {layer: [] for layer in LAYERS} for split in SPLITS}
    spare: Corpus = {split: {layer: [] for layer in LAYERS} for split in SPLITS}
    formats = set()
    for source in sources:
        formats.add(source.format)
        found = _read_file(source, report, pos_column, skip_broken)
        if not any(found.values()):
            report.note(f"{source.split}: files without a sentence")
        for layer, examples in found.items():
            target = spare if source.format == "conll12" and layer != "srl" else own
            target[source.split][layer] += examples
    # CoNLL-U files need not have tags; then they do not count as a source of POS.
    tagged = "conllu" in formats and any(own[split]["pos"] or not own[split]["dep"] for split in SPLITS)
    for layer, given in (("pos", tagged), ("con", "brackets" in formats), ("ner", "bio" in formats)):
        if not given:
            for split in SPLITS:
                own[split][layer] = spare[split][layer]
    _note_oddities(own, report)
    return own


def require(
    folder: Path,
    sources: Sequence[Source],
    lengths: Mapping[str, Mapping[str, int]],
    layers: Iterable[str],
    report: Report,
    *,
    pos_column: str = "xpos",
) -> None:
    """Check that train and dev have each of ``layers``; a missing one is a problem, missing in test only a note.

    Args:
        lengths: numbers of sentences by split and layer, as read from ``sources``.
        pos_column: the column of CoNLL-U that they were read with.
    """
    for split in SPLITS:
        for layer in layers:
            if lengths[split][layer]:
                continue
            if split == "test":
                report.note(f"no sentence of {layer.upper()} in test, needed only where test is evaluated")
                continue
            files = [source for source in sources if layer in GIVES[source.format]]
            # As in reading, CoNLL-2012 counts only where no split has a file of the layer's own.
            own = [source for source in files if source.format != "conll12" or layer == "srl"]
            here = [source.path for source in own or files if source.split == split]
            if here:
                remedy = f"add sentences with {layer.upper()}, or leave the task out"
                if layer == "pos" and (column := _other_column(sources, split, pos_column)):
                    remedy = f"train on the other tags with --pos-column {column}, or leave the task out"
                report.problem(here[0], 0, "empty", f"no sentence of {layer.upper()} in the {split} split", remedy)
            else:
                kinds = [k for k in GIVES if layer in GIVES[k] and (k != "conll12" or layer == "srl" or not own)]
                endings = [ENDINGS[kind][0] for kind in kinds]
                what = f"no {layer.upper()} in the {split} split"
                remedy = f"add {' or '.join(split + ending for ending in endings)}, or leave the task out"
                report.problem(folder, 0, "missing", what, remedy)


def _other_column(sources: Iterable[Source], split: str, pos_column: str) -> str | None:
    """The column in which a split's CoNLL-U files have their tags instead of ``pos_column``, if there is one."""
    paths = [source.path for source in sources if source.split == split and source.format == "conllu"]
    for column in conllu.TAG_COLUMNS:
        if column != pos_column and any(conllu.read(path, Report(), pos_column=column)["pos"] for path in paths):
            return column
    return None


def present(corpus: Corpus, sources: Iterable[Source]) -> tuple[str, ...]:
    """The layers that a corpus means to hold: those with a sentence in any split, or a file that is for them alone."""
    formats = {source.format for source in sources}
    meant = {"ner": "bio" in formats, "con": "brackets" in formats, "srl": "conll12" in formats}
    return tuple(layer for layer in LAYERS if meant.get(layer) or any(corpus[split][layer] for split in SPLITS))


def _files(folder: Path, report: Report) -> list[Path]:
    """The files below a folder, if there is one; not by ``rglob``, which passes over what may not be read."""
    files: list[Path] = []
    waiting = [folder] if folder.is_dir() else []
    while waiting:
        for path in waiting.pop().iterdir():
            if path.name.startswith("."):
                continue
            if _is_file(path):
                files.append(path)
            elif path.is_symlink():
                report.note("links to folders inside a split ignored")
            elif path.is_dir():
                waiting.append(path)
    return files


def _is_file(path: Path) -> bool:
    """Whether there is a file, or a link that leads nowhere: reading that will say so."""
    return path.is_file() or (path.is_symlink() and not path.exists())


def _format(path: Path) -> str | None:
    for kind, endings in ENDINGS.items():
        if path.name.endswith(endings):
            return kind
    return _sniff(path) if path.suffix == ".conll" else None


def _sniff(path: Path) -> str:
    """What a ``.conll`` file is, which may be any of three formats: told by its first line."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            first = next((line for line in file if line.strip() and not line.startswith("# ")), "")
    except OSError:
        first = ""  # Reading it will say what is wrong.
    if first.startswith("#begin document"):
        return "conll12"
    return "conllu" if first.count("\t") == 9 else "bio"


def _read_file(source: Source, report: Report, pos_column: str, skip_broken: bool) -> dict[str, list[Example]]:
    if source.format == "conllu":
        return conllu.read(source.path, report, pos_column=pos_column, skip_broken=skip_broken)
    reader = {"bio": bio.read, "brackets": brackets.read, "conll12": conll12.read}[source.format]
    return reader(source.path, report, skip_broken=skip_broken)


def _note_oddities(corpus: Corpus, report: Report) -> None:
    """Note what is readable but worth knowing, once a split: sentences of several layers are counted once."""
    train: set[tuple[str, ...]] = set()
    for split in SPLITS:
        sentences: Counter[tuple[str, ...]] = Counter()
        for examples in corpus[split].values():
            sentences |= Counter(example.words for example in examples)
        for what, count in {
            "sentences of one word": sum(n for words, n in sentences.items() if len(words) == 1),
            "sentences of more than 200 words": sum(n for words, n in sentences.items() if len(words) > 200),
            "sentences that repeat an earlier one": sum(sentences.values()) - len(sentences),
            "sentences that stand in train too": sum(n for words, n in sentences.items() if words in train),
            "words without a visible character": sum(
                n for words, n in sentences.items() for word in words if not _visible(word)
            ),
            "words of trees without a tag, which CON's score takes for words, not for punctuation": sum(
                example.gold.tags.count(BLANK) for example in corpus[split]["con"]
            ),
        }.items():
            if count:
                report.note(f"{split}: {what}", count)
        if split == "train":
            train = set(sentences)


def _visible(word: str) -> bool:
    return any(character.isprintable() and not character.isspace() for character in word)
