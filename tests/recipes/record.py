"""What MLflow has of a run, asked through its own client."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stemcell.tracking import names, store
from tests.recipes.commands import Points, points, read, tables


class Record:
    """The one copy of a run; fails if there are several."""

    def __init__(self, run: Path) -> None:
        self.client = store.connect()
        own = read(run / "run.json")["id"]
        experiments = [experiment.experiment_id for experiment in self.client.search_experiments()]
        found = self.client.search_runs(experiments, f"tags.`stemcell.id` = '{own}'")
        assert len(found) == 1
        self.id = str(found[0].info.run_id)
        self.run = self.client.get_run(self.id)

    def points(self) -> Points:
        """All metrics but the machine's; fails on a step that a metric has twice."""
        found: Points = {}
        for name in self.run.data.metrics:
            if not name.startswith("system/"):
                history = self.client.get_metric_history(self.id, name)
                assert max(Counter(point.step for point in history).values()) == 1, name
                found |= {(name, point.step): point.value for point in history}
        return found

    def tables(self) -> list[tuple[Any, ...]]:
        """The rows of all that MLflow takes for tables, sorted; pandas reads numbers to 15 digits only."""
        import mlflow

        with pytest.MonkeyPatch.context() as patch:
            # ``load_table`` asks the global store, whichever the client is of; setting that changes the environment.
            patch.setenv("MLFLOW_TRACKING_URI", store.tracking_uri())
            mlflow.set_tracking_uri(store.tracking_uri())
            files = [entry["path"] for entry in json.loads(self.run.data.tags.get("mlflow.loggedArtifacts", "[]"))]
            frames = [self.client.load_table(self.run.info.experiment_id, name, [self.id]) for name in files]
        rows = [tuple(row) for frame in frames for row in frame.itertuples(index=False)]
        return sorted(rows, key=repr)


def rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of a table with its numbers to 12 digits."""
    return tuple(round(value, 12) if isinstance(value, float) else value for value in row)


def assert_equals_disk(run: Path) -> Record:
    """Fails unless MLflow has once what the run folder has: points, tables, parameters, tags, status and corpus."""
    record = Record(run)
    own = read(run / "run.json")
    on_disk = points(run, ("metrics.jsonl", "results.jsonl"), speed=True)
    # The speed of a step that was done again, after a kill, stays the first one that was sent.
    exact = {(names.key(name), step): value for (name, step), value in on_disk.items()}
    exact |= {key: value for key, value in record.points().items() if key in exact and key[0].startswith("speed/")}
    assert record.points() == exact
    assert [rounded(row) for row in record.tables()] == [rounded(row) for row in tables(run)]
    assert record.run.data.params == names.parameters(own["config"])
    assert own["tags"].items() <= record.run.data.tags.items()
    assert record.run.info.status == read(run / "status.json")["status"]
    (corpus,) = record.run.inputs.dataset_inputs
    assert corpus.dataset.digest == own["tags"]["corpus"][:36]
    return record
