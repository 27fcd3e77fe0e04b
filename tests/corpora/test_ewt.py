"""The English Web Treebank's builder: real sources against the corpus made of them, invented ones for faults."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from stemcell.corpora import ewt
from stemcell.corpora.ewt import propbank, sources, treebank
from stemcell.corpora.formats import bio, brackets, conll12, conllu
from stemcell.corpora.layers import Span
from stemcell.corpora.report import Report
from stemcell.errors import UserError

UD = """\
# newdoc id = weblog-made
# newpar id = weblog-made-p1
# sent_id = weblog-made-0001
# text = Zora can't sleep.
1\tZora\tZora\tPROPN\tNNP\tNumber=Sing\t4\tnsubj\t4:nsubj\tCxn=Made
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tsleep\tsleep\tVERB\tVB\t_\t0\troot\t0:root\tCxn=Made|SpaceAfter=No
4.1\tsleep\tsleep\tVERB\tVB\t_\t_\t_\t0:root\t_
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_

# sent_id = weblog-made-0002
# text = Wow
1\tWow\twow\tINTJ\tUH\t_\t0\troot\t0:root\t_

# newdoc id = weblog-absent
# sent_id = weblog-absent-0001
# text = Yes
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t0:root\t_
"""

UNER = """\
# sent_id = weblog-made-0001
1\tZora\tB-PER\t-\tsomeone
2\tcan\tB-OTH\t-\tsomeone
3\t't\tO\t-\t-
4\tsleep\tO\t-\t-
5\t.\tO\t-\t-

# sent_id = weblog-made-0002
1\tQuite another text\tO\t-\t-

# sent_id = weblog-absent-0001
1\tYes\tO\t-\t-
"""

SKELETON = """\
made.xml   0   0   [WORD]   NNP   (TOP(S(NP*)      -        -   (ARG0*)
made.xml   0   1   [WORD]   MD         (VP*       -        -   (ARGM-MOD*)
made.xml   0   2   [WORD]   RB            *       -        -   (ARGM-NEG*)
made.xml   0   3   [WORD]   VB        (VP*))   sleep  sleep.01    (V*)
made.xml   0   4   [WORD]   .            *))      -        -        *

made.xml   1   0   [WORD]   NN   (TOP(X*))   -   -
"""

CONLLU = """\
# newdoc id = weblog-made
# sent_id = weblog-made-0001
# text = Zora can't sleep.
1\tZora\tZora\tPROPN\tNNP\tNumber=Sing\t4\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tsleep\tsleep\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# sent_id = weblog-made-0002
# text = Wow
1\tWow\twow\tINTJ\tUH\t_\t0\troot\t_\t_

# newdoc id = weblog-absent
# sent_id = weblog-absent-0001
# text = Yes
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

"""

CONLL12 = """\
#begin document (ewt/weblog/made); part 000
ewt/weblog/made\t0\t0\tZora\tNNP\t(TOP(S(NP*)\t-\t-\t-\t-\t(PER*)\t(ARG0*)\t-
ewt/weblog/made\t0\t1\tca\tMD\t(VP*\t-\t-\t-\t-\t*\t(ARGM-MOD*)\t-
ewt/weblog/made\t0\t2\tn't\tRB\t*\t-\t-\t-\t-\t*\t(ARGM-NEG*)\t-
ewt/weblog/made\t0\t3\tsleep\tVB\t(VP*))\tsleep\t01\t-\t-\t*\t(V*)\t-
ewt/weblog/made\t0\t4\t.\t.\t*))\t-\t-\t-\t-\t*\t*\t-

ewt/weblog/made\t0\t0\tWow\tNN\t(TOP(X*))\t-\t-\t-\t-\t*\t-

