"""How far a trial is, read from its run folder."""

from __future__ import annotations

from pathlib import Path

from stemcell.files import intact, read_json
from stemcell.tracking.journal import parse, read_lines


class Progress:
    """The dev averages of a trial by epoch, from 1, and the share of heads that it keeps."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._size = 0
        self._epochs: dict[int, float] = {}
        self.heads: float | None = None

    @property
    def averages(self) -> dict[int, float]:
        """The dev average by epoch, as far as it is known."""
        return dict(enumerate((self._epochs[step] for step in sorted(self._epochs)), 1))

    def look(self) -> bool:
        """Read what is new; whether an epoch has ended since."""
        file = self._folder / "metrics.jsonl"
        size = file.stat().st_size if file.exists() else 0
        if size == self._size:
            return False
        self._size = size
        before = len(self._epochs)
        # From the start, since a trial that goes on forgets what came after its checkpoint.
        lines, _ = read_lines(file, 0)
        for line in lines:
            if b"dev/average" not in line and b"/open_share" not in line:
                continue
            entry = parse(line)
            if "dev/average" in entry.metrics:
                self._epochs[entry.step] = entry.metrics["dev/average"]
            shares = [value for name, value in entry.metrics.items() if name.endswith("/open_share")]
            if shares:
                self.heads = sum(shares) / len(shares)
        return len(self._epochs) > before

    def final(self) -> tuple[float, float | None]:
        """The dev average of the best checkpoint and the share of heads that it keeps (None if none are pruned).

        With a set of gates a task, the share is the mean over tasks.

        Raises:
            UserError: if the report is missing or damaged.
        """
        file = self._folder / "artifacts" / "report.json"
        report = read_json(file)
        with intact(file):
            sets = report.get("heads", {}).values()
            shares = [part["kept"] / part["of"] for part in sets]
            return float(report["dev_average"]), sum(shares) / len(shares) if shares else None

    def seconds(self) -> float:
        """The time between the first and the last sign of training."""
        lines, _ = read_lines(self._folder / "metrics.jsonl", 0)
        return round(parse(lines[-1]).time - parse(lines[0]).time, 3) if lines else 0.0
