from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stemcell import files
from stemcell.corpora import store
from stemcell.corpora.layers import LAYERS, SPLITS, Example
from stemcell.corpora.store import fingerprint, read_corpus
from stemcell.errors import UserError
from stemcell.home import home


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def no_reading(monkeypatch):
    """From here on, reading files again is an error."""

    def fail(*_, **__):
        raise AssertionError("read again")

    return lambda: monkeypatch.setattr(store.folders, "read", fail)


def test_what_is_read_is_what_was_written(corpus, cache, layers, no_reading):
    first = read_corpus(corpus, cache=cache)
    no_reading()
    second = read_corpus(corpus, cache=cache)
    for read in (first, second):
        for split in SPLITS:
            for layer in LAYERS:
                assert [(e.words, e.gold) for e in read[split][layer]] == [(e.words, e.gold) for e in layers[layer]]
    assert first.fingerprint == second.fingerprint
    assert first.notes == second.notes


def test_a_layer_is_a_sequence(corpus, cache, layers):
    (corpus / "train.conllu").write_text((corpus / "train.conllu").read_text() * 600)
    layer = read_corpus(corpus, layers=["dep"], cache=cache)["train"]["dep"]
    expected = layers["dep"] * 600
    assert len(layer) == 1200
    assert list(layer) == expected
    assert layer[-1] == expected[-1]
    assert list(layer[3:8:2]) == expected[3:8:2]
    assert list(layer[1100:]) == expected[1100:]
    assert list(layer[10:20][2:4]) == expected[12:14]
    assert list(layer.take(3)) == expected[:3]
    assert len(layer.take(5000)) == 1200
    assert len(layer.take(0)) == 0
    with pytest.raises(IndexError):
        layer[1200]


def test_arrow_columns(corpus, cache, layers):
    read = read_corpus(corpus, cache=cache)
    data = read.dataset("dev", "srl")
    assert data.column_names == ["id", "words", "predicates", "owners", "starts", "ends", "roles"]
    assert data[1]["roles"] == ["ARG0"]


def test_only_the_layers_asked_for_must_be_there(corpus, cache):
    whole = read_corpus(corpus, cache=cache)
    for split in ("train", "dev"):
        (corpus / f"{split}.conll12").write_text("")
    read = read_corpus(corpus, layers=("pos", "con"), cache=cache)
    assert set(read["train"]) == {"pos", "con"}
    assert read.fingerprint != whole.fingerprint
    with pytest.raises(UserError, match=r"train.conll12: no sentence of SRL in the train split"):
        read_corpus(corpus, layers=("srl",), cache=cache)
    with pytest.raises(UserError, match="did you mean 'srl'"):
        read_corpus(corpus, layers=("slr",), cache=cache)


def test_test_may_be_missing_until_it_is_asked_for(corpus, cache):
    for path in corpus.glob("test.*"):
        path.unlink()
    read = read_corpus(corpus, cache=cache)
    assert len(read["test"]["ner"]) == 0
    assert list(read["test"]["ner"]) == []
    assert read.notes["no sentence of NER in test, needed only where test is evaluated"] == 1


def test_problems_are_all_listed_and_nothing_is_cached(corpus, cache):
    (corpus / "dev.ptb").write_text("(TOP (NN a)\n")
    (corpus / "dev.ner.tsv").write_text("a\tX\n")
    with pytest.raises(UserError) as error:
        read_corpus(corpus, cache=cache)
    assert len(str(error.value).splitlines()) == 2
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    with pytest.raises(UserError, match="no sentence of NER in the dev split"):
        read_corpus(corpus, skip_broken=True, cache=cache)


def test_fingerprint_is_of_the_content_alone(corpus, cache, tmp_path, layers):
    first = read_corpus(corpus, cache=cache)
    moved = tmp_path / "moved"
    for split in SPLITS:
        for path in corpus.glob(f"{split}.*"):
            target = moved / split / path.name.replace(split, "part")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    assert read_corpus(moved, cache=cache).fingerprint == first.fingerprint
    path = moved / "dev" / "part.ner.tsv"
    path.write_text(path.read_text().replace("LOC", "ORG"))
    assert read_corpus(moved, cache=cache).fingerprint != first.fingerprint


