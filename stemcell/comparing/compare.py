"""The whole comparison: from runs to tables, verdicts and a report, kept as a run of its own."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from stemcell.comparing import report
from stemcell.comparing.ablation import ablate
from stemcell.comparing.figures import heads_map
from stemcell.comparing.gains import Gains, gains, gains_frame, gains_table, gains_verdict, modes, scores_table
from stemcell.comparing.overlaps import encoders_table, overlap_verdict
from stemcell.comparing.scores import MTL, Scores, joint_table, pair, pruning_table, runs_table
from stemcell.comparing.sources import Sources, expand, read_sources, search, short
from stemcell.comparing.stem import KEPT_FOR, KNOWS, StemHeads, stem_heads, stem_table
from stemcell.comparing.verdicts import CLAIMS, MARGIN, Verdict, joint, pruning
from stemcell.corpora.layers import LAYERS
from stemcell.errors import UserError
from stemcell.figures.gains import write_gains
from stemcell.files import read_json, staged_folder
from stemcell.tables import Table
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.sync import send

KIND = "comparison"
"""Tag ``kind`` of a comparison's record."""
VERDICTS = ("claim", "encoder", "verdict", "reason")
PRINTED = ("joint", "pruning", "probes-", "stem-", "ablation-")
"""Tables, by the beginnings of their names, that are kept as Markdown and LaTeX too."""


@dataclass(frozen=True)
class Settings:
    """What may be chosen.

    Attributes:
        split: whose scores are compared.
        samples: of the bootstrap.
        margin: points below STL that count as no loss (H2).
        kept_for, knows: tasks that must keep a stem-cell head, and of which it must know a label.
        published: put the paper's own numbers beside ours.
        ablate: draws of other heads that the stem-cell heads are ablated against; 0 for no ablation.
    """

    split: str = "test"
    samples: int = 2000
    margin: float = MARGIN
    kept_for: int = KEPT_FOR
    knows: int = KNOWS
    published: bool = False
    ablate: int = 0


@dataclass
class Comparison:
    """What was found.

    Attributes:
        sources: the runs.
        verdicts: a claim and encoder each.
        tables: all tables by file name, without ending.
        gains: of each encoder, the models' gains by label (:mod:`stemcell.figures.gains`).
        stems: of each encoder, which heads are stem-cell heads and what becomes of a model without them, in sentences.
        page: the report.
    """

    sources: Sources
    verdicts: list[Verdict]
    tables: dict[str, Table] = field(default_factory=dict)
    gains: dict[str, list[Gains]] = field(default_factory=dict)
    stems: dict[str, list[str]] = field(default_factory=dict)
    page: str = ""


def compare_runs(
    names: Sequence[str], out: Path, settings: Settings, *, condition: str | None = None, experiment: str = "stemcell",
    overwrite: bool = False,
) -> Comparison:  # fmt: skip
    """Compare runs and make ``out`` the record of it, whole or not at all; MLflow gets a copy.

    Args:
        names: run folders, folders of studies, MLflow ids.
        condition: MLflow's filter; the runs of the experiment that meet it are compared too.

    Raises:
        UserError: if there is nothing to compare, or what is there cannot be (:func:`read_sources`).
    """
    RunFolder.check_free(out, overwrite)
    folders, notes = expand(names)
    if condition is not None:
        folders += search(condition, experiment)
    found = compare(read_sources(folders, settings.split, notes), settings)
    send(_write(out, found, settings, overwrite))
    return found


def compare(sources: Sources, settings: Settings) -> Comparison:
    """Everything that the runs tell, without writing it."""
    scores = Scores(sources, settings.samples)
    found = Comparison(sources, [])
    tables = found.tables
    if together := joint_table(sources):
        tables["joint"] = together
    if pruned := pruning_table(sources):
        tables["pruning"] = pruned
    if across := encoders_table(sources):
        tables["encoders"] = across
    stems: list[str] = []
    for encoder in sources.encoders:
        own = [
            joint(scores, encoder),
            pruning(scores, encoder, settings.margin),
            overlap_verdict(sources, encoder, settings.samples),
            gains_verdict(sources, encoder),
        ]
        found.verdicts += own
        for verdict in own:
            for number, table in enumerate(verdict.tables, 1):
                tables[f"{verdict.claim.lower()}-{number}-{_plain(encoder)}"] = table
        tables.update(_probes(sources, encoder, settings.published, found.gains.setdefault(encoder, [])))
        stems += _stem(found, encoder, settings)
    tables["runs"] = runs_table(sources)
    found.page = _page(found, stems, settings)
    return found


def summary(found: Comparison) -> str:
    """What people read at the end: scores, verdicts and what is known of stem-cell heads."""
    printed = ("joint", "pruning", "ablation-")
    shown = [table.markdown() for name, table in found.tables.items() if name.startswith(printed)]
    lines = [f"{own.claim} {short(own.encoder)}: {own.word}. {own.reason}" for own in found.verdicts]
    lines += [f"stem-cell heads {short(encoder)}: {' '.join(own)}" for encoder, own in found.stems.items()]
    return "\n".join([*shown, *lines])


def _probes(sources: Sources, encoder: str, published: bool, kept: list[Gains]) -> dict[str, Table]:
    """The tables of probes; the gains behind them are kept."""
    found = {}
    for task in LAYERS:
        for mode in modes(sources, encoder, task):
            name = f"{task}-{mode}-{_plain(encoder)}"
            if table := scores_table(sources, encoder, task, mode, published):
                found[f"probes-{name}"] = table
            models = [MTL, *(pair(task, other) for other in LAYERS if other != task), f"{task.upper()}-DP", f"{MTL}-DP"]
            for model in models:
                if own := gains(sources, encoder, model, task, mode):
                    found[f"gains-{model.lower()}-{name}"] = gains_table(own, encoder)
                    kept.append(own)
    return found


