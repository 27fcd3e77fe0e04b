"""The report: one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from stemcell.comparing.figures import forest
from stemcell.comparing.sources import short
from stemcell.comparing.verdicts import CLAIMS, CONTRADICTED, SUPPORTED, Verdict
from stemcell.tables import Table

OPEN_ROWS = 12
"""Tables with more rows are folded."""


def page(title: str, about: Sequence[str], sections: Sequence[str]) -> str:
    """The whole page."""
    style = (files("stemcell.comparing") / "report.css").read_text("utf-8")
    lines = "".join(f'<p class="quiet">{escape(line)}</p>' for line in about)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>{lines}\n{''.join(sections)}</body></html>\n"
    )


def summary(verdicts: Sequence[Verdict]) -> str:
    """Claims by encoder, in words."""
    encoders = list(dict.fromkeys(verdict.encoder for verdict in verdicts))
    words = {(verdict.claim, verdict.encoder): verdict.word for verdict in verdicts}
    head = "".join(f"<th>{escape(short(encoder))}</th>" for encoder in encoders)
    rows = []
    for claim, text in CLAIMS.items():
        cells = "".join(f"<td>{_word(words[claim, encoder])}</td>" for encoder in encoders)
        rows.append(f"<tr><td>{claim}</td><td>{escape(text)}</td>{cells}</tr>")
    body = "".join(rows)
    return (
        '<h2>Verdicts</h2><div class="wide"><table class="verdicts"><thead><tr><th>claim</th><th></th>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def verdict(found: Verdict) -> str:
    """One claim and encoder: why, the effects as a figure, the numbers."""
    notes = "".join(f'<p class="quiet">{escape(note)}</p>' for note in found.notes)
    tables = "".join(table(each) for each in found.tables)
    return (
        f"<h3>{found.claim}, {escape(short(found.encoder))}: {_word(found.word)}</h3>{paragraph(found.reason)}{notes}"
        f"{forest(found.effects, found.unit, found.reference)}{tables}"
    )


def section(title: str, parts: Sequence[str]) -> str:
    """A heading and what is under it; nothing where there is nothing."""
    text = "".join(parts)
    return f"<h2>{escape(title)}</h2>{text}\n" if text else ""


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def table(found: Table) -> str:
    """A table, folded if it is long."""
    head = "".join(f'<th scope="col">{escape(name.strip())}</th>' for name in found.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in found.cells())
    notes = "".join(f'<p class="quiet">{escape(note)}</p>' for note in found.notes)
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    opened = " open" if len(found.rows) <= OPEN_ROWS else ""
    return f"<details{opened}><summary>{escape(found.title)}</summary>{_wide(whole)}{notes}</details>"


def _wide(content: str) -> str:
    """What may be wider than the page, and is scrolled by itself then."""
    return f'<div class="wide" tabindex="0">{content}</div>'


def _word(word: str) -> str:
    kind = {SUPPORTED: "supported", CONTRADICTED: "contradicted"}.get(word, "open")
    return f'<span class="word {kind}">{escape(word)}</span>'
