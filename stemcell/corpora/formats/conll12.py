"""CoNLL-2012 columns: tags, trees, entities and predicates with arguments of the same sentences.

Format: https://conll.cemantix.org/2012/data.html. Columns: document, part, word number, word, tag, parse, lemma,
frameset, sense, speaker, entities, one column a predicate, coreference; between tabs or runs of spaces.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from stemcell.corpora.formats.brackets import plain_label, rooted
from stemcell.corpora.formats.lines import Block, Broken, blocks, columns, parse_all, read_lines, refuse_masked
from stemcell.corpora.layers import BLANK, Argument, Constituents, Example, Frames, Span
from stemcell.corpora.report import Report

_DOCUMENT, _PART, _NUMBER, _WORD, _TAG, _PARSE, _FRAMESET, _ENTITIES, _ROLES = 0, 1, 2, 3, 4, 5, 7, 10, 11
_LEAST = 12
_CELL = re.compile(r"((?:\([^()*]+)*)(\*?)(\)*)")

_BLANKS = (BLANK, "-")
_PARTLY = "CoNLL-2012 sentences without {0}: only some of their words have it"

Rows = list[tuple[int, list[str]]]


def read(path: Path, report: Report, *, skip_broken: bool = False) -> dict[str, list[Example]]:
    """Layers ``pos``, ``con``, ``ner`` and ``srl`` of a file.

    ``_`` and ``-`` say that a word is not annotated (but ``-`` as a frameset: that it is no predicate). A sentence
    without any tag lacks POS. One with a blank in the columns of CON, NER or SRL lacks that layer, as half a tree is
    no tree. All of these are noted. Predicates are the words with a frameset and a role column, which belongs to the
    word that its V marks. Arguments may nest.

    Args:
        skip_broken: leave broken sentences out, counted, instead of reporting them as problems.
    """
    layers: dict[str, list[Example]] = {"pos": [], "con": [], "ner": [], "srl": []}
    numbers: Counter[str] = Counter()
    masked: list[int] = []

    def parse(block: Block) -> None:
        rows = _rows(block)
        document = f"{rows[0][1][_DOCUMENT]}.{rows[0][1][_PART]}"
        numbers[document] += 1
        name = f"{document}.{numbers[document]}"
        words = tuple(row[_WORD] for _, row in rows)
        if "[WORD]" in words:
            masked.append(rows[0][0])
        tags = tuple(tag_of(row) for _, row in rows)
        untagged = tags.count(BLANK)
        if 0 < untagged < len(tags):
            report.note("CoNLL-2012 words without a tag, left out of POS", untagged)
        found: dict[str, object] = {
            "pos": tags if untagged < len(tags) else None,
            "con": _tree(rows, tags, report) if _whole(rows, _PARSE, "CON", report) else None,
            "ner": _entities(rows) if _whole(rows, _ENTITIES, "NER", report) else None,
            "srl": _frames(rows, report),
        }
        for layer, gold in found.items():
            if gold is None:
                report.note(f"CoNLL-2012 sentences without {layer.upper()}")
            else:
                layers[layer].append(Example(name, words, gold))

    marks = ("#begin document", "#end document")
    sentences = blocks(read_lines(path, report), marks=marks)
    parse_all(sentences, parse, path, report, skip_broken=skip_broken)
    words = [example.words for example in layers["srl"]]
    if refuse_masked(path, words, report, masked[0] if masked else 0):
        return {layer: [] for layer in layers}
    return layers


def write(path: Path, layers: Mapping[str, Sequence[Example]]) -> None:
    """Write the layers given, of the same sentences, as tab-separated columns; the format always has ``srl``.

    Ids as :func:`read` makes them, ``document.part.number``, become documents and parts again.

    Raises:
        ValueError: if the layers' sentences differ, or annotations cross, which brackets cannot say.
    """
    given = {layer: examples for layer, examples in layers.items() if examples}
    before: tuple[str, str] | None = None
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for sentence in zip(*given.values(), strict=True):
            example = sentence[0]
            if any(other.words != example.words for other in sentence):
                raise ValueError(f"the layers differ in the words of sentence {example.id}")
            document, part = _document(example.id, path.stem)
            if (document, part) != before:
                out.write("#end document\n" if before else "")
                out.write(f"#begin document ({document}); part {int(part):03d}\n")
                before = (document, part)
            gold = {layer: other.gold for layer, other in zip(given, sentence, strict=True)}
            for row in zip(*_columns(document, part, example.words, gold), strict=True):
                out.write("\t".join(row) + "\n")
            out.write("\n")
        out.write("#end document\n" if before else "")


def tag_of(row: Sequence[str]) -> str:
    """The tag of a row, :data:`BLANK` if it has none."""
    return BLANK if row[_TAG] in _BLANKS else row[_TAG]


def _rows(block: Block) -> Rows:
    """The columns of a sentence's words, as many in each row, words numbered from 0."""
    rows = [(number, columns(line, "\t" in line)) for number, line in block]
    width = len(rows[0][1])
    for i, (number, row) in enumerate(rows):
        if len(row) < _LEAST:
            what = f"{len(row)} column{'s' if len(row) > 1 else ''} where at least {_LEAST} are expected"
            raise Broken(number, "columns", what, "separate the columns of CoNLL-2012 by tabs or runs of spaces")
        if len(row) != width:
            document = f"document {rows[0][1][_DOCUMENT]}"
            what = f"{len(row)} columns where the sentence's first row has {width} (ragged role columns) in {document}"
            raise Broken(number, "columns", what, "every row needs one role column for each predicate of the sentence")
        if row[_NUMBER] != str(i):
            what = f"word number {row[_NUMBER]!r} where {i} is expected"
            raise Broken(number, "word numbers", what, "number from 0 and put a blank line between sentences")
        if not row[_WORD] or not row[_TAG]:
            what = f"the {'tag' if row[_WORD] else 'word'} is empty"
            raise Broken(number, "empty columns", what, "fill the column or delete the row")
    return rows


