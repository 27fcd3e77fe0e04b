"""What comes of a sweep: the table of its trials, Optuna's plots, and the best configuration as a file."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from stemcell.config import RunConfig, from_dict, to_dict
from stemcell.errors import UserError, suggested
from stemcell.searching import study as studies
from stemcell.searching.space import Sweep
from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.journal import Journal
from stemcell.tracking.mirror import say
from stemcell.tracking.replica import Replica
from stemcell.tracking.sync import parts, sync

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

COLUMNS = ("trial", "state", "dev_average", "heads", "epochs", "seconds", "reason")
# Fields in the contour plot, which has one for each pair.
CONTOURS = 4


def begin(folder: RunFolder) -> bool:
    """Make the sweep's copy in MLflow, so that its trials find their parent; without MLflow the sweep goes on."""
    try:
        with store.answers():
            replica = Replica(folder)
            replica.set_status(folder.status())
        return True
    except UserError as error:
        say(f"{error}; the sweep goes on without it")
        return False


def send(folder: RunFolder, with_trials: bool) -> None:
    """Complete the sweep's copy in MLflow, and its trials' if they have not found their parent there."""
    try:
        for run in (folder, *(parts(folder) if with_trials else ())):
            sync(run)
    except UserError as error:
        say(f"{error}; complete the record later with: {suggested('sync', folder.path)}")


def write(folder: RunFolder, study: Study, sweep: Sweep, config: RunConfig, total: int) -> None:
    """Write everything that there is by now into the sweep's folder."""
    trials = studies.first(study, total)
    folder.table("trials", (*COLUMNS, *sweep.space), [_row(trial, sweep) for trial in trials])
    _metrics(folder, trials)
    if (found := studies.best(trials)) is not None:
        folder.artifact("best.yaml", best_yaml(found, sweep, config))
    if len(sweep.objectives) > 1:
        for trial in study.best_trials:
            folder.artifact(f"front/trial-{trial.number:03d}.yaml", best_yaml(trial, sweep, config))
    _plots(folder, study, sweep)


def best_yaml(trial: FrozenTrial, sweep: Sweep, config: RunConfig) -> str:
    """A trial's configuration, as ``stemcell train --config`` reads it."""
    values = to_dict(from_dict({**to_dict(config), **trial.params, "out": ""}))
    del values["out"]
    beyond = "" if studies.feasible(trial) else f"; MORE than the {sweep.heads_budget:.0%} that were to be kept"
    heads = trial.user_attrs.get("heads")
    kept = "" if heads is None else f", {heads:.1%} of heads kept{beyond}"
    head = f"# Trial {trial.number} of the sweep {sweep.name}: dev average {trial.values[0] * 100:.2f}{kept}.\n"
    return head + yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def shown(parameters: dict[str, Any]) -> str:
    """Parameters in one line."""
    return " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in parameters.items())


def summary(study: Study, sweep: Sweep, total: int, folder: Path) -> str:
    """What people read at the end."""
    from rich.console import Console
    from rich.table import Table

    trials = studies.first(study, total)
    found = studies.best(trials)
    front = {trial.number for trial in study.best_trials} if len(sweep.objectives) > 1 else set()
    table = Table("trial", "state", "dev %", "heads %", *sweep.space, title=f"sweep {sweep.name}", title_justify="left")
    for trial in trials:
        mark = "*" if trial.number in front or (not front and found and trial.number == found.number) else ""
        average, heads = _average(trial), trial.user_attrs.get("heads")
        cells = [f"{trial.number}{mark}", trial.state.name]
        cells += ["" if value is None else f"{value * 100:.2f}" for value in (average, heads)]
        parameters = (trial.params.get(name, "") for name in sweep.space)
        table.add_row(*cells, *(f"{v:.4g}" if isinstance(v, float) else str(v) for v in parameters))
    console = Console(file=io.StringIO(), width=120)
    console.print(table)
    lines = [console.file.getvalue().rstrip()]  # type: ignore[attr-defined]
    if found is None:
        lines.append(_none(trials))
    elif not studies.feasible(found):
        lines.append(f"no trial keeps at most {sweep.heads_budget:.0%} of the heads; trial {found.number} is nearest")
    lines.append(f"sweep folder: {folder}")
    if found is not None:
        lines.append(f"train the best: {suggested('train', '--config', folder / 'artifacts' / 'best.yaml')}")
    return "\n".join(lines)


