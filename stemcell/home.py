"""Where stemcell keeps runs, the MLflow store and the corpora that it has read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from stemcell.errors import UserError, unknown


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


def find_shipped(kind: str, name: str, known: Mapping[str, Path]) -> Path:
    """The file of a shipped sweep or study, or the file itself that is named.

    Raises:
        UserError: if there is none.
    """
    if Path(name).suffix in (".yaml", ".yml"):
        return Path(name)
    if name not in known:
        raise UserError(f"{unknown(kind, name, known)}, or a file NAME.yaml")
    return known[name]
