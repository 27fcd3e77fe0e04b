"""What a run's model is built from, beside its weights: labels, and the encoder's configuration and tokenizer.

Their SHA-256 is in run.json, which has one of its own content, so that a change by hand is noticed. Both are written
before the run's first checkpoint. A run without a checkpoint has no model yet: it writes them again when it goes on, so
that a kill between a file and its SHA-256 does no harm. Runs of earlier versions have none, and are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.files import check_files, check_seal, read_json, sha256, write_json
from stemcell.tracking.folder import RunFolder

if TYPE_CHECKING:
    from stemcell.encoders.words import WordEncoder

LABELS = Path("artifacts", "labels.json")
ENCODER = Path("encoder")


def write(run: RunFolder, labels: Mapping[str, Any], encoder: WordEncoder) -> None:
    """Write them, and only then their SHA-256."""
    write_json(run.path / LABELS, labels)
    encoder.save_description(run.path / ENCODER)
    files = [run.path / LABELS, *sorted(path for path in (run.path / ENCODER).rglob("*") if path.is_file())]
    run.note_files({path.relative_to(run.path).as_posix(): sha256(path) for path in files})


def read_labels(run: RunFolder) -> Any:
    """Labels by task, once all that the model is built from is as it was written.

    Raises:
        UserError: a file is missing, damaged or was changed by hand; names it.
    """
    check_seal(run.path / "run.json", run.record)
    check_files(run.path, run.record.get("files", {}), run.path / "run.json")
    return read_json(run.path / LABELS)
