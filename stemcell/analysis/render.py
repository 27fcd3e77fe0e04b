"""Analyses as text: a readable view, CoNLL-U, JSON lines and brackets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stemcell.corpora.formats.brackets import format_tree
from stemcell.errors import UserError, unknown

if TYPE_CHECKING:
    from stemcell.analysis.pipeline import Analysis

FORMATS = ("text", "conllu", "jsonl", "brackets")


def check_format(form: str, tasks: list[str]) -> None:
    """Raise a :class:`UserError` if ``form`` is no format, or one that the model's tasks cannot fill."""
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if form == "brackets" and "con" not in tasks:
        raise UserError(f"brackets need the task con, but this run has {', '.join(tasks)}: choose another --format")
    if form == "conllu" and not {"pos", "dep"} & set(tasks):
        raise UserError(f"conllu needs the task pos or dep, but this run has {', '.join(tasks)}: use --format jsonl")


def render(analysis: Analysis, form: str, number: int) -> str:
    """One analysis in a format, with its final newline; ``number`` counts sentences from 1.

    A sentence without words keeps its place: empty lists in ``jsonl``, an empty line in ``brackets``, comments alone
    in ``conllu``, and in ``text`` an empty block between the blank lines that end blocks.
    """
    if form == "jsonl":
        return json.dumps(analysis.to_dict(), ensure_ascii=False) + "\n"
    if form == "brackets":
        assert analysis.con is not None
        return format_tree(analysis.words, analysis.con) + "\n"
    if form == "conllu":
        return _conllu(analysis, number)
    return readable(analysis) + "\n\n"


def readable(analysis: Analysis) -> str:
    """A view for people: a line a word with tag, head and relation, then entities, frames and the tree.

    Empty for a sentence without words.
    """
    words = analysis.words
    if not words:
        return ""
    rows = [[str(i), word] for i, word in enumerate(words, 1)]
    for i, row in enumerate(rows):
        if analysis.pos is not None:
            row.append(analysis.pos[i])
        if analysis.dep is not None:
            head = analysis.dep.heads[i]
            row.append(f"{analysis.dep.relations[i]} <- {words[head - 1] if head else 'ROOT'}")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if analysis.ner is not None:
        lines += [f"{span.label}: {_text(words, span.start, span.end)}" for span in analysis.ner]
    if analysis.srl is not None:
        for predicate in analysis.srl.predicates:
            roles = [a for a in analysis.srl.arguments if a.predicate == predicate]
            lines.append(f"{words[predicate]}: " + "; ".join(f"{a.role} {_text(words, a.start, a.end)}" for a in roles))
    if analysis.con is not None:
        lines.append(format_tree(words, analysis.con))
    return "\n".join(lines)


def _conllu(analysis: Analysis, number: int) -> str:
    entities = ["O"] * len(analysis.words)
    for span in analysis.ner or ():
        entities[span.start : span.end + 1] = [f"B-{span.label}"] + [f"I-{span.label}"] * (span.end - span.start)
    lines = [f"# sent_id = {number}", f"# text = {' '.join(analysis.words)}".rstrip(" ")]
    for i, word in enumerate(analysis.words):
        tag = analysis.pos[i] if analysis.pos else "_"
        head, relation = (str(analysis.dep.heads[i]), analysis.dep.relations[i]) if analysis.dep else ("_", "_")
        misc = f"NER={entities[i]}" if analysis.ner is not None else "_"
        lines.append("\t".join([str(i + 1), word, "_", "_", tag, "_", head, relation, "_", misc]))
    return "\n".join(lines) + "\n\n"


def _text(words: tuple[str, ...], start: int, end: int) -> str:
    return " ".join(words[start : end + 1])
