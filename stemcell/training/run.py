"""Whole runs: start one, go on with one, score one."""

from __future__ import annotations

import dataclasses
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stemcell.config import FIELDS, PRECISIONS, RunConfig, from_dict, mode, run_name, to_dict, write_yaml
from stemcell.corpora.layers import LAYERS, SPLITS
from stemcell.errors import UserError, suggested, unknown
from stemcell.files import check_seal, write_atomic, write_json
from stemcell.home import home
from stemcell.speed import slowdown
from stemcell.tasks import task as find_task
from stemcell.tracking import description
from stemcell.tracking.folder import RunFolder, find_run, is_run
from stemcell.training.display import say, score_table
from stemcell.training.processes import from_main, rank

# What may change when a run goes on; everything else would make it another run.
RESUMABLE = ("epochs", "checkpoint_minutes", "early_stop")
# A warning tells of a half precision that takes at least this many times as long as float32.
SLOW = 2.0


def start_run(config: RunConfig, overwrite: bool = False, parent: str | None = None, own_id: str | None = None) -> Path:
    """Train a run from the start and return its folder.

    Args:
        parent: the id of the run that it is a part of.
        own_id: its id, where another machine may have begun the same run.

    Raises:
        UserError: if corpus, encoder or folder cannot be used; nothing is left half-made.
        stemcell.training.loop.Stopped: after a signal, once a checkpoint is written.
    """
    if config.data:
        # A run is resumed and scored from other working directories too.
        config = dataclasses.replace(config, data=str(Path(config.data).absolute()))
    path = Path(config.out) if config.out else home() / "runs" / run_name(config)
    if overwrite and config.from_run and path.resolve() == Path(config.from_run).resolve():
        raise UserError(f"{path}: --from starts from this run, so it is not replaced; name another folder with --out")
    if rank() == 0:
        RunFolder.check_free(path, overwrite)
    accelerator = make_accelerator(config.precision)
    from stemcell.training.setup import describe

    setup = _prepare(config)
    lines = describe(setup, config)
    effective = setup.schedule.effective_epochs(config.epochs)
    folder = None
    if rank() == 0:
        for line in lines:
            say(line)
        tags = _tags(config, setup.corpus.fingerprint)
        folder = RunFolder.create(path, to_dict(config), tags, overwrite=overwrite, parent=parent, own_id=own_id)
        _describe(folder, config, setup)
    # Nobody may look for a checkpoint before the run that was here is gone.
    from_main(None)
    return _train(config, setup, accelerator, folder, path, effective)


def resume_run(name: str, flags: dict[str, Any]) -> Path:
    """Go on with a run from its last checkpoint; with more ``epochs`` also one that has finished.

    Raises:
        UserError: if the run does not exist, a flag would change more than its length, or its corpus or a file
            of the run has changed.
    """
    folder = find_run(name)
    check_seal(folder.path / "run.json", folder.record)
    before = from_dict(folder.config, str(folder.path))
    config = from_dict({**folder.config, **flags}, "flags")
    changed = [field for field in FIELDS if getattr(config, field) != getattr(before, field) and field not in RESUMABLE]
    if changed:
        raise UserError(
            f"{folder.path}: a resumed run keeps its {', '.join(changed)}; only {', '.join(RESUMABLE)} may change. "
            "Start a new run for the rest"
        )
    accelerator = make_accelerator(config.precision)
    from stemcell.encoders.load import from_description
    from stemcell.training.reach import cannot_close
    from stemcell.training.setup import prepare

    # A run that was killed before its first checkpoint starts again, from the encoder's own weights.
    begun = (folder.path / "checkpoints" / "last.json").exists()
    if not begun and folder.status().status == "FINISHED":
        raise UserError(f"{folder.path / 'checkpoints' / 'last.json'}: missing; copy the run folder again, whole")
    if begun:
        labels = description.read_labels(folder)
        encoder = from_description(folder.path / description.ENCODER)
        setup = prepare(config, encoder, labels, folder.path / description.LABELS)
    else:
        setup = _prepare(config)
    if setup.corpus.fingerprint != folder.tags.get("corpus"):
        raise UserError(
            f"{config.data}: the corpus is not the one that {folder.path} was trained on "
            f"({setup.corpus.fingerprint[:12]} instead of {folder.tags.get('corpus', '')[:12]}); "
            "restore it or start a new run"
        )
    if not begun and rank() == 0:
        _describe(folder.hold(), config, setup)
    if rank() == 0 and (problem := cannot_close(config, setup.schedule)):
        say(f"WARNING: {problem}")
    effective = setup.schedule.effective_epochs(config.epochs)
    return _train(config, setup, accelerator, folder if rank() == 0 else None, folder.path, effective)


def _prepare(config: RunConfig) -> Any:
    """What a run needs at its start, weights included: the encoder's own, or those that it starts from."""
    from stemcell.encoders.load import from_description
    from stemcell.saved import read_saved
    from stemcell.training.setup import prepare

    if not config.from_run:
        return prepare(config)
    source = read_saved(config.from_run)
    setup = prepare(config, from_description(source.encoder), source.labels, source.path)
    source.fill(setup.model)
    return setup


def _describe(folder: RunFolder, config: RunConfig, setup: Any) -> None:
    """Write the configuration, for people, and what the model is built from, beside its weights."""
    write_atomic(folder.path / "config.yaml", write_yaml(config))
    write_atomic(folder.path / "artifacts" / "config.yaml", write_yaml(config))
    description.write(folder, setup.labels, setup.model.encoder)


