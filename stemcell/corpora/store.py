"""Corpora kept as Arrow: read once, then loaded in a moment.

A corpus is cached under the hash of its files' bytes, the reader's version and the options, so that a changed file is
a new corpus. Arrow files are written and read through ``datasets``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from stemcell.corpora import folder as folders
from stemcell.corpora.layers import BLANK, COLUMNS, LAYERS, SPLITS, Example, example_row, from_row, to_row
from stemcell.corpora.report import Report
from stemcell.errors import UserError, unknown
from stemcell.files import staged_folder
from stemcell.home import home

if TYPE_CHECKING:
    from datasets import Dataset, Features

READER_VERSION = 3
"""Raised whenever the same files would be read differently."""

_SUMMARY = "corpus.json"
_CHUNK = 1000


class Layer(Sequence[Example]):
    """One layer's sentences of one split, made from Arrow as they are asked for; a slice is a layer again."""

    def __init__(self, name: str, dataset: Dataset, rows: range | None = None) -> None:
        self.name = name
        self._dataset = dataset
        self._rows = range(len(dataset)) if rows is None else rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Example: ...

    @overload
    def __getitem__(self, index: slice) -> Layer: ...

    def __getitem__(self, index: int | slice) -> Example | Layer:
        if isinstance(index, slice):
            return Layer(self.name, self._dataset, self._rows[index])
        row = self._rows[index]
        return next(self._examples(row, row + 1))

    def __iter__(self) -> Iterator[Example]:
        if self._rows.step != 1:
            yield from (self[i] for i in range(len(self)))
            return
        for start in range(self._rows.start, self._rows.stop, _CHUNK):
            yield from self._examples(start, min(start + _CHUNK, self._rows.stop))

    def take(self, count: int) -> Layer:
        """The first ``count`` sentences, or all if there are fewer."""
        return self[: max(count, 0)]

    def lengths(self) -> list[int]:
        """Words of each sentence; annotations are not looked at."""
        from pyarrow.compute import list_value_length

        lengths = list_value_length(self._dataset.data.table.column("words")).to_pylist()
        return [lengths[row] for row in self._rows]

    def _examples(self, start: int, stop: int) -> Iterator[Example]:
        columns = self._dataset.data.table.slice(start, stop - start).to_pydict()
        names = list(COLUMNS[self.name])
        for name, words, *values in zip(*(columns[c] for c in ("id", "words", *names)), strict=True):
            yield Example(name, tuple(words), from_row(self.name, dict(zip(names, values, strict=True))))


@dataclass(frozen=True)
class Corpus:
    """A corpus of the layers asked for: ``corpus["train"]["pos"]`` is a :class:`Layer`, empty if the split lacks it.

    ``fingerprint`` is the SHA-256 of the words and annotations of all layers, asked for or not, wherever they lie.
    ``notes`` counts the oddities that were accepted when it was read.
    """

    folder: Path
    fingerprint: str
    notes: dict[str, int]
    layers: tuple[str, ...]
    datasets: Mapping[str, Mapping[str, Dataset]]

    def __getitem__(self, split: str) -> Mapping[str, Layer]:
        return {layer: Layer(layer, self.dataset(split, layer)) for layer in self.layers}

    def dataset(self, split: str, layer: str) -> Dataset:
        """The Arrow data of a layer, with the columns of :data:`stemcell.corpora.layers.COLUMNS`."""
        return self.datasets[split][layer]


def read_corpus(
    folder: Path | str,
    *,
    layers: Sequence[str] = LAYERS,
    pos_column: str = "xpos",
    skip_broken: bool = False,
    cache: Path | None = None,
) -> Corpus:
    """Read a corpus folder, or load it from the cache if its files were read before.

    All files are read whatever the layers, and each must be well formed; only ``layers`` must be there.

    Args:
        pos_column: where CoNLL-U files have the tags: ``xpos`` or ``upos``.
        skip_broken: leave broken sentences out, counted in the notes, instead of refusing the corpus.
        cache: where to keep it instead of ``corpora`` in :func:`stemcell.home.home`.

    Raises:
        UserError: if files are missing, empty or wrong (each place is named), or the cache cannot be written.
    """
    folder = Path(folder)
    for layer in layers:
        if layer not in LAYERS:
            raise unknown("layer", layer, LAYERS)
    report = Report()
    sources = folders.find(folder, report)
    entry = (cache or home() / "corpora") / _key(sources, folder, pos_column, skip_broken)
    summary, datasets = _load(entry) or _build_once(entry, sources, pos_column, skip_broken)
    report.notes.update(summary["notes"])
    lengths = {split: {layer: len(data) for layer, data in of.items()} for split, of in datasets.items()}
    folders.require(folder, sources, lengths, layers, report, pos_column=pos_column)
    report.raise_problems()
    return Corpus(folder, summary["fingerprint"], dict(report.notes), tuple(layers), datasets)


