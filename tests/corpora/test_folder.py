from __future__ import annotations

import re
import shutil

import pytest

from stemcell.corpora import folder as folders
from stemcell.corpora.layers import LAYERS, SPLITS
from stemcell.errors import UserError


def read(path, report, **options):
    sources = folders.find(path, report)
    return sources, folders.read(sources, report, **options)


def require(path, report, layers=LAYERS):
    sources, corpus = read(path, report)
    lengths = {split: {layer: len(of) for layer, of in corpus[split].items()} for split in SPLITS}
    folders.require(path, sources, lengths, layers, report)


def test_files_side_by_side(corpus, layers, report):
    _, found = read(corpus, report)
    for split in SPLITS:
        assert {layer: [e.gold for e in examples] for layer, examples in found[split].items()} == {
            layer: [e.gold for e in layers[layer]] for layer in LAYERS
        }
    assert not report.problems


def test_folders_of_any_depth_are_read_in_sorted_order(corpus, report):
    text = (corpus / "train.conllu").read_text()
    for split in SPLITS:
        for name in ("b/two", "a/one", "c/three"):
            path = corpus / split / f"{name}.conllu"
            path.parent.mkdir(parents=True)
            path.write_text(text.replace("sent_id = made", f"sent_id = {name}"))
        for beside in corpus.glob(f"{split}.*"):
            beside.unlink()
    _, found = read(corpus, report)
    assert [e.id for e in found["dev"]["dep"]] == [f"{n}.0.{i}" for n in ("a/one", "b/two", "c/three") for i in (1, 2)]


def test_other_files_are_ignored_and_noted(corpus, report):
    for name in ("train.index.tsv", "report.json", "dev2.conllu", ".hidden", "LICENSE"):
        (corpus / name).write_text("x")
    (corpus / "plain").mkdir()
    folders.find(corpus, report)
    assert report.notes == {
        "files of no known kind ignored: *.tsv": 1,
        "files of no split ignored: *.json": 1,
        "files of no split ignored: *.conllu": 1,
        "files of no split ignored: *LICENSE": 1,
    }


def test_nothing_below_a_split_is_passed_over_in_silence(corpus, report):
    """A link that leads nowhere, a folder that cannot be read: their sentences would be missing unnoticed."""
    (corpus / "train" / "below").mkdir(parents=True)
    (corpus / "train" / "below" / "again").symlink_to(corpus)
    (corpus / "train" / ".checkpoints").mkdir()
    shutil.copy(corpus / "train.ptb", corpus / "train" / ".checkpoints")
    _, found = read(corpus, report)
    assert report.notes == {"links to folders inside a split ignored": 1} | {
        f"{split}: sentences that stand in train too": 2 for split in ("dev", "test")
    }
    assert len(found["train"]["con"]) == 2
    (corpus / "train" / "below" / "moved.ptb").symlink_to(corpus / "none")
    with pytest.raises(UserError, match=r"below/moved.ptb: cannot be read \(No such file"):
        read(corpus, report)


def test_a_folder_that_cannot_be_read(corpus, report, monkeypatch):
    (corpus / "train").mkdir()
    listed = type(corpus).iterdir

    def denied(path):
        if path.name == "train":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(type(corpus), "iterdir", denied)
    with pytest.raises(UserError, match=r"corpus/train: cannot be read \(Permission denied\); give yourself"):
        folders.find(corpus, report)


@pytest.mark.parametrize("layer", ["pos", "con", "ner"])
def test_conll12_gives_a_layer_only_where_no_other_file_does(corpus, layers, report, layer):
    ending = {"pos": "conllu", "con": "ptb", "ner": "ner.tsv"}[layer]
    text = {"pos": "NNP\t", "con": "(S(NP", "ner": "(PER"}[layer]
    path = corpus / "train.conll12"
    path.write_text(path.read_text().replace(text, text.replace("N", "Z").replace("PER", "ZZZ")))
    _, found = read(corpus, report)
    assert [e.gold for e in found["train"][layer]] == [e.gold for e in layers[layer]]
    for split in SPLITS:
        (corpus / f"{split}.{ending}").unlink()
    _, found = read(corpus, report)
    assert "Z" in str(found["train"][layer])
    # A file of its own in any split is enough: two sources would mix two annotation schemes.
    shutil.copy(corpus / "dev.conll12", corpus / "dev.txt")
    restored = {"pos": "1\ta\t_\t_\tX\t_\t_\t_\t_\t_\n", "con": "(TOP (X a))\n", "ner": "a\tO\n"}[layer]
    (corpus / f"dev.{ending}").write_text(restored)
    _, found = read(corpus, report)
    assert not found["train"][layer]


