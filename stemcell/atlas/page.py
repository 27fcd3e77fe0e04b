"""The page as one file: hand-written HTML, CSS and JavaScript with the data inside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from stemcell.atlas.data import page_data
from stemcell.atlas.examples import take_examples
from stemcell.corpora.layers import Example
from stemcell.files import finite_json, write_atomic
from stemcell.probing.run import Probed


def write_atlas(
    path: Path, title: str, probed: Probed, layers: Mapping[str, Sequence[Example]], con_height: int | None = 3
) -> None:
    """Write the atlas of a probed model.

    Args:
        path: of the page, ``atlas.html``.
        title: for instance the model's name.
        probed: with the model still on its device.
        layers: the sentences that were probed, by task.
        con_height: of the constituents that were probed; all if None.

    Raises:
        UserError: if the place cannot be written.
    """
    write_atomic(path, atlas_page(title, probed, layers, con_height))


def atlas_page(
    title: str, probed: Probed, layers: Mapping[str, Sequence[Example]], con_height: int | None = 3
) -> str:  # fmt: skip
    """The atlas as :func:`write_atlas` writes it."""
    layers = {task: layer for task, layer in layers.items() if task in set(probed.cells["task"])}
    return assemble(title, page_data(title, probed, take_examples(probed.target, layers, con_height)))


def assemble(title: str, data: Any) -> str:
    """One HTML document that asks for nothing: its policy allows the style and script inside alone, by hash."""
    folder = files("stemcell.atlas")
    style, script = (folder.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    parts = {
        "TITLE": html.escape(title),
        "POLICY": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _inside_script(data),
    }
    # In one go: what is put in is not searched for the marks of the others.
    template = folder.joinpath("page.html").read_text("utf-8")
    return re.sub("@(" + "|".join(parts) + ")@", lambda mark: parts[mark[1]], template)


def _inside_script(data: Any) -> str:
    """JSON that cannot end the element that it is in, whatever its strings hold."""
    text = json.dumps(finite_json(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    """A text as a source of a Content Security Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
