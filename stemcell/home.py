"""Where stemcell keeps runs, the MLflow store and the corpora that it has read."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """``$STEMCELL_HOME``, or ``stemcell`` in the user's home folder; it need not exist yet."""
    given = os.environ.get("STEMCELL_HOME")
    return Path(os.path.expanduser(given or "~/stemcell"))


def shipped(*folders: str) -> dict[str, Path]:
    """The YAML files that come with stemcell in ``sweeps/FOLDERS``, by name."""
    package = Path(__file__).parent
    # In a wheel the folder lies in the package; in a checkout beside it.
    place = package / "sweeps" if (package / "sweeps").is_dir() else package.parent / "sweeps"
    return {path.stem: path for path in sorted(place.joinpath(*folders).glob("*.yaml"))}
