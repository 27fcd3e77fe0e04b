"""Names that MLflow takes, no two of them alike."""

from __future__ import annotations

import doctest

from hypothesis import example, given, settings
from hypothesis import strategies as st

from stemcell.tracking import names

# What a part-of-speech tag set, ontologies and joined constituents really contain (case 23).
ODD = [
    "PRP$",
    "``",
    "''",
    ",",
    ".",
    ":",
    "$",
    "#",
    "WP$",
    "-LRB-",
    "MONEY/GBP",
    "C-ARG1",
    "ADVP+PRT",
    "_",
    "",
    "..",
    "ß",
]


def test_documented_examples() -> None:
    assert doctest.testmod(names).failed == 0


def test_odd_labels_stay_apart() -> None:
    assert len({names.key(f"f1/{label}") for label in ODD}) == len(ODD)
    assert len({names.file(label) for label in ODD}) == len(ODD)


@settings(deadline=None)  # MLflow is imported in it
@given(st.text(min_size=1, max_size=300))
@example("a/../b")
@example("/a")
@example("a//b")
def test_mlflow_takes_every_name(name: str) -> None:
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name, _validate_tag_name

    for validate in (_validate_metric_name, _validate_param_name, _validate_tag_name):
        validate(names.key(name))
    assert len(names.key(name)) <= names.NAME_LENGTH


@given(st.lists(st.text(alphabet="a./:2E$ \n", max_size=5), min_size=2, max_size=2, unique=True))
def test_different_names_stay_different(pair: list[str]) -> None:
    assert names.key(pair[0]) != names.key(pair[1])
    assert names.file(pair[0]) != names.file(pair[1])


def test_long_values_are_cut_but_stay_apart() -> None:
    first, second = (names.parameters({"x": "y" * 7000 + end})["x"] for end in "ab")
    assert first != second
    assert max(len(first), len(second)) <= names.PARAMETER_LENGTH
    assert names.parameters({"rate": float("nan"), "none": None}) == {"rate": "nan", "none": "None"}
