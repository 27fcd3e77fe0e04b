"""Control labels: random, but the same for all occurrences of a word (Hewitt and Liang 2019, "Designing and
Interpreting Probes with Control Tasks").

A probe that only tells words apart does as well on them as on the real labels.
"""

from __future__ import annotations

import hashlib
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from stemcell.corpora.layers import BLANK, Example

CONTROL = "/control"
"""After a task's name: the same task with control labels."""


class ControlTags:
    """A tag for each word, whatever its context: drawn by chance, each tag as often as it occurs in a text.

    The draw depends on the word and the tags alone, so that any two texts have the same tag for it.
    """

    def __init__(self, examples: Iterable[Example]) -> None:
        """Args:
        examples: of the tagging task, whose tags are to be drawn.
        """
        counts = Counter(tag for example in examples for tag in example.gold if tag != BLANK)
        self._tags = sorted(counts)
        self._ends = list(accumulate(counts[tag] for tag in self._tags))
        self._known: dict[str, str] = {}

    def __getitem__(self, word: str) -> str:
        if word not in self._known:
            chance = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8])
            self._known[word] = self._tags[bisect(self._ends, chance * self._ends[-1] // 2**64)]
        return self._known[word]


def relabelled(examples: Iterable[Example], tags: ControlTags) -> Iterator[Example]:
    """Examples of the tagging task with control tags instead of their own; blanks stay, so that both probe one set."""
    for example in examples:
        pairs = zip(example.words, example.gold, strict=True)
        yield replace(example, gold=tuple(tag if tag == BLANK else tags[word] for word, tag in pairs))
