"""Trained models on disk: a run's best checkpoint, or an export of one (:mod:`stemcell.heads.export`).

An export is a folder of its own::

    EXPORT/export.json           what it is: see below
           encoder/              the bare encoder: config.json, tokenizer, model.safetensors
           decoders.safetensors

``export.json`` holds ``format``; ``source``, the run (id and folder) and the step of the checkpoint; ``config`` of
that run, but without gates; its ``tags``; ``labels`` by task; ``threshold``; ``set``, the set of gates that was built
in, null where there was none; ``kept_heads``, a list a layer, heads by the numbers that they had in the encoder as it
was pretrained, from 0; ``files``, the SHA-256 of each other file by its path; ``costs``, the fields of
:class:`stemcell.heads.export.Export`; and ``sha256``, that of the rest of export.json.

Where no head is missing, ``encoder`` is an ordinary folder of transformers. Otherwise the missing heads are in its
``config.json``, as ``removed_heads``: {layer: heads}, both from 0, and :func:`stemcell.encoders.load.load_encoder`
reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from stemcell.config import BEFORE, RunConfig, flag, from_dict, to_dict
from stemcell.encoders.load import Attention, from_description
from stemcell.errors import UserError, suggested
from stemcell.files import check_files, check_seal, intact, read_json
from stemcell.heads.gates import Gates, HardConcrete
from stemcell.heads.maps import JOINT
from stemcell.model import MultiTaskModel, build_decoders
from stemcell.tasks.protocol import Labels
from stemcell.tracking import description
from stemcell.tracking.folder import RunFolder, find_run
from stemcell.training import checkpoints

EXPORT_FORMAT = 1


@dataclass(frozen=True)
class Saved:
    """A trained model as it lies on disk.

    Attributes:
        path: the run folder or the export.
        config: the configuration that it was trained with; without gates if it is an export, which has none any more.
        labels: inventories by task.
        tensors: the weights of its :class:`MultiTaskModel`, by name, on the CPU.
        encoder: folder of the encoder's description.
        tags: of its run.
        source: its run (``run``, the id, and ``path``) and the ``step`` of its checkpoint.
    """

    path: Path
    config: RunConfig
    labels: dict[str, Labels]
    tensors: dict[str, Tensor]
    encoder: Path
    tags: dict[str, str]
    source: dict[str, Any]

    def build(self, attention: Attention = "sdpa") -> MultiTaskModel:
        """The model, with its weights, in evaluation mode on the CPU.

        Raises:
            UserError: if labels or weights do not fit each other: a file is not the one that was written.
        """
        encoder = from_description(self.encoder, attention=attention)
        with intact(self.path):
            decoders = build_decoders(encoder.hidden, self.labels, self.config)
            model = MultiTaskModel(encoder, decoders, make_gates(self.config, encoder.heads))
        self.fill(model)
        return model.eval()

    def fill(self, model: MultiTaskModel) -> None:
        """Give a model these weights; gates that they know nothing of stay as they are.

        Raises:
            UserError: if they are not this model's.
        """
        with intact(self.path):
            missing, unexpected = model.load_state_dict(self.tensors, strict=False)
        ungated = self.config.prune == "no"
        if wrong := [*unexpected, *(name for name in missing if not (ungated and name.startswith("gates.")))]:
            raise UserError(f"{self.path}: its weights do not fit its configuration ({wrong[0]}); copy it again, whole")


def make_gates(config: RunConfig, heads: list[int]) -> Gates | None:
    """Fresh gates as a configuration wants them, for an encoder of so many heads a layer; None if it wants none."""
    if config.prune == "no":
        return None
    sets = (JOINT,) if config.gates == JOINT else config.tasks
    concrete = HardConcrete(config.gate_temperature, config.gate_low, config.gate_high)
    return Gates(heads, sets, concrete, config.gate_open)


def is_export(path: Path) -> bool:
    """Whether a folder holds an export."""
    return (path / "export.json").is_file()


def read_saved(name: str | Path) -> Saved:
    """A trained model by its run (folder, name or MLflow id) or its export's folder.

    Raises:
        UserError: if there is none, it has no checkpoint yet, it is of another version, or a file is damaged or was
            changed by hand.
    """
    if is_export(Path(name)):
        return _read_export(Path(name).absolute())
    run: RunFolder = find_run(str(name))
    tensors, _ = checkpoints.load(run.path / "checkpoints", "best")
    labels = description.read_labels(run)
    config = from_dict(run.config, str(run.path / "run.json"))
    pointer = run.path / "checkpoints" / "best.json"
    with intact(pointer):
        source = {"run": run.id, "path": str(run.path), "step": read_json(pointer)["step"]}
    return Saved(run.path, config, labels, tensors["model"], run.path / description.ENCODER, run.tags, source)


def inherited(values: dict[str, Any]) -> dict[str, Any]:
    """The given fields of a configuration with ``from_run``, over what its source says of model and data.

    Raises:
        UserError: if the source does not exist or has gates still, or encoder, tasks or SRL decoder are given and are
            not its own.
    """
    name = values["from_run"]
    if is_export(Path(name)):
        path = Path(name).absolute()
        with intact(path / "export.json"):
            config = _config_of_export(_export_record(path), path)
    else:
        run = find_run(name)
        check_seal(run.path / "run.json", run.record)
        path, config = run.path, from_dict(run.config, str(run.path / "run.json"))
    if config.prune != "no":
        raise UserError(
            f"{path}: has gates on its heads already; remove the closed heads first "
            f"({suggested('export', name, '--out', 'DIR')}) and start from DIR"
        )
    source = to_dict(config)
    for field in ("encoder", "tasks", "srl_decoder"):
        given = to_dict(from_dict({field: values[field]}))[field] if field in values else source[field]
        wanted, own = (set(value) if field == "tasks" else value for value in (given, source[field]))
        if wanted != own:
            raise UserError(
                f"{path}: trained with {flag(field)} {_shown(source[field])}, not {_shown(given)}; "
                f"leave {flag(field)} out, or start from another run"
            )
    model = ("encoder", "tasks", "srl_decoder", "projective", "nested")
    corpus = ("data", "pos_column", "skip_broken", "train_limit")
    return {**{field: source[field] for field in model + corpus}, **values, "from_run": str(path)}


def _export_record(path: Path) -> Any:
    record = read_json(path / "export.json")
    if record["format"] != EXPORT_FORMAT:
        raise UserError(
            f"{path}: export format {record['format']}, but this version of stemcell reads {EXPORT_FORMAT}; "
            "use the version that wrote it"
        )
    check_seal(path / "export.json", record)
    return record


def _shown(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _config_of_export(record: dict[str, Any], path: Path) -> RunConfig:
    return from_dict({**BEFORE, **record["config"]}, str(path / "export.json"))


def _read_export(path: Path) -> Saved:
    from safetensors.torch import load_file

    with intact(path / "export.json"):
        record = _export_record(path)
        check_files(path, record["files"], path / "export.json")
        config = _config_of_export(record, path)
        tensors = {
            **{f"encoder.model.{k}": v for k, v in load_file(path / "encoder" / "model.safetensors").items()},
            **{f"decoders.{k}": v for k, v in load_file(path / "decoders.safetensors").items()},
        }
        return Saved(path, config, record["labels"], tensors, path / "encoder", record["tags"], record["source"])