def _whole(rows: Rows, column: int, layer: str, report: Report) -> bool:
    """Whether a column holds the annotation of all words; that of some words only is noted."""
    cells = [row[column] for _, row in rows]
    blanks = sum(cell in _BLANKS for cell in cells)
    if column == _PARSE and {*cells} <= {"*", *_BLANKS}:
        return False  # A tree has a bracket at least: stars say as little as blanks.
    if 0 < blanks < len(cells):
        report.note(_PARTLY.format(layer))
    return not blanks


def _spans(rows: Rows, column: int, what: str) -> list[Span]:
    """The brackets of a column in preorder; a closing bracket closes the innermost open one."""
    spans: list[Span] = []
    open_spans: list[int] = []
    for i, (number, row) in enumerate(rows):
        cell = _CELL.fullmatch(row[column])
        if not cell or not row[column]:
            remedy = "write brackets that open, then *, then brackets that close: (NP(NP*)"
            raise Broken(number, what, f"{what} {row[column]!r} cannot be read", remedy)
        for label in cell[1].split("(")[1:]:
            open_spans.append(len(spans))
            spans.append(Span(i, -1, label))
        for _ in cell[3]:
            if not open_spans:
                raise Broken(number, what, f"unbalanced {what}: nothing is open to be closed here", _BALANCE)
            closed = open_spans.pop()
            spans[closed] = spans[closed]._replace(end=i)
    if open_spans:
        span = spans[open_spans[-1]]
        raise Broken(rows[span.start][0], what, f"unbalanced {what}: ({span.label} is never closed", _BALANCE)
    return spans


_BALANCE = "every ( needs its ) within the sentence"


def _tree(rows: Rows, tags: tuple[str, ...], report: Report) -> Constituents:
    for number, row in rows:
        if row[_PARSE].count("*") != 1:
            what = f"parse {row[_PARSE]!r} does not stand for exactly this one word"
            raise Broken(number, "parse", what, "put one * for the word: (NP*)")
    brackets = _spans(rows, _PARSE, "parse")
    reach = -1
    for start, end, _ in brackets:
        if start > reach and reach != -1:
            raise Broken(rows[start][0], "parse", "several trees in one sentence", "put them under one root, or split")
        reach = max(reach, end)
    if not brackets or brackets[0].start != 0 or reach != len(rows) - 1:
        raise Broken(rows[0][0], "parse", "the tree does not cover the whole sentence", "put all words under one root")
    seen: Counter[str] = Counter()
    plain = [Span(start, end, plain_label(label, seen)) for start, end, label in brackets]
    tree = Constituents(tags, rooted(plain, len(rows), seen))
    for what, count in seen.items():
        report.note(what, count)
    return tree


def _entities(rows: Rows) -> tuple[Span, ...]:
    return tuple(sorted(_spans(rows, _ENTITIES, "entities"), key=lambda span: span[:2]))


