"""The shared cases that concern whole commands, each to the outcome that its CASE.md names."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from stemcell.config import read_yaml
from stemcell.corpora.formats import conllu
from stemcell.corpora.report import Report
from stemcell.corpora.store import read_corpus
from stemcell.tracking import names
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.store import connect
from tests.recipes.commands import Process, Result, done, points, read, refused, status, steps_written, tables, weights
from tests.recipes.record import assert_equals_disk

pytestmark = pytest.mark.shared

ALL = "pos,ner,dep,con,srl"


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "cases"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


def train(data: Path, run: Path, *more: Any, tasks: str = ALL) -> Result:
    return done("train", "--data", data, "--encoder", "tiny-bert", "--tasks", tasks, "--epochs", 2, "--out", run, *more)


def final(run: Path) -> dict[str, float]:
    """Scores of the finished model."""
    return {name.removeprefix("final/"): value for (name, _), value in points(run, ("results.jsonl",)).items()}


def test_00_trains_and_scores_without_a_complaint(cases: Path, run: Path) -> None:
    said = train(cases / "00-base", run).err
    assert "unseen" not in said
    assert "files of no split ignored: *.md: 1" in said
    done("evaluate", run)
    assert {name.split("/")[1] for name in final(run)} == set(ALL.split(","))


def test_06_sentences_of_one_id_are_several(cases: Path, tmp_path: Path, run: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    shutil.copy(cases / "00-base" / "train.conllu", corpus)
    shutil.copy(cases / "06-dup-sentid" / "dev.conllu", corpus)
    shutil.copy(cases / "06-dup-sentid" / "dev2.conllu", corpus / "test.conllu")
    train(corpus, run, tasks="pos,dep")
    done("evaluate", run)
    done("evaluate", run, "--split", "dev")
    gold = {split: sum(row[4] for row in tables(run) if row[:3] == ("best", split, "pos")) for split in ("dev", "test")}
    assert gold == {"dev": 6 + 4 + 7, "test": 6}
    # Three are written, in order.
    dev = list(read_corpus(corpus, layers=("pos", "dep"))["dev"]["dep"])
    text = "\n".join(" ".join(example.words) for example in dev)
    (tmp_path / "out.conllu").write_text(done("predict", run, "--pretokenized", "--format", "conllu", stdin=text).out)
    written = conllu.read(tmp_path / "out.conllu", Report())["dep"]
    assert [example.words for example in written] == [example.words for example in dev]
    assert [len(example.words) for example in dev] == [6, 4, 7]


def test_14_empty_files_are_named_before_training(cases: Path, run: Path) -> None:
    data = cases / "14-empty-split"
    message = refused("train", "--data", data, "--encoder", "tiny-bert", "--out", run)
    for file in ("train.ptb", "dev.ptb"):
        assert f"{data / file}: no sentence of CON" in message
    assert "test" not in message
    assert not run.exists()


def test_14_what_is_empty_in_test_is_said_and_no_entity_scores_0(cases: Path, run: Path) -> None:
    said = train(cases / "14-empty-split", run, tasks="pos,ner,dep,srl").err
    for task in ("NER", "SRL"):
        assert f"no sentence of {task} in test, needed only where test is evaluated" in said
    scores = points(run)
    assert {value for (name, _), value in scores.items() if name == "dev/ner/f1"} == {0.0}
    assert all(0 <= value <= 1 for (name, _), value in scores.items() if name.startswith("dev/"))
    assert "no test sentences for ner, srl; choose others with --tasks" in refused("evaluate", run)
    done("evaluate", run, "--tasks", "pos,dep")
    assert {name.split("/")[1] for name in final(run)} == {"pos", "dep"}


def test_15_unseen_labels_are_told_and_count_as_wrong(cases: Path, run: Path) -> None:
    data = cases / "15-unseen-labels"
    said = train(data, run).err
    done("evaluate", run)
    labels = read(run / "artifacts" / "labels.json")
    corpus = read_corpus(data)
    column = {"pos": "tags", "ner": "labels", "dep": "relations", "con": "labels", "srl": "roles"}
    for split, epoch in (("dev", 2), ("test", "best")):
        for task in ALL.split(","):
            known = {part for inventory in labels[task].values() for label in inventory for part in label.split("+")}
            examples = corpus.dataset(split, task)[column[task]]
            unseen = {label for example in examples for label in example} - known - {"TOP"}
            assert unseen, "the case has one in every layer"
            rows = {row[3]: row for row in tables(run) if row[:3] == (epoch, split, task)}
            for label in unseen:
                # Gold stays in the denominator; nothing is predicted.
                assert rows[label][4] == sum(list(example).count(label) for example in examples)
                assert rows[label][5:] == (0, 0, 0.0, 0.0, 0.0)
                if split == "dev":
                    assert re.search(
                        rf"^{task.upper()} dev \w+ unseen in training, scored as wrong: .*{label}", said, re.M
                    )


def test_20_all_documents_are_read_and_masked_words_are_refused(cases: Path, tmp_path: Path, run: Path) -> None:
    corpus = tmp_path / "corpus"
    for split in ("train", "dev"):
        (corpus / split).mkdir(parents=True)
        shutil.copy(cases / "20-split-docs-masked" / "docs.conll12", corpus / split)
    said = train(corpus, run, tasks="srl,con").err
    assert "SRL: 4 sentences" in said
    content = read_corpus(corpus, layers=["srl", "con"])["dev"]
    assert [len(example.words) for example in content["srl"]] == [6, 6, 8, 4]
    masked = corpus / "dev" / "masked.conll12"
    shutil.copy(cases / "20-split-docs-masked" / "masked.conll12", masked)
    message = refused("train", "--data", corpus, "--encoder", "tiny-bert", "--tasks", "srl", "--out", tmp_path / "no")
    assert re.search(rf"{masked}(:\d+)?: the words are masked", message)


def test_23_every_label_keeps_its_name(cases: Path, run: Path) -> None:
    data = cases / "23-metric-names"
    train(data, run)
    rows = [row for row in tables(run) if row[0] == 2]
    assert len({row[2:4] for row in rows}) == len(rows)
    found = {task: {row[3] for row in rows if row[2] == task} for task in ALL.split(",")}
    corpus = read_corpus(data)
    column = {"pos": "tags", "ner": "labels", "dep": "relations", "srl": "roles"}
    for task, name in column.items():
        gold = {label for example in corpus.dataset("dev", task)[name] for label in example}
        assert gold <= found[task]
    assert {"``", "''", ",", ".", ":", "$", "#", "PRP$", "WP$", "-LRB-"} <= found["pos"]
    assert "MONEY/GBP" in found["ner"]
    assert "C-ARG1" in found["srl"]
    assert any("+" in label for label in read(run / "artifacts" / "labels.json")["con"]["labels"])
    record = assert_equals_disk(run)
    assert {(row[2], row[3]) for row in record.tables() if row[0] == 2} == {row[2:4] for row in rows}
    # Were labels metrics, each would have a name of its own.
    labels = [f"f1/{label}" for group in found.values() for label in group]
    assert len({names.key(label) for label in labels}) == len(set(labels))


@pytest.mark.nightly
def test_23_a_sweep_keeps_every_labels_name(cases: Path, tmp_path: Path) -> None:
    space = tmp_path / "rates.yaml"
    space.write_text("space:\n  decoder_lr: {low: 0.001, high: 0.01, log: true}\n")
    folder = tmp_path / "s"
    done("sweep", space, "--data", cases / "23-metric-names", "--encoder", "tiny-bert", "--epochs", 1, "--trials", 1,
         "--out", folder)  # fmt: skip
    record = assert_equals_disk(folder / "trials" / "trial-000")
    assert {"``", "''", ",", ".", ":", "$", "#", "PRP$", "WP$", "-LRB-"} <= {
        row[3] for row in record.tables() if row[2] == "pos"
    }


def test_25_a_rate_without_measure_ends_in_a_message(cases: Path, run: Path) -> None:
    message = refused("train", "--data", cases / "25-nan-loss", "--encoder", "tiny-bert", "--out", run,
                      "--epochs", 3, "--encoder-lr", 1e30, "--decoder-lr", 1e30, "--batch-sentences", 2)  # fmt: skip
    assert re.search(r"the loss of \w+ is (nan|inf) at step \d+ of epoch 1 \(sentences \d+, \d+ of", message)
    assert status(run) == "FAILED"
    assert not (run / "checkpoints" / "best.json").exists()
    assert all(value == value for value in points(run).values())
    # The same with sensible rates, in its place.
    train(cases / "25-nan-loss", run, "--overwrite", "--batch-sentences", 2)
    assert steps_written(run) == 2 * 5 * 4
    assert all(tensor.isfinite().all() for tensor in weights(run, "best").values())


@pytest.mark.nightly
def test_25_the_best_of_three_rates_is_finite(cases: Path, tmp_path: Path) -> None:
    wanted = read(cases / "25-nan-loss" / "sweep.json")
    space = tmp_path / "rates.yaml"
    # All three are drawn within so many trials.
    space.write_text(f"space:\n  encoder_lr: {wanted['lr']}\nsampler: {{name: random, seed: {wanted['seed']}}}\n")
    folder = tmp_path / "s"
    result = done("sweep", space, "--data", cases / "25-nan-loss", "--encoder", "tiny-bert", "--tasks", "pos,dep",
                  "--epochs", 1, "--batch-sentences", 2, "--trials", 3 * wanted["trials"], "--out", folder)  # fmt: skip
    columns, rows = RunFolder(folder).read_table("trials")
    told = [dict(zip(columns, row, strict=True)) for row in rows]
    assert {row["encoder_lr"] for row in told} == set(wanted["lr"])
    for row in told:
        without_measure = row["encoder_lr"] == 1e30
        assert (row["state"] == "FAIL") == without_measure
        assert bool(re.search("not finite|is nan|is inf", row["reason"])) == without_measure
    assert 0 < sum(row["state"] == "FAIL" for row in told) < len(told)
    assert read_yaml(folder / "artifacts" / "best.yaml")["encoder_lr"] < 1
    assert "Traceback" not in result.err


@pytest.mark.nightly
@pytest.mark.parametrize("count", [2, 4])
def test_27_commands_of_one_second_share_a_fresh_database(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "fresh"))
    folder = tmp_path / "s"
    command = ["sweep", "--data", cases / "00-base", "--encoder", "tiny-bert", "--tasks", "pos", "--epochs", 1]
    command += ["--trials", 5, "--out", folder]
    results = [process.wait() for process in [Process(*command) for _ in range(count)]]
    assert [result.code for result in results] == [0] * count, results
    columns, rows = RunFolder(folder).read_table("trials")
    assert [dict(zip(columns, row, strict=True))["trial"] for row in rows] == list(range(5))
    begun = [number for result in results for number in re.findall(r"^trial (\d+): l0_", result.err, re.MULTILINE)]
    assert sorted(begun) == ["0", "1", "2", "3", "4"]
    client = connect()
    found = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    assert sorted(run.info.run_name for run in found) == ["s", *(f"trial-00{number}" for number in range(5))]
    assert {run.info.status for run in found} == {"FINISHED"}


def blank(cases: Path, folder: Path, name: str) -> Path:
    folder.mkdir()
    for split in ("train", "dev", "test"):
        shutil.copy(cases / "31-blank-xpos" / f"{name}.conllu", folder / f"{split}.conllu")
    return folder


def test_31_a_layer_that_is_all_blank_is_refused_and_the_other_trains(cases: Path, tmp_path: Path, run: Path) -> None:
    data = blank(cases, tmp_path / "no-xpos", "no-xpos")
    message = refused("train", "--data", data, "--encoder", "tiny-bert", "--tasks", "pos", "--out", run)
    assert "train.conllu: no sentence of POS in the train split" in message
    assert "--pos-column upos" in message
    train(data, run, "--pos-column", "upos", tasks="pos,dep")
    data = blank(cases, tmp_path / "no-head", "no-head")
    message = refused("train", "--data", data, "--encoder", "tiny-bert", "--tasks", "dep", "--out", tmp_path / "none")
    assert "no sentence of DEP in the train split" in message


def test_31_a_word_without_a_tag_is_left_out(cases: Path, tmp_path: Path, run: Path) -> None:
    said = train(blank(cases, tmp_path / "one", "one-xpos-blank"), run, tasks="pos").err
    assert "words without xpos, left out of POS: 3" in said
    assert "_" not in read(run / "artifacts" / "labels.json")["pos"]["tags"]
    rows = [row for row in tables(run) if row[:3] == (2, "dev", "pos")]
    gold, predicted, correct = (sum(row[column] for row in rows) for column in (4, 5, 6))
    assert gold == predicted == 28
    assert points(run)["dev/pos/accuracy", max(step for _, step in points(run))] == pytest.approx(correct / 28)
