"""What runs say of the claims H1 and H2 of docs/method.md, section 7: supported, contradicted, or not enough runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stemcell.comparing.scores import MTL, Difference, Scores, kept_heads, pair, task_pairs
from stemcell.comparing.sources import short
from stemcell.comparing.statistics import LEVEL, Estimate, holm
from stemcell.corpora.layers import LAYERS
from stemcell.tables import Cell, Table, measured

SUPPORTED, CONTRADICTED, NOT_ENOUGH = "supported", "contradicted", "not enough runs"
CLAIMS = {
    "H1": f"{MTL} is below STL on every task, and no pair of tasks gains on both sides.",
    "H2": "About half of the heads can go without loss: STL-DP is no worse than STL on POS, NER and SRL.",
    "H3": "The heads that different tasks keep overlap far more than chance, and MTL-DP keeps the same ones.",
    "H4": f"After joint training the best head of most labels knows less of it than after training for its task alone "
    f"({MTL} against STL).",
}
PRUNED_TASKS = ("pos", "ner", "srl")
MARGIN = 0.2
"""Points that count as no loss: a convention, since no data can show that nothing at all is lost."""
HALF = 0.4
"""Share of the heads that must be gone for a model to say something of half of them."""


@dataclass(frozen=True)
class Effect:
    """One number of a verdict, for its figure: a label and an estimate, in points or shares."""

    label: str
    estimate: Estimate


@dataclass(frozen=True)
class Verdict:
    """What the runs of an encoder say of a claim.

    Attributes:
        claim: such as ``H1``.
        encoder: name.
        word: supported, contradicted or not enough runs.
        reason: why, in sentences.
        tables: the numbers that it stands on.
        effects: those that are drawn; ``unit`` is theirs.
        reference: where there would be nothing to say, such as 0.
    """

    claim: str
    encoder: str
    word: str
    reason: str
    tables: Sequence[Table] = ()
    effects: Sequence[Effect] = ()
    unit: str = "points"
    reference: float = 0.0
    notes: Sequence[str] = field(default_factory=tuple)


def joint(scores: Scores, encoder: str) -> Verdict:
    """H1: each task in MTL-5, and each pair."""
    tasks = {task: scores.difference(encoder, MTL, task.upper(), task) for task in LAYERS}
    word, reason = _every_task(tasks)
    pairs = {
        (a, b): tuple(scores.difference(encoder, pair(a, b), task.upper(), task) for task in (a, b))
        for a, b in task_pairs()
    }
    other, further = _no_win_win(pairs)
    words = {word, other}
    if CONTRADICTED in words:
        whole = CONTRADICTED
    else:
        whole = SUPPORTED if words == {SUPPORTED} else NOT_ENOUGH
    found = [d for d in tasks.values() if d]
    gains = [d for both in pairs.values() for d in both if d]
    tables = [
        differences_table(f"{MTL} − STL, {short(encoder)}", found),
        differences_table(f"Pairs − STL, {short(encoder)}", gains),
    ]
    effects = [Effect(f"{d.task.upper()} in {d.first}", d.effect) for d in (*found, *gains)]
    why = f"{MTL} below STL on every task: {word}. {reason} No pair gains twice: {other}. {further}"
    return Verdict("H1", encoder, whole, why, [table for table in tables if table.rows], effects)


def pruning(scores: Scores, encoder: str, margin: float = MARGIN) -> Verdict:
    """H2: non-inferiority of STL-DP by a margin of so many points, where enough of the heads are gone."""
    tasks = {task: scores.difference(encoder, f"{task.upper()}-DP", task.upper(), task) for task in LAYERS}
    asked = {task: tasks[task] for task in PRUNED_TASKS}
    gone = {}
    for task in LAYERS:
        runs = scores.sources.of(encoder, f"{task.upper()}-DP").values()
        masks = [mask for run in runs if (mask := kept_heads(run, task)) is not None]
        if masks:
            gone[task] = 1 - float(sum(mask.mean() for mask in masks)) / len(masks)
    word, reason = _no_loss(asked, gone, margin / 100)
    found = [d for d in tasks.values() if d]
    table = differences_table(f"STL-DP − STL, {short(encoder)}", found, {t: 100 * share for t, share in gone.items()})
    apart = {
        task: measured([values[0] for values in scores.of(encoder, task.upper(), task).values()]) for task in LAYERS
    }
    shown = [f"{task.upper()} {m.deviation:.2f}" for task, m in apart.items() if m and m.deviation is not None]
    note = (
        f"No loss means less than {margin:g} points below STL (--margin), a convention, since no data can show that "
        f"nothing at all is lost; STL's own deviation over seeds: {', '.join(shown) or 'unknown'}. At least {HALF:.0%} "
        "of the heads must be gone before a model says anything about losing half of them."
    )
    effects = [Effect(d.task.upper(), d.effect) for d in found]
    tables = [table] if table.rows else []
    return Verdict("H2", encoder, word, reason, tables, effects, reference=-margin / 100, notes=[note])


def differences_table(title: str, found: Sequence[Difference], gone: dict[str, float] | None = None) -> Table:
    """Effects with intervals, p-values and Holm's correction over the table; in points."""
    corrected = holm([d.effect.p for d in found])
    permuted = holm([d.permuted for d in found])
    rows: list[list[Cell]] = []
    for each, p, q in zip(found, corrected, permuted, strict=True):
        effect = each.effect
        cells: list[Cell] = [each.first, each.task.upper(), len(each.seeds)]
        cells += [100 * effect.value, 100 * effect.low, 100 * effect.high]
        cells += [p_cell(effect.p), p_cell(p), p_cell(each.permuted), p_cell(q)]
        rows.append(cells + ([gone.get(each.task)] if gone is not None else []))
    header = ["model", "task", "seeds", "difference", "low", "high", "p", "p Holm", "p permuted", "p permuted, Holm"]
    note = (
        "p: of seeds and sentences, for models trained alike; p permuted: of sentences alone, for these very runs. "
        "Holm: corrected for all rows of the table."
    )
    return Table(title, header + (["heads gone, %"] if gone is not None else []), rows, notes=[note])


