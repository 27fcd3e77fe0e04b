"""Where stemcell keeps runs, the MLflow store and the corpora that it has read."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """``$STEMCELL_HOME``, or ``stemcell`` in the user's home folder; it need not exist yet."""
    given = os.environ.get("STEMCELL_HOME")
    return Path(os.path.expanduser(given or "~/stemcell"))
