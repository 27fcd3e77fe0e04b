"""Named entities as one tag a word: BIO2, IOB1, BIOES and BILOU columns.

The schemes are read as conlleval reads them (Tjong Kim Sang and De Meulder, CoNLL 2003): an inside or end tag
without an open entity of its type opens one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stemcell.corpora.formats.lines import Block, Broken, blocks, columns, parse_all, read_lines, refuse_masked
from stemcell.corpora.layers import BLANK, Example, Span
from stemcell.corpora.report import Report

_OPENS, _ENDS, _ALONE = "B", "EL", "SU"
_BLANKS = (BLANK, "-")
_SCHEMES = (set("BI"), set("BIES"), set("BILU"))


def read(path: Path, report: Report, *, skip_broken: bool = False) -> dict[str, list[Example]]:
    """Entities (``ner``) of a file whose first column is the word and whose last is the tag.

    Columns are separated by tabs in ``.tsv`` files; in others by tabs if there are any, else by spaces.
    All rows must have as many columns as the first. Tags other than BIO2 are converted and noted. A tag ``_`` or ``-``
    says that the word is not annotated (``O`` that it is, and is no entity): such a sentence is left out and counted.

    Args:
        skip_broken: leave broken sentences out, counted, instead of reporting them as problems.
    """
    lines = read_lines(path, report)
    tabs = path.suffix == ".tsv" or any("\t" in line for line in lines)
    width = next((len(columns(line, tabs)) for line in lines if _is_row(line)), 2)
    if width < 2:
        number = next(i for i, line in enumerate(lines, 1) if _is_row(line))
        what = f"1 column where a word and its tag, {'tab' if tabs else 'space'}-separated, are expected"
        report.problem(path, number, "columns", what, "put one tab between word and tag")
        return {"ner": []}

    sentences: list[Example] = []
    words_seen: list[tuple[str, ...]] = []
    prefixes: dict[str, int] = {}
    openings: list[tuple[str, bool]] = []

    def parse(block: Block) -> None:
        rows = [(number, columns(line, tabs)) for number, line in block if _is_row(line)]
        if not rows:
            report.note("document marks or comments without a sentence")
            return
        tags = [(number, _tag(number, row, width)) for number, row in rows]
        words_seen.append(tuple(row[0] for _, row in rows))
        if blanks := sum(prefix == BLANK for _, (prefix, _) in tags):
            some = blanks < len(rows)
            report.note(
                f"sentences {'with entity tags for some words only, left out of NER' if some else 'without NER'}"
            )
            return
        spans, opened = _spans([tag for _, tag in tags])
        for number, (prefix, _) in tags:
            prefixes.setdefault(prefix, number)
        openings.extend(opened)
        given = [line for _, line in block if line.startswith("# sent_id") and "=" in line]
        name = given[0].split("=", 1)[1].strip() if given else f"{path.stem}-{len(words_seen)}"
        sentences.append(Example(name, words_seen[-1], spans))

    parse_all(blocks(lines, marks=("-DOCSTART-",)), parse, path, report, skip_broken=skip_broken)
    used = prefixes.keys() - {"O"}
    if not any(used <= scheme for scheme in _SCHEMES):
        what = f"unknown tag scheme: tags with {', '.join(sorted(used))} in one file"
        report.problem(path, max(prefixes[p] for p in used), "tag scheme", what, "use BIO, IOB1, BIOES or BILOU tags")
        return {"ner": []}
    _note_conversions(used, openings, report)
    if refuse_masked(path, words_seen, report):
        return {"ner": []}
    return {"ner": sentences}


def write(path: Path, examples: Sequence[Example]) -> None:
    """Write entities as words and BIO2 tags, tab-separated.

    Raises:
        ValueError: if entities of a sentence overlap, which tags cannot say.
    """
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for example in examples:
            tags = ["O"] * len(example.words)
            for start, end, label in example.gold:
                if any(tag != "O" for tag in tags[start : end + 1]):
                    raise ValueError(f"entities of sentence {example.id} overlap: one tag a word cannot hold them")
                tags[start : end + 1] = [f"B-{label}"] + [f"I-{label}"] * (end - start)
            for word, tag in zip(example.words, tags, strict=True):
                out.write(f"{word}\t{tag}\n")
            out.write("\n")


def _is_row(line: str) -> bool:
    """Whether a line holds a word: not blank, no document mark, and no comment (``# …`` without a tab)."""
    comment = line.startswith("# ") and "\t" not in line and "=" in line
    return bool(line.strip(" ")) and not line.startswith("-DOCSTART-") and not comment


def _tag(number: int, row: list[str], width: int) -> tuple[str, str]:
    """The prefix and the type of a row's tag; :data:`BLANK` as the prefix of none."""
    if len(row) != width:
        what = f"{len(row)} column{'s' if len(row) > 1 else ''} where {width} are expected"
        raise Broken(number, "columns", what, "all rows must have as many columns as the first")
    tag = row[-1]
    if not row[0]:
        raise Broken(number, "empty columns", "the word is empty", "give the word or delete the row")
    if tag in _BLANKS:
        return BLANK, ""
    prefix, dash, label = tag.partition("-")
    if tag != "O" and not (dash and label and len(prefix) == 1 and prefix in "BIESLU"):
        what = f"tag {tag!r} is of no known tag scheme"
        raise Broken(number, "tag scheme", what, "write O, or B-, I- (E-, S- or L-, U-) and a type")
    return prefix, label


def _spans(tags: list[tuple[str, str]]) -> tuple[tuple[Span, ...], list[tuple[str, bool]]]:
    """Entities, and how each opened: its first prefix, and whether the word before is of an entity of its type."""
    spans: list[Span] = []
    opened: list[tuple[str, bool]] = []
    going = ""
    previous = ""
    for i, (prefix, label) in enumerate(tags):
        if prefix == "O":
            going = previous = ""
            continue
        if prefix in _OPENS + _ALONE or label != going:
            spans.append(Span(i, i, label))
            opened.append((prefix, previous == label))
        else:
            spans[-1] = spans[-1]._replace(end=i)
        previous = label
        going = "" if prefix in _ENDS + _ALONE else label
    return tuple(spans), opened


def _note_conversions(used: set[str], openings: list[tuple[str, bool]], report: Report) -> None:
    """Say once what was not BIO2: another scheme, or entities that open without the tag that opens one."""
    inside = sum(prefix in "I" + _ENDS for prefix, _ in openings)
    if used <= set("BI"):
        # In IOB1 only an entity right after one of its own type begins with B-.
        iob1 = all(same for prefix, same in openings if prefix == "B")
        if inside:
            report.note("entities converted from IOB1" if iob1 else "entities opened by I- without B-", inside)
        return
    report.note(f"entities converted from {'BIOES' if used & set('ES') else 'BILOU'}", len(openings))
    if inside:
        report.note("entities opened by an inside or end tag", inside)
