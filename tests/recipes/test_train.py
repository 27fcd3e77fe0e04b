"""Training, scoring and annotating from end to end, and the record of it all."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import stemcell
from stemcell.config import RunConfig, from_dict, read_yaml, to_dict
from stemcell.corpora.formats import brackets, conllu
from stemcell.corpora.layers import LAYERS, Arcs, Constituents, Frames, example_row, from_row, to_row
from stemcell.corpora.report import Report
from stemcell.corpora.store import read_corpus
from stemcell.model import MultiTaskModel
from stemcell.tasks import task as find_task
from stemcell.tasks.scoring import main_score
from stemcell.tracking import sentences
from stemcell.tracking.folder import RunFolder
from tests.recipes.commands import assert_same_weights, done, points, read, status, tables, weights
from tests.recipes.conftest import TRAINED
from tests.recipes.record import Record, assert_equals_disk

# Words that formats must escape, that a tokenizer gives no subtoken, and a sentence of one word.
SENTENCES = [
    "Mary saw ( the -LRB- man ) [ in ] { Oslo } .",
    r'She said , " 3 \/ 4 of 5 / 6 # is a \ * " .',
    "No",
    "a\u200bb \u200b \u00ad caf\u00e9 \u65e5\u672c naïve",
    "` `` ' '' _ - = |",
]


def test_the_run_folder_tells_all(trained: Path, corpus: Path) -> None:
    record = read(trained / "run.json")
    config = from_dict(read_yaml(trained / "config.yaml"))
    assert to_dict(config) == record["config"] == to_dict(from_dict(read_yaml(trained / "artifacts" / "config.yaml")))
    assert config == RunConfig(
        data=str(corpus), encoder="tiny-bert", out=str(trained), epochs=2, batch_sentences=8, encoder_lr=1e-3
    )
    assert status(trained) == "FINISHED"
    content = read_corpus(corpus)
    assert record["tags"]["corpus"] == content.fingerprint
    assert record["tags"].items() >= {"encoder": "tiny-bert", "mode": "mtl-5", "seed": "1"}.items()
    assert record["tags"]["version.torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    labels = read(trained / "artifacts" / "labels.json")
    assert list(labels) == list(LAYERS)
    assert set(labels["pos"]["tags"]) == {tag for example in content["train"]["pos"] for tag in example.gold}

    # 60 sentences in batches of 8, five tasks, two epochs.
    report = read(trained / "artifacts" / "report.json")
    assert (report["epochs"], report["steps"]) == (2, 80)
    values = points(trained, speed=True)
    assert sum(name.startswith("loss/") for name, _ in values) == 80
    assert {step for name, step in values if name == "dev/average"} == {40, 80}
    assert {step for name, step in values if name == "lr/encoder"} == set(range(1, 81))
    steps = {task: sum(name == f"loss/{task}" for name, _ in values) for task in LAYERS}
    assert {task: values[f"passes/{task}", 0] for task in LAYERS} == {t: n / 8 for t, n in steps.items()}
    best = max((values["dev/average", step], step) for step in (40, 80))
    assert report["dev_average"] == best[0]
    assert report["best_epoch"] == best[1] // 40
    rows = [row for row in tables(trained) if row[0] == report["best_epoch"] and row[2] == "pos"]
    assert sum(row[4] for row in rows) == sum(len(example.words) for example in content["dev"]["pos"])
    assert sum(row[6] for row in rows) / sum(row[4] for row in rows) == report["dev"]["pos"]["accuracy"]
    assert all(tensor.isfinite().all() for kind in ("best", "last") for tensor in weights(trained, kind).values())


def test_what_is_said_is_what_happened(corpus: Path, tmp_path: Path) -> None:
    result = done("train", "--data", corpus, "--encoder", "tiny-bert", "--tasks", "ner,pos", "--epochs", 1, "--out",
                  tmp_path / "run", "--train-limit", 24, "--batch-sentences", 8)  # fmt: skip
    # Passes are told before training, which then makes them.
    told = dict(re.findall(r"^(POS|NER): 24 sentences, 3 batches, ([\d.]+) passes", result.err, re.M))
    values = points(tmp_path / "run")
    drawn = {task.upper(): sum(name == f"loss/{task}" for name, _ in values) for task in ("pos", "ner")}
    assert sum(drawn.values()) == 6
    assert told == {task: f"{count / 3:.1f}" for task, count in drawn.items()}
    assert re.search(r"padding \d+\.\d%", result.err)
    (accuracy,) = re.findall(r"POS .*accuracy .*?(\d+\.\d\d)", result.out)
    assert float(accuracy) == pytest.approx(values["dev/pos/accuracy", 6] * 100, abs=0.005)
    assert f"run folder: {tmp_path / 'run'}" in result.err


def test_scoring_gives_what_training_said(trained: Path, tmp_path: Path) -> None:
    before = points(trained)
    result = done("evaluate", trained, "--split", "dev")
    report = read(trained / "artifacts" / "report.json")
    found = points(trained, ("results.jsonl",))
    last = max(step for _, step in found)
    for task, scores in report["dev"].items():
        assert {name: found[f"final/dev/{task}/{name}", last] for name in scores} == scores
        assert f"{scores[find_task(task).main] * 100:.2f}" in result.out
    assert points(trained) == before
    # The same again adds nothing, and a part of it neither.
    done("evaluate", trained, "--split", "dev")
    assert "NER" not in done("evaluate", trained, "--split", "dev", "--tasks", "pos,dep").out
    assert points(trained, ("results.jsonl",)) == found


def test_scores_on_test_are_those_of_its_annotations(trained: Path, corpus: Path) -> None:
    pipeline = stemcell.load(trained)
    found = points(trained, ("results.jsonl",))
    for layer, examples in read_corpus(corpus)["test"].items():
        items = list(examples)
        assert len(items) == 19
        analyses = pipeline.annotate([example.words for example in items])
        result = find_task(layer).metric().compute(
            predictions=[to_row(layer, getattr(analysis, layer)) for analysis in analyses],
            references=[example_row(layer, example) for example in items],
        )  # fmt: skip
        labels = [tuple(row.values()) for row in result.pop("labels")]
        assert {f"final/test/{layer}/{name}": value for name, value in result.items()}.items() == {
            name: value for (name, _), value in found.items() if name.startswith(f"final/test/{layer}/")
        }.items()
        rows = read(trained / "tables" / "scores" / "test.json")["data"]
        assert [tuple(row[3:]) for row in rows if row[2] == layer] == labels


@pytest.mark.parametrize("form", ["conllu", "jsonl", "brackets", "text"])
def test_annotated_text_is_read_again_with_the_same_words(trained: Path, tmp_path: Path, form: str) -> None:
    """Blank lines keep their places: what is at line or block i is of sentence i."""
    words = [tuple(sentence.split(" ")) for sentence in SENTENCES]
    words.insert(1, ())
    source = tmp_path / "in.txt"
    source.write_text("\n".join([SENTENCES[0], "", *SENTENCES[1:]]), "utf-8")
    out = tmp_path / f"out.{form}"
    done("predict", trained, source, "--format", form, "--pretokenized", "--out", out)
    analyses = stemcell.load(trained).annotate(words)
    assert [analysis.words for analysis in analyses] == words
    report, text = Report(), out.read_text("utf-8")
    if form == "conllu":
        assert text.split("\n\n")[1] == "# sent_id = 2\n# text ="
        del words[1], analyses[1]
        layers = conllu.read(out, report)
        assert [example.id for example in layers["dep"]] == ["1", *(str(i + 3) for i in range(len(words) - 1))]
        assert [example.words for example in layers["dep"]] == words
        assert [example.gold for example in layers["dep"]] == [analysis.dep for analysis in analyses]
        assert [example.gold for example in layers["pos"]] == [analysis.pos for analysis in analyses]
    elif form == "brackets":
        trees = brackets.read(out, report)["con"]
        assert [line == "" for line in text.splitlines()] == [not sentence for sentence in words]
        del words[1], analyses[1]
        # The format has one way only to write a bracket.
        plain = [tuple({"-LRB-": "("}.get(word, word) for word in sentence) for sentence in words]
        assert [tree.words for tree in trees] == plain
        assert [tree.gold for tree in trees] == [analysis.con for analysis in analyses]
    elif form == "jsonl":
        lines = [json.loads(line) for line in text.splitlines()]
        assert lines == [analysis.to_dict() for analysis in analyses]
        assert [tuple(line["words"]) for line in lines] == words
    else:
        assert text.split("\n\n") == [*map(str, analyses), ""]
    assert [line for line in report.lines() if "comments without a sentence" not in line] == []
    assert [path.name for path in tmp_path.iterdir() if path not in (source, out)] == []


def test_raw_text_comes_from_a_pipe_and_the_same_from_python(trained: Path) -> None:
    text = 'Mary saw "the man" (who didn\'t sell it).'
    result = done("predict", trained, "--format", "jsonl", stdin=f"\ufeff{text}\r\n\r\nYes\r\n")
    first, blank, second = (json.loads(line) for line in result.out.splitlines())
    assert blank["words"] == []
    assert first["words"] == ["Mary", "saw", '"', "the", "man", '"', "(", "who", "did", "n't", "sell", "it", ")", "."]
    assert second["words"] == ["Yes"]
    by_folder, by_id = stemcell.load(str(trained)), stemcell.load(Record(trained).id)
    assert by_folder(text).to_dict() == by_id(text).to_dict() == first
    assert "Mary" in str(by_folder(text))


def test_empty_sentences_have_empty_analyses_in_their_places(trained: Path) -> None:
    pipeline = stemcell.load(trained)
    (alone,) = pipeline.annotate([["A", "dog"]])
    empty = pipeline("")
    assert (
        empty
        == pipeline(" \t")
        == stemcell.analysis.Analysis((), (), (), Arcs((), ()), Constituents((), ()), Frames((), ()))
    )
    assert pipeline.annotate([["A", "dog"], []]) == [alone, empty]
    assert pipeline.annotate([[], [], ["A", "dog"], []]) == [empty, empty, alone, empty]
    assert pipeline.annotate([[]]) == [empty]
    assert pipeline.annotate([]) == []
    assert str(empty) == ""
    for layer, row in empty.to_dict().items():
        assert layer == "words" or from_row(layer, row) == getattr(empty, layer)
    assert done("predict", trained, "--format", "brackets", stdin="\n\n").out == "\n\n"


@pytest.mark.parametrize("flags", [[], ["--overwrite"]])
def test_a_pipe_is_written_to_and_not_replaced(trained: Path, tmp_path: Path, flags: list[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        text = reader.submit(pipe.read_text, "utf-8")
        done("predict", trained, "--out", pipe, *flags, stdin="Mary slept .\n")
        assert text.result(timeout=60).startswith("1  Mary")
    assert pipe.is_fifo()


def test_the_record_in_mlflow_is_the_run_folder(corpus: Path, tmp_path: Path) -> None:
    # A run of its own: other tests score copies of the shared one, which have its record.
    run = tmp_path / "recorded"
    done("train", "--data", corpus, "--out", run, *TRAINED)
    done("evaluate", run)
    record = assert_equals_disk(run)
    assert record.run.info.run_name == run.name
    assert record.run.data.params["encoder"] == "tiny-bert"
    assert record.client.get_experiment(record.run.info.experiment_id).name == "stemcell"
    assert {entry.path for entry in record.client.list_artifacts(record.id, "artifacts")} >= {
        f"artifacts/{name}" for name in ("config.yaml", "corpus.json", "labels.json", "report.json")
    }
    assert any(name.startswith("system/") for name in record.run.data.metrics)
    (corpus,) = record.run.inputs.dataset_inputs
    assert json.loads(corpus.dataset.profile)["test"] == dict.fromkeys(LAYERS, 19)
    assert "nothing was missing" in done("sync", run).out


@pytest.mark.parametrize("encoder", ["tiny-bert", "tiny-roberta", "tiny-electra", "tiny-deberta"])
def test_every_family_trains_and_scores_the_same_when_loaded(corpus: Path, tmp_path: Path, encoder: str) -> None:
    (tmp_path / "config.yaml").write_text(f"tasks: [srl, con]\nepochs: 7\nencoder: {encoder}\ntrain_limit: 16\n")
    done("train", "--config", tmp_path / "config.yaml", "--epochs", 1, "--data", corpus, "--out", tmp_path / "run",
         "--batch-sentences", 8, "--encoder-lr", 1e-3)  # fmt: skip
    assert read(tmp_path / "run" / "run.json")["config"]["epochs"] == 1
    done("evaluate", tmp_path / "run", "--split", "dev")
    trained = {name: value for (name, _), value in points(tmp_path / "run").items() if name.startswith("dev/")}
    loaded = {name: value for (name, _), value in points(tmp_path / "run", ("results.jsonl",)).items()}
    del trained["dev/average"]
    assert {f"final/{name}": value for name, value in trained.items()} == loaded
    assert {name.split("/")[1] for name in trained} == {"con", "srl"}


def test_a_seed_decides_everything(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def train(name: str, seed: int, *more: Any) -> Path:
        done("train", "--data", corpus, "--encoder", "tiny-bert", "--tasks", "pos,dep", "--epochs", 1, "--out",
             tmp_path / name, "--train-limit", 16, "--batch-sentences", 8, "--seed", seed, *more)  # fmt: skip
        return tmp_path / name

    first, again = train("first", 1), train("again", 1)
    assert_same_weights(first, again, "last")
    assert points(first) == points(again)
    other = train("other", 2)
    assert all(
        not torch.equal(one, two)
        for (name, one), two in zip(weights(first, "best").items(), weights(other, "best").values(), strict=True)
        if one.dim() == 2
    )
    # Checkpoints and the number of parts that a batch is cut into are no part of the result.
    often = train("often", 1, "--checkpoint-minutes", 0)
    assert_same_weights(first, often, "last")
    # Each part draws its own dropout, so that there is none here.
    monkeypatch.setattr(MultiTaskModel, "train", lambda model, mode=True: torch.nn.Module.train(model, False))
    whole, cut = train("whole", 1), train("cut", 1, "--accumulation", 3)
    assert points(cut) == pytest.approx(points(whole), rel=1e-4)


def test_each_sentences_counts_give_the_scores(trained: Path, corpus: Path) -> None:
    counts = sentences.read(RunFolder(trained), "test")
    scores = {name: value for (name, _), value in points(trained, ("results.jsonl",)).items()}
    assert list(counts) == list(LAYERS)
    for task, array in counts.items():
        assert len(array) == len(read_corpus(corpus, layers=(task,))["test"][task])
        assert main_score(array.sum(0)) == scores[f"final/test/{task}/{find_task(task).main}"]
