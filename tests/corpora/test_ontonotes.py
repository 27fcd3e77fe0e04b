"""OntoNotes' builder, on an invented release of a few sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stemcell.cli.data import app
from stemcell.corpora import ontonotes
from stemcell.corpora.formats import bio, brackets, conll12, conllu
from stemcell.corpora.layers import Arcs, Argument, Frames, Span
from stemcell.corpora.report import Report
from stemcell.errors import UserError

# Two parts; a sense and a speaker; a noun with a sense but no frameset; brackets and quotes as Penn writes them.
FIRST = """\
#begin document (bc/made/00/made_0001); part 000
bc/made/00/made_0001   0   0    Zora   NNP  (TOP(S(NP*         -    -   -   Zora#1   (PERSON*   (ARG0*   -
bc/made/00/made_0001   0   1   Quill   NNP            *)       -    -   -   Zora#1          *)       *)  (1)
bc/made/00/made_0001   0   2    sold   VBD         (VP*     sell   01   1   Zora#1          *      (V*)   -
bc/made/00/made_0001   0   3   flour    NN         (NP*    flour    -   2   Zora#1          *   (ARG1*    -
bc/made/00/made_0001   0   4   -LRB-  -LRB-       (PRN*        -    -   -   Zora#1          *        *    -
bc/made/00/made_0001   0   5      ``    ``            *        -    -   -   Zora#1          *        *    -
bc/made/00/made_0001   0   6     rye    NN         (NP*)       -    -   -   Zora#1          *        *    -
bc/made/00/made_0001   0   7      ''    ''            *        -    -   -   Zora#1          *        *    -
bc/made/00/made_0001   0   8   -RRB-  -RRB-         *)))       -    -   -   Zora#1          *       *)    -
bc/made/00/made_0001   0   9      /.     .            *))      -    -   -   Zora#1          *        *    -

#end document
#begin document (bc/made/00/made_0001); part 001
bc/made/00/made_0001   1   0   Yes    UH  (TOP(INTJ*))   -    -   -   -    *   -

#end document
"""

SECOND = """\
#begin document (pt/made/00/made_0002); part 000
pt/made/00/made_0002   0   0   Go    VB  (TOP(S(VP*)    go   01   1   -    *   (V*)   -
pt/made/00/made_0002   0   1    .     .            *))   -    -   -   -    *     *    -

#end document
"""

PARSED_FIRST = """\
1\tZora\t_\tNNP\tNNP\t_\t2\tnn\t_\t_
2\tQuill\t_\tNNP\tNNP\t_\t3\tnsubj\t_\t_
3\tsold\t_\tVBD\tVBD\t_\t0\troot\t_\t_
4\tflour\t_\tNN\tNN\t_\t3\tdobj\t_\t_
5\t(\t_\t-LRB-\t-LRB-\t_\t7\tpunct\t_\t_
6\t"\t_\t``\t``\t_\t7\tpunct\t_\t_
7\trye\t_\tNN\tNN\t_\t4\tdep\t_\t_
8\t"\t_\t''\t''\t_\t7\tpunct\t_\t_
9\t)\t_\t-RRB-\t-RRB-\t_\t7\tpunct\t_\t_
10\t.\t_\t.\t.\t_\t3\tpunct\t_\t_

1\tYes\t_\tUH\tUH\t_\t0\troot\t_\t_

"""

PARSED_SECOND = """\
1\tGo\t_\tVB\tVB\t_\t0\troot\t_\t_
2\t.\t_\t.\t.\t_\t1\tpunct\t_\t_

