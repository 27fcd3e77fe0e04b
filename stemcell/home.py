"""Where stemcell keeps what it can make again: the corpora that it has read."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """``$STEMCELL_HOME``, or ``stemcell`` in the user's cache folder; it need not exist yet."""
    if given := os.environ.get("STEMCELL_HOME"):
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stemcell"
