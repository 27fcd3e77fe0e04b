"""Names that MLflow takes for whatever names there are: it refuses many characters, and no two may become one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

NAME_LENGTH, PARAMETER_LENGTH, TAG_LENGTH = 250, 6000, 8000


def key(name: str) -> str:
    """A metric's, parameter's or tag's name in MLflow: what it refuses is written as ``:`` and hexadecimal digits.

    >>> key("dev/pos/f1"), key("f1/WP$"), key("f1/``"), key("f1/,"), key("f1/.")
    ('dev/pos/f1', 'f1/WP:24', 'f1/:60:60', 'f1/:2C', 'f1/:2E')
    """
    escaped = _escape(name, ":", r"[^\w\-. /]|:")
    parts = [_escape(part, ":", r"\.") if part in (".", "..") else part or ":" for part in escaped.split("/")]
    return shorten("/".join(parts), NAME_LENGTH)


def file(path: str) -> str:
    """A file's path among a run's artifacts, which may hold less than a path on disk may.

    >>> file("tables/WP$.json")
    'tables/WP=24.json'
    """
    return _escape(path, "=", r"[^\w\-. /]|=")


def shorten(text: str, length: int) -> str:
    """Text of at most so many characters; what is cut off is stood for by a hash, so that names stay apart."""
    if len(text) <= length:
        return text
    return f"{text[: length - 17]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def parameters(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A configuration as MLflow's parameters: nested names joined by points, lists by commas.

    >>> parameters({"tasks": ["pos", "ner"], "gates": {"rate": 0.1, "from": None}})
    {'tasks': 'pos,ner', 'gates.rate': '0.1', 'gates.from': 'None'}
    """
    flat: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat.update(parameters(value, f"{prefix}{name}."))
            continue
        if isinstance(value, (list, tuple)):
            plain = all(isinstance(part, (str, int, float)) for part in value)
            text = ",".join(map(str, value)) if plain else json.dumps(value, ensure_ascii=False, default=str)
        else:
            text = str(value)
        flat[key(f"{prefix}{name}")] = shorten(text, PARAMETER_LENGTH)
    return flat


def _escape(text: str, mark: str, pattern: str) -> str:
    # Letters beyond ASCII are escaped too: not every store takes them.
    return re.sub(pattern, lambda m: "".join(f"{mark}{byte:02X}" for byte in m[0].encode()), text, flags=re.ASCII)
