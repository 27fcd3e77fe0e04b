"""Which heads runs keep, how much of it is common to tasks, seeds and encoders, and H3 of docs/method.md, section 7."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from stemcell.comparing.scores import MTL, kept_heads
from stemcell.comparing.sources import Sources, short
from stemcell.comparing.statistics import LEVEL, Estimate, columns, holm
from stemcell.comparing.verdicts import CONTRADICTED, NOT_ENOUGH, SUPPORTED, Effect, Verdict, listed, p_cell
from stemcell.corpora.layers import LAYERS
from stemcell.heads.overlap import consistency, layer_use, most, overlap
from stemcell.tables import Cell, Table

FAR = 0.25
"""Agreement above chance that counts as far more than chance: a quarter of the way from it to all that is possible."""
PERMUTATIONS = 2000

Masks = dict[str, list[np.ndarray]]
"""Kept heads by task, a map [layers, heads] a seed."""


def single_masks(sources: Sources, encoder: str, kind: str = "DP") -> Masks:
    """Of the single-task pruned models."""
    found = {}
    for task in LAYERS:
        runs = sources.of(encoder, f"{task.upper()}-{kind}").values()
        if masks := [mask for run in runs if (mask := kept_heads(run, task)) is not None]:
            found[task] = masks
    return found


def joint_masks(sources: Sources, encoder: str) -> list[np.ndarray]:
    """Of the joint model with one set of gates, a map a seed."""
    runs = sources.of(encoder, f"{MTL}-DP").values()
    return [mask for run in runs if (mask := run.masks.get("joint")) is not None]


def agreement(first: np.ndarray, second: np.ndarray) -> float:
    """What two maps have in common beyond chance, as a share of what they could have: 0 is chance, 1 all of it.

    With k and m heads of n, chance is k m / n and all is min(k, m). 0 where there is nothing to gain.
    """
    return float(between([first], [second])[0, 0])


def between(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> np.ndarray:
    """:func:`agreement` of all maps of one model with all of another, [seeds, seeds]."""
    a, b = (np.array(masks, float).reshape(len(masks), -1) for masks in (one, other))
    first, second = a.sum(1)[:, None], b.sum(1)[None]
    expected = first * second / a.shape[1]
    room = np.minimum(first, second) - expected
    return np.divide(a @ b.T - expected, room, out=np.zeros(room.shape), where=room > 0)


def shared(masks: Masks, joint: Sequence[np.ndarray], seed: int, samples: int) -> tuple[Estimate, Estimate]:
    """Mean agreement of all pairs of tasks, and that of the joint model with all tasks.

    Seeds are drawn for each model by itself, n - 1 of n with replacement, which makes the variance of a mean unbiased
    (Rao and Wu 1988, "Resampling Inference With Complex Survey Data"); heads are what they are.
    """
    freedom = max(1, sum(len(own) - 1 for own in (*masks.values(), joint) if own))
    rng = np.random.default_rng(seed)
    models = [*masks.values(), joint]
    drawn = [rng.integers(len(own), size=(samples, max(1, len(own) - 1))) if own else None for own in models]
    pairs = list(combinations(range(len(masks)), 2))
    last = len(masks)

    def mean(wanted: Sequence[tuple[int, int]]) -> Estimate:
        values = np.zeros((len(wanted), 1 + samples))
        for row, (a, b) in enumerate(wanted):
            table = between(models[a], models[b])
            values[row, 0] = table.mean()
            one, other = drawn[a], drawn[b]
            assert one is not None and other is not None  # noqa: PT018
            values[row, 1:] = table[one[:, :, None], other[:, None, :]].mean((1, 2))
        means = values.mean(0) if len(wanted) else np.full(1 + samples, np.nan)
        # Only seeds vary.
        error = np.std(means[1:], ddof=1)
        return Estimate(*map(float, columns(means[0], np.zeros(()), error, freedom)))

    return mean(pairs), mean([(number, last) for number in range(last)] if joint else [])


def chance(masks: Masks, within_layers: bool, rounds: int = PERMUTATIONS, seed: int = 0) -> float:
    """The probability of as much agreement between tasks if each task kept as many heads at random.

    A task's seeds are moved together, since what they share is the task's own.

    Args:
        within_layers: each layer keeps as many as it does, so that only the choice within layers is left to chance.
    """
    rng = np.random.default_rng(seed)
    observed = _mean_agreement(list(masks.values()))
    hits = 0
    for _ in range(rounds):
        moved = [_moved(own, within_layers, rng) for own in masks.values()]
        hits += _mean_agreement(moved) >= observed - 1e-12
    return (1 + hits) / (1 + rounds)


def overlap_verdict(sources: Sources, encoder: str, samples: int) -> Verdict:
    """H3."""
    masks, joint = single_masks(sources, encoder), joint_masks(sources, encoder)
    tables = overlap_tables(sources, encoder)
    seeds = {**{task: len(own) for task, own in masks.items()}, **({f"{MTL}-DP": len(joint)} if joint else {})}
    if missing := [task for task in LAYERS if task not in masks] + ([] if joint else [f"{MTL}-DP"]):
        return Verdict("H3", encoder, NOT_ENOUGH, f"No pruned run of {listed(missing)}.", tables)
    tasks, with_joint = shared(masks, joint, 0, samples)
    anywhere, within = (chance(masks, layers) for layers in (False, True))
    reason = (
        f"Agreement above chance between tasks {_interval(tasks)} (random heads of the same number: "
        f"p {p_cell(anywhere)}; of the same number in each layer: p {p_cell(within)}), "
        f"of {MTL}-DP with the tasks {_interval(with_joint)}."
    )
    effects = [Effect("between tasks", tasks), Effect(f"{MTL}-DP with tasks", with_joint)]
    note = (
        "Agreement is 0 where maps have as many heads in common as random ones would, and 1 where they have all that "
        f"they can; {FAR:g} counts as far more than chance."
    )
    if single := [name for name, count in seeds.items() if count < 2]:
        word, reason = NOT_ENOUGH, f"One seed only for {listed(single)}. {reason}"
    elif min(tasks.low, with_joint.low) > FAR and anywhere < LEVEL:
        word = SUPPORTED
    elif min(tasks.high, with_joint.high) < FAR:
        word = CONTRADICTED
    else:
        word, reason = NOT_ENOUGH, f"An interval includes {FAR:g}. {reason}"
    return Verdict("H3", encoder, word, reason, tables, effects, unit="share", reference=FAR, notes=[note])


def overlap_tables(sources: Sources, encoder: str) -> list[Table]:
    """Overlap of tasks (by the heads that most seeds keep) and consistency of seeds."""
    groups: Masks = {task.upper(): own for task, own in single_masks(sources, encoder).items()}
    if joint := joint_masks(sources, encoder):
        groups[f"{MTL}-DP"] = joint
    majority = {name: most(own) for name, own in groups.items()}
    pairs = {(a, b): overlap(majority[a], majority[b]) for a, b in combinations(majority, 2)}
    corrected = holm([each.at_least for each in pairs.values()])
    rows: list[list[Cell]] = []
    for ((a, b), each), p in zip(pairs.items(), corrected, strict=True):
        rate = each.both / each.expected if each.expected else None
        above = agreement(majority[a], majority[b])
        rows.append([a, b, each.first, each.second, each.both, each.expected, rate, each.jaccard, above,
                     p_cell(each.at_least), p_cell(p)])  # fmt: skip
    header = ["one", "other", "one keeps", "other keeps", "both", "by chance", "ratio", "Jaccard", "agreement",
              "p", "p Holm"]  # fmt: skip
    tables = [Table(f"Heads kept by tasks, {short(encoder)}", header, rows)] if rows else []
    several = {name: own for name, own in groups.items() if len(own) > 1}
    if several:
        lines: list[list[Cell]] = []
        for name, own in several.items():
            found = consistency(own)
            above = float(np.mean([agreement(a, b) for a, b in combinations(own, 2)]))
            lines.append([name, found.runs, found.jaccard, above, found.by_all, found.all_expected, found.by_none,
                          found.none_expected])  # fmt: skip
        header = ["model", "seeds", "Jaccard", "agreement", "by all", "by all by chance", "by none",
                  "by none by chance"]  # fmt: skip
        tables.append(Table(f"Heads kept by seeds, {short(encoder)}", header, lines))
    return tables


def encoders_table(sources: Sources) -> Table | None:
    """Encoders by what their layers keep: heads of two encoders have nothing to do with each other, layers have."""
    rows: list[list[Cell]] = []
    for a, b in combinations(sources.encoders, 2):
        one, other = single_masks(sources, a), single_masks(sources, b)
        for task in LAYERS:
            if task in one and task in other and one[task][0].shape[0] == other[task][0].shape[0]:
                uses = [
                    np.mean([layer_use(mask) / mask.shape[1] for mask in own[task]], axis=0) for own in (one, other)
                ]
                shares = [float(np.mean([mask.mean() for mask in own[task]]) * 100) for own in (one, other)]
                rows.append([short(a), short(b), task.upper(), *shares, _rank_correlation(*uses)])
    header = ["one", "other", "task", "one keeps, %", "other keeps, %", "rank correlation of layers"]
    return Table("Encoders: share of heads that layers keep", header, rows) if rows else None


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    from scipy.stats import spearmanr

    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(spearmanr(one, other).statistic)


def _mean_agreement(models: Sequence[Sequence[np.ndarray]]) -> float:
    """Of all pairs of models, whose maps count by their model."""
    masks = [mask for own in models for mask in own]
    shares = np.concatenate([np.full(len(own), 1 / len(own)) for own in models])
    owners = np.repeat(np.arange(len(models)), [len(own) for own in models])
    weights = np.outer(shares, shares) * (owners[:, None] < owners)
    return float((weights * between(masks, masks)).sum() / weights.sum())


def _moved(masks: Sequence[np.ndarray], within_layers: bool, rng: np.random.Generator) -> list[np.ndarray]:
    layers, heads = masks[0].shape
    if within_layers:
        orders = rng.permuted(np.tile(np.arange(heads), (layers, 1)), axis=1)
        return [np.take_along_axis(mask, orders, axis=1) for mask in masks]
    order = rng.permutation(layers * heads)
    return [mask.ravel()[order].reshape(layers, heads) for mask in masks]


def _interval(found: Estimate) -> str:
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"
