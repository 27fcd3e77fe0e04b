"""Whatever a file holds, its reader answers with examples, problems and notes, and never with a traceback."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stemcell.corpora import folder
from stemcell.corpora.layers import SPLITS
from stemcell.corpora.report import Report

NAMES = ["train.conllu", "train.ner.tsv", "train.bio", "train.ptb", "train.conll12", "train.conll"]
PIECES = [
    *(
        "\t",
        "\n",
        "\r\n",
        " ",
        "\n\n",
        "(",
        ")",
        "*",
        "-",
        "_",
        "#",
        "\\",
        "=",
        "|",
        "[WORD]",
        "\u2028",
        "\u00a0",
        "\0",
    ),
    *("1", "2", "0", "1-2", "1.1", "01", "O", "B-PER", "I-PER", "E-X", "NN", "-NONE-", "-LRB-", "TOP", "(V*)", "(A0*"),
    *("#begin document (d); part 000\n", "#end document\n", "-DOCSTART-", "# sent_id = x\n"),
]
garbage = st.one_of(
    st.binary(max_size=200), st.lists(st.sampled_from(PIECES), max_size=60).map(lambda p: "".join(p).encode())
)


def read(path, skip_broken=False):
    report = Report()
    corpus = folder.read(folder.find(path, report), report, skip_broken=skip_broken)
    report.lines()
    for split in SPLITS:
        for layer, examples in corpus[split].items():
            for example in examples:
                check(layer, example)
    return corpus, report


def check(layer, example):
    """What every example promises, whatever the file was."""
    size = len(example.words)
    assert size
    assert all(example.words)
    if layer == "pos":
        assert len(example.gold) == size
    elif layer == "ner":
        assert all(0 <= start <= end < size for start, end, _ in example.gold)
    elif layer == "dep":
        assert len(example.gold.heads) == size
        assert example.gold.heads.count(0) == 1
    elif layer == "con":
        assert example.gold.brackets[0] == (0, size - 1, "TOP")
        assert all(0 <= start <= end < size for start, end, _ in example.gold.brackets)
    else:
        assert all(0 <= a.start <= a.end < size and "(" not in a.role for a in example.gold.arguments)


@pytest.mark.parametrize("name", NAMES)
@given(content=garbage, skip=st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage(tmp_path, name, content, skip):
    (tmp_path / name).write_bytes(content)
    read(tmp_path, skip)


@pytest.mark.parametrize("name", ["train.conllu", "train.ner.tsv", "train.ptb", "train.conll12"])
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files(corpus, name, data):
    good = (corpus / "test").with_suffix(name.removeprefix("train")).read_text(encoding="utf-8")
    at = data.draw(st.integers(0, len(good)))
    cut = data.draw(st.integers(0, 5))
    piece = data.draw(st.sampled_from(["", *PIECES]))
    (corpus / name).write_text(good[:at] + piece + good[at + cut :], encoding="utf-8", newline="")
    read(corpus)
