from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcell.corpora.penn import escape, normalise, unescape


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        *(("-LRB-", "("), ("-RRB-", ")"), ("-LCB-", "{"), ("-RCB-", "}"), ("-LSB-", "["), ("-RSB-", "]")),
        *(("``", '"'), ("''", '"'), ("'", "'"), ("`", "`"), ("'s", "'s")),
        *((r"and\/or", "and/or"), (r"1\/2", "1/2"), (r"\*", "*"), (r"\*\*", "**"), ("\\\\", "\\\\"), (r":-\/", ":-/")),
        *((":-RRB-", ":)"), ("-RRB--RRB-", "))"), ("/.", "."), ("/?", "?"), ("/-", "-"), ("./", "./"), ("-", "-")),
    ],
)
def test_normalise(word, plain):
    assert normalise(word) == plain


@given(st.text(min_size=1))
def test_no_word_vanishes(word):
    assert normalise(word)


@given(st.text("()\\/*-LRBa"))
def test_escaping_is_undone(word):
    if "-LRB-" not in word and "-RRB-" not in word:
        assert unescape(escape(word)) == word
    assert not set("()") & set(escape(word))