def _train(
    config: RunConfig, setup: Any, accelerator: Any, folder: RunFolder | None, path: Path, effective: dict[str, float]
) -> Path:
    from stemcell.tracking.tracker import Tracker
    from stemcell.training.gating import keep_gates
    from stemcell.training.loop import Diverged, Stopped, Trainer

    with Tracker(path, folder, config, setup.corpus) as tracker:
        trainer = Trainer(config, setup, accelerator, tracker)
        trainer.restore()
        fresh = trainer.progress.total == 0
        tracker.begin({f"passes/{task}": passes for task, passes in effective.items()} if fresh else {})
        try:
            progress = trainer.run()
        except Stopped as stopped:
            tracker.end("KILLED", f"signal {stopped.signal}")
            if rank() == 0:
                say(f"stopped and saved; go on with: {suggested('train', '--resume', path)}")
            raise
        except Diverged as error:
            tracker.end("FAILED", str(error))
            raise
        best = progress.history[progress.best_epoch - 1]
        if rank() == 0:
            report = {
                "best_epoch": progress.best_epoch,
                "dev": best["scores"],
                "dev_average": best["average"],
                "epochs": progress.epoch,
                "steps": progress.total,
                "passes": effective,
                "parameters": sum(p.numel() for p in setup.model.parameters()),
            }
            if folder is not None and config.prune != "no":
                report["heads"] = keep_gates(folder)
            write_json(path / "artifacts" / "report.json", report)
            title = f"dev, best epoch {progress.best_epoch} of {progress.epoch}: average {best['average'] * 100:.2f}"
            print(score_table(best["scores"], lambda task: find_task(task).main, title), flush=True)
        tracker.end("FINISHED")
    if rank() == 0:
        say(f"run folder: {path}\nscore it:   {suggested('evaluate', path)}\nlook at it: stemcell ui")
    return path


def evaluate_run(run: str, *, data: str | None, split: str, tasks: str | None, precision: str = "no") -> str:
    """Score the best checkpoint of a run on a split and return the scores as a table.

    On the run's own corpus, scores, per-label tables and each sentence's counts are kept in its folder and sent to its
    MLflow record.

    Raises:
        UserError: on an unknown split, task or precision, or one that the run or the corpus lacks.
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    accelerator = make_accelerator(precision)
    from stemcell.analysis import load
    from stemcell.corpora.store import read_corpus
    from stemcell.tracking import sentences
    from stemcell.tracking.sync import send
    from stemcell.training.evaluation import SCORE_COLUMNS, EvaluationData, evaluate, score_rows

    pipeline = load(run, device=str(accelerator.device))
    names = [name.strip() for name in tasks.split(",")] if tasks else pipeline.tasks
    for name in names:
        if name not in pipeline.tasks:
            raise unknown("task", name, pipeline.tasks)
    config = pipeline.config
    corpus = read_corpus(
        data or config.data, layers=names, pos_column=config.pos_column, skip_broken=config.skip_broken
    )
    examples = {task: corpus[split][task] for task in LAYERS if task in names and len(corpus[split].get(task, ()))}
    if missing := [task for task in names if task not in examples]:
        raise UserError(f"{corpus.folder}: no {split} sentences for {', '.join(missing)}; choose others with --tasks")
    result = evaluate(
        pipeline.model,
        EvaluationData(pipeline.model, examples),
        batch_sentences=config.batch_sentences,
        batch_tokens=config.batch_tokens,
        autocast=accelerator.autocast,
        by_sentence=True,
    )
    if rank() == 0 and is_run(pipeline.folder) and corpus.fingerprint == pipeline.tags.get("corpus"):
        folder = RunFolder(pipeline.folder)
        folder.result(split, {f"{task}/{k}": v for task, scores in result.scores.items() for k, v in scores.items()})
        folder.table(f"scores/{split}", SCORE_COLUMNS, score_rows(result, "best", split))
        sentences.write(folder, split, result.counts)
        send(folder)
    title = f"{split}: average {result.average * 100:.2f}, {result.sentences_per_second:,.0f} sentences/s"
    return score_table(result.scores, lambda task: find_task(task).main, title)


def make_accelerator(precision: str) -> Any:
    """The devices and processes that there are, at a precision (no, bf16 or fp16).

    Raises:
        UserError: if the precision does not work here.
    """
    from accelerate import Accelerator

    try:
        accelerator = Accelerator(mixed_precision=precision)
    except ValueError as error:
        raise UserError(f"precision {precision} does not work here ({error}); use --precision no or bf16") from None
    if precision != "no" and accelerator.device.type == "cpu" and accelerator.is_main_process:
        times = slowdown(precision)
        if times > SLOW:
            say(f"{precision} is {times:.0f} times slower than float32 on this processor; leave --precision out")
    return accelerator


def _tags(config: RunConfig, fingerprint: str) -> dict[str, str]:
    packages = ("stemcell", "torch", "transformers", "accelerate", "mlflow", "datasets")
    return {
        "encoder": config.encoder,
        "tasks": ",".join(config.tasks),
        "mode": mode(config),
        "seed": str(config.seed),
        "corpus": fingerprint,
        "git_commit": _git_commit(),
        **{f"version.{name}": version(name) for name in packages},
    }


def _git_commit() -> str:
    """The commit of the code that runs, if it runs from a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