def _stem(found: Comparison, encoder: str, settings: Settings) -> list[str]:
    """The stem-cell heads' part of the page; their tables and sentences are added."""
    sources, told = found.sources, found.stems.setdefault(encoder, [])
    stem: StemHeads | None = stem_heads(sources, encoder, settings.kept_for, settings.knows)
    if stem is None:
        told.append(f"Fewer than {settings.kept_for} tasks have single-task pruned runs.")
        return [report.paragraph(f"{short(encoder)}: {told[0]}")]
    table = found.tables[f"stem-{_plain(encoder)}"] = stem_table(stem, encoder)
    names = ", ".join(f"{layer + 1}-{head + 1}" for layer, head in stem.heads)
    told.append(f"{len(stem.heads)} of {stem.mask.size}{names and ': '}{names}.")
    parts = [heads_map(stem, encoder), report.table(table)]
    if settings.ablate:
        cut = ablate(sources, encoder, stem, settings.ablate, settings.samples, tell=_say)
        if isinstance(cut, str):
            told.append(f"Ablation: {cut}")
            return [*parts, report.paragraph(told[-1])]
        losses = found.tables[f"ablation-{_plain(encoder)}"] = cut.table()
        question = "Do all tasks lose more without these heads than without as many others of the same layers?"
        told.append(f"{question} {cut.answer[0].upper()}{cut.answer[1:]}.")
        parts += [report.paragraph(told[-1]), report.table(losses)]
    return parts


def _page(found: Comparison, stems: Sequence[str], settings: Settings) -> str:
    sources, tables = found.sources, found.tables
    seeds = sorted({run.seed for run in sources.runs if run.tasks})
    about = [
        f"{len(sources.runs)} runs; encoders {', '.join(map(short, sources.encoders))}; "
        f"seeds {', '.join(map(str, seeds))}; "
        f"{sources.split} of the corpus {str(sources.runs[0].folder.tags.get('corpus', ''))[:12]}.",
        f"Intervals are of 95%: the error of sentences from {settings.samples} bootstrap samples, the same for all "
        "runs, and that of seeds by Student's t, which makes two seeds' intervals wide. P-values are two-sided.",
        *sources.notes,
    ]
    claims = []
    for claim, text in CLAIMS.items():
        own = [report.verdict(verdict) for verdict in found.verdicts if verdict.claim == claim]
        claims.append(report.section(f"{claim}: {text}", own))

    def named(*starts: str) -> list[str]:
        return [report.table(table) for name, table in tables.items() if name.startswith(starts)]

    sections = [
        report.summary(found.verdicts),
        report.section("Scores", named("joint", "pruning")),
        *claims,
        report.section("Heads of other encoders", named("encoders")),
        report.section("Stem-cell heads", stems),
        report.section("What heads know", named("probes-")),
        report.section("Gains against STL", named("gains-")),
        report.section("Sources", named("runs")),
    ]
    return report.page("Runs compared", about, sections)


def _write(out: Path, found: Comparison, settings: Settings, overwrite: bool) -> RunFolder:
    out = out.absolute()
    sources = found.sources
    first = sources.runs[0].folder
    config = {
        "split": sources.split,
        "samples": settings.samples,
        "margin": settings.margin,
        "stem_kept_for": settings.kept_for,
        "stem_knows": settings.knows,
        "ablate": settings.ablate,
        "sources": [str(run.folder.path) for run in sources.runs],
        "experiment": next((e for run in sources.runs if (e := run.folder.config.get("experiment"))), "stemcell"),
    }
    words = [f"{verdict.claim} {short(verdict.encoder)}: {verdict.word}" for verdict in found.verdicts]
    tags = {
        "kind": KIND,
        "corpus": str(first.tags.get("corpus", "")),
        "sources": ",".join(run.folder.id for run in sources.runs),
        "sources.mlflow": ",".join(dict.fromkeys(id for run in sources.runs for id in _mlflow_ids(run.folder))),
        "mlflow.note.content": "\n\n".join(words),
    }
    with staged_folder(out, replace=True) as partial:
        folder = RunFolder.create(partial, config, tags)
        for name, table in found.tables.items():
            files = table.files(name) if name.startswith(PRINTED) else {f"{name}.csv": table.csv()}
            for file, content in files.items():
                folder.artifact(f"tables/{file}", content)
        folder.artifact("report.html", found.page)
        for encoder, own in found.gains.items():
            if own:
                place = folder.path / "artifacts" / "figures" / _plain(encoder)
                write_gains(place, pd.concat([gains_frame(each) for each in own], ignore_index=True))
        rows = [[v.claim, short(v.encoder), v.word, v.reason] for v in found.verdicts]
        folder.artifact("verdicts.json", [dict(zip(VERDICTS, row, strict=True)) for row in rows])
        folder.table("verdicts", VERDICTS, rows)
        for name in ("joint", "pruning", "runs"):
            if name in found.tables:
                folder.table(name, list(found.tables[name].columns), found.tables[name].cells())
        folder.set_status("FINISHED")
        folder.release()
    return RunFolder(out)


def _mlflow_ids(folder: RunFolder) -> list[str]:
    """The ids of a run's copies in MLflow."""
    try:
        record: Any = read_json(folder.path / "mlflow.json")
        return [str(each["run_id"]) for each in record.values() if "run_id" in each]
    except (UserError, AttributeError, TypeError):
        return []


def _plain(encoder: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", short(encoder))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