def fingerprint(content: folders.Corpus) -> str:
    """SHA-256 over words and annotations in order; ids do not count."""
    digest = hashlib.sha256()
    for split in SPLITS:
        for layer in LAYERS:
            digest.update(f"{split} {layer} {len(content[split][layer])}\n".encode())
            for example in content[split][layer]:
                row = {"words": example.words, **to_row(layer, example.gold)}
                if layer == "pos":
                    # Runs of when a blank was scored as a tag must not pass for runs on the same corpus.
                    row["tags"] = [None if tag == BLANK else tag for tag in row["tags"]]
                digest.update(json.dumps(row, sort_keys=True).encode())
    return digest.hexdigest()


def _key(sources: Sequence[folders.Source], folder: Path, pos_column: str, skip_broken: bool) -> str:
    digest = hashlib.sha256(repr((READER_VERSION, pos_column, skip_broken)).encode())
    for source in sources:
        # The place inside the folder counts, as ids are made from names; the folder's own place does not.
        digest.update(repr((source.split, source.format, source.path.relative_to(folder).as_posix())).encode())
        try:
            digest.update(_digest(source.path).encode())
        except OSError as error:
            raise UserError(f"{source.path}: cannot be read ({error.strerror})") from error
    return digest.hexdigest()[:32]


Found = tuple[dict[str, Any], dict[str, dict[str, Any]]]


def _load(entry: Path) -> Found | None:
    """The summary and the data of a cached corpus, or nothing if it is not there, damaged or of another version."""
    from datasets import Dataset, load_from_disk

    def data(split: str, layer: str) -> Dataset:
        # Empty layers are not written: ``datasets`` could not load them again.
        if summary["sentences"][split][layer]:
            return load_from_disk(str(entry / split / layer))
        features = _features(layer)
        return Dataset.from_dict({name: [] for name in features}, features=features)

    try:
        summary = json.loads((entry / _SUMMARY).read_text(encoding="utf-8"))
        if summary["version"] != READER_VERSION or summary["files"] != _digests(entry):
            return None
        with _quiet():
            return summary, {split: {layer: data(split, layer) for layer in LAYERS} for split in SPLITS}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _build_once(entry: Path, sources: Sequence[folders.Source], pos_column: str, skip_broken: bool) -> Found:
    """Read the files and cache them; of several processes that want this at once, one does it and the others wait."""
    from filelock import FileLock

    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{entry}.lock"):
            if found := _load(entry):
                return found
            report = Report()
            content = folders.read(sources, report, pos_column=pos_column, skip_broken=skip_broken)
            report.raise_problems()
            # Damaged, or there would be no need to build it.
            shutil.rmtree(entry, ignore_errors=True)
            with staged_folder(entry) as partial:
                _write(partial, content, dict(report.notes))
            if found := _load(entry):
                return found
            raise OSError("what was written reads back differently")
    except (OSError, UserError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise
        what = f"the corpus cannot be cached in {entry.parent} ({cause.strerror or cause})"
        raise UserError(f"{what}; free some space there, or set STEMCELL_HOME to another folder") from error


def _write(folder: Path, content: folders.Corpus, notes: dict[str, int]) -> None:
    """Write a corpus in full into an empty folder."""
    from datasets import Dataset

    for split in SPLITS:
        for layer, examples in content[split].items():
            features = _features(layer)
            rows = [example_row(layer, example) for example in examples]
            table = {name: [row[name] for row in rows] for name in features}
            if rows:
                with _quiet():
                    Dataset.from_dict(table, features=features).save_to_disk(str(folder / split / layer))
    summary = {
        "version": READER_VERSION,
        "fingerprint": fingerprint(content),
        "notes": notes,
        "sentences": {split: {layer: len(of) for layer, of in content[split].items()} for split in SPLITS},
        "files": _digests(folder),
    }
    (folder / _SUMMARY).write_text(json.dumps(summary, indent=1), encoding="utf-8")


def _features(layer: str) -> Features:
    """The Arrow types of a layer's columns."""
    from datasets import Features, List, Value

    types = {int: Value("int32"), str: Value("string")}
    columns = {name: List(types[kind]) for name, kind in COLUMNS[layer].items()}
    return Features({"id": Value("string"), "words": List(Value("string")), **columns})


def _digests(entry: Path) -> dict[str, str]:
    """Checksums of the Arrow files: damage inside one would not be seen on loading, and could crash later."""
    return {path.relative_to(entry).as_posix(): _digest(path) for path in sorted(entry.rglob("*.arrow"))}


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars of ``datasets``, which would stand between our own lines."""
    import datasets

    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()
