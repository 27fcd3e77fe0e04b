"""The configuration of a training run: frozen dataclasses, built once, checked once, saved beside every checkpoint.

Every field is a key of the YAML file that ``--config`` reads and, with dashes for underscores, a flag of
``stemcell train``. Field metadata carries the help text, so that flag, key and documentation are one thing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stemcell.corpora.layers import LAYERS
from stemcell.errors import UserError, unknown

PRECISIONS = ("no", "bf16", "fp16")
POS_COLUMNS = ("xpos", "upos")
PRUNING = ("no", "dynamic", "static")
GATES = ("joint", "per-task")
SRL_DECODERS = ("graph", "paper")
PRUNED_ENCODER_LR = 1e-5
EXPERIMENT_LENGTH = 500
ENCODER_HELP = (
    "bert, roberta, electra, deberta, deberta-v3, modernbert, xlm-r, minilm, tiny-bert, tiny-roberta, tiny-electra, "
    "tiny-deberta, a hub name or a local folder."
)


# What no file can be named or hold: zero bytes, and what stands for bytes of the command line that are not UTF-8.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def _field(default: Any, help: str) -> Any:
    return dataclasses.field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class RunConfig:
    """What to train, on what, and how. Defaults: docs/method.md, section 4 (He and Choi 2021, section 3.2)."""

    data: str = _field("", "Corpus folder with train, dev and test (see `stemcell data check`).")
    encoder: str = _field("bert", ENCODER_HELP)
    tasks: tuple[str, ...] = _field(LAYERS, "Tasks to train jointly, separated by commas.")
    out: str = _field("", "Run folder; by default one named after encoder, tasks and seed under the run home.")
    seed: int = _field(1, "Seed of everything random.")

    pos_column: str = _field("xpos", "Column of CoNLL-U files that holds the tags: xpos or upos.")
    skip_broken: bool = _field(False, "Leave out sentences with broken trees (counted) instead of stopping.")
    train_limit: int = _field(0, "Use only the first N training sentences of each task (0: all).")

    epochs: int = _field(30, "Epochs; one is as many batches as all tasks have together.")
    early_stop: bool = _field(True, "Stop after half the epochs without a better dev average.")
    batch_sentences: int = _field(64, "Sentences in a batch at most.")
    batch_tokens: int = _field(6400, "Subtokens in a batch at most, special tokens included.")
    accumulation: int = _field(1, "Cut each batch into this many parts, one after another, to save memory.")
    sampling_temperature: float = _field(0.8, "Tasks are drawn in proportion to (number of batches) ** this.")
    encoder_lr: float = _field(5e-5, f"Learning rate of the encoder; with --prune {PRUNED_ENCODER_LR:g}.")
    decoder_lr: float = _field(1e-3, "Learning rate of the decoders.")
    warmup: float = _field(0.1, "Share of the steps over which the rates rise; then they fall to 0.")
    max_grad_norm: float = _field(1.0, "Gradients are clipped at this norm.")
    word_dropout: float = _field(0.2, "Probability that a subtoken is masked in training.")
    projective: bool = _field(False, "Decode projective dependency trees (Eisner).")
    nested: bool = _field(False, "Decode nested entities (only crossing ones are skipped).")
    srl_decoder: str = _field("graph", "SRL decoder: graph (a tag a word pair) or paper (a beam of spans).")

    prune: str = _field("no", "Prune heads by L0 gates: no, dynamic (all trains together), static (needs --from).")
    from_run: str = _field("", "Start from the weights of this run or export instead of the encoder's own.")
    gates: str = _field("joint", "joint: one set of gates for all tasks; per-task: one set per task.")
    l0_penalty: float = _field(0.001, "Weight of the expected number of open heads per layer in the loss.")
    overlap_penalty: float = _field(0.0, "With per-task gates: weight, relative to --l0-penalty, of shared heads.")
    gate_lr: float = _field(1e-3, "Learning rate of the gates, the same at all steps.")
    gate_temperature: float = _field(0.33, "Temperature (beta) of the gates' noise.")
    gate_low: float = _field(-0.1, "Lower stretch limit (gamma) of the gates.")
    gate_high: float = _field(1.1, "Upper stretch limit (zeta) of the gates.")
    gate_open: float = _field(0.0, "Initial probability that a gate is open (0: log alpha starts around 0).")
    balance_penalty: bool = _field(False, "Balance the penalty with the losses, as the paper's release does.")
    preset: str = _field("", "Settings to start from: paper (the release's for these tasks and this encoder).")

    precision: str = _field("no", "Mixed precision: no, bf16 or fp16.")
    gradient_checkpointing: bool = _field(False, "Recompute activations to save memory.")
    checkpoint_minutes: float = _field(10.0, "Minutes between checkpoints (0: after every step).")
    experiment: str = _field("stemcell", "MLflow experiment.")

    def __post_init__(self) -> None:
        """Check values that do not need the corpus or the encoder.

        Raises:
            UserError: names the field, its value and what it may be.
        """
        for task in self.tasks:
            if task not in LAYERS:
                raise unknown("task", task, LAYERS)
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise UserError(f"tasks: {','.join(self.tasks) or 'none'}: name each task once, at least one")
        if self.precision not in PRECISIONS:
            raise unknown("precision", self.precision, PRECISIONS)
        if self.pos_column not in POS_COLUMNS:
            raise unknown("pos_column", self.pos_column, POS_COLUMNS)
        for name in ("batch_sentences", "batch_tokens"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        # Loops go over these; what is beyond would never end.
        for name in ("epochs", "accumulation"):
            self._require(name, 1 <= getattr(self, name) <= 100_000, "from 1 to 100000")
        for name, choices in (("prune", PRUNING), ("gates", GATES), ("srl_decoder", SRL_DECODERS)):
            if getattr(self, name) not in choices:
                raise unknown(name, getattr(self, name), choices)
        for name in ("train_limit", "checkpoint_minutes"):
            self._require(name, getattr(self, name) >= 0, "0 or more")
        for name in ("l0_penalty", "overlap_penalty"):
            self._require(name, 0 <= getattr(self, name) < float("inf"), "0 or more, and finite")
        for name in ("encoder_lr", "decoder_lr", "gate_lr", "gate_temperature"):
            self._require(name, 0 < getattr(self, name) < float("inf"), "above 0, and finite")
        self._require("max_grad_norm", self.max_grad_norm > 0, "above 0")
        self._require("seed", 0 <= self.seed < 2**32, "from 0 to 4294967295")
        self._require("sampling_temperature", 0 <= self.sampling_temperature <= 10, "from 0 to 10")
        self._require("warmup", 0 <= self.warmup <= 1, "from 0 to 1")
        self._require("word_dropout", 0 <= self.word_dropout < 1, "from 0 to below 1")
        self._require("gate_low", -float("inf") < self.gate_low < 0, "below 0, or no gate could close")
        self._require("gate_high", 1 < self.gate_high < float("inf"), "above 1, or no gate could open wholly")
        self._require("gate_open", 0 <= self.gate_open < 1, "from 0 to below 1")
        if len(self.experiment) > EXPERIMENT_LENGTH:
            count = len(self.experiment)
            raise UserError(f"experiment has {count} characters: MLflow takes {EXPERIMENT_LENGTH} at most")
        if self.prune == "static" and not self.from_run:
            raise UserError("prune is static: it starts from a trained run; name it with --from RUN")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise UserError(f"{name.replace('_', '-')} is {getattr(self, name)}: it must be {what}")


FIELDS = {field.name: field for field in dataclasses.fields(RunConfig)}


BEFORE = {"srl_decoder": "paper"}
"""Fields that the configurations of older runs and exports lack, with what held then."""


def flag(name: str) -> str:
    """The flag of a field; ``from`` alone would be no name of a field in Python."""
    return "--" + name.removesuffix("_run").replace("_", "-")


def to_dict(config: RunConfig) -> dict[str, Any]:
    """The configuration as plain values for YAML and JSON."""
    return {**dataclasses.asdict(config), "tasks": list(config.tasks)}


def from_dict(values: dict[str, Any], source: str = "configuration") -> RunConfig:
    """A configuration from plain values; ``source`` names their origin in errors.

    What is not given is the preset's, if one is named, or else the default (docs/method.md, sections 4 and 5).

    Raises:
        UserError: on an unknown key (with the nearest one) or a value of the wrong type.
    """
    given = {name: _convert(name, value, source) for name, value in values.items()}
    settled: dict[str, Any] = {}
    if given.get("prune", "no") != "no":
        settled["encoder_lr"] = PRUNED_ENCODER_LR
    if given.get("preset"):
        from stemcell.presets import preset

        wanted = RunConfig(**{name: given[name] for name in ("encoder", "tasks", "prune", "from_run") if name in given})
        settled |= preset(given["preset"], wanted.encoder, wanted.tasks, wanted.prune)
    return RunConfig(**{**settled, **given})


def run_name(config: RunConfig) -> str:
    """The name of a run's folder: encoder, tasks, pruning and seed."""
    tasks = "mtl5" if len(config.tasks) == 5 else "-".join(config.tasks)
    return f"{Path(config.encoder).name}-{tasks}{_pruning(config)}-seed{config.seed}"


