"""Wrong and odd requests and corpora: one message that says what to do, or training that gets along with them."""

from __future__ import annotations

import errno
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import stemcell as package
from stemcell.corpora.formats import bio, brackets, conll12, conllu
from stemcell.corpora.layers import Arcs, Argument, Constituents, Example, Frames, Span
from stemcell.corpora.report import Report
from tests.recipes.commands import done, points, read, refused, snapshot, stemcell, tables
from tests.recipes.record import assert_equals_disk

QUICK = ("--encoder", "tiny-bert", "--epochs", 1, "--train-limit", 8, "--batch-sentences", 4)


@pytest.fixture
def copy(corpus: Path, tmp_path: Path) -> Path:
    """A corpus to be changed."""
    shutil.copytree(corpus, tmp_path / "copy")
    return tmp_path / "copy"


def edit(path: Path, *changes: tuple[str, str], count: int = 1) -> None:
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, count)
    path.write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encoder", "tiny-brt"], "unknown encoder 'tiny-brt': did you mean 'tiny-bert'?"),
        (["--tasks", "pos,pso"], "unknown task 'pso': did you mean 'pos'?"),
        (["--tasks", "pos,pos"], "pos,pos: name each task once"),
        (["--precision", "bf61"], "unknown precision 'bf61': did you mean 'bf16'?"),
        (["--pos-column", "upso"], "unknown pos_column 'upso': did you mean 'upos'?"),
        (["--epochs", "0"], "epochs is 0: it must be "),
        (["--encoder-lr", "-1"], "encoder-lr is -1.0: it must be above 0"),
        (["--config", "missing.yaml"], "missing.yaml: "),
        (["--data", "nowhere"], "nowhere: no such folder"),
        (["--data", ""], "no corpus: give --data DIR"),
    ],
)
def test_a_wrong_request_is_told_from_its_nearest_right_one(
    corpus: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    assert message in refused("train", "--data", corpus, *QUICK, "--out", tmp_path / "run", *arguments)
    assert not (tmp_path / "run").exists()


def test_unknown_flags_and_fields_are_told_from_their_nearest(corpus: Path, tmp_path: Path) -> None:
    result = stemcell("train", "--encodr", "bert")
    assert result.code == 2
    assert re.search(r"No such option.*--encodr", result.err, re.S)
    assert re.search(r"(Did you mean|Possible options).*--encoder", result.err, re.S)
    config = tmp_path / "config.yaml"
    config.write_text("# mine\nepoch: 3\n")
    assert f"{config}:2: unknown field 'epoch': did you mean 'epochs'?" in refused("train", "--config", config)
    config.write_text("epochs: many\n")
    assert f"{config}:1: epochs is 'many', but must be of type int" in refused("train", "--config", config)
    assert "unknown split 'tset': did you mean 'test'?" in refused("evaluate", "anything", "--split", "tset")


def test_what_is_there_is_not_replaced_unasked(trained: Path, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    before = snapshot(run)
    message = refused("train", "--data", corpus, *QUICK, "--out", run)
    assert f"{run}: already holds a finished run; go on with --resume, or replace it with --overwrite" in message
    assert snapshot(run) == before
    # Nor by a command that fails, even if it was allowed to.
    refused("train", "--data", tmp_path / "nowhere", *QUICK, "--out", run, "--overwrite")
    assert snapshot(run) == before
    done("train", "--data", corpus, *QUICK, "--tasks", "pos", "--out", run, "--overwrite")
    assert read(run / "run.json")["id"] != read(trained / "run.json")["id"]
    assert {row[2] for row in tables(run)} == {"pos"}
    assert_equals_disk(run)

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("all of it")
    for more in ([], ["--overwrite"]):
        message = refused("train", "--data", corpus, *QUICK, "--out", tmp_path / "mine", *more)
        assert f"{tmp_path / 'mine'}: already there and not a run folder, so it stays" in message
    assert snapshot(tmp_path / "mine") == {"thesis.tex": b"all of it"}


def test_a_place_that_cannot_be_written_is_named(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    assert str(tmp_path / "file") in refused("train", "--data", corpus, *QUICK, "--out", tmp_path / "file" / "run")
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "file" / "home"))
    assert str(tmp_path / "file") in refused("train", "--data", corpus, *QUICK)
    assert (tmp_path / "file").read_text() == "x"


def test_runs_that_are_not_there(trained: Path, tmp_path: Path) -> None:
    near = trained.with_name("mtl55")
    for arguments in (("evaluate", near), ("predict", near), ("train", "--resume", near), ("sync", near)):
        assert f"{near}: no such run folder" in (message := refused(*arguments))
        assert "did you mean mtl5?" in message
    assert "not a run folder (it has no run.json)" in refused("evaluate", tmp_path)
    assert "MLflow" in refused("evaluate", "0" * 32)


def test_a_read_only_disk_is_named(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    with monkeypatch.context() as patch:
        for name in ("open", "unlink"):
            real = getattr(Path, name)
            patch.setattr(
                Path, name, lambda path, *a, real=real, **k: (refuse if ".out." in path.name else real)(path, *a, **k)
            )
        message = refused("predict", trained, "--out", tmp_path / "out")
    assert f"{tmp_path / 'out'}: cannot be written (Read-only file system); choose another folder" in message


def test_what_a_run_cannot_do(trained: Path, copy: Path, tmp_path: Path) -> None:
    assert "unknown task 'posdep'" in refused("evaluate", trained, "--tasks", "posdep")
    assert "unknown precision 'bf61': did you mean 'bf16'?" in refused("evaluate", trained, "--precision", "bf61")
    assert "unknown format 'jsnl': did you mean 'jsonl'?" in refused("predict", trained, "--format", "jsnl")
    assert "no such file" in refused("predict", trained, tmp_path / "nowhere.txt")
    (tmp_path / "out").write_text("mine")
    source = copy / "README.txt"
    assert "exists already; give --overwrite" in refused("predict", trained, source, "--out", tmp_path / "out")
    for folder in (tmp_path, ".", ""):
        assert "name a file with --out" in refused("predict", trained, source, "--out", folder, "--overwrite")
    (tmp_path / "latin").write_bytes("ein schöner Tag".encode("latin-1"))
    message = refused("predict", trained, tmp_path / "latin", "--out", tmp_path / "new")
    assert f"{tmp_path / 'latin'}:1: not UTF-8" in message
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "out").read_text() == "mine"
    run = tmp_path / "ner"
    done("train", "--data", copy, *QUICK, "--tasks", "ner", "--out", run)
    assert "brackets need the task con, but this run has ner" in refused("predict", run, source, "--format", "brackets")
    assert "conllu needs the task pos or dep" in refused("predict", run, source, "--format", "conllu")
    assert done("predict", run, source).code == 0


def test_a_missing_test_split_matters_when_it_is_scored(copy: Path, tmp_path: Path) -> None:
    shutil.rmtree(copy / "test")
    result = done("train", "--data", copy, *QUICK, "--tasks", "pos,ner", "--out", tmp_path / "run")
    assert "no sentence of POS in test, needed only where test is evaluated" in result.err
    assert "no test sentences for pos, ner" in refused("evaluate", tmp_path / "run")
    assert "dev: average" in done("evaluate", tmp_path / "run", "--split", "dev").out


@pytest.mark.parametrize("split", ["train", "dev"])
def test_an_empty_file_is_named_before_training(copy: Path, tmp_path: Path, split: str) -> None:
    (copy / split / f"{split}.ptb").write_bytes(b"")
    (copy / split / f"{split}.ner.tsv").unlink()
    message = refused("train", "--data", copy, *QUICK, "--out", tmp_path / "run")
    assert f"{copy}/{split}/{split}.ptb: empty" in message or f"{split}.ptb: no sentence of CON" in message
    assert not (tmp_path / "run").exists()
    done("train", "--data", copy, *QUICK, "--tasks", "pos", "--out", tmp_path / "run")


def test_labels_that_training_never_saw_count_as_wrong(copy: Path, tmp_path: Path) -> None:
    dev = copy / "dev"
    edit(dev / "dev.conllu", ("\tNN\t", "\tODD\t"), ("\tobj\t", "\todd:rel\t"))
    edit(dev / "dev.ptb", ("(VP ", "(ODD "))
    edit(dev / "dev.conll12", ("(ARG1*", "(ARG-ODD*"))
    text = (dev / "dev.ner.tsv").read_text("utf-8")
    (dev / "dev.ner.tsv").write_text(re.sub(r"B-\w+(?=\n\S+\tO)", "B-ODD", text, count=1), "utf-8")
    result = done("train", "--data", copy, *QUICK, "--out", tmp_path / "run")
    odd = {"pos": "ODD", "ner": "ODD", "dep": "odd:rel", "con": "ODD", "srl": "ARG-ODD"}
    rows = {(row[2], row[3]): row for row in tables(tmp_path / "run")}
    for task, label in odd.items():
        assert re.search(
            rf"^{task.upper()} dev \w+ unseen in training, scored as wrong: .*\b{label}\b", result.err, re.M
        )
        # Gold, predicted, correct, precision, recall, F1.
        assert rows[task, label][4:] == (1, 0, 0, 0.0, 0.0, 0.0)
    assert_equals_disk(tmp_path / "run")


def test_equal_ids_are_no_equal_sentences(trained: Path, corpus: Path, copy: Path) -> None:
    path = copy / "test" / "test.conllu"
    path.write_text(re.sub(r"(?m)^# sent_id = .*$", "# sent_id = a-1", path.read_text("utf-8")), "utf-8")
    assert path.read_text("utf-8").count("a-1") == 19
    before = points(trained, ("results.jsonl",))
    done("evaluate", trained, "--data", copy)
    assert points(trained, ("results.jsonl",)) == before, "the same scores, so that none are added"


def odd_corpus(folder: Path) -> Path:
    """A sentence of one word, one over the encoder's limit, and words without a subtoken; in every split."""
    folder.mkdir()
    sentences: list[tuple[str, ...]] = [
        ("No",),
        tuple(f"w-{i % 50}" for i in range(300)),
        ("a", "\u200b", "\u00ad", "b"),
    ]
    for split in ("train", "dev", "test"):
        layers: dict[str, list[Example]] = {layer: [] for layer in ("pos", "ner", "dep", "con", "srl")}
        for number, words in enumerate(sentences):
            last = len(words) - 1
            tags = ("NN",) * len(words)
            arguments = (Argument(last, 0, last - 1, "ARG0"),) if last else ()
            golds: dict[str, Any] = {
                "pos": tags,
                "ner": (Span(0, 0, "PER"),),
                "dep": Arcs(tuple(range(len(words))), ("root",) + ("dep",) * last),
                "con": Constituents(tags, (Span(0, last, "TOP"), Span(0, last, "S"), Span(last, last, "NP"))),
                "srl": Frames((last,), arguments),
            }
            for layer, gold in golds.items():
                layers[layer].append(Example(str(number), words, gold))
        conllu.write(folder / f"{split}.conllu", layers["pos"], layers["dep"])
        bio.write(folder / f"{split}.ner.tsv", layers["ner"])
        brackets.write(folder / f"{split}.ptb", layers["con"])
        conll12.write(folder / f"{split}.conll12", {layer: layers[layer] for layer in layers if layer != "dep"})
    return folder


@pytest.mark.slow
def test_odd_sentences_train_and_score_and_are_annotated(tmp_path: Path) -> None:
    corpus, run = odd_corpus(tmp_path / "corpus"), tmp_path / "run"
    result = done("train", "--data", corpus, "--encoder", "tiny-bert", "--epochs", 1, "--out", run)
    for note in ("sentences of one word: 1", "sentences of more than 200 words: 1", "without a visible character: 2"):
        assert f"train: {note}" in " ".join(result.err.split("\n")).replace("words without", "without")
    pipeline = package.load(run)
    assert len(pipeline.model.encoder.tokenize([f"w-{i % 50}" for i in range(300)]).windows) > 1
    done("evaluate", run)
    rows = {(row[0], row[2], row[3]): row for row in tables(run)}
    assert rows["best", "pos", "NN"][4:7] == (305, 305, 305)
    assert rows["best", "dep", "dep"][4] == 302
    assert all(value == value for value in points(run, ("metrics.jsonl", "results.jsonl")).values())
    words = [("No",), tuple(f"w-{i}" for i in range(300)), ("a", "\u200b", "\u00ad", "b")]
    text = "\n".join(map(" ".join, words)) + "\n"
    out = done("predict", run, "--pretokenized", "--format", "jsonl", stdin=text).out
    assert [tuple(json.loads(line)["words"]) for line in out.splitlines()] == words
    (tmp_path / "out.conllu").write_text(done("predict", run, "--pretokenized", "--format", "conllu", stdin=text).out)
    read_again = conllu.read(tmp_path / "out.conllu", Report())["dep"]
    assert [example.words for example in read_again] == words
    assert pipeline.annotate(words)[1].dep == read_again[1].gold


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_closed_streams_are_as_good_as_empty_ones(
    trained: Path, copy: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    from stemcell.cli.main import main

    source = [] if closed == "stdin" else [str(copy / "README.txt")]
    monkeypatch.setattr(sys, "argv", ["stemcell", "predict", str(trained), *source])
    monkeypatch.setattr(sys, closed, None)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
