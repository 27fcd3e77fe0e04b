import dataclasses

import pytest

from stemcell.config import FIELDS, RunConfig, from_dict, read_yaml, to_dict, write_yaml
from stemcell.errors import UserError


def test_yaml_round_trip(tmp_path):
    config = RunConfig(tasks=("dep", "srl"), encoder_lr=3e-5, precision="no", early_stop=False)
    path = tmp_path / "c.yaml"
    path.write_text(write_yaml(config))
    assert from_dict(read_yaml(path)) == config
    assert from_dict(to_dict(config)) == config


def test_numbers_and_lists_as_people_write_them(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("encoder_lr: 5e-5\ntasks: pos, dep\nprecision: no\nepochs: 3\n")
    config = from_dict(read_yaml(path))
    assert (config.encoder_lr, config.tasks, config.precision, config.epochs) == (5e-5, ("pos", "dep"), "no", 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch: 3", r"c\.yaml:1: unknown field 'epoch': did you mean 'epochs'"),
        ("seed: 1\nepochs: many", r"c\.yaml:2: epochs is 'many', but must be of type int"),
        ("tasks: [1]", "must be of type list of names"),
        ("- a", "expected lines of the form"),
        ("a: [", r"c\.yaml:\d+: not valid YAML"),
    ],
)
def test_a_bad_file_names_line_and_remedy(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_yaml(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tasks": ("pso",)}, "did you mean 'pos'"),
        ({"tasks": ()}, "at least one"),
        ({"tasks": ("pos", "pos")}, "once"),
        ({"epochs": 0}, "epochs is 0: it must be at least 1"),
        ({"encoder_lr": -1.0}, "encoder-lr is -1.0"),
        ({"word_dropout": 1.0}, "word-dropout"),
        ({"precision": "fp8"}, "unknown precision"),
        ({"pos_column": "xps"}, "did you mean 'xpos'"),
    ],
)
def test_impossible_values_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        RunConfig(**values)


def test_every_field_has_a_help_text():
    assert all(field.metadata["help"] for field in FIELDS.values())
    assert dataclasses.is_dataclass(RunConfig)
