"""The Penn Treebank's way of writing words, undone for encoders, which were trained on plain text."""

from __future__ import annotations

import re

BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
"""Penn's names of brackets; in the leaves of a tree only round ones need them."""

_NAMES = re.compile("|".join(BRACKETS))
_WHOLE = {"``": '"', "''": '"', "/.": ".", "/?": "?", "/-": "-"}
_ESCAPE = re.compile(r"\\([/*])")


def normalise(word: str) -> str:
    r"""A word as plain text for the encoder: never empty, so that words stay aligned with their labels.

    Brackets get their characters, quotes become ``"``, slash and star lose their backslash, and OntoNotes'
    ``/.``, ``/?`` and ``/-`` their slash. Everything else stays.

    >>> [normalise(word) for word in ("-LRB-", "``", r"and\/or", ":-RRB-", "''", "/.")]
    ['(', '"', 'and/or', ':)', '"', '.']
    """
    return _WHOLE.get(word) or unescape(word)


def unescape(leaf: str) -> str:
    r"""A tree's leaf as a word: bracket names and ``\/``, ``\*`` undone, quotes left alone.

    >>> unescape("-LRB-:"), unescape(r"1\/2"), unescape("\\\\")
    ('(:', '1/2', '\\\\')
    """
    if "B-" in leaf:
        leaf = _NAMES.sub(lambda name: BRACKETS[name[0]], leaf)
    if "\\" in leaf:
        leaf = _ESCAPE.sub(r"\1", leaf)
    return leaf


def escape(word: str) -> str:
    r"""A word as a tree's leaf: the inverse of :func:`unescape` (for words that hold no bracket name themselves).

    Slashes stay as they are, as in the English Web Treebank, but where a backslash stands before one, or before a
    star, it is doubled.

    >>> escape("(:"), escape("1/2"), escape(r"\/")
    ('-LRB-:', '1/2', '\\\\/')
    """
    if "\\" in word:
        word = re.sub(r"\\([/*])", r"\\\\\1", word)
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
