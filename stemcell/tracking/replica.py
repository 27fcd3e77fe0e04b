"""The copy of a run in MLflow: finding or making it, and sending it what it lacks.

Everything here may be repeated at any time and after any failure: a point is sent once a name and step, with the time
that it has on disk, and files are replaced whole. What MLflow has is asked of MLflow, not assumed.
"""

from __future__ import annotations

import getpass
import json
import math
import os
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stemcell.files import intact, read_json
from stemcell.tracking import names, store
from stemcell.tracking.folder import JOURNALS, RunFolder, Status
from stemcell.tracking.journal import parse, read_lines
from stemcell.tracking.uploads import Uploads, known, remember

if TYPE_CHECKING:
    from mlflow.entities import Run

# MLflow's limits: metrics a request, and parameters or tags a request.
_POINTS, _VALUES = 1000, 100


@dataclass
class Sent:
    """How much was sent: points of metrics, and files, tables among them."""

    points: int = 0
    files: int = 0


class Replica:
    """A connection to one run's copy. After an error, make a new one."""

    def __init__(self, folder: RunFolder) -> None:
        """Connect; find the copy, or make it; learn what it has; send parameters, tags and the corpus.

        Raises:
            Exception: whatever MLflow raises (see :func:`stemcell.tracking.store.answers`).
        """
        self._folder = folder
        self._client = store.connect()
        server = store.shown(store.tracking_uri())
        self._experiment = store.experiment(self._client, folder.config.get("experiment") or "stemcell")
        run = self._find(known(folder, server).get("run_id")) or self._make()
        self.run_id = str(run.info.run_id)
        if known(folder, server).get("run_id") != self.run_id:
            remember(folder, server, {"run_id": self.run_id})
        self._steps: dict[str, set[int]] = defaultdict(set)
        for name in run.data.metrics:
            self._steps[name] = {point.step for point in self._client.get_metric_history(self.run_id, name)}
        self._read = dict.fromkeys(JOURNALS, 0)
        self._describe(run)
        self._uploads = Uploads(self._client, folder, server, self.run_id)
        self._uploads.check()

    def push(self) -> Sent:
        """Send the points and files that MLflow lacks."""
        return Sent(sum(self._push_points(journal) for journal in JOURNALS), self._uploads.push())

    def set_status(self, status: Status) -> None:
        """Say how the run stands."""
        self._client.set_tag(self.run_id, "stemcell.reason", names.shorten(status.reason, names.TAG_LENGTH))
        if status.ended is None:
            self._client.update_run(self.run_id, status=status.status)
        else:
            self._client.set_terminated(self.run_id, status.status, end_time=_milliseconds(status.ended))

    def _find(self, run_id: str | None) -> Run | None:
        """The copy, by its id or, where that was not written down any more, by ours."""
        from mlflow.exceptions import MlflowException

        if run_id is None:
            run_id = self._id_of(self._folder.id)
        if run_id is None:
            return None
        try:
            run = self._client.get_run(run_id)
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise
        if run.info.lifecycle_stage == "deleted":
            # Whoever goes on with a run, or asks for its record, wants to have it.
            self._client.restore_run(run_id)
        return run

    def _id_of(self, own_id: str) -> str | None:
        found = self._client.search_runs([self._experiment], f"tags.`stemcell.id` = '{own_id}'", max_results=1)
        return str(found[0].info.run_id) if found else None

    def _make(self) -> Run:
        return self._client.create_run(
            self._experiment,
            start_time=_milliseconds(self._folder.record["created"]),
            tags={"stemcell.id": self._folder.id},
            run_name=self._folder.path.name,
        )

    def _describe(self, run: Run) -> None:
        """Parameters once (MLflow refuses changed ones: these become tags), tags, and the corpus as an input."""
        from mlflow.entities import Param, RunTag

        parameters = names.parameters(self._folder.record["config"])
        missing = [Param(name, value) for name, value in parameters.items() if name not in run.data.params]
        changed = [RunTag(name, value) for name, value in self._tags().items() if run.data.tags.get(name) != value]
        for start in range(0, len(missing), _VALUES):
            self._client.log_batch(self.run_id, params=missing[start : start + _VALUES])
        for start in range(0, len(changed), _VALUES):
            self._client.log_batch(self.run_id, tags=changed[start : start + _VALUES])
        corpus = self._folder.path / "artifacts" / "corpus.json"
        if corpus.exists():
            with intact(corpus):
                self._input(run, read_json(corpus))

    def _tags(self) -> dict[str, str]:
        folder = self._folder
        tags = {
            **folder.tags,
            **{f"resumed.{name}": value for name, value in names.parameters(folder.changes).items()},
            "stemcell.folder": str(folder.path),
            "mlflow.source.name": "stemcell",
            "mlflow.source.type": "LOCAL",
            "mlflow.user": _user(),
        }
        if (commit := folder.tags.get("git_commit", "unknown")) != "unknown":
            tags["mlflow.source.git.commit"] = commit
        # The parent's copy may come later than ours, when the server was away.
        if folder.record["parent"] and (parent := self._id_of(folder.record["parent"])):
            tags["mlflow.parentRunId"] = parent
        return {names.key(name): names.shorten(str(value), names.TAG_LENGTH) for name, value in tags.items()}

    def _input(self, run: Run, corpus: dict[str, Any]) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        dataset = Dataset(
            name=corpus["name"],
            # MLflow takes 36 characters of a fingerprint; all of it is in corpus.json and the tags.
            digest=corpus["digest"][:36],
            source_type="local",
            source=json.dumps({"uri": corpus["source"]}),
            profile=json.dumps(corpus["sentences"]),
        )
        inputs = run.inputs.dataset_inputs if run.inputs else []
        if all((known.dataset.name, known.dataset.digest) != (dataset.name, dataset.digest) for known in inputs):
            context = [InputTag("mlflow.data.context", "training")]
            self._client.log_inputs(self.run_id, datasets=[DatasetInput(dataset, context)])

    def _push_points(self, journal: str) -> int:
        from mlflow.entities import Metric

        lines, end = read_lines(self._folder.path / journal, self._read[journal])
        points = []
        for line in lines:
            try:
                entry = parse(line)
            except ValueError:
                continue
            for name, value in entry.metrics.items():
                name = names.key(name)
                # MLflow would store not-a-number as 0 and infinity as a number; both stay on disk only.
                if math.isfinite(value) and entry.step not in self._steps[name]:
                    self._steps[name].add(entry.step)
                    points.append(Metric(name, value, _milliseconds(entry.time), entry.step))
        for start in range(0, len(points), _POINTS):
            self._client.log_batch(self.run_id, metrics=points[start : start + _POINTS])
        self._read[journal] = end
        return len(points)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _user() -> str:
    """Who runs this: in a container that may be a number without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError since Python 3.13
        return str(os.getuid())
