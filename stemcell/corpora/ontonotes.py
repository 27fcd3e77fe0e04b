"""OntoNotes 5 with all five layers, from a CoNLL-2012 release of it and dependencies made with a Stanford converter.

The split is the release's, which is that of Pradhan et al. (2013), "Towards Robust Linguistic Analysis using
OntoNotes". Its folders are found anywhere under the source::

    {train,development,test,conll-2012-test}/data/english/annotations/GENRE/.../NAME.*gold_conll

Dependencies are CoNLL-X files: either one for every document, ``NAME.conllx`` beside its gold file, or one for every
split, ``{train,dev,test}.conllx`` at the top of the source, with the documents in the order of their paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stemcell.corpora.columns import DOCUMENT, ENTITIES, PARSE, PART, TAG, WORD, Row, Sentence, write_split
from stemcell.corpora.formats import conll12, conllu
from stemcell.corpora.formats.lines import Block, Broken, blocks, columns, parse_all, read_lines
from stemcell.corpora.layers import BLANK, Arcs, Span
from stemcell.corpora.penn import normalise
from stemcell.corpora.report import Report
from stemcell.errors import UserError

# The test set of CoNLL-2012 is the one that results are reported on; a release may have a larger ``test`` beside it.
FOLDERS = {"train": ("train",), "dev": ("development",), "test": ("conll-2012-test", "test")}

CONVERT = (
    "java -cp stanford-parser.jar edu.stanford.nlp.trees.EnglishGrammaticalStructure "
    "-basic -keepPunct -conllx -treeFile {split}/{split}.ptb > {target}"
)

NAMELESS = "pt/"
"""The genre (the Bible) that OntoNotes has not annotated with names; here its column says so (``-``), there ``*``."""

FRAME_FAULTS = ("predicates", "roles")
"""Kinds of problems that cost a sentence its SRL alone."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sentence of a CoNLL-X file: where it is, and what it has."""

    file: Path
    line: int
    words: tuple[str, ...]
    arcs: Arcs


def build(source: Path, out: Path) -> None:
    """Write the corpus into ``out``, a new or empty folder, and print what was left out of it and why.

    Without dependencies a split has no DEP, and how to make them from the trees written is printed.

    Raises :class:`UserError` if the source has no English split, words are masked, a file is broken, or dependencies
    are of other words. Splits before the faulty one are then written already.
    """
    out.mkdir(parents=True, exist_ok=True)
    for split, folder in _find_splits(source).items():
        if folder is None:
            print(f"{split}: left out, the source has no {FOLDERS[split][0]}/data/english/annotations")
            continue
        documents = _documents(folder)
        report = Report()
        parsed = _dependencies(source, split, documents)
        counts = write_split(out, split, _join(documents, parsed, report))
        shown = f"{counts['ner.tsv']} with NER, {counts['ptb']} with CON, {counts['conll12']} with SRL"
        print(f"{split}: {counts['conllu']} sentences of {folder}, {shown}")
        for what, count in report.notes.items():
            print(f"{split}: {count} {what}")
        if parsed is None:
            command = CONVERT.format(split=split, target=source.absolute() / f"{split}.conllx")
            print(f"{split}: without DEP; to have it, run this in the new folder and build it again:\n  {command}")


def _find_splits(source: Path) -> dict[str, Path | None]:
    """The folder of each split's English annotations; ``None`` for one that is not there."""
    if not source.is_dir():
        raise UserError(f"{source} is not a folder; give the folder of a CoNLL-2012 release of OntoNotes with --source")
    found: dict[str, list[Path]] = {}
    masked: Path | None = None
    for folder in sorted(source.glob("**/data/*/annotations")):
        name, _, language = folder.parts[-4:-1]
        if language != "english":
            print(f"{folder}: left out, not English")
        elif next(folder.rglob("*gold_conll"), None):
            found.setdefault(name, []).append(folder)
        else:
            masked = masked or next(folder.rglob("*gold_skel"), None)
    for name, folders in found.items():
        if len(folders) > 1:
            raise UserError(
                f"two releases have a {name}: {folders[0]} and {folders[1]}; give the folder of one of them"
            )
    splits = {split: next((found[n][0] for n in names if n in found), None) for split, names in FOLDERS.items()}
    for folders in found.values():
        if folders[0] not in splits.values():
            print(f"{folders[0]}: left out, another set is used as train, dev or test")
    if not any(splits.values()) and masked:
        raise UserError(
            f"{masked}: its words are masked; restore them from OntoNotes itself with the release's scripts"
        )
    if not any(splits.values()):
        raise UserError(
            f"{source} has no train, development or test folder with data/english/annotations/**/*gold_conll; "
            "give the folder of a CoNLL-2012 release of OntoNotes with --source"
        )
    return splits


def _documents(annotations: Path) -> list[Path]:
    """The gold files of a split in the order of their paths."""
    documents: dict[Path, Path] = {}
    for path in sorted(annotations.rglob("*gold_conll"), key=lambda path: path.parts):
        name = path.with_suffix("")
        if name in documents:
            raise UserError(f"{path} and {documents[name].name} are the same document; remove one of them")
        documents[name] = path
    return list(documents.values())