def few(found: dict[str, Difference | None], what: str) -> str:
    """Why differences are not enough, in a sentence; empty if they are: each is there and over several seeds."""
    if missing := [name for name, each in found.items() if each is None]:
        return f"No seed has both sides of {what} for {listed(missing)}."
    if single := [name for name, each in found.items() if each and len(each.seeds) < 2]:
        return f"One seed only for {listed(single)}."
    return ""


def _every_task(tasks: dict[str, Difference | None]) -> tuple[str, str]:
    several = {name: each for name, each in tasks.items() if each and len(each.seeds) > 1}
    p = dict(zip(several, holm([each.effect.p for each in several.values()]), strict=True))
    sure = {name for name in several if p[name] < LEVEL}
    if above := [name for name in several if name in sure and several[name].effect.value > 0]:
        return CONTRADICTED, f"Gains beyond chance: {listed(above)}."
    if reason := few(tasks, f"{MTL} and STL"):
        return NOT_ENOUGH, reason
    below = [name for name in tasks if name in sure]
    if len(below) == len(tasks):
        return SUPPORTED, "All five lose beyond chance."
    return NOT_ENOUGH, f"Not decided for {listed([name for name in tasks if name not in below])}: it may be chance."


def _no_win_win(pairs: dict[tuple[str, str], tuple[Difference | None, ...]]) -> tuple[str, str]:
    both = {"+".join(names).upper(): [each for each in found if each] for names, found in pairs.items()}
    several = {n: found for n, found in both.items() if len(found) == 2 and all(len(each.seeds) > 1 for each in found)}
    # Both gain: the larger p-value decides. One loses: the smaller one, of two that were looked at.
    wins = [max(d.effect.p if d.effect.value > 0 else 1.0 for d in found) for found in several.values()]
    losses = [min(1.0, 2 * min(d.effect.p if d.effect.value < 0 else 1.0 for d in found)) for found in several.values()]
    if won := [name for name, p in zip(several, holm(wins), strict=True) if p < LEVEL]:
        return CONTRADICTED, f"Gains on both sides beyond chance: {listed(won)}."
    if missing := [name for name in both if name not in several]:
        return NOT_ENOUGH, f"{len(missing)} of {len(both)} pairs lack runs of several seeds."
    lost = [name for name, p in zip(several, holm(losses), strict=True) if p < LEVEL]
    if len(lost) == len(both):
        return SUPPORTED, "In every pair a task loses beyond chance."
    return NOT_ENOUGH, f"Not decided for {listed([name for name in both if name not in lost])}: it may be chance."


def _no_loss(tasks: dict[str, Difference | None], gone: dict[str, float], margin: float) -> tuple[str, str]:
    several = {name: each for name, each in tasks.items() if each and len(each.seeds) > 1}
    apart = dict(zip(several, holm([each.effect.p_against(-margin) for each in several.values()]), strict=True))
    sure = {name: several[name].effect.value + margin for name in several if apart[name] < LEVEL}
    if lost := [name for name, above in sure.items() if above < 0]:
        return CONTRADICTED, f"Losses of more than {100 * margin:g} points beyond chance: {listed(lost)}."
    if reason := few(tasks, "STL-DP and STL"):
        return NOT_ENOUGH, reason
    if full := [name for name in tasks if gone.get(name, 0.0) < HALF]:
        shown = ", ".join(f"{name.upper()} {gone.get(name, 0.0):.0%}" for name in full)
        return NOT_ENOUGH, f"Too few heads are gone to judge the loss of half ({shown}): raise the penalty."
    if len(sure) == len(tasks):
        return SUPPORTED, f"All three are less than {100 * margin:g} points below STL, beyond chance."
    open_ones = [name for name in tasks if name not in sure]
    return NOT_ENOUGH, f"A loss of more than {100 * margin:g} points is not excluded for {listed(open_ones)}."


def listed(names: Sequence[str]) -> str:
    return ", ".join(name.upper() for name in names)


def p_cell(value: float) -> Cell:
    return None if value != value else f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"