def test_options_and_files_make_another_entry(corpus, cache):
    read_corpus(corpus, layers=["dep"], cache=cache)
    read_corpus(corpus, layers=["dep"], pos_column="upos", cache=cache)
    (corpus / "dev.ptb").write_text((corpus / "dev.ptb").read_text() + "\n")
    read_corpus(corpus, layers=["dep"], cache=cache)
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 3


def test_notes_of_reading_are_kept_and_those_of_the_folder_are_fresh(corpus, cache):
    (corpus / "dev.ptb").write_text((corpus / "dev.ptb").read_text().replace("\n", "\r\n"), newline="")
    read_corpus(corpus, cache=cache)
    (corpus / "notes.md").write_text("x")
    notes = read_corpus(corpus, cache=cache).notes
    assert notes["files with CRLF line ends"] == 1
    assert notes["files of no split ignored: *.md"] == 1


def _truncate(entry):
    path = next(entry.rglob("*.arrow"))
    path.write_bytes(path.read_bytes()[:-20])


def _flip(entry):
    path = entry / "train" / "dep" / "data-00000-of-00001.arrow"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _age(entry):
    path = entry / "corpus.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 0}))


DAMAGES = {
    "truncated": _truncate,
    "one bit flipped": _flip,
    "an older version": _age,
    "a file lost": lambda entry: next(entry.rglob("dataset_info.json")).unlink(),
    "summary cut": lambda entry: (entry / "corpus.json").write_text('{"version": 1'),
    "summary of another kind": lambda entry: (entry / "corpus.json").write_text("[]"),
    "a layer lost": lambda entry: shutil.rmtree(entry / "dev" / "con"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_built_again(corpus, cache, layers, damage):
    read_corpus(corpus, cache=cache)
    (entry,) = (path for path in cache.iterdir() if path.is_dir())
    DAMAGES[damage](entry)
    # A process killed while it built leaves this.
    (cache / f".{entry.name}.{files._host()}.999999999-0.1.staged" / "train").mkdir(parents=True)
    read = read_corpus(corpus, cache=cache)
    assert [e.gold for e in read["dev"]["con"]] == [e.gold for e in layers["con"]]
    assert [path for path in cache.iterdir() if path.is_dir()] == [entry]


def test_a_cache_that_cannot_be_written(corpus, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be cached in .*set STEMCELL_HOME"):
        read_corpus(corpus, cache=tmp_path / "file" / "cache")


def test_a_full_disk_leaves_nothing_behind(corpus, cache, monkeypatch):
    def fail(folder, *_):
        (folder / "half").write_text("x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_write", fail)
    with pytest.raises(UserError, match=r"No space left on device"):
        read_corpus(corpus, cache=cache)
    assert not [path for path in cache.iterdir() if path.is_dir()]


def test_several_processes_at_once_build_one_entry(corpus, cache):
    script = (
        "import sys; from pathlib import Path; from stemcell.corpora.store import read_corpus;"
        "c = read_corpus(sys.argv[1], cache=Path(sys.argv[2])); print(c.fingerprint, len(c['train']['srl']))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(corpus), str(cache)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    results = [process.communicate() for process in processes]
    assert len({out for out, _ in results}) == 1
    assert results[0][0].endswith(" 2\n")
    # Progress bars of datasets would come between our own lines.
    assert {err for _, err in results} == {""}
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1


def test_home(monkeypatch, tmp_path):
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("STEMCELL_HOME")
    monkeypatch.setenv("HOME", "/somewhere")
    assert home() == Path("/somewhere/stemcell")


def test_blanks_change_the_fingerprint_and_nothing_else_does():
    def of(*tags):
        return fingerprint({s: {n: [] for n in LAYERS} | {"pos": [Example("s", ("a", "b"), tags)]} for s in SPLITS})

    # Runs of earlier releases on corpora without blanks stay comparable.
    assert of("X", "Y") == "9e9f9cba7df6a96b3ae6263ea9270718766ff02e892ad813eacc48759288e2a1"
    # In those releases a blank was a tag, and this its corpus.
    assert of("X", "_") != "71621890ac5123f25f0352d54757198404a69f687a538f4a0d8c1635cb236982"
