"""stemcell: which attention heads of a transformer encoder do what, and why tasks on one encoder hurt each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stemcell.analysis import load
    from stemcell.probing.run import probe

__version__ = "0.1.0"
__all__ = ["__version__", "load", "probe"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for, so that the command line starts without torch.
    if name == "load":
        from stemcell.analysis import load

        return load
    if name == "probe":
        from stemcell.probing.run import probe

        return probe
    raise AttributeError(f"module 'stemcell' has no attribute {name!r}")
