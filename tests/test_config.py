import pytest
import typer

from stemcell.cli.main import app
from stemcell.config import FIELDS, RunConfig, flag, from_dict, read_yaml, to_dict, write_yaml
from stemcell.errors import UserError


def test_yaml_round_trip(tmp_path):
    config = RunConfig(tasks=("dep", "srl"), encoder_lr=3e-5, precision="no", early_stop=False)
    path = tmp_path / "c.yaml"
    path.write_text(write_yaml(config))
    assert from_dict(read_yaml(path)) == config
    assert from_dict(to_dict(config)) == config


def test_numbers_and_lists_as_people_write_them(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("encoder_lr: 5e-5\ntasks: pos, dep\nprecision: no\nprune: no\nepochs: 3\n")
    config = from_dict(read_yaml(path))
    assert (config.encoder_lr, config.tasks, config.epochs) == (5e-5, ("pos", "dep"), 3)
    assert (config.precision, config.prune) == ("no", "no")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch: 3", r"c\.yaml:1: unknown field 'epoch': did you mean 'epochs'"),
        ("seed: 1\nepochs: many", r"c\.yaml:2: epochs is 'many', but must be of type int"),
        ("tasks: [1]", "must be of type list of names"),
        ("- a", "expected lines of the form"),
        ("a: [", r"c\.yaml:\d+: not valid YAML"),
        ("seed: 1\n\nseed: 2", r"c\.yaml:3: seed is there twice, in line 1 too"),
        ("epochs: !!int x", r"c\.yaml: not valid YAML"),
        ("epochs: 3\x07", r"c\.yaml: not valid YAML: unacceptable character #x0007: .* position 9$"),
        ("a: " + "[" * 3000, r"c\.yaml: not valid YAML"),
        ("encoder_lr: true", "must be of type float"),
        ("encoder_lr: 1" + "0" * 400, "must be of type float"),
        ('data: "a\\0b"', r"must be of type text \(UTF-8\)"),
        ('data: "a\\ud800b"', r"must be of type text \(UTF-8\)"),
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
        ({"epochs": 0}, "epochs is 0: it must be from 1 to 100000"),
        ({"epochs": 10**9}, "epochs is 1000000000: it must be from 1 to 100000"),
        ({"batch_tokens": 0}, "batch-tokens is 0: it must be at least 1"),
        ({"decoder_lr": float("inf")}, "finite"),
        ({"decoder_lr": float("nan")}, "finite"),
        ({"sampling_temperature": 1000.0}, "from 0 to 10"),
        ({"seed": 2**64}, "from 0 to 4294967295"),
        ({"encoder_lr": -1.0}, "encoder-lr is -1.0"),
        ({"word_dropout": 1.0}, "word-dropout"),
        ({"precision": "fp8"}, "unknown precision"),
        ({"experiment": "x" * 501}, "experiment has 501 characters: MLflow takes 500 at most"),
        ({"pos_column": "xps"}, "did you mean 'xpos'"),
    ],
)
def test_impossible_values_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        RunConfig(**values)


@pytest.mark.parametrize("text", ["", "null", "# nothing", "[]"])
def test_an_empty_file_changes_nothing(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    assert read_yaml(path) == {}


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(UserError, match="the configuration cannot be read"):
            read_yaml(path)


OTHERS = {
    "tasks": ("dep", "srl"),
    "pos_column": "upos",
    "prune": "dynamic",
    "gates": "per-task",
    "precision": "bf16",
    "srl_decoder": "paper",
    "gate_high": 1.5,
    "preset": "paper",
}
"""Values that are not the defaults, where half of it or a word will not do."""


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_goes_through_a_file_and_the_command_line(tmp_path, name):
    default = FIELDS[name].default
    if name in OTHERS:
        value = OTHERS[name]
    elif isinstance(default, bool):
        value = not default
    else:
        value = (
            default + "x"
            if isinstance(default, str)
            else default + 1
            if isinstance(default, int)
            else default / 2 + 0.01
        )
    config = RunConfig(**{name: value})
    assert config != RunConfig()
    path = tmp_path / "c.yaml"
    path.write_text(write_yaml(config))
    assert read_yaml(path)[name] == to_dict(config)[name]
    assert from_dict(read_yaml(path)) == config
    given = {True: [flag(name)], False: [f"--no-{flag(name)[2:]}"]}
    written = (
        given[value] if isinstance(default, bool) else [flag(name), ",".join(value) if name == "tasks" else str(value)]
    )
    command = typer.main.get_command(app).commands["train"]
    parsed = command.make_context("train", written).params
    flags = {field: parsed[field] for field in FIELDS if parsed[field] is not None}
    assert flags.keys() == {name}
    assert getattr(from_dict({"encoder": "bert", **flags}), name) == value
    (option,) = (option for option in command.params if option.name == name)
    assert option.help.startswith(FIELDS[name].metadata["help"])
    assert FIELDS[name].metadata["help"].endswith(".")
