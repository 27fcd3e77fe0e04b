import errno
import json

import pytest
import torch
from torch import nn

from stemcell.errors import UserError
from stemcell.training import checkpoints


def save(folder, step, value=1.0):
    checkpoints.save(folder, "last", step, {"model": {"w": torch.full((3,), value)}}, {"step": step})


def test_round_trip_keeps_tensors_and_state_and_forgets_the_one_before(tmp_path):
    save(tmp_path, 1)
    save(tmp_path, 2, 5.0)
    tensors, state = checkpoints.load(tmp_path, "last")
    assert torch.equal(tensors["model"]["w"], torch.full((3,), 5.0))
    assert state == {"step": 2}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["last-00000002", "last.json"]


def test_the_same_step_may_be_saved_again(tmp_path):
    save(tmp_path, 1)
    save(tmp_path, 1, 2.0)
    assert checkpoints.load(tmp_path, "last")[0]["model"]["w"][0] == 2.0


def test_a_kill_between_files_and_pointer_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    save(tmp_path, 1)
    monkeypatch.setattr(checkpoints, "write_sealed", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, 2, 9.0)
    assert checkpoints.load(tmp_path, "last")[1] == {"step": 1}
    monkeypatch.undo()
    save(tmp_path, 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["last-00000003", "last.json"]


@pytest.mark.parametrize("damage", ["truncate", "edit", "remove"])
def test_a_damaged_file_is_named(tmp_path, damage):
    save(tmp_path, 1)
    path = tmp_path / "last-00000001" / "model.safetensors"
    if damage == "remove":
        path.unlink()
    else:
        data = path.read_bytes()
        path.write_bytes(data[:-4] if damage == "truncate" else data[:-4] + b"\0\0\0\1")
    with pytest.raises(UserError, match=r"model\.safetensors"):
        checkpoints.load(tmp_path, "last")


def test_a_pointer_changed_by_hand_is_named(tmp_path):
    save(tmp_path, 1)
    pointer = tmp_path / "last.json"
    record = json.loads(pointer.read_text())
    pointer.write_text(json.dumps({**record, "state": {"step": 2}}))
    with pytest.raises(UserError, match=r"last\.json: .* changed by hand"):
        checkpoints.load(tmp_path, "last")
    # As earlier versions wrote it.
    del record["sha256"]
    pointer.write_text(json.dumps(record))
    assert checkpoints.load(tmp_path, "last")[1] == {"step": 1}


def test_another_format_and_a_missing_checkpoint_are_refused(tmp_path):
    with pytest.raises(UserError, match="no checkpoint 'last'"):
        checkpoints.load(tmp_path, "last")
    save(tmp_path, 1)
    record = json.loads((tmp_path / "last.json").read_text())
    (tmp_path / "last.json").write_text(json.dumps({**record, "format": 99}))
    with pytest.raises(UserError, match="format 99"):
        checkpoints.load(tmp_path, "last")


def test_a_full_disk_says_so_and_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    save(tmp_path, 1)

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(UserError, match="disk is full"):
        save(tmp_path, 2)
    assert checkpoints.load(tmp_path, "last")[1] == {"step": 1}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["last-00000001", "last.json"]


def test_an_optimiser_goes_on_exactly(tmp_path):
    torch.manual_seed(0)
    data = torch.randn(6, 4, 3)

    def steps(model, optimiser, batches):
        for batch in batches:
            optimiser.zero_grad()
            model(batch).square().sum().backward()
            optimiser.step()

    def fresh():
        torch.manual_seed(1)
        model = nn.Linear(3, 2)
        return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)

    model, optimiser = fresh()
    steps(model, optimiser, data)
    first, early = fresh()
    steps(first, early, data[:3])
    tensors = {"model": first.state_dict(), "optimiser": checkpoints.optimiser_tensors(early, first)}
    checkpoints.save(tmp_path, "last", 3, tensors, {})
    tensors, _ = checkpoints.load(tmp_path, "last")
    second, late = fresh()
    second.load_state_dict(tensors["model"])
    checkpoints.restore_optimiser(late, second, tensors["optimiser"])
    steps(second, late, data[3:])
    assert torch.equal(model.weight, second.weight)
