from __future__ import annotations

import csv
import io

import pytest

from stemcell import published
from stemcell.corpora.layers import LAYERS
from stemcell.tables import Measured, Table, measured

TABLE = Table(
    "A & B", ["model", "50%"], [["x_1|y", Measured(97.314159, 0.05)], ["``", None], ["WP$", 3.0]], notes=["n"]
)


def test_forms_say_the_same() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [["model", "50%", "50%_deviation"], ["x_1|y", "97.314159", "0.05"], ["``", "", ""], ["WP$", "3", ""]]
    assert TABLE.markdown().splitlines()[2:] == [
        "| model | 50% |", "|---|---|", r"| x_1\|y | 97.31 ± 0.05 |", "| `` | – |", "| WP$ | 3.00 |", "", "n",
    ]  # fmt: skip
    latex = TABLE.latex()
    assert r"x\_1\textbar{}y & 97.31 $\pm$ 0.05 \\" in latex
    assert r"\textasciigrave{}\textasciigrave{} & -- \\" in latex
    assert r"WP\$ & 3.00 \\" in latex
    assert r"\caption{A \& B}" in latex
    assert all(rule in latex for rule in (r"\toprule", r"\midrule", r"\bottomrule", "{lr}"))


def test_one_run_has_no_deviation() -> None:
    assert measured([]) is None
    assert measured([0.5]) == Measured(50.0, None)
    found = measured([0.5, 0.7, 0.9])
    assert found is not None
    assert found.mean == pytest.approx(70)
    assert found.deviation == pytest.approx(20)
    assert measured([0.5]).text() == "50.00"  # type: ignore[union-attr]


def test_published_probes_are_those_of_the_paper() -> None:
    bert = published.probes("bert", "pos")
    assert bert is not None
    assert bert.models == ("pretrained", "stl", "+ner", "+dep", "+con", "+srl", "mtl-5")
    assert bert.scores["NN"]["pretrained"] == Measured(44.11)
    assert bert.scores["NN"]["mtl-5"] == Measured(54.75, 1.99)
    assert published.probes("google-bert/bert-base-cased", "pos") == bert
    assert published.probes("minilm", "pos") is None
    faulty = {(e, t) for e in published.ENCODERS for t in LAYERS if (p := published.probes(e, t)) and p.fault}
    told = {("roberta", task) for task in LAYERS}
    assert faulty == told | {(e, t) for e in ("electra", "deberta") for t in ("pos", "ner", "con")}