#end document
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Invented copies of the three repositories, with a dev split alone."""
    files = {
        "UD_English-EWT/en_ewt-ud-dev.conllu": UD,
        "UNER_English-EWT/en_ewt-ud-dev.iob2": UNER,
        "propbank-release/data/google/ewt/weblog/00/made.xml.gold_skel": SKELETON,
        "propbank-release/data/other/large.gold_skel": "not wanted",
    }
    for name, text in files.items():
        path = tmp_path / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "source"


@pytest.fixture
def repositories(source: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[sources.Repository, ...]:
    """The invented copies as git repositories that have moved on since the commit they are pinned at."""

    def git(folder: Path, *arguments: str) -> str:
        identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(folder), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    pinned = []
    for repository in sources.REPOSITORIES:
        folder = source / repository.name
        git(folder, "init")
        # As the public host does: files are sent when they are checked out, not with the commit.
        git(folder, "config", "uploadpack.allowFilter", "true")
        git(folder, "add", ".")
        git(folder, "commit", "--message=pinned")
        pinned.append(replace(repository, url=folder.as_uri(), commit=git(folder, "rev-parse", "HEAD")))
        git(folder, "rm", "--quiet", "-r", "--cached", ".")
        git(folder, "commit", "--message=all gone")
    pin(monkeypatch, *pinned)
    return tuple(pinned)


def pin(monkeypatch: pytest.MonkeyPatch, *repositories: sources.Repository) -> None:
    monkeypatch.setattr(sources, "REPOSITORIES", repositories)
    monkeypatch.setattr(ewt, "REPOSITORIES", repositories)


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def read_all(folder: Path, split: str) -> dict[str, dict]:
    report = Report()
    kinds = {"conllu": conllu, "ner.tsv": bio, "ptb": brackets, "conll12": conll12}
    layers = {kind: module.read(folder / f"{split}.{kind}", report) for kind, module in kinds.items()}
    report.raise_problems()
    return layers


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ewt") / "corpus"
    ewt.build(out, shared / "data" / "sources")
    return out


@pytest.mark.shared
@pytest.mark.parametrize(("split", "sentences"), [("dev", 2001), ("test", 2077)])
def test_real_text_equals_the_checked_corpus(real: Path, shared: Path, split: str, sentences: int) -> None:
    expected = shared / "data" / "ewt5" / split
    ours, theirs = read_all(real / split, split), read_all(expected, split)
    assert len(ours["conllu"]["dep"]) == sentences
    for kind, layers in theirs.items():
        assert ours[kind].keys() == layers.keys()
        for layer, examples in layers.items():
            # One by one, for a readable difference.
            assert len(ours[kind][layer]) == len(examples), (kind, layer)
            for our, their in zip(ours[kind][layer], examples, strict=True):
                assert our == their, (kind, layer)
    assert files(real / split) == files(expected)


@pytest.mark.shared
def test_real_splits_that_the_source_lacks_are_left_out(real: Path) -> None:
    assert sorted(p.name for p in real.iterdir()) == ["LICENSE.txt", "dev", "test"]


def test_invented_text_is_joined_layer_by_layer(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    ewt.build(tmp_path / "out", source)
    written = files(tmp_path / "out")
    assert written["dev/dev.conllu"] == CONLLU
    assert written["dev/dev.ner.tsv"] == "Zora\tB-PER\nca\tO\nn't\tO\nsleep\tO\n.\tO\n\nYes\tO\n\n"
    assert written["dev/dev.ptb"].splitlines() == [
        "(TOP (S (NP (NNP Zora)) (VP (MD ca) (RB n't) (VP (VB sleep))) (. .)))",
        "(TOP (X (NN Wow)))",
    ]
    assert written["dev/dev.conll12"] == CONLL12
    assert written["dev/dev.index.tsv"].splitlines()[1:] == [
        "weblog-made-0001\t5\t0\t0\t0",
        "weblog-made-0002\t1\t-1\t1\t1",
        "weblog-absent-0001\t1\t1\t-1\t-1",
    ]
    assert "CC BY-SA 4.0" in written["LICENSE.txt"]
    assert all(r.commit in written["LICENSE.txt"] for r in sources.REPOSITORIES)
    said = capsys.readouterr().out
    assert "train: left out" in said
    assert "dev: 1 without NER" in said
    assert "dev: 1 without CON and SRL: PropBank lacks their document" in said


def test_pinned_commits_are_fetched(repositories: tuple, source: Path, tmp_path: Path) -> None:
    ewt.build(tmp_path / "local", source)
    ewt.build(tmp_path / "cloned")
    assert files(tmp_path / "cloned") == files(tmp_path / "local")


def test_only_the_part_needed_is_checked_out(repositories: tuple, tmp_path: Path) -> None:
    clones = tmp_path / "clones"
    clones.mkdir()
    sources.clone_all(clones)
    assert [p.name for p in (clones / "propbank-release" / "data").iterdir()] == ["google"]
    count = ["git", "-C", str(clones / "propbank-release"), "count-objects", "-v"]
    objects = subprocess.run(count, check=True, capture_output=True, text=True).stdout
    # The commit, the folders down to and beside the file, and the file; nothing of what lies elsewhere.
    assert "in-pack: 9\n" in objects


@pytest.mark.parametrize("commit", ["0" * 40, "HEAD"])
def test_another_commit_than_the_pinned_one_is_refused(
    repositories: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    pin(monkeypatch, replace(repositories[0], commit=commit), *repositories[1:])
    with pytest.raises(UserError, match=repositories[0].name):
        ewt.build(tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["source"]


def test_a_repository_out_of_reach_is_told(
    repositories: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = (tmp_path / "gone").as_uri()
    pin(monkeypatch, *repositories[:2], replace(repositories[2], url=gone))
    with pytest.raises(UserError, match=r"could not fetch file://.*gone.*--source"):
        ewt.build(tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["source"]


def test_without_git_there_is_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"git is not installed.*--source"):
        ewt.build(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("UD_English-EWT/en_ewt-ud-dev.conllu", "en_ewt-ud-train.conllu is missing"),
        ("UNER_English-EWT/en_ewt-ud-dev.iob2", "UNER_English-EWT/en_ewt-ud-dev.iob2"),
        ("propbank-release/data/google/ewt/weblog/00/made.xml.gold_skel", "propbank-release/data/google/ewt has no"),
    ],
)
def test_missing_files_are_named(source: Path, tmp_path: Path, missing: str, named: str) -> None:
    (source / missing).unlink()
    with pytest.raises(UserError, match=named):
        ewt.build(tmp_path / "out", source)
    assert [p.name for p in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize(
    ("name", "old", "new", "place"),
    [
        ("UD_English-EWT/en_ewt-ud-dev.conllu", "\t0:root\tCxn=Made|SpaceAfter=No", "", "dev.conllu:9: 8 columns"),
        ("UD_English-EWT/en_ewt-ud-dev.conllu", "# sent_id = weblog-made-0002\n", "", "dev.conllu:13: a sentence w"),
        ("UNER_English-EWT/en_ewt-ud-dev.iob2", "sleep\tO\t-\t-", "sleep", "dev.iob2:5: 2 columns"),
        ("propbank-release/data/google/ewt/weblog/00/made.xml.gold_skel", "(ARGM-NEG*)", "", "gold_skel:3: 8 columns"),
    ],
)
def test_broken_files_are_told_with_the_line(
    source: Path, tmp_path: Path, name: str, old: str, new: str, place: str
) -> None:
    path = source / name
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError, match=place):
        ewt.build(tmp_path / "out", source)
    assert not (tmp_path / "out").exists()


def test_a_predicate_outside_its_v_costs_the_sentence_its_predicates(source: Path, tmp_path: Path) -> None:
    path = source / "propbank-release/data/google/ewt/weblog/00/made.xml.gold_skel"
    path.write_text(path.read_text().replace("(V*)", "(C-V*)").replace("(ARGM-NEG*)", "(V*)"))
    ewt.build(tmp_path / "out", source)
    assert files(tmp_path / "out")["dev/dev.index.tsv"].splitlines()[1] == "weblog-made-0001\t5\t0\t0\t-1"


def tree(*tags: str) -> treebank.Tree:
    return treebank.Tree("d", "s", tags, tags, "")


def skeleton(*tags: str) -> propbank.Skeleton:
    return tuple(propbank.Token(tag, "*", "-", ()) for tag in tags)


def test_pairing_by_order_keeps_short_sentences_and_trusts_long_ones_by_their_tags() -> None:
    trees = [tree("A"), tree("A", "B"), tree("A", "B", "C", "D"), tree("A", "B", "C", "D")]
    skeletons = [skeleton("X"), skeleton("A"), skeleton("A", "X", "C", "X"), skeleton("A", "X", "X", "X")]
    assert propbank.pair(trees, skeletons) == [skeletons[0], None, skeletons[2], None]


def test_pairing_by_alignment_where_counts_differ() -> None:
    trees = [tree("A"), tree("A", "B"), tree("C"), tree("A", "B", "C")]
    # A sentence was split in two, and the last is of another text.
    skeletons = [skeleton("A"), skeleton("A"), skeleton("B"), skeleton("C"), skeleton("X", "Y", "Z")]
    assert propbank.pair(trees, skeletons) == [skeletons[0], None, skeletons[3], None]
    assert propbank.pair(trees, []) == [None] * 4


@pytest.mark.parametrize(
    ("old", "new", "spans", "moved"),
    [
        ("Mc. Donald s", "Mc.Donald s", [(0, 2, "ORG")], [(0, 1, "ORG")]),
        ("Fudrucker s .", "Fudruckers .", [(0, 0, "ORG")], [(0, 0, "ORG")]),
        ("to London-Paris", "to London - Paris", [(1, 1, "LOC")], [(1, 3, "LOC")]),
        ("to London Paris", "to LondonParis", [(1, 1, "LOC"), (2, 2, "LOC")], [(1, 1, "LOC")]),
        ("a mistaek of Zora Quill", "a mistake of Zora Quill", [(3, 4, "PER")], [(3, 4, "PER")]),
        ("nothing of the kind", "all else", [], None),
    ],
)
def test_entities_follow_their_characters(old: str, new: str, spans: list, moved: list | None) -> None:
    result = treebank.project([Span(*span) for span in spans], old.split(), new.split())
    assert result == (None if moved is None else tuple(Span(*span) for span in moved))
