from __future__ import annotations

import pytest

from stemcell.corpora.formats.lines import blocks, columns, read_lines, refuse_masked
from stemcell.errors import UserError


def test_oddities_of_a_file_are_noted_and_undone(file, report):
    assert read_lines(file("odd", b"\xef\xbb\xbfone\r\n\r\ntwo"), report) == ["one", "", "two"]
    assert report.notes == {
        "files with a byte order mark": 1,
        "files with CRLF line ends": 1,
        "files without an end of the last line": 1,
    }
    assert not report.problems


def test_a_plain_file_is_not_remarked_upon(file, report):
    assert read_lines(file("plain", "one\ntwo\n"), report) == ["one", "two"]
    assert read_lines(file("empty", ""), report) == []
    assert not report.notes


def test_line_separators_inside_words_do_not_end_a_line(file, report):
    assert read_lines(file("words", "a\u2028b\x85c\x0cd\n"), report) == ["a\u2028b\x85c\x0cd"]


def test_bytes_that_are_not_utf8_are_named_with_their_line(file, report):
    path = file("latin", b"one\ncaf\xe9\n")
    assert read_lines(path, report) == []
    assert report.lines() == [
        f"{path}:2: byte 0xe9 is not UTF-8; convert the file to UTF-8 (iconv -f LATIN1 -t UTF-8, say)"
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf16_is_told_by_its_zero_bytes(file, report, encoding):
    path = file("wide", "one\ntwo\n".encode(encoding))
    assert read_lines(path, report) == []
    assert report.lines()[0].endswith("is not UTF-8; convert the file to UTF-8 (iconv -f UTF-16 -t UTF-8, say)")


def test_old_line_ends_are_undone(file, report):
    assert read_lines(file("mac", "one\r\rtwo\r"), report) == ["one", "", "two"]
    assert report.notes == {"files with CR line ends": 1}


def test_a_problem_quotes_long_lines_in_part(file, report):
    report.problem(file("long", ""), 1, "kind", f"{'x' * 1_000_000} is wrong", "remedy")
    assert len(report.lines()[0]) < 600
    assert report.lines()[0].endswith("x is wrong; remedy")


def test_a_file_that_is_not_there(tmp_path, report):
    with pytest.raises(UserError, match="cannot be read"):
        read_lines(tmp_path / "none", report)


def test_blocks_end_at_blank_lines_and_marks():
    lines = ["#begin", "a", "b", "#end", "  ", "c", "", "", "\t"]
    assert list(blocks(lines, marks=("#",))) == [[(2, "a"), (3, "b")], [(6, "c")], [(9, "\t")]]


def test_columns_between_runs_of_spaces_keep_other_white_space():
    assert columns("  a\u00a0b   c ", tabs=False) == ["a\u00a0b", "c"]
    assert columns("a b\t\tc", tabs=True) == ["a b", "", "c"]


def test_spaces_around_columns_do_not_make_another_label():
    assert columns(" a b \tNN \t\u00a0", tabs=True) == ["a b", "NN", "\u00a0"]


@pytest.mark.parametrize(
    ("words", "masked"),
    [
        ([("The", "[WORD]")], True),
        ([("_", "_", ".")], True),
        ([("fill", "in", "_", ".")], False),
        ([("_",)], False),
        ([], False),
    ],
)
def test_masked_words(tmp_path, report, words, masked):
    assert refuse_masked(tmp_path / "file", words, report) is masked
    assert bool(report.problems) is masked
