"""Does a joint model lose more without its stem-cell heads than without as many others of the same layers?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stemcell.comparing import statistics
from stemcell.comparing.scores import MTL
from stemcell.comparing.sources import Source, Sources, short
from stemcell.comparing.statistics import LEVEL, Estimate, holm
from stemcell.comparing.stem import StemHeads
from stemcell.comparing.verdicts import p_cell
from stemcell.corpora.layers import LAYERS
from stemcell.errors import UserError
from stemcell.tables import Cell, Table

Head = tuple[int, int]
Counts = dict[str, np.ndarray]


@dataclass(frozen=True)
class Ablation:
    """What ablation costs a model's tasks.

    Attributes:
        encoder: name.
        model: that was ablated; ``seeds`` of it.
        heads: how many were ablated at once, the fewest and the most of the seeds.
        draws: of other heads, a seed.
        elsewhere: heads of a draw that are of other layers, since their own had no others left; mean over seeds.
        stem: loss by task without the stem-cell heads.
        others: without as many others, mean over draws.
        further: the first minus the second.
        answer: ``yes``, ``no`` or ``not decided``, and why.
    """

    encoder: str
    model: str
    seeds: int
    heads: tuple[int, int]
    draws: int
    elsewhere: float
    stem: dict[str, Estimate]
    others: dict[str, Estimate]
    further: dict[str, Estimate]
    answer: str

    def table(self) -> Table:
        """A row a task, in points."""
        corrected = holm([own.p for own in self.further.values()])
        rows: list[list[Cell]] = []
        for (task, further), p in zip(self.further.items(), corrected, strict=True):
            cells: list[Cell] = [task.upper()]
            for own in (self.stem[task], self.others[task], further):
                cells += [100 * own.value, 100 * own.low, 100 * own.high]
            rows.append([*cells, p_cell(further.p), p_cell(p)])
        header = ["task", "loss without stem-cell heads", "low", "high", "loss without others", "others low",
                  "others high", "further loss", "further low", "further high", "p", "p Holm"]  # fmt: skip
        count = f"{self.heads[0]}" if self.heads[0] == self.heads[1] else f"{self.heads[0]} to {self.heads[1]}"
        notes = [
            f"{count} heads of {self.model} ({self.seeds} seeds) are set to 0 in evaluation, and so are as many other "
            f"kept heads of the same layers, {self.draws} times"
            + (
                f"; {self.elsewhere:.1f} of them are of other layers, for want of others in theirs."
                if self.elsewhere
                else "."
            )
        ]
        return Table(f"Ablation of stem-cell heads, {short(self.encoder)}", header, rows, notes=notes)


def ablate(
    sources: Sources, encoder: str, stem: StemHeads, draws: int, samples: int,
    tell: Callable[[str], None] = lambda line: None,
) -> Ablation | str:  # fmt: skip
    """Ablate all seeds of MTL-5-DP or, where there are none, of MTL-5; a sentence why it cannot be done.

    Raises:
        UserError: if a run has no checkpoint, or its corpus is gone.
    """
    model = f"{MTL}-DP" if sources.of(encoder, f"{MTL}-DP") else MTL
    runs = list(sources.of(encoder, model).values())
    if not runs:
        return f"No run of {MTL} to ablate."
    found, sizes, strangers = [], [], []
    for run in runs:
        kept = run.masks.get("joint", np.ones(stem.mask.shape, bool))
        own = [head for head in stem.heads if kept[head]]
        rest = [(int(layer), int(head)) for layer, head in np.argwhere(kept & ~stem.mask)]
        if not own or len(rest) < len(own):
            return f"{run.name} keeps {len(own)} of the stem-cell heads and {len(rest)} others: nothing to compare."
        rng = np.random.default_rng(run.seed)
        others = [draw_others(own, rest, rng) for _ in range(draws)]
        sizes.append(len(own))
        strangers.append(float(np.mean([_elsewhere(own, drawn) for drawn in others])))
        tell(f"ablating {len(own)} heads of {run.name}, {draws} draws of others")
        # The whole model too: it may have been scored at another precision.
        found.append(ablated_counts(run, sources.split, [[], own, *others]))
    tasks = [task for task in LAYERS if task in runs[0].tasks]
    stem_loss, other_loss, further = {}, {}, {}
    for task in tasks:
        stem_loss[task], other_loss[task], further[task] = losses(
            [[each[task] for each in one] for one in found], samples
        )
    answer = _answer(further, len(runs))
    return Ablation(
        encoder, model, len(runs), (min(sizes), max(sizes)), draws, float(np.mean(strangers)), stem_loss, other_loss,
        further, answer,
    )  # fmt: skip


def draw_others(own: Sequence[Head], rest: Sequence[Head], rng: np.random.Generator) -> list[Head]:
    """As many heads of ``rest`` as ``own`` has, of the same layers as far as these have others, or else of any."""
    drawn: list[Head] = []
    for layer in sorted({layer for layer, _ in own}):
        there = [head for head in rest if head[0] == layer]
        wanted = min(len(there), sum(own_layer == layer for own_layer, _ in own))
        drawn += [there[place] for place in rng.choice(len(there), wanted, replace=False)]
    left = [head for head in rest if head not in drawn]
    if len(drawn) < len(own):
        drawn += [left[place] for place in rng.choice(len(left), len(own) - len(drawn), replace=False)]
    return drawn


def losses(counts: Sequence[Sequence[np.ndarray]], samples: int) -> tuple[Estimate, Estimate, Estimate]:
    """Losses of one task: without the heads, without others, and the first minus those.

    Args:
        counts: by seed, of the whole model, without the heads, and without others, a draw each; [sentences, 2 or 3].
    """
    weights = statistics.sentence_weights(len(counts[0][0]), samples)
    rng = np.random.default_rng(0)
    stem, others = [], []
    for whole, without, *drawn in counts:
        base = statistics.sampled_scores(whole, weights)
        stem.append(base - statistics.sampled_scores(without, weights))
        lost = base - np.stack([statistics.sampled_scores(each, weights) for each in drawn])
        # Draws are drawn too: they stand for all that could have been.
        picks = rng.integers(len(drawn), size=(max(1, len(drawn) - 1), samples))
        sampled = lost[picks, np.arange(1, samples + 1)].mean(0)
        others.append(np.concatenate([lost[:, 0].mean()[None], sampled]))
    one, other = np.stack(stem), np.stack(others)
    mean = statistics.mean_over_seeds
    return mean(one), mean(other), mean(one - other)


def ablated_counts(run: Source, split: str, ablations: Sequence[Sequence[Head]]) -> list[Counts]:
    """Counts of sentences of a run without heads, one ablation after another.

    Raises:
        UserError: if the run has no checkpoint, or its corpus is not the one that it was trained on.
    """
    import contextlib

    from stemcell.analysis import load
    from stemcell.corpora.store import read_corpus
    from stemcell.heads.ablation import without
    from stemcell.training.evaluation import EvaluationData, evaluate

    pipeline = load(str(run.folder.path))
    config = pipeline.config
    corpus = read_corpus(
        config.data, layers=list(run.tasks), pos_column=config.pos_column, skip_broken=config.skip_broken
    )
    if corpus.fingerprint != run.folder.tags.get("corpus"):
        raise UserError(f"{config.data}: not the corpus that {run.folder.path} was trained on; restore it to ablate")
    data = EvaluationData(pipeline.model, {task: corpus[split][task] for task in run.tasks})
    found = []
    for heads in ablations:
        with without(pipeline.model.encoder, heads):
            result = evaluate(
                pipeline.model, data, batch_sentences=config.batch_sentences, batch_tokens=config.batch_tokens,
                autocast=contextlib.nullcontext, by_sentence=True,
            )  # fmt: skip
        found.append(result.counts)
    return found


def _elsewhere(own: Sequence[Head], drawn: Sequence[Head]) -> int:
    """How many drawn heads are more than their layer should give."""
    layers = {layer for layer, _ in own} | {layer for layer, _ in drawn}
    count = {layer: sum(a == layer for a, _ in drawn) - sum(a == layer for a, _ in own) for layer in layers}
    return sum(max(0, extra) for extra in count.values())


def _answer(further: dict[str, Estimate], seeds: int) -> str:
    if seeds < 2:
        return "not decided: one seed only"
    p = dict(zip(further, holm([own.p for own in further.values()]), strict=True))
    if all(p[task] < LEVEL and own.value > 0 for task, own in further.items()):
        return "yes: every task loses more without the stem-cell heads, beyond chance"
    if less := [task.upper() for task, own in further.items() if p[task] < LEVEL and own.value < 0]:
        return f"no: {', '.join(less)} loses less without them than without others, beyond chance"
    undecided = [task.upper() for task in further if p[task] >= LEVEL]
    return f"not decided for {', '.join(undecided)}: it may be chance"
