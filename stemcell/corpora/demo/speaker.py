"""Who speaks: the source of chance and the names in use.

Only ``Random.random()`` is promised to give the same numbers on every Python version, so all choices rest on it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from stemcell.corpora.demo import lexicon

T = TypeVar("T")

_NAMES = {
    "first": lexicon.FIRST_NAMES,
    "last": lexicon.LAST_NAMES,
    "city": lexicon.CITIES,
    "country": lexicon.COUNTRIES,
    "company": lexicon.COMPANIES,
    "acronym": lexicon.ACRONYMS,
}
_PARTS = 5


class Speaker:
    """Makes the choices of one split.

    Args:
        seed: the same seed makes the same sentences.
        all_names: whether also the fifth of the names that training never sees is used.
    """

    def __init__(self, seed: int, all_names: bool) -> None:
        self._random = random.Random(seed)
        self.names = {
            kind: names.split()[: None if all_names else len(names.split()) * (_PARTS - 1) // _PARTS]
            for kind, names in _NAMES.items()
        }

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all as likely."""
        return options[int(self._random.random() * len(options))]

    def word(self, options: str) -> str:
        """One of the words of a string."""
        return self.pick(options.split())

    def weighted(self, weights: Mapping[T, float]) -> T:
        """One of the keys, as likely as its weight says."""
        left = self._random.random() * sum(weights.values())
        for option, weight in weights.items():
            left -= weight
            if left < 0:
                return option
        return option