def _none(trials: list[FrozenTrial]) -> str:
    reasons = [trial.user_attrs["reason"] for trial in trials if trial.user_attrs.get("reason")]
    why = f"; the last reason: {reasons[-1]}" if reasons else ""
    return f"no trial has finished{why}"


def _average(trial: FrozenTrial) -> float | None:
    if trial.values:
        return float(trial.values[0])
    known = trial.intermediate_values
    return known[max(known)] if known else None


def _row(trial: FrozenTrial, sweep: Sweep) -> list[Any]:
    told = trial.user_attrs
    cells = [_average(trial), told.get("heads"), len(trial.intermediate_values) or None, told.get("seconds")]
    reason = told.get("reason", "")
    return [trial.number, trial.state.name, *cells, reason, *(trial.params.get(name) for name in sweep.space)]


def _metrics(folder: RunFolder, trials: list[FrozenTrial]) -> None:
    """What each trial came to, as metrics whose step is its number."""
    from optuna.trial import TrialState

    journal = Journal(folder.path / "metrics.jsonl")
    journal.rewind(0)
    for trial in trials:
        if trial.state == TrialState.COMPLETE:
            heads = trial.user_attrs.get("heads")
            kept = {} if heads is None else {"trial/heads": heads}
            journal.append(trial.number, {"trial/dev_average": trial.values[0], **kept})
    journal.close()


def _plots(folder: RunFolder, study: Study, sweep: Sweep) -> None:
    """Optuna's plots: all in one interactive page that needs no network, and each as a picture."""
    from optuna.trial import TrialState

    if len(study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])) < 2:
        return
    import matplotlib

    matplotlib.use("Agg")
    import optuna.visualization as interactive
    from matplotlib import pyplot
    from optuna.visualization import matplotlib as pictures

    pages: list[str] = []
    with warnings.catch_warnings(), pyplot.rc_context():
        warnings.simplefilter("ignore")
        for name, title, plot, arguments in _wanted(study, sweep):
            try:
                page = getattr(interactive, plot)(study, **arguments)
                axes = getattr(pictures, plot)(study, **arguments)
            except (RuntimeError, ValueError, ZeroDivisionError):
                # Nothing to compare: too few trials for it, or all with the same value.
                continue
            figure = getattr(axes, "figure", None) or axes.flat[0].figure
            content = io.BytesIO()
            figure.set_size_inches(9, 6)
            figure.savefig(content, format="png", dpi=100, bbox_inches="tight")
            pyplot.close(figure)
            folder.artifact(f"plots/{name}.png", content.getvalue())
            script = False if pages else "inline"
            pages.append(f"<h2>{title}</h2>\n{page.to_html(full_html=False, include_plotlyjs=script)}")
    if pages:
        folder.artifact("sweep.html", _page(sweep, pages))


def _wanted(study: Study, sweep: Sweep) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """The plots: name, title, and Optuna's function with its arguments, which its two modules have both."""
    targets: list[tuple[str, Callable[[FrozenTrial], float]]] = [("dev average", lambda trial: trial.values[0])]
    if len(sweep.objectives) > 1:
        targets.append(("heads kept", lambda trial: trial.values[1]))
        yield "pareto", "Pareto front", "plot_pareto_front", {"target_names": [name for name, _ in targets]}
    for what, value in targets:
        end = "" if what == "dev average" else "-heads"
        of: dict[str, Any] = {"target": value, "target_name": what}
        yield f"history{end}", f"History: {what}", "plot_optimization_history", of
        if len(sweep.space) > 1:
            yield f"importances{end}", f"How much each field matters: {what}", "plot_param_importances", of
            fields = {"params": list(sweep.space)[:CONTOURS]}
            yield f"contour{end}", f"Contour: {what}", "plot_contour", {**fields, **of}


def _page(sweep: Sweep, parts: list[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>sweep {sweep.name}</title></head>\n"
        f'<body style="font-family: sans-serif; max-width: 75em; margin: auto">\n<h1>Sweep {sweep.name}</h1>\n'
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )
