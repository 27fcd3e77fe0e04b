"""``stemcell export``: a pruned run as a folder of its own, which all commands take."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import stemcell
from stemcell.config import RunConfig, from_dict
from stemcell.encoders.load import load_encoder
from stemcell.files import sha256
from stemcell.heads.gates import Gates
from stemcell.tracking.folder import RunFolder
from stemcell.training import checkpoints
from tests.recipes.commands import done, read, refused, snapshot, weights

WORDS = [
    ("Mary", "saw", "the", "man", "who", "left", "Oslo", "yesterday", "."),
    ("No",),
    ("Nobody", "wants", "another", "reorganisation", "of", "the", "committee", "in", "September", "."),
]


def _pruned(trained: Path, path: Path, sets: tuple[str, ...] = ("joint",)) -> Path:
    """A run as training with gates leaves it: its first layer closed but for one head, others partly open."""
    original = RunFolder(trained)
    heads = load_heads(trained)
    torch.manual_seed(3)
    gates = Gates(heads, sets)
    with torch.no_grad():
        for number, name in enumerate(sets):
            gates.log_alpha[name].uniform_(-4, 4)
            gates.log_alpha[name][: heads[0]] = -9
            gates.log_alpha[name][number] = 0.5
    config = {
        **original.config,
        "prune": "dynamic",
        "gates": "joint" if sets == ("joint",) else "per-task",
        "out": str(path),
    }
    run = RunFolder.create(path, config, original.tags)
    shutil.copytree(trained / "encoder", path / "encoder")
    shutil.copytree(trained / "artifacts", path / "artifacts")
    model = {name.removeprefix("model/"): tensor for name, tensor in weights(trained, "best").items()}
    model |= {f"gates.{name}": tensor for name, tensor in gates.state_dict().items()}
    checkpoints.save(path / "checkpoints", "best", 80, {"model": model}, {})
    run.set_status("FINISHED")
    run.release()
    return path


def load_heads(run: Path) -> list[int]:
    from stemcell.encoders.load import from_description

    return from_description(run / "encoder").heads


@pytest.fixture(scope="module")
def pruned(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For looking only."""
    return _pruned(trained, tmp_path_factory.mktemp("pruned") / "run")


@pytest.fixture(scope="module")
def export(pruned: Path) -> Path:
    """For looking only."""
    out = pruned.parent / "export"
    result = done("export", pruned, "--out", out)
    assert result.err == ""
    return out


def _scores(model: Any) -> list[torch.Tensor]:
    encoder = model.encoder
    batch = encoder.collate(encoder.tokenize_all(WORDS), WORDS)
    with torch.no_grad():
        return [model(batch, task).states for task in model.decoders]


def test_it_says_what_it_wrote(pruned: Path, tmp_path: Path) -> None:
    before = snapshot(pruned)
    result = done("export", pruned, "--out", tmp_path / "export")
    assert snapshot(pruned) == before
    assert [path.name for path in tmp_path.iterdir()] == ["export"]
    record = read(tmp_path / "export" / "export.json")
    for row, name in (("attention heads", "heads"), ("multiply-adds", "multiply_adds"), ("all", "parameters")):
        (line,) = [line for line in result.out.splitlines() if row in line]
        for when in ("before", "after"):
            assert f" {record['costs'][when][name]:,} " in line
    assert f"export folder: {tmp_path / 'export'}" in result.out


def test_the_folder_tells_all(pruned: Path, export: Path) -> None:
    record = read(export / "export.json")
    run = RunFolder(pruned)
    assert record["source"] == {"run": run.id, "path": str(pruned), "step": 80}
    assert (record["threshold"], record["set"]) == (0.0, "joint")
    assert from_dict(record["config"]) == from_dict({**run.config, "prune": "no"})
    assert isinstance(from_dict(record["config"]), RunConfig)
    assert record["tags"] == run.tags
    assert record["labels"] == read(pruned / "artifacts" / "labels.json")
    files = {path.relative_to(export).as_posix() for path in export.rglob("*") if path.is_file()}
    assert files == record["files"].keys() | {"export.json"}
    assert all(sha256(export / name) == digest for name, digest in record["files"].items())

    values = stemcell.load(pruned).model.gates.values()["joint"]  # type: ignore[union-attr]
    kept = [torch.nonzero(layer).flatten().tolist() for layer in values.split(load_heads(pruned))]
    assert record["kept_heads"] == kept
    assert kept[0] == [0]
    assert {len(own) for own in kept[1:]} != {len(kept[0])}
    removed = read(export / "encoder" / "config.json")["removed_heads"]
    assert all(set(kept[int(layer)]).isdisjoint(own) for layer, own in removed.items())

    costs = record["costs"]
    assert costs["before"]["heads"] == len(values)
    assert costs["after"]["heads"] == sum(map(len, kept))
    # The gates themselves are no part of either.
    plain = {name: tensor for name, tensor in weights(pruned, "best").items() if "gates" not in name}
    assert costs["before"]["parameters"] == sum(tensor.numel() for tensor in plain.values())
    stored = [load_file(path) for path in export.rglob("*.safetensors")]
    assert costs["after"]["parameters"] == sum(tensor.numel() for part in stored for tensor in part.values())
    assert costs["before"]["parameters"] > costs["after"]["parameters"]
    assert costs["before"]["multiply_adds"] > costs["after"]["multiply_adds"]
    assert all(costs[when][name] > 0 for when in ("before", "after") for name in ("latency", "words_per_second"))


def test_it_annotates_as_the_run_does(pruned: Path, export: Path) -> None:
    masked, removed = stemcell.load(pruned), stemcell.load(export)
    assert removed.model.gates is None
    assert removed.tasks == masked.tasks
    for one, other in zip(_scores(masked.model), _scores(removed.model), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
    assert masked.annotate(WORDS) == removed.annotate(WORDS)
    # It is the gates that it annotates with.
    masked.model.gates.detach()  # type: ignore[union-attr]
    assert not torch.allclose(_scores(masked.model)[0], _scores(removed.model)[0], atol=1e-2)


def test_the_commands_take_it(pruned: Path, export: Path, tmp_path: Path) -> None:
    lines = "\n".join(" ".join(words) for words in WORDS) + "\n"
    options = ("--format", "jsonl", "--pretokenized")
    expected = done("predict", pruned, *options, stdin=lines).out
    assert done("predict", export, *options, stdin=lines).out == expected
    assert expected.count("\n") == len(WORDS)
    before = snapshot(export)
    tables = [done("evaluate", name, "--split", "dev").out.splitlines() for name in (pruned, export)]
    # But for the first line, which says how fast it went.
    assert tables[0][1:] == tables[1][1:]
    assert snapshot(export) == before
    # Another process, where nothing is left in memory.
    command = [sys.executable, "-m", "stemcell", "predict", str(export), *options]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.run(command, input=lines, capture_output=True, text=True, env=environment)
    assert process.stdout == expected, process.stderr


def test_its_encoder_can_be_trained(export: Path, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    flags = ("--tasks", "pos", "--epochs", 1, "--train-limit", 16, "--batch-sentences", 8)
    done("train", "--data", corpus, "--encoder", export / "encoder", "--out", run, *flags)
    pipeline = stemcell.load(run)
    assert pipeline.model.encoder.kept_heads == read(export / "export.json")["kept_heads"]
    assert all(analysis.pos for analysis in pipeline.annotate(WORDS))
    # And exported: no gate, nothing more to remove.
    out = done("export", run, "--out", tmp_path / "again").out
    assert "nothing was removed" in out
    assert read(tmp_path / "again" / "export.json")["kept_heads"] == pipeline.model.encoder.kept_heads
    assert stemcell.load(tmp_path / "again").annotate(WORDS) == pipeline.annotate(WORDS)


def test_a_run_without_gates_is_written_as_it_is(trained: Path, tmp_path: Path) -> None:
    from transformers import AutoModel

    assert "nothing was removed" in done("export", trained, "--out", tmp_path / "export").out
    record = read(tmp_path / "export" / "export.json")
    assert record["set"] is None
    assert "removed_heads" not in read(tmp_path / "export" / "encoder" / "config.json")
    pipeline = stemcell.load(trained)
    assert stemcell.load(tmp_path / "export").annotate(WORDS) == pipeline.annotate(WORDS)
    encoder = pipeline.model.encoder
    batch = encoder.collate(encoder.tokenize_all(WORDS), WORDS)
    plain = AutoModel.from_pretrained(tmp_path / "export" / "encoder").eval()
    ours = load_encoder(str(tmp_path / "export" / "encoder"))
    with torch.no_grad():
        expected = encoder.model(batch.ids, attention_mask=batch.mask).last_hidden_state
        for model in (plain, ours.model):
            assert torch.equal(model(batch.ids, attention_mask=batch.mask).last_hidden_state, expected)


def test_an_export_of_an_export_is_the_same(export: Path, tmp_path: Path) -> None:
    assert "nothing was removed" in done("export", export, "--out", tmp_path / "again").out
    first, second = (read(folder / "export.json") for folder in (export, tmp_path / "again"))
    assert first["source"] == second["source"]
    assert first["kept_heads"] == second["kept_heads"]
    assert stemcell.load(tmp_path / "again").annotate(WORDS) == stemcell.load(export).annotate(WORDS)


def test_a_threshold_removes_more(pruned: Path, export: Path, tmp_path: Path) -> None:
    done("export", pruned, "--out", tmp_path / "export", "--threshold", 0.5)
    values = stemcell.load(pruned).model.gates.values()["joint"]  # type: ignore[union-attr]
    record = read(tmp_path / "export" / "export.json")
    assert record["threshold"] == 0.5
    assert sum(map(len, record["kept_heads"])) == (values > 0.5).sum() < (values > 0).sum()


def test_gates_of_each_task(trained: Path, tmp_path: Path) -> None:
    tasks = tuple(read(trained / "artifacts" / "labels.json"))
    run = _pruned(trained, tmp_path / "run", tasks)
    assert "choose it with --task: pos, ner, dep, con, srl" in refused("export", run, "--out", tmp_path / "export")
    assert "did you mean 'ner'?" in refused("export", run, "--out", tmp_path / "export", "--task", "nre")
    done("export", run, "--out", tmp_path / "export", "--task", "ner")
    masked, removed = stemcell.load(run), stemcell.load(tmp_path / "export")
    assert removed.tasks == ["ner"]
    assert removed.config.tasks == ("ner",)
    assert [analysis.ner for analysis in removed.annotate(WORDS)] == [a.ner for a in masked.annotate(WORDS)]
    with torch.no_grad():
        encoder = masked.model.encoder
        batch = encoder.collate(encoder.tokenize_all(WORDS), WORDS)
        expected, found = masked.model(batch, "ner").states, removed.model(batch, "ner").states
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("threshold", ["-0.1", "1", "1.5", "nan"])
def test_a_threshold_that_no_gate_has(pruned: Path, tmp_path: Path, threshold: str) -> None:
    message = refused("export", pruned, "--out", tmp_path / "export", f"--threshold={threshold}")
    assert "it must be from 0 to below 1" in message
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_never_replaced(pruned: Path, export: Path, tmp_path: Path) -> None:
    before = snapshot(export)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in (export, tmp_path / "empty", tmp_path / "file", tmp_path / "link"):
        assert f"{place}: already there, so it stays" in refused("export", pruned, "--out", place)
    assert snapshot(export) == before
    assert (tmp_path / "file").read_text() == "mine"


def test_no_task_to_choose(pruned: Path, trained: Path, tmp_path: Path) -> None:
    for run in (pruned, trained):
        assert "leave --task out" in refused("export", run, "--out", tmp_path / "export", "--task", "pos")
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_is_not_the_one_written(pruned: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(pruned, run)
    (weights_file,) = run.glob("checkpoints/best-*/model.safetensors")
    whole = weights_file.read_bytes()
    for content in (whole[:-1000], whole[:-1] + b"x"):
        weights_file.write_bytes(content)
        message = refused("export", run, "--out", tmp_path / "export")
        assert f"{weights_file}: its SHA-256 is not" in message
    weights_file.unlink()
    assert f"{weights_file}: missing" in refused("export", run, "--out", tmp_path / "export")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    "file", ["encoder/config.json", "encoder/tokenizer.json", "encoder/model.safetensors", "decoders.safetensors"]
)
def test_an_export_that_was_edited(export: Path, tmp_path: Path, file: str) -> None:
    shutil.copytree(export, tmp_path / "export")
    path = tmp_path / "export" / file
    if path.suffix == ".safetensors":
        tensors = load_file(path)
        tensors[min(tensors)].add_(1)
        save_file(tensors, path)
    else:
        path.write_text(path.read_text() + "\n")
    for command in (("predict",), ("evaluate",), ("export", "--out", tmp_path / "again")):
        assert f"{path}: its SHA-256 is not" in refused(command[0], tmp_path / "export", *command[1:])
    path.unlink()
    assert f"{path}: missing" in refused("predict", tmp_path / "export")
    assert not (tmp_path / "again").exists()


def test_an_export_whose_record_was_edited(export: Path, tmp_path: Path) -> None:
    shutil.copytree(export, tmp_path / "export")
    path = tmp_path / "export" / "export.json"
    record = read(path)
    record["labels"]["pos"]["tags"].reverse()
    path.write_text(json.dumps(record))
    for command in (("predict",), ("evaluate",), ("export", "--out", tmp_path / "again")):
        assert f"{path}: its content does not have the SHA-256" in refused(command[0], path.parent, *command[1:])
    # Exports of earlier versions have no SHA-256 of their record.
    record = read(export / "export.json")
    del record["sha256"]
    path.write_text(json.dumps(record))
    done("predict", path.parent)


def test_a_disk_that_is_full_leaves_nothing(pruned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stemcell.heads.export.write_sealed", full)
    assert "the disk is full" in refused("export", pruned, "--out", tmp_path / "exports" / "one")
    assert not [path for path in tmp_path.rglob("*") if path.name != "exports"]
