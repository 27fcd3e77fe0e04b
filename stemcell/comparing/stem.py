"""Stem-cell heads (docs/method.md, section 1): kept for most tasks, and knowing labels of several before training."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from stemcell.comparing.gains import LEAST, MODES
from stemcell.comparing.overlaps import Masks, single_masks
from stemcell.comparing.sources import PRETRAINED, Source, Sources, short
from stemcell.comparing.statistics import LEVEL, holm
from stemcell.corpora.layers import LAYERS
from stemcell.errors import UserError
from stemcell.files import intact
from stemcell.tables import Cell, Table

KEPT_FOR, KNOWS = 4, 2
"""Tasks that must keep a stem-cell head, and tasks of which it must know a label."""


@dataclass(frozen=True)
class StemHeads:
    """The stem-cell heads of an encoder, as far as the runs tell.

    Attributes:
        kept: share of seeds that keep each head, by task, [layers, heads].
        knows: by task, the labels that heads know beyond chance before training, [layers, heads] counts; none where the
            encoder was not probed as it is.
        mask: the stem-cell heads, [layers, heads] booleans; where ``knows`` is missing, those that are kept.
        sure: the probability that enough tasks keep it in most seeds (:func:`sureness`), [layers, heads].
    """

    kept: dict[str, np.ndarray]
    knows: dict[str, np.ndarray]
    mask: np.ndarray
    sure: np.ndarray

    @property
    def probed(self) -> bool:
        """Whether the second half of the definition could be asked."""
        return bool(self.knows)

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Layer and head of each, from 0."""
        return [(int(layer), int(head)) for layer, head in np.argwhere(self.mask)]


def stem_heads(sources: Sources, encoder: str, kept_for: int = KEPT_FOR, knows: int = KNOWS) -> StemHeads | None:
    """The heads that most seeds of at least ``kept_for`` single-task pruned models keep, and that know labels of tasks.

    Dynamic pruning counts where there are such runs, static otherwise. None where fewer than ``kept_for`` tasks have
    pruned runs.
    """
    masks = single_masks(sources, encoder) or single_masks(sources, encoder, "SP")
    if len(masks) < kept_for:
        return None
    shares = {task: np.mean(own, axis=0) for task, own in masks.items()}
    mask = np.sum([share > 0.5 for share in shares.values()], axis=0) >= kept_for
    known = {}
    probed = next(iter(sources.of(encoder, PRETRAINED).values()), None)
    if probed is not None:
        known = known_labels(probed, sources.split)
        mask &= np.sum([count > 0 for count in known.values()], axis=0) >= knows
    return StemHeads(shares, known, mask, sureness(masks, kept_for))


def known_labels(source: Source, split: str) -> dict[str, np.ndarray]:
    """By task, the number of labels of which each head knows more than its control or baseline, [layers, heads].

    One-sided z-tests by head and label, with Holm's correction over all of them. The score is held against the head's
    own control or, where there is none (NER, CON), the best of: the most frequent label, the best head of an untrained
    encoder where that was probed, and guessing. Its error is that of the bootstrap over sentences, and at least that of
    as many coins that fall as the control does.
    """
    import pandas as pd
    from scipy.stats import norm

    folder = source.folder.path / "artifacts" / "probe" / split
    for name in ("probe.parquet", "probe-labels.csv"):
        if not (folder / name).is_file():
            raise UserError(f"{folder / name}: missing; copy the folder again, whole, or probe {source.name} again")
    with intact(folder / "probe.parquet"):
        cells = pd.read_parquet(io.BytesIO((folder / "probe.parquet").read_bytes()))
    with intact(folder / "probe-labels.csv"):
        text = io.StringIO((folder / "probe-labels.csv").read_text("utf-8"))
        labels = pd.read_csv(text, keep_default_na=False, na_values={"baseline_score": [""], "untrained_score": [""]})
    preferred = {task: next(m for m in MODES if m in set(own["mode"])) for task, own in cells.groupby("task")}
    cells = cells[(cells["mode"] == cells["task"].map(preferred)) & (cells["count"] >= LEAST)]
    keys = ["task", "label", "mode"]
    own = labels[[*keys, "baseline_score", "untrained_score"]]
    cells = cells.merge(own, on=keys, how="left")
    guess = 1 / cells.groupby("task")["label"].transform("nunique").to_numpy(float)
    baselines = np.stack([cells["baseline_score"], cells["untrained_score"], guess]).astype(float)
    control = cells["control"].to_numpy(float)
    against = np.where(np.isnan(control), np.nanmax(baselines, axis=0), control)
    score = cells["score"].to_numpy(float)
    error = (cells["high"] - cells["low"]).to_numpy(float) / (2 * norm.ppf(0.975))
    coins = np.sqrt(against * (1 - against) / cells["count"].to_numpy(float))
    error = np.maximum(np.where(np.isnan(error), 0, error), coins)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(error > 0, norm.sf((score - against) / error), np.where(score > against, 0.0, 1.0))
    p[np.isnan(score)] = np.nan
    sure = np.array(holm(p.tolist())) < LEVEL
    shape = int(cells["layer"].max()), int(cells["head"].max())
    found = {}
    for task in (task for task in LAYERS if task in preferred):
        counts = np.zeros(shape, int)
        mine = sure & (cells["task"] == task).to_numpy()
        np.add.at(counts, (cells["layer"].to_numpy(int)[mine] - 1, cells["head"].to_numpy(int)[mine] - 1), 1)
        found[task] = counts
    return found


def stem_table(found: StemHeads, encoder: str) -> Table:
    """The stem-cell heads, the surest first; layers and heads from 1."""
    rows: list[list[Cell]] = []
    for layer, head in sorted(found.heads, key=lambda place: (-found.sure[place], place)):
        cells: list[Cell] = [f"{layer + 1}-{head + 1}", float(100 * found.sure[layer, head])]
        cells += [float(100 * share[layer, head]) for share in found.kept.values()]
        cells += [int(count[layer, head]) for count in found.knows.values()]
        rows.append(cells)
    header = ["head", "sure, %", *(f"{task.upper()} keeps, % of seeds" for task in found.kept)]
    header += [f"{task.upper()} labels known" for task in found.knows]
    name = "Stem-cell heads" if found.probed else "Heads kept for most tasks (the encoder was not probed as it is)"
    note = "Sure: the probability that enough tasks keep the head in most of all seeds, by what these seeds do."
    return Table(f"{name}, {short(encoder)}: {len(rows)} of {found.mask.size}", header, rows, digits=0, notes=[note])


def sureness(masks: Masks, kept_for: int) -> np.ndarray:
    """The probability that so many tasks keep a head in most of all seeds there could be, [layers, heads].

    Of k of n seeds that keep it, and no opinion beforehand, the share of all seeds that do has a beta distribution
    (k + 1, n - k + 1). Unlike a bootstrap it does not take two seeds of two for a certainty. Tasks are independent.
    """
    from scipy.stats import beta

    shape = next(iter(masks.values()))[0].shape
    # Probabilities that 0, 1, 2 … tasks keep it.
    tasks = np.zeros((len(masks) + 1, *shape))
    tasks[0] = 1
    for own in masks.values():
        count = np.sum(own, axis=0)
        most = beta.sf(0.5, count + 1, len(own) - count + 1)
        tasks[1:] = tasks[1:] * (1 - most) + tasks[:-1] * most
        tasks[0] *= 1 - most
    return tasks[kept_for:].sum(0)
