"""What is done with a run once it is trained, each step once."""

from __future__ import annotations

from pathlib import Path

from stemcell.config import RunConfig

EXPORT = "export"
"""Where in a run's folder its export lies; with gates a task, one a task in there."""


def pending(steps: tuple[str, ...], run: Path, config: RunConfig) -> list[str]:
    """The steps whose results a finished run lacks."""
    return [step for step in steps if not _done(step, run, config)]


def do(step: str, run: Path, config: RunConfig, data: Path) -> None:
    """Take a step: evaluate, export or probe; ``data`` is the run's corpus, which may have moved.

    Raises:
        UserError: as the command of that name does.
    """
    if step == "evaluate":
        from stemcell.training.run import evaluate_run

        print(evaluate_run(str(run), data=str(data), split="test", tasks=None, precision=config.precision))
    elif step == "export":
        from stemcell.heads.export import export

        for task, out in _exports(run, config).items():
            if not _exported(out):
                export(run, out, task=task or None)
    else:
        from stemcell.probing.record import probe_run

        probe_run(run, split="test")


def _done(step: str, run: Path, config: RunConfig) -> bool:
    if step == "evaluate":
        return (run / "artifacts" / "sentences" / "test.npz").is_file()
    if step == "export":
        return all(map(_exported, _exports(run, config).values()))
    return (run / "tables" / "probe" / "test.json").is_file()


def _exports(run: Path, config: RunConfig) -> dict[str, Path]:
    """The exports of a run by the task whose gates are meant; none without gates, where nothing could be removed."""
    if config.prune == "no":
        return {}
    if config.gates == "per-task":
        return {task: run / EXPORT / task for task in config.tasks}
    return {"": run / EXPORT}


def _exported(folder: Path) -> bool:
    return (folder / "export.json").is_file()
