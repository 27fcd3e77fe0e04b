"""What training tells about itself: written to the run folder at once, copied to MLflow in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from stemcell.config import RunConfig, to_dict
from stemcell.corpora.layers import SPLITS
from stemcell.errors import UserError, suggested
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.journal import Journal
from stemcell.tracking.mirror import Mirror, say
from stemcell.tracking.system import Sampler


class TrackedCorpus(Protocol):
    """What is told of a corpus."""

    @property
    def folder(self) -> Path: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def datasets(self) -> Mapping[str, Mapping[str, Sized]]: ...


class Tracker:
    """The record of a run that is being trained; with ``run=None``, as on all processes but the main one, it is mute.

    ::

        with Tracker(path, run, config, corpus) as tracker:
            tracker.rewind(position of the checkpoint, or 0)
            tracker.begin()
            tracker.metrics(step, {"loss/pos": 0.5})
            tracker.table("scores/dev-epoch-001", ["label", "f1"], [["WP$", 0.9]])
            tracker.end("FINISHED")

    Leaving it without :meth:`end` marks the run FAILED or, on Ctrl-C, KILLED.
    """

    def __init__(self, folder: Path, run: RunFolder | None, config: RunConfig, corpus: TrackedCorpus) -> None:
        """Hold the run and open its history.

        Raises:
            UserError: if another process writes the run, or the disk is full.
        """
        self.folder = folder
        self._run = run
        self._ended = run is None
        self._mirror: Mirror | None = None
        if run is None:
            return
        run.hold()
        run.note_changes(to_dict(config))
        source = corpus.folder.absolute()
        # Of all layers, whatever the run's tasks: MLflow has one dataset for all runs on a corpus.
        sentences = {
            split: {layer: len(data) for layer, data in corpus.datasets[split].items() if len(data)} for split in SPLITS
        }
        run.artifact(
            "corpus.json",
            {"name": source.name, "digest": corpus.fingerprint, "source": str(source), "sentences": sentences},
        )
        self._journal = Journal(run.path / "metrics.jsonl")
        self._sampler = Sampler(run.path / "system.jsonl")

    def begin(self, values: Mapping[str, float] | None = None) -> None:
        """Training starts, or goes on: note values at step 0, and start to copy to MLflow."""
        if self._run is None:
            return
        if values:
            self.metrics(0, values)
        self._run.set_status("RUNNING")
        self._mirror = Mirror(self._run)
        self._mirror.start()

    def metrics(self, step: int, values: Mapping[str, Any]) -> None:
        """Note values at a step; at most once a name and step.

        Raises:
            UserError: if the disk is full.
        """
        if self._run is None:
            return
        self._journal.append(step, values)
        self._sampler.start()

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Note a table; the same name again replaces it."""
        if self._run is not None:
            self._run.table(name, columns, rows)

    def artifact(self, name: str, content: bytes | str | dict[str, Any] | list[Any]) -> None:
        """Note a file; the same name again replaces it."""
        if self._run is not None:
            self._run.artifact(name, content)

    def position(self) -> int:
        """Where the history stands, for a checkpoint."""
        return 0 if self._run is None else self._journal.position()

    def rewind(self, position: int) -> None:
        """Forget the metrics after a checkpoint's :meth:`position`; only before :meth:`begin`.

        Raises:
            UserError: if the history is not the one of the checkpoint.
        """
        assert self._mirror is None, "rewind comes before begin"
        if self._run is not None:
            self._journal.rewind(position)

    def end(self, status: str, reason: str = "") -> None:
        """The run is FINISHED, FAILED or KILLED: say so on disk, then in MLflow as far as it answers. Once."""
        if self._ended or self._run is None:
            return
        self._ended = True
        self._sampler.stop()
        self._journal.close()
        try:
            self._run.set_status(status, reason)
        except UserError as error:
            say(str(error))
        if self._mirror and not self._mirror.finish():
            say(f"MLflow has not got everything; complete it later with: {suggested('sync', self.folder)}")
        self._run.release()

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.end("FINISHED")
        else:
            killed = isinstance(error, (KeyboardInterrupt, SystemExit))
            self.end("KILLED" if killed else "FAILED", str(error) or type(error).__name__)
