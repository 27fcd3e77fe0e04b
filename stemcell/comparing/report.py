"""The report: one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

import numpy as np

from stemcell.comparing.sources import short
from stemcell.comparing.stem import StemHeads
from stemcell.comparing.verdicts import CLAIMS, CONTRADICTED, SUPPORTED, Effect, Verdict
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
        f"<h3>{found.claim}, {escape(short(found.encoder))}: {_word(found.word)}</h3><p>{escape(found.reason)}</p>{notes}"
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
    whole = f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{notes}'
    opened = " open" if len(found.rows) <= OPEN_ROWS else ""
    return f"<details{opened}><summary>{escape(found.title)}</summary>{whole}</details>"


def forest(effects: Sequence[Effect], unit: str, reference: float) -> str:
    """Estimates with their intervals, a row each; a dashed line where there is nothing to say."""
    scale = 100.0 if unit == "points" else 1.0
    bounds = [scale * value for e in effects for value in (e.estimate.value, e.estimate.low, e.estimate.high)]
    bounds = [value for value in [*bounds, 0.0, scale * reference] if not np.isnan(value)]
    if not effects:
        return ""
    low, high = min(bounds), max(bounds)
    margin = 0.04 * (high - low or 1)
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        return round(100 * (scale * value - low) / (high - low), 2)

    rows = []
    for effect in effects:
        own = effect.estimate
        if np.isnan(own.value):
            continue
        colour = "var(--ink)"
        if own.high < reference:
            colour = "var(--no)"
        elif own.low > reference:
            colour = "var(--yes)"
        line = 'vector-effect="non-scaling-stroke"'
        bar = ""
        if not np.isnan(own.low):
            bar = f'<line x1="{place(own.low)}" x2="{place(own.high)}" y1="9" y2="9" stroke="{colour}" stroke-width="2" {line}/>'
        text = f"{scale * own.value:.2f}"
        if not np.isnan(own.low):
            text += f" ({scale * own.low:.2f} to {scale * own.high:.2f})"
        rows.append(
            f'<span>{escape(effect.label)}</span><svg viewBox="0 0 100 18" preserveAspectRatio="none" role="img" '
            f'aria-label="{escape(effect.label)} {text}"><line x1="{place(reference)}" x2="{place(reference)}" y1="0" y2="18" '
            f'stroke="var(--quiet)" stroke-dasharray="3 2" {line}/>{bar}'
            f'<line x1="{place(own.value)}" x2="{place(own.value)}" y1="3" y2="15" stroke="{colour}" stroke-width="4" {line}/>'
            f"</svg><span>{text}</span>"
        )
    what = "points" if unit == "points" else "shares"
    return (
        f'<figure style="margin:8px 0"><div class="forest">{"".join(rows)}</div>'
        f'<figcaption class="quiet">In {what}, with 95% intervals; dashed: {scale * reference:g}.</figcaption></figure>'
    )


def heads_map(found: StemHeads, encoder: str) -> str:
    """How many tasks keep each head in most seeds; stem-cell heads have a frame. Layer 1 is at the bottom."""
    tasks = np.sum([share > 0.5 for share in found.kept.values()], axis=0)
    layers, heads = tasks.shape
    cells = []
    for layer in range(layers):
        y = 10 * (layers - 1 - layer)
        cells.append(f'<text x="0" y="{y + 7}">{layer + 1}</text>')
        for head in range(heads):
            frame = (
                ' stroke="var(--no)" stroke-width="1.4"'
                if found.mask[layer, head]
                else ' stroke="var(--line)" stroke-width=".4"'
            )
            share = tasks[layer, head] / len(found.kept)
            cells.append(
                f'<rect x="{8 + 10 * head}" y="{y}" width="8.6" height="8.6" fill="var(--mark)" fill-opacity="{share:.2f}"'
                f"{frame}><title>{layer + 1}-{head + 1}: {tasks[layer, head]} tasks</title></rect>"
            )
    cells += [f'<text x="{10 + 10 * head}" y="{10 * layers + 5}">{head + 1}</text>' for head in range(heads)]
    caption = f"Tasks that keep each head in most seeds, {short(encoder)}: none to all {len(found.kept)}; framed: stem-cell heads."
    return (
        f'<figure style="margin:8px 0"><svg class="heads" viewBox="0 0 {10 + 10 * heads} {10 * layers + 8}" role="img" '
        f'aria-label="{escape(caption)}">{"".join(cells)}</svg><figcaption class="quiet">{escape(caption)}</figcaption></figure>'
    )


def _word(word: str) -> str:
    kind = {SUPPORTED: "supported", CONTRADICTED: "contradicted"}.get(word, "open")
    return f'<span class="word {kind}">{escape(word)}</span>'