def mode(config: RunConfig) -> str:
    """How many tasks a run trains and whether it prunes, as the paper says it: stl, mtl-5, stl-dp …"""
    return ("stl" if len(config.tasks) == 1 else f"mtl-{len(config.tasks)}") + _pruning(config)


def _pruning(config: RunConfig) -> str:
    kind = {"no": "", "static": "-sp", "dynamic": "-dp"}[config.prune]
    return f"{kind}-per-task" if kind and config.gates == "per-task" else kind


def read_yaml(path: Path) -> dict[str, Any]:
    """The checked key-value pairs of a YAML configuration file, as :func:`from_dict` takes them.

    Raises:
        UserError: if the file cannot be read, is no YAML mapping, or has an unknown or repeated field, with its line.
    """
    import yaml

    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"{path}: the configuration cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error}); save it as UTF-8") from None
    try:
        values = yaml.safe_load(text) or {}
        node = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else path
        raise UserError(f"{place}: not valid YAML: {' '.join(str(getattr(error, 'problem', error)).split())}") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}: expected lines of the form 'field: value'")
    lines: dict[str, int] = {}
    for key, _ in node.value if node and values else ():
        line = key.start_mark.line + 1
        if key.value in lines:
            raise UserError(f"{path}:{line}: {key.value} is there twice, in line {lines[key.value]} too; keep one")
        lines[key.value] = line
    for name, value in values.items():
        _convert(name, value, f"{path}:{lines.get(str(name), 1)}")
    return values


def write_yaml(config: RunConfig) -> str:
    """The configuration as YAML text."""
    import yaml

    return yaml.safe_dump(to_dict(config), sort_keys=False, allow_unicode=True)


def _convert(name: str, value: Any, source: str) -> Any:
    if name not in FIELDS:
        raise UserError(f"{source}: {unknown('field', str(name), FIELDS)}")
    default = FIELDS[name].default
    if isinstance(default, tuple):
        parts = value.split(",") if isinstance(value, str) else value
        if isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts):
            return tuple(part.strip().lower() for part in parts if part.strip())
    elif isinstance(default, bool):
        if isinstance(value, bool):
            return value
    elif isinstance(default, float):
        # YAML 1.1 reads 5e-5 as a string, since it lacks a point.
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            if not isinstance(value, bool):
                return float(value)
    elif isinstance(default, int):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif name in ("precision", "prune") and value is False:
        # YAML 1.1 reads a bare `no` as false.
        return "no"
    elif isinstance(value, str) and not _NO_TEXT.search(value):
        return value
    kind = type(default).__name__
    kind = {"tuple": "list of names", "str": "text (UTF-8)"}.get(kind, kind)
    raise UserError(f"{source}: {name} is {value!r}, but must be of type {kind}")