"""

TRAIN = "v12/data/train/data/english/annotations"
FIRST_GOLD = f"{TRAIN}/bc/made/00/made_0001.v4_gold_conll"
SECOND_GOLD = f"{TRAIN}/pt/made/00/made_0002.gold_conll"
RELEASE = {
    FIRST_GOLD: FIRST,
    SECOND_GOLD: SECOND,
    "v12/data/development/data/english/annotations/pt/made/00/made_0002.gold_conll": SECOND,
    "v12/data/conll-2012-test/data/english/annotations/pt/made/00/made_0002.gold_conll": SECOND,
}
BESIDE = {f"{TRAIN}/bc/made/00/made_0001.conllx": PARSED_FIRST, f"{TRAIN}/pt/made/00/made_0002.conllx": PARSED_SECOND}


def lay_out(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def build(tmp_path: Path, files: dict[str, str]) -> Path:
    ontonotes.build(lay_out(tmp_path / "source", files), tmp_path / "out")
    return tmp_path / "out"


def read(out: Path, split: str, kind: str, layer: str) -> list:
    report = Report()
    module = {"conllu": conllu, "ner.tsv": bio, "ptb": brackets, "conll12": conll12}[kind]
    examples = module.read(out / split / f"{split}.{kind}", report)[layer]
    report.raise_problems()
    return examples


@pytest.mark.parametrize("dependencies", [BESIDE, {"train.conllx": PARSED_FIRST + PARSED_SECOND}])
def test_all_layers_of_a_release(tmp_path: Path, dependencies: dict[str, str]) -> None:
    out = build(tmp_path, RELEASE | dependencies)
    assert sorted(p.name for p in out.iterdir()) == ["dev", "test", "train"]
    words = ("Zora", "Quill", "sold", "flour", "-LRB-", "``", "rye", "''", "-RRB-", "/.")

    tagged, parsed = read(out, "train", "conllu", "pos"), read(out, "train", "conllu", "dep")
    assert [example.words for example in parsed] == [words, ("Yes",), ("Go", ".")]
    assert tagged[0].gold == ("NNP", "NNP", "VBD", "NN", "-LRB-", "``", "NN", "''", "-RRB-", ".")
    relations = ("nn", "nsubj", "root", "dobj", "punct", "punct", "dep", "punct", "punct", "punct")
    assert parsed[0].gold == Arcs((2, 3, 0, 3, 7, 7, 4, 7, 7, 3), relations)
    assert [example.id for example in parsed] == [
        "bc/made/00/made_0001.0.1",
        "bc/made/00/made_0001.1.1",
        "pt/made/00/made_0002.0.1",
    ]

    names = read(out, "train", "ner.tsv", "ner")
    assert [(example.words, example.gold) for example in names] == [(words, (Span(0, 1, "PERSON"),)), (("Yes",), ())]

    trees = read(out, "train", "ptb", "con")
    assert trees[0].words[4] == "("
    assert [span.label for span in trees[0].gold.brackets] == ["TOP", "S", "NP", "VP", "NP", "PRN", "NP"]
    assert (out / "train" / "train.ptb").read_text().splitlines()[1] == "(TOP (INTJ (UH Yes)))"

    frames = read(out, "train", "conll12", "srl")
    assert [example.words for example in frames] == [words, ("Yes",), ("Go", ".")]
    assert frames[0].gold == Frames((2,), (Argument(2, 0, 1, "ARG0"), Argument(2, 3, 8, "ARG1")))

    # The genre that is not annotated with names says so, so that its words do not count as being none.
    assert [len(read(out, split, "conll12", "ner")) for split in ("train", "dev")] == [2, 0]
    assert not (out / "dev" / "dev.ner.tsv").exists()

    copied = (out / "train" / "train.conll12").read_text().splitlines()
    assert copied[3].split("\t") == FIRST.splitlines()[3].split()
    assert [line for line in copied if line.startswith("#begin")] == [
        "#begin document (bc/made/00/made_0001); part 000",
        "#begin document (bc/made/00/made_0001); part 001",
        "#begin document (pt/made/00/made_0002); part 000",
    ]
    assert (out / "train" / "train.index.tsv").read_text().splitlines()[1:] == [
        "bc/made/00/made_0001.0.1\t10\t0\t0\t0",
        "bc/made/00/made_0001.1.1\t1\t1\t1\t1",
        "pt/made/00/made_0002.0.1\t2\t-1\t2\t2",
    ]


def test_without_dependencies_it_says_how_to_make_them(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = build(tmp_path, RELEASE)
    assert [len(read(out, "train", "conllu", layer)) for layer in ("pos", "dep")] == [3, 0]
    said = capsys.readouterr().out
    assert f"-basic -keepPunct -conllx -treeFile train/train.ptb > {tmp_path}/source/train.conllx" in said
    assert "train: 1 without NER" in said


def test_what_is_not_used_is_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    more = {
        "v12/data/test/data/english/annotations/pt/made/00/made_0003.gold_conll": SECOND,
        "v12/data/train/data/chinese/annotations/bc/made/00/made_0004.gold_conll": SECOND,
    }
    files = {name: text for name, text in RELEASE.items() if "development" not in name}
    build(tmp_path, files | more)
    said = capsys.readouterr().out
    assert "data/test/data/english/annotations: left out" in said
    assert "chinese/annotations: left out, not English" in said
    assert "dev: left out, the source has no development/" in said
    assert "test: 1 sentences of " + str(tmp_path / "source/v12/data/conll-2012-test") in said


def test_a_larger_test_set_is_used_where_it_is_the_only_one(tmp_path: Path) -> None:
    files = {name.replace("conll-2012-test", "test"): text for name, text in RELEASE.items()}
    assert len(read(build(tmp_path, files), "test", "ptb", "con")) == 1


def test_a_predicate_without_v_costs_the_sentence_its_frames(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = build(tmp_path, RELEASE | {FIRST_GOLD: FIRST.replace("(V*)", "   *")})
    assert [example.words for example in read(out, "train", "conll12", "srl")] == [("Yes",), ("Go", ".")]
    assert [len(read(out, "train", *which)) for which in (("conllu", "pos"), ("ptb", "con"))] == [3, 3]
    assert "train: 1 without SRL" in capsys.readouterr().out


def test_blanks_stay_blanks(tmp_path: Path) -> None:
    gold = FIRST.replace("   NN         (NP*    flour", "   -          (NP*    flour").replace(
        "01   1   Zora", "_    1   Zora"
    )
    out = build(tmp_path, RELEASE | {FIRST_GOLD: gold.replace("(PERSON*", "       _")})
    assert read(out, "train", "conllu", "pos")[0].gold[3] == "_"
    assert [example.words for example in read(out, "train", "ner.tsv", "ner")] == [("Yes",)]
    assert [example.words for example in read(out, "train", "conll12", "srl")] == [("Yes",), ("Go", ".")]


BROKEN = {
    "a word without a tree": ({SECOND_GOLD: SECOND.replace("*))", "_  ")}, r"made_0002.gold_conll:\d: "),
    "another word": (
        {"train.conllx": (PARSED_FIRST + PARSED_SECOND).replace("flour", "flower")},
        r"train.conllx:4: 'flower' where .*made_0001.v4_gold_conll:2 has 'flour' \(word 4\)",
    ),
    "a word less": (
        {"train.conllx": PARSED_FIRST.replace("10\t.\t_\t.\t.\t_\t3\tpunct\t_\t_\n", "") + PARSED_SECOND},
        r"train.conllx:10: nothing where .*made_0001.v4_gold_conll:2 has '/.' \(word 10\)",
    ),
    "a sentence less": (
        {"train.conllx": PARSED_FIRST},
        r"made_0002.gold_conll:2: pt/made/00/made_0002.0.1 has no depen",
    ),
    "a sentence more": (
        {"train.conllx": PARSED_FIRST + PARSED_SECOND + PARSED_SECOND},
        r"train.conllx:17: dependencies of a sentence that the split has not",
    ),
    "a cycle": (
        {"train.conllx": (PARSED_FIRST + PARSED_SECOND).replace("2\tnn", "4\tnn").replace("3\tdobj", "1\tdobj")},
        r"train.conllx:\d+: .*cycle",
    ),
    "a document without": (dict([next(iter(BESIDE.items()))]), r"made_0002.conllx is missing"),
    "masked words": ({SECOND_GOLD: SECOND.replace("Go", "[WORD]")}, r"made_0002.gold_conll:2: the words are masked"),
    "an unbalanced tree": ({SECOND_GOLD: SECOND.replace("*))", "*)")}, r"made_0002.gold_conll:2: unbalanced parse"),
    "a name within a name": (
        {FIRST_GOLD: FIRST.replace("(PERSON*", "(ORG(PERSON*").replace("Zora#1          *)", "Zora#1   *))")},
        r"made_0001.v4_gold_conll:2: a name within a name",
    ),
    "the same document twice": ({FIRST_GOLD.replace("v4_", ""): FIRST}, r"are the same document"),
    "two releases": ({SECOND_GOLD.replace("v12", "v4"): SECOND}, r"two releases have a train"),
}


@pytest.mark.parametrize(("files", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_faults_are_told_with_their_place(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(tmp_path, RELEASE | files)


def test_a_fault_in_the_last_split_leaves_no_corpus(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "source", RELEASE | {"test.conllx": PARSED_FIRST})
    done = CliRunner().invoke(app, ["ontonotes", "--source", str(source), "--out", str(tmp_path / "out")])
    assert "test.conllx:1: 'Zora'" in str(done.exception)
    assert [p.name for p in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"readme.txt": "nothing"}, r"has no train, development or test folder"),
        ({FIRST_GOLD.replace("_conll", "_skel"): FIRST}, r"made_0001.v4_gold_skel: its words are masked"),
        ({FIRST_GOLD.replace("english", "arabic"): FIRST}, r"has no train, development or test folder"),
    ],
)
def test_a_source_without_a_split_is_told(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(tmp_path, files)
    with pytest.raises(UserError, match="is not a folder"):
        ontonotes.build(tmp_path / "nowhere", tmp_path / "out")
