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
from stemcell.corpora.layers import Argument, Constituents, Example, Frames, Span
from stemcell.corpora.report import Report

_DOCUMENT, _PART, _NUMBER, _WORD, _TAG, _PARSE, _FRAMESET, _ENTITIES, _ROLES = 0, 1, 2, 3, 4, 5, 7, 10, 11
_LEAST = 12
_CELL = re.compile(r"((?:\([^()*]+)*)(\*?)(\)*)")

Rows = list[tuple[int, list[str]]]


def read(path: Path, report: Report, *, skip_broken: bool = False) -> dict[str, list[Example]]:
    """Layers ``pos``, ``con``, ``ner`` and ``srl`` of a file; a sentence whose column is all ``-`` lacks the layer.

    A predicate is the row whose frameset is set, the k-th of them that of the k-th role column. Arguments may nest.

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
        found: dict[str, object] = {
            "pos": tuple(row[_TAG] for _, row in rows) if _present(rows, _TAG) else None,
            "con": _tree(rows, report) if _present(rows, _PARSE) else None,
            "ner": _entities(rows) if _present(rows, _ENTITIES) else None,
            "srl": _frames(rows),
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


def _rows(block: Block) -> Rows:
    """The columns of a sentence's words, as many in each row, words numbered from 0."""
    rows = [(number, columns(line, "\t" in line)) for number, line in block]
    width = len(rows[0][1])
    for i, (number, row) in enumerate(rows):
        if len(row) < _LEAST:
            what = f"{len(row)} column{'s' if len(row) > 1 else ''} where at least {_LEAST} are expected"
            raise Broken(number, "columns", what, "separate the columns of CoNLL-2012 by tabs or runs of spaces")
        if len(row) != width:
            what = f"{len(row)} columns where the sentence's first row has {width} (ragged role columns)"
            raise Broken(number, "columns", what, "every row needs one role column for each predicate of the sentence")
        if row[_NUMBER] != str(i):
            what = f"word number {row[_NUMBER]!r} where {i} is expected"
            raise Broken(number, "word numbers", what, "number from 0 and put a blank line between sentences")
        if not row[_WORD] or not row[_TAG]:
            what = f"the {'tag' if row[_WORD] else 'word'} is empty"
            raise Broken(number, "empty columns", what, "fill the column or delete the row")
    return rows


def _present(rows: Rows, column: int) -> bool:
    absent = {"-", "*"} if column == _PARSE else {"-"}
    return any(row[column] not in absent for _, row in rows)


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


def _tree(rows: Rows, report: Report) -> Constituents:
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
    tree = Constituents(tuple(row[_TAG] for _, row in rows), rooted(plain, len(rows), seen))
    for what, count in seen.items():
        report.note(what, count)
    return tree


def _entities(rows: Rows) -> tuple[Span, ...]:
    return tuple(sorted(_spans(rows, _ENTITIES, "entities"), key=lambda span: span[:2]))


def _frames(rows: Rows) -> Frames:
    """Predicates and arguments. V only says where the predicate is; C-V is a role as any other."""
    predicates = [i for i, (_, row) in enumerate(rows) if row[_FRAMESET] != "-"]
    roles = len(rows[0][1]) - _LEAST
    if roles != len(predicates):
        what = f"{len(predicates)} rows have a frameset, but there are {roles} role columns"
        raise Broken(rows[0][0], "predicates", what, "give every predicate a frameset and a role column")
    arguments: list[Argument] = []
    for k, predicate in enumerate(predicates):
        spans = _spans(rows, _ROLES + k, "roles")
        verbs = [span for span in spans if span.label == "V"]
        where = f"predicate {rows[predicate][1][_WORD]!r}"
        if len(verbs) != 1:
            what = f"{where} has {len(verbs) or 'no'} V in its role column"
            raise Broken(rows[predicate][0], "predicates", what, "mark the predicate, once, as (V*)")
        if not verbs[0].start <= predicate <= verbs[0].end:
            raise Broken(rows[predicate][0], "predicates", f"{where} is outside its V", "put V on the predicate's row")
        arguments += [Argument(predicate, *span) for span in sorted(spans, key=lambda s: s[:2]) if span.label != "V"]
    return Frames(tuple(predicates), tuple(arguments))


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
