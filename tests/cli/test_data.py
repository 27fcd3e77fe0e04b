from __future__ import annotations

import shutil

import pytest
from typer.testing import CliRunner

from stemcell.cli.data import _make, app
from stemcell.errors import UserError


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"{split}.ptb").write_text("(TOP (S (NP (NN rain)) (VP (VBD fell))))\n")
    return folder


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_check_prints_notes_and_figures(corpus):
    (corpus / "dev.ptb").write_text("(TOP (X (NN rain) (NN rain)))\n", newline="\r\n")
    result = run("check", corpus)
    assert result.exit_code == 0
    assert "note: files with CRLF line ends: 1\n" in result.output
    assert "note: dev: labels of CON unseen in train: X\n" in result.output
    (dev,) = (line.split() for line in result.output.splitlines() if line.split()[:2] == ["CON", "dev"])
    assert dev[2:] == ["1", "2", "2", "2", "2", "brackets"]


def test_check_lists_what_is_wrong(corpus):
    (corpus / "dev.ptb").write_text("(TOP (NN a)\n" * 30)
    result = run("check", corpus)
    assert isinstance(result.exception, UserError)
    lines = str(result.exception).splitlines()
    assert lines[0] == f"30 problems in {corpus}"
    assert lines[1].startswith(f"{corpus}/dev.ptb:1: unbalanced")
    assert lines[-1] == "... and 10 more: brackets"
    assert len(lines) == 22


def test_check_can_leave_broken_sentences_out(corpus):
    with open(corpus / "dev.ptb", "a") as file:
        file.write("(TOP (NN a)\n")
    result = run("check", corpus, "--skip-broken")
    assert result.exit_code == 0
    assert "broken sentences left out: brackets: 1" in result.output


def test_check_of_files_without_sentences(corpus):
    for path in corpus.iterdir():
        path.unlink()
    (corpus / "train.conllu").write_text("\n")
    result = run("check", corpus)
    assert "no sentence in any file" in str(result.exception)


def test_check_of_a_corpus_without_train(corpus):
    (corpus / "train.ptb").unlink()
    assert "no CON in the train split" in str(run("check", corpus).exception)


def build(folder):
    folder.mkdir(exist_ok=True)
    (folder / "train").mkdir()
    (folder / "train" / "new.ptb").write_text("x")


def test_a_corpus_is_made_in_a_new_or_empty_folder(tmp_path, capsys):
    _make(tmp_path / "new" / "deep", False, build)
    (tmp_path / "empty").mkdir()
    _make(tmp_path / "empty", False, build)
    assert [p.name for p in (tmp_path / "new").rglob("*.ptb")] == ["new.ptb"]
    assert [p.name for p in tmp_path.iterdir()] in (["new", "empty"], ["empty", "new"])
    assert "wrote" in capsys.readouterr().out


def test_what_is_there_is_not_replaced_unasked_and_nothing_else_is_touched(tmp_path):
    out = tmp_path / "out"
    (out / "train").mkdir(parents=True)
    (out / "train" / "old.ptb").write_text("x")
    (out / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="already there"):
        _make(out, False, build)
    _make(out, True, build)
    assert sorted(p.name for p in out.rglob("*")) == ["mine.txt", "new.ptb", "train"]
    with pytest.raises(UserError, match="is a file"):
        _make(out / "mine.txt", True, build)


@pytest.mark.parametrize(("error", "shown"), [(UserError("no"), UserError), (OSError(28, "No space left"), UserError)])
def test_a_failure_leaves_what_was_there(tmp_path, error, shown):
    out = tmp_path / "out"
    _make(out, False, build)

    def fail(folder):
        (folder / "half").write_text("x")
        raise error

    with pytest.raises(shown):
        _make(out, True, fail)
    assert [p.name for p in out.rglob("*.ptb")] == ["new.ptb"]
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.slow
@pytest.mark.shared
def test_the_real_corpus_and_the_cases(shared, tmp_path):
    result = run("check", shared / "data" / "ewt5")
    assert result.exit_code == 0
    (train,) = (line.split() for line in result.output.splitlines() if line.split()[:2] == ["SRL", "train"])
    assert train[2:] == ["12,520", "204,116", "159", "57", "40,397", "predicates,", "81,353", "arguments"]
    assert run("check", shared / "cases" / "00-base").exit_code == 0
    assert run("check", shared / "cases" / "15-unseen-labels").exit_code == 0
    empty = str(run("check", shared / "cases" / "14-empty-split").exception)
    assert "14-empty-split/train.ptb: " in empty
    assert "14-empty-split/dev.ptb: " in empty
    shutil.copytree(shared / "cases" / "14-empty-split", tmp_path / "mended")
    for split in ("train", "dev"):
        path = tmp_path / "mended" / f"{split}.ptb"
        path.unlink()
        shutil.copy(shared / "cases" / "00-base" / path.name, path)
    result = run("check", tmp_path / "mended")
    assert result.exit_code == 0
    assert "no sentence of NER in test" in result.output
