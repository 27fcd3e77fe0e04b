"""``stemcell.load(RUN)``: a trained model that annotates sentences."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.corpora.layers import COLUMNS, Arcs, Constituents, Frames, Span, from_row, to_row

if TYPE_CHECKING:
    from stemcell.model import MultiTaskModel
    from stemcell.saved import Saved


@dataclass(frozen=True)
class Analysis:
    """A sentence and what each task of the model says of it; None where the model lacks the task."""

    words: tuple[str, ...]
    pos: tuple[str, ...] | None = None
    ner: tuple[Span, ...] | None = None
    dep: Arcs | None = None
    con: Constituents | None = None
    srl: Frames | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain lists: ``words`` and, for each task, its columns (positions from 0, ends included)."""
        layers = {name: getattr(self, name) for name in ("pos", "ner", "dep", "con", "srl")}
        return {"words": list(self.words), **{k: to_row(k, v) for k, v in layers.items() if v is not None}}

    def __str__(self) -> str:
        from stemcell.analysis.render import readable

        return readable(self)


class Pipeline:
    """A trained model, ready to annotate. Made by :func:`load`."""

    def __init__(self, model: MultiTaskModel, saved: Saved) -> None:
        self.model, self.labels, self.config, self.folder = model, saved.labels, saved.config, saved.path
        self.tags = saved.tags
        self.tasks = list(saved.labels)

    def __call__(self, sentence: str) -> Analysis:
        """Annotate one sentence of raw text, cut into words the Penn way; empty text has an empty analysis."""
        return self.annotate([split_words(sentence)])[0]

    def annotate(self, sentences: Iterable[Sequence[str]], batch_tokens: int = 6400) -> list[Analysis]:
        """Annotate sentences that are cut into words already.

        Returns:
            One analysis a sentence, in order; that of a sentence without words is empty.
        """
        from stemcell.training.data import Sentences
        from stemcell.training.evaluation import annotate

        items = [tuple(words) for words in sentences]
        filled = [index for index, words in enumerate(items) if words]
        if not filled:
            return [self._empty() for _ in items]
        data = Sentences(self.model.encoder, [items[index] for index in filled])
        everything = set(range(len(filled)))
        found = annotate(
            self.model,
            data,
            {task: everything for task in self.tasks},
            batch_sentences=64,
            batch_tokens=batch_tokens,
            autocast=contextlib.nullcontext,
        )
        analyses = [self._empty() for _ in items]
        for row, index in enumerate(filled):
            analyses[index] = _with_tags(Analysis(items[index], **{task: found[task][row] for task in self.tasks}))
        return analyses

    def _empty(self) -> Analysis:
        return Analysis((), **{task: from_row(task, dict.fromkeys(COLUMNS[task], ())) for task in self.tasks})


def load(run: str | Path, device: str | None = None) -> Pipeline:
    """Load a trained model: a run by its folder or MLflow id (its best checkpoint by dev average), or an export.

    Args:
        device: such as ``cuda``; by default a GPU if there is one, else the CPU.

    Raises:
        UserError: if there is no such run, it has no checkpoint yet, or a file is damaged.
    """
    import torch

    from stemcell.saved import read_saved

    saved = read_saved(run)
    model = saved.build().to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return Pipeline(model, saved)


def split_words(sentence: str) -> tuple[str, ...]:
    """Cut raw text into words as the Penn Treebank does, quotes and brackets as they stand in text."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    words = NLTKWordTokenizer().tokenize(sentence)
    # Quotes come out as `` and ''; the corpora here hold them as they were written.
    return tuple('"' if word in ("``", "''") and '"' in sentence else word for word in words)


def _with_tags(analysis: Analysis) -> Analysis:
    """The tree's leaves carry the predicted tags, where there are any."""
    if analysis.con is None or analysis.pos is None:
        return analysis
    tree = Constituents(analysis.pos, analysis.con.brackets)
    return Analysis(analysis.words, analysis.pos, analysis.ner, analysis.dep, tree, analysis.srl)
