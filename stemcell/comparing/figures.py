"""Figures of the report, drawn as SVG in the page's own colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from stemcell.comparing.sources import short
from stemcell.comparing.stem import StemHeads
from stemcell.comparing.verdicts import Effect


def forest(effects: Sequence[Effect], unit: str, reference: float) -> str:
    """Estimates with their intervals, a row each; a dashed line where there is nothing to say.

    Args:
        unit: ``points``, for which values are shown times 100, or ``share``.
    """
    scale = 100.0 if unit == "points" else 1.0
    shown = [effect for effect in effects if not np.isnan(effect.estimate.value)]
    if not shown:
        return ""
    bounds = np.array([[e.estimate.value, e.estimate.low, e.estimate.high] for e in shown])
    low, high = (float(pick(np.append(bounds.ravel(), [0.0, reference]))) for pick in (np.nanmin, np.nanmax))
    margin = 0.04 * (high - low or 1)

    def place(value: float) -> float:
        return round(100 * (value - low + margin) / (high - low + 2 * margin), 2)

    rows = []
    for effect in shown:
        own = effect.estimate
        colour = "var(--ink)"
        if own.high < reference:
            colour = "var(--no)"
        elif own.low > reference:
            colour = "var(--yes)"
        text = f"{scale * own.value:.2f}"
        lines = [_line(place(reference), place(reference), 0, 18, "var(--quiet)", 1, stroke_dasharray="3 2")]
        if not np.isnan(own.low):
            text += f" ({scale * own.low:.2f} to {scale * own.high:.2f})"
            lines.append(_line(place(own.low), place(own.high), 9, 9, colour, 2))
        lines.append(_line(place(own.value), place(own.value), 3, 15, colour, 4))
        figure = _tag(
            "svg",
            *lines,
            viewBox="0 0 100 18",
            preserveAspectRatio="none",
            role="img",
            aria_label=f"{effect.label} {text}",
        )
        rows += [_tag("span", escape(effect.label)), figure, _tag("span", text)]
    what = "points" if unit == "points" else "shares"
    caption = f"In {what}, with 95% intervals; dashed: {scale * reference:g}."
    return _figure(_tag("div", *rows, class_="forest"), caption)


def heads_map(found: StemHeads, encoder: str) -> str:
    """How many tasks keep each head in most seeds; stem-cell heads have a frame. Layer 1 is at the bottom."""
    tasks = np.sum([share > 0.5 for share in found.kept.values()], axis=0)
    layers, heads = tasks.shape
    parts = []
    for layer in range(layers):
        y = 10 * (layers - 1 - layer)
        parts.append(_tag("text", str(layer + 1), x=0, y=y + 7))
        for head in range(heads):
            colour, width = ("var(--no)", 1.4) if found.mask[layer, head] else ("var(--line)", 0.4)
            name = _tag("title", f"{layer + 1}-{head + 1}: {tasks[layer, head]} tasks")
            share = round(tasks[layer, head] / len(found.kept), 2)
            parts.append(
                _tag("rect", name, x=8 + 10 * head, y=y, width=8.6, height=8.6, fill="var(--mark)", fill_opacity=share,
                     stroke=colour, stroke_width=width)
            )  # fmt: skip
    parts += [_tag("text", str(head + 1), x=10 + 10 * head, y=10 * layers + 5) for head in range(heads)]
    caption = (
        f"Tasks that keep each head in most seeds, {short(encoder)}: from none to all {len(found.kept)}; framed: "
        f"{'stem-cell heads' if found.probed else 'kept for most tasks'}."
    )
    size = f"0 0 {10 + 10 * heads} {10 * layers + 8}"
    return _figure(_tag("svg", *parts, class_="heads", viewBox=size, role="img", aria_label=caption), caption)


def _figure(content: str, caption: str) -> str:
    return _tag("figure", content, _tag("figcaption", escape(caption), class_="quiet"))


def _line(x1: float, x2: float, y1: float, y2: float, stroke: str, width: float, **others: Any) -> str:
    # Widths stay what they are, however wide the figure is drawn.
    return _tag(
        "line",
        x1=x1,
        x2=x2,
        y1=y1,
        y2=y2,
        stroke=stroke,
        stroke_width=width,
        vector_effect="non-scaling-stroke",
        **others,
    )


def _tag(name: str, *content: str, **attributes: Any) -> str:
    """An element; underscores in attributes' names are dashes."""
    given = "".join(f' {key.strip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(content)}</{name}>"