def _dependencies(source: Path, split: str, documents: list[Path]) -> Iterator[Parsed] | None:
    """The sentences of a split's CoNLL-X files in the order of its documents, or ``None`` if there are no files."""
    whole = source / f"{split}.conllx"
    beside = {path: path.with_suffix(".conllx") for path in documents}
    if whole.exists():
        return _read_conllx([whole])
    if not any(path.exists() for path in beside.values()):
        return None
    for path, dependencies in beside.items():
        if not dependencies.exists():
            raise UserError(f"{dependencies} is missing; other documents of {split} have one, and {path.name} needs it")
    return _read_conllx(list(beside.values()))


def _read_conllx(paths: list[Path]) -> Iterator[Parsed]:
    for path in paths:
        report = Report()
        examples = conllu.read(path, report)["dep"]
        report.raise_problems()
        starts = [block[0][0] for block in blocks(read_lines(path, report))]
        if len(starts) != len(examples):
            raise UserError(
                f"{path}: {len(starts) - len(examples)} sentences lack heads or relations; convert the trees anew"
            )
        for line, example in zip(starts, examples, strict=True):
            yield Parsed(path, line, example.words, example.gold)


def _join(documents: list[Path], parsed: Iterator[Parsed] | None, report: Report) -> Iterator[Sentence]:
    for path in documents:
        for line, sentence in _read_document(path, report):
            if parsed is None:
                yield sentence
                continue
            tree = next(parsed, None)
            if tree is None:
                raise UserError(f"{path}:{line}: {sentence.id} has no dependencies; convert all of the split's trees")
            yield _with_arcs(sentence, tree, f"{path}:{line}")
    if parsed is not None and (tree := next(parsed, None)):
        raise UserError(f"{tree.file}:{tree.line}: dependencies of a sentence that the split has not; remove them")


def _with_arcs(sentence: Sentence, tree: Parsed, place: str) -> Sentence:
    """The sentence with heads and relations. Words may differ in how Penn writes brackets, quotes and slashes."""
    ours, theirs = [list(map(normalise, words)) for words in (sentence.words, tree.words)]
    if ours != theirs:
        i = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
        our, their = [repr(words[i]) if i < len(words) else "nothing" for words in (sentence.words, tree.words)]
        raise UserError(
            f"{tree.file}:{tree.line + i}: {their} where {place} has {our} (word {i + 1}); "
            "the dependencies must be of the same sentences in the same order"
        )
    rows = sentence.rows or ()
    return Sentence(
        sentence.id, sentence.words, _conllu(sentence.id, rows, tree.arcs), sentence.entities, rows, sentence.framed
    )


def _read_document(path: Path, report: Report) -> Iterator[tuple[int, Sentence]]:
    """The sentences of a gold file with the lines where they begin.

    A fault in predicates costs a sentence its SRL and is noted; others, and masked words, raise :class:`UserError`.
    """
    check = Report()
    framed = {example.id for example in conll12.read(path, check)["srl"]}
    check.problems = [problem for problem in check.problems if problem.kind not in FRAME_FAULTS]
    numbers: Counter[str] = Counter()
    sentences: list[tuple[int, Sentence]] = []

    def parse(block: Block) -> None:
        rows = tuple(tuple(columns(line, "\t" in line)) for _, line in block)
        document = f"{rows[0][DOCUMENT]}.{rows[0][PART]}"
        numbers[document] += 1
        name = f"{document}.{numbers[document]}"
        for (number, _), row in zip(block, rows, strict=True):
            if row[PARSE] in (BLANK, "-"):
                raise Broken(number, "parse", "the word has no tree", "copy the document anew, or remove it")
        rows = tuple((*row[:TAG], conll12.tag_of(row), *row[TAG + 1 :]) for row in rows)
        nameless = document.startswith(NAMELESS) or any(row[ENTITIES] in (BLANK, "-") for row in rows)
        entities = None if nameless else _entities(block, rows)
        if name not in framed:
            report.note("without SRL: not annotated, or a broken role column")
        if nameless:
            rows = tuple((*row[:ENTITIES], "-", *row[ENTITIES + 1 :]) for row in rows)
            report.note("without NER: not annotated with names")
        words = tuple(row[WORD] for row in rows)
        sentence = Sentence(name, words, _conllu(name, rows, None), entities, rows, framed=name in framed)
        sentences.append((block[0][0], sentence))

    check.raise_problems()
    marks = ("#begin document", "#end document")
    parse_all(blocks(read_lines(path, check), marks), parse, path, check, skip_broken=False)
    check.raise_problems()
    yield from sentences


def _entities(block: Block, rows: tuple[Row, ...]) -> tuple[Span, ...]:
    """The names of a sentence, from a column that is known to be balanced."""
    spans: list[Span] = []
    start, label = -1, ""
    for i, row in enumerate(rows):
        cell = row[ENTITIES]
        if "(" in cell:
            if label or cell.count("(") > 1:
                raise Broken(block[i][0], "entities", "a name within a name", "keep one of them")
            start, label = i, cell.strip("()*")
        if ")" in cell:
            spans.append(Span(start, i, label))
            label = ""
    return tuple(spans)


def _conllu(name: str, rows: tuple[Row, ...], arcs: Arcs | None) -> str:
    """The sentence's block of CoNLL-U, with the tags of the gold file."""
    lines = [f"# sent_id = {name}", "# text = " + " ".join(row[WORD] for row in rows)]
    for i, row in enumerate(rows):
        head, relation = (arcs.heads[i], arcs.relations[i]) if arcs else ("_", "_")
        lines.append(f"{i + 1}\t{row[WORD]}\t_\t_\t{row[TAG]}\t_\t{head}\t{relation}\t_\t_")
    return "\n".join(lines)
