"""Sentences as the columns that treebanks are released in, and the files that a corpus builder writes of them.

The columns of the source are kept as they stand, so that nothing is changed by parsing and printing them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from stemcell.corpora.layers import Span
from stemcell.corpora.penn import escape

DOCUMENT, PART, WORD, TAG, PARSE, LEMMA, FRAMESET, ENTITIES, ROLES = 0, 1, 3, 4, 5, 6, 7, 10, 11
"""Where CoNLL-2012 has what; role columns go from ``ROLES`` to the last but one."""

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in columns.

    Args:
        conllu: its block of CoNLL-U, comments and all (POS and DEP).
        entities: its names (NER), or ``None`` if it is not annotated with them.
        rows: its rows of CoNLL-2012 (CON, SRL), or ``None``.
        framed: whether the rows' predicates can be used.
    """

    id: str
    words: tuple[str, ...]
    conllu: str
    entities: tuple[Span, ...] | None
    rows: tuple[Row, ...] | None
    framed: bool


def write_split(folder: Path, split: str, sentences: Iterable[Sentence]) -> Counter[str]:
    """Write ``folder/split/split.{conllu,ner.tsv,ptb,conll12,index.tsv}``.

    Each file has the sentences that have its layer; ``conll12`` has those with predicates that can be used. The index
    has a line a sentence: its id, its length, and its row in each of the other files (-1: it is not there).
    Returns how many sentences each file has.
    """
    counts: Counter[str] = Counter()
    document: tuple[str, str] | None = None
    (folder / split).mkdir()
    with ExitStack() as stack:
        names = ("conllu", "ner.tsv", "ptb", "conll12", "index.tsv")
        paths = [folder / split / f"{split}.{name}" for name in names]
        files = [stack.enter_context(open(path, "w", encoding="utf-8", newline="\n")) for path in paths]
        conllu, ner, ptb, conll12, index = files
        index.write("sent_id\ttokens\tner\tcon\tsrl\n")
        for sentence in sentences:
            places = {"ner.tsv": -1, "ptb": -1, "conll12": -1}
            conllu.write(sentence.conllu + "\n\n")
            if sentence.entities is not None:
                places["ner.tsv"] = counts["ner.tsv"]
                tags = bio_tags(sentence.entities, len(sentence.words))
                ner.writelines(f"{word}\t{tag}\n" for word, tag in zip(sentence.words, tags, strict=True))
                ner.write("\n")
            if sentence.rows is not None:
                places["ptb"] = counts["ptb"]
                ptb.write(bracket_line(sentence.rows) + "\n")
                if sentence.framed:
                    places["conll12"] = counts["conll12"]
                    if document != (document := (sentence.rows[0][DOCUMENT], sentence.rows[0][PART])):
                        conll12.write("#end document\n" if counts["conll12"] else "")
                        conll12.write(f"#begin document ({document[0]}); part {int(document[1]):03d}\n")
                    conll12.writelines("\t".join(row) + "\n" for row in sentence.rows)
                    conll12.write("\n")
            index.write("\t".join([sentence.id, str(len(sentence.words)), *map(str, places.values())]) + "\n")
            counts.update(["conllu", *(name for name, place in places.items() if place >= 0)])
        conll12.write("#end document\n" if document else "")
    for name, path in zip(names, paths, strict=True):
        if name != "index.tsv" and not counts[name]:
            path.unlink()
    return counts


def bio_tags(spans: Iterable[Span], length: int) -> list[str]:
    """BIO2 tags of spans that do not overlap."""
    tags = ["O"] * length
    for start, end, label in spans:
        tags[start : end + 1] = [f"B-{label}"] + [f"I-{label}"] * (end - start)
    return tags


def bio_spans(tags: Sequence[str]) -> tuple[Span, ...]:
    """The spans of BIO tags, read as ``conlleval`` reads them: an I- that continues nothing opens a span."""
    spans: list[Span] = []
    for position, (prefix, _, label) in enumerate(tag.partition("-") for tag in tags):
        last = spans[-1] if spans else None
        if prefix == "I" and last and last.end == position - 1 and last.label == label:
            spans[-1] = Span(last.start, position, label)
        elif prefix in ("B", "I"):
            spans.append(Span(position, position, label))
    return tuple(spans)


def bracket_line(rows: Iterable[Row]) -> str:
    """The tree of CoNLL-2012 rows on one line, as in the Penn Treebank."""
    parts = []
    for row in rows:
        before, _, after = row[PARSE].partition("*")
        parts.append(f"{before.replace('(', ' (')} ({row[TAG]} {escape(row[WORD])}){after}")
    return "".join(parts).strip()