def _frames(rows: Rows, report: Report) -> Frames | None:
    """Predicates and arguments. V only says where the predicate is; C-V is a role as any other.

    A frameset without a role column is no predicate, and noted: nothing is known of its arguments.
    """
    columns = range(_ROLES, len(rows[0][1]) - 1)
    senses = [row[_FRAMESET] for _, row in rows]
    framed = [i for i, sense in enumerate(senses) if sense != "-"]
    if BLANK in senses or any(row[column] in _BLANKS for _, row in rows for column in columns):
        if {*senses} != {BLANK}:
            report.note(_PARTLY.format("SRL"))
        return None
    if framed and not columns:
        report.note("CoNLL-2012 sentences without SRL: they have framesets but no role column")
        return None
    spans = [_spans(rows, column, "roles") for column in columns]
    owners = _owners(rows, framed, [_verb(rows, column, own) for column, own in zip(columns, spans, strict=True)])
    if left := len(framed) - len(owners):
        report.note("framesets without a role column, not counted as predicates", left)
    arguments = [
        Argument(predicate, *span)
        for predicate, own in sorted(zip(owners, spans, strict=True), key=lambda pair: pair[0])
        for span in sorted(own, key=lambda span: span[:2])
        if span.label != "V"
    ]
    return Frames(tuple(sorted(owners)), tuple(arguments))


def _verb(rows: Rows, column: int, spans: Sequence[Span]) -> Span:
    """The V of a role column."""
    verbs = [span for span in spans if span.label == "V"]
    if len(verbs) != 1:
        place = verbs[1].start if verbs else spans[0].start if spans else 0
        what = f"{_column(rows, column)} has {len(verbs) or 'no'} V"
        raise Broken(rows[place][0], "predicates", what, "mark the predicate, once, as (V*)")
    return verbs[0]


def _owners(rows: Rows, framed: list[int], verbs: Sequence[Span]) -> list[int]:
    """The predicate that each role column belongs to: the word with a frameset in its V.

    Where V is longer than a word and several of its words have a frameset, the k-th column is that of the k-th word
    with a frameset, as the format asks for, if all columns are.
    """
    inside = [[word for word in framed if verb.start <= word <= verb.end] for verb in verbs]
    if len(framed) == len(verbs) and all(word in own for word, own in zip(framed, inside, strict=True)):
        return framed
    owners: list[int] = []
    for column, (verb, own) in enumerate(zip(verbs, inside, strict=True), _ROLES):
        words = " ".join(row[_WORD] for _, row in rows[verb.start : verb.end + 1])
        what = f"{_column(rows, column)} has its V on {words!r}"
        if len(own) != 1:
            many = "several words have a frameset" if own else "no word has a frameset"
            raise Broken(rows[verb.start][0], "predicates", f"{what}, where {many}", "put V on the predicate alone")
        if own[0] in owners:
            what = f"{what}, as column {_ROLES + owners.index(own[0]) + 1} has"
            raise Broken(rows[verb.start][0], "predicates", what, "give each predicate one role column")
        owners.append(own[0])
    return owners


def _column(rows: Rows, column: int) -> str:
    return f"role column {column + 1} of document {rows[0][1][_DOCUMENT]}"


def _document(name: str, otherwise: str) -> tuple[str, str]:
    document, _, rest = name.rpartition(".")
    document, _, part = document.rpartition(".")
    return (document, part) if document and rest and part.isascii() and part.isdigit() else (otherwise, "0")


def _columns(document: str, part: str, words: Sequence[str], gold: Mapping[str, object]) -> list[list[str]]:
    size = len(words)
    nothing = ["-"] * size
    tree, entities, frames = gold.get("con"), gold.get("ner"), gold.get("srl") or Frames((), ())
    assert isinstance(frames, Frames)
    tags = gold.get("pos") or (tree.tags if isinstance(tree, Constituents) else nothing)
    predicate = [i in frames.predicates for i in range(size)]
    table = [
        [document] * size,
        [part] * size,
        [str(i) for i in range(size)],
        list(words),
        list(tags),  # type: ignore[call-overload]
        _cells(tree.brackets, size) if isinstance(tree, Constituents) else nothing,
        [word if here else "-" for word, here in zip(words, predicate, strict=True)],
        ["01" if here else "-" for here in predicate],
        nothing,
        nothing,
        _cells(entities, size) if isinstance(entities, tuple) else nothing,
    ]
    for verb in frames.predicates:
        spans = [Span(a.start, a.end, a.role) for a in frames.arguments if a.predicate == verb]
        table.append(_cells([*spans, Span(verb, verb, "V")], size))
    return [*table, nothing]


def _cells(spans: Sequence[Span], size: int) -> list[str]:
    """Bracket notation of spans; those over the same words nest in their order."""
    pending = sorted(spans, key=lambda span: (span.start, -span.end))[::-1]
    ends: list[int] = []
    cells = []
    for i in range(size):
        cell = ""
        while pending and pending[-1].start == i:
            span = pending.pop()
            if ends and span.end > ends[-1]:
                raise ValueError(f"{span} crosses another span: brackets cannot say it")
            ends.append(span.end)
            cell += f"({span.label}"
        cell += "*"
        while ends and ends[-1] == i:
            ends.pop()
            cell += ")"
        cells.append(cell)
    return cells