def test_conllu_without_tags_leaves_pos_to_conll12(corpus, report):
    for split in SPLITS:
        path = corpus / f"{split}.conllu"
        rows = [line.split("\t") for line in path.read_text().split("\n")]
        path.write_text("\n".join("\t".join([*r[:4], "_", *r[5:]]) if len(r) == 10 else r[0] for r in rows))
    _, found = read(corpus, report)
    assert len(found["train"]["pos"]) == 2
    for split in SPLITS:
        (corpus / f"{split}.conll12").unlink()
    require(corpus, report, ("pos",))
    assert "no sentence of POS in the train split; add sentences with POS, or leave" in report.lines()[0]
    path = corpus / "train.conllu"
    path.write_text(re.sub("\\t_\\t_\\t_\\t", "\\t_\\tX\\t_\\t", path.read_text()))
    report.problems.clear()
    require(corpus, report, ("pos",))
    assert "no sentence of POS in the train split; train on the other tags with --pos-column upos" in report.lines()[0]


@pytest.mark.parametrize(
    ("content", "layer"),
    [
        ("# sent_id = a\n1\tRain\t_\t_\tNN\t_\t0\troot\t_\t_\n", "dep"),
        ("#begin document (d); part 000\nd\t0\t0\tRain\tNN\t(TOP*)\t-\t-\t-\t-\t*\t-\n", "srl"),
        ("-DOCSTART- -X- O O\n\nRain NN I-NP O\n", "ner"),
    ],
)
def test_conll_files_are_told_apart_by_their_first_line(tmp_path, report, content, layer):
    (tmp_path / "train.conll").write_text(content)
    _, found = read(tmp_path, report)
    assert found["train"][layer][0].words == ("Rain",)
    assert not report.problems


def test_no_folder_and_no_corpus(tmp_path, report):
    with pytest.raises(UserError, match="no such folder"):
        folders.find(tmp_path / "none", report)
    with pytest.raises(UserError, match=r"no corpus here; expected files such as train.conllu"):
        folders.find(tmp_path, report)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_split_without_a_layer_is_a_problem(corpus, report, split):
    (corpus / f"{split}.conllu").unlink()
    require(corpus, report)
    assert report.lines() == [
        f"{corpus}: no POS in the {split} split; add {split}.conllu, or leave the task out",
        f"{corpus}: no DEP in the {split} split; add {split}.conllu, or leave the task out",
    ]


@pytest.mark.parametrize("content", ["", "\n", "\ufeff"])
def test_an_empty_file_is_named_in_train_and_dev_and_noted_in_test(corpus, report, content):
    for split in SPLITS:
        (corpus / f"{split}.ptb").write_text(content)
    require(corpus, report)
    assert [line.split(":")[0] for line in report.lines()] == [str(corpus / "train.ptb"), str(corpus / "dev.ptb")]
    assert report.notes["no sentence of CON in test, needed only where test is evaluated"] == 1
    report.problems.clear()
    require(corpus, report, ("pos", "srl"))
    assert not report.problems


def test_layers_that_a_corpus_means_to_hold(corpus, report):
    assert folders.present(read(corpus, report)[1], folders.find(corpus, report)) == LAYERS
    for split in SPLITS:
        (corpus / f"{split}.conll12").unlink()
        (corpus / f"{split}.ptb").write_text("")
        (corpus / f"{split}.ner.tsv").unlink()
    sources, found = read(corpus, report)
    assert folders.present(found, sources) == ("pos", "dep", "con")


def test_readable_oddities_are_counted_once_a_split(tmp_path, report):
    def tree(*words):
        return "(TOP " + " ".join(f"(X {word})" for word in words) + ")\n"

    (tmp_path / "train.ptb").write_text(tree("a") + tree("a") + tree(*["b"] * 700) + tree("\u200b", "c"))
    (tmp_path / "dev.ptb").write_text(tree("a") + tree("d", "e"))
    # A layer of fewer sentences counts too, but what stands in both counts once.
    (tmp_path / "dev.ner.tsv").write_text("a\tO\n\n" + "b\tO\n" * 5000)
    read(tmp_path, report)
    assert report.notes == {
        "train: sentences of one word": 2,
        "train: sentences of more than 200 words": 1,
        "train: sentences that repeat an earlier one": 1,
        "train: words without a visible character": 1,
        "dev: sentences of one word": 1,
        "dev: sentences of more than 200 words": 1,
        "dev: sentences that stand in train too": 1,
    }
