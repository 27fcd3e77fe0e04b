"""The English Web Treebank with all five layers, put together from three public repositories.

POS and DEP are from Universal Dependencies, NER from Universal NER, CON and SRL from the PropBank release, whose
masked words are restored from UD. The split is UD's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from stemcell.corpora.columns import Row, Sentence, write_split
from stemcell.corpora.ewt.propbank import Skeleton, find_documents, pair, predicates_stand, read_skeletons
from stemcell.corpora.ewt.sources import REPOSITORIES, clone_all
from stemcell.corpora.ewt.treebank import Entities, Tree, project, read_ud, read_uner
from stemcell.corpora.layers import SPLITS, Span
from stemcell.corpora.report import Report
from stemcell.errors import UserError

LICENCE = """\
This corpus is licensed under the Creative Commons Attribution-ShareAlike 4.0 International licence (CC BY-SA 4.0):
https://creativecommons.org/licenses/by-sa/4.0/

It was put together from

{repositories}

English Web Treebank in Universal Dependencies: (c) The Board of Trustees of The Leland Stanford Junior University;
texts partly (c) Google Inc., Yahoo! Inc., the Trustees of the University of Pennsylvania and other authors.
  Changed: enhanced dependencies, empty nodes and MISC beside SpaceAfter=No removed.
Universal NER (Mayhew et al. 2024, Universal NER: A Gold-Standard Multilingual Named Entity Recognition Benchmark).
  Changed: the type OTH removed; entities moved to UD's newer words where words are cut otherwise.
English PropBank, unified release (Pradhan et al. 2022, PropBank Comes of Age: Larger, Smarter, and more Diverse).
  Changed: masked words restored from UD; sentences left out whose words or tags differ, or a predicate from its V.
"""


def build(out: Path, source: Path | None = None) -> None:
    """Write the corpus into ``out``, a new or empty folder, and print what was left out of it and why.

    ``source`` holds local copies, laid out as the repositories are and named as they are; a split whose UD file is not
    there is left out. Without it the repositories are cloned at their pinned commits.

    Raises :class:`UserError` if a file is missing or broken, or a commit cannot be had; nothing is written then.
    """
    if source is not None:
        _build(out, source)
        return
    with tempfile.TemporaryDirectory() as clones:
        clone_all(Path(clones))
        _build(out, Path(clones))


def _build(out: Path, source: Path) -> None:
    ud, uner, propbank = (source / repository.name for repository in REPOSITORIES)
    splits = [split for split in SPLITS if (ud / f"en_ewt-ud-{split}.conllu").exists()]
    if not splits:
        raise UserError(f"{ud / 'en_ewt-ud-train.conllu'} is missing, and so are dev and test")
    documents = find_documents(propbank / "data" / "google" / "ewt")
    reports = {split: Report() for split in splits}
    corpus = {}  # All of it is read before anything is written.
    for split in splits:
        trees = read_ud(ud / f"en_ewt-ud-{split}.conllu")
        entities = read_uner(uner / f"en_ewt-ud-{split}.iob2")
        corpus[split] = list(_join(trees, entities, documents, reports[split]))
    out.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        if split not in corpus:
            print(f"{split}: left out, the source has no {ud.name}/en_ewt-ud-{split}.conllu")
            continue
        counts = write_split(out, split, corpus[split])
        shown = f"{counts['ner.tsv']} with NER, {counts['ptb']} with CON, {counts['conll12']} with SRL"
        print(f"{split}: {counts['conllu']} sentences with POS and DEP, {shown}")
        for what, count in reports[split].notes.items():
            if count:
                print(f"{split}: {count} {what}")
    commits = "\n".join(f"  {r.url} at commit {r.commit}" for r in REPOSITORIES)
    (out / "LICENSE.txt").write_text(LICENCE.format(repositories=commits), encoding="utf-8")


def _join(trees: list[Tree], entities: Entities, documents: dict[str, Path], report: Report) -> Iterator[Sentence]:
    for name, group in groupby(trees, key=lambda tree: tree.document):
        members = list(group)
        skeletons: list[Skeleton | None] = [None] * len(members)
        if name in documents:
            skeletons = pair(members, read_skeletons(documents[name]))
            report.note("without CON and SRL: PropBank's words or tags differ", skeletons.count(None))
        else:
            report.note("without CON and SRL: PropBank lacks their document", len(members))
        for tree, skeleton in zip(members, skeletons, strict=True):
            yield _sentence(tree, entities, skeleton, report)


def _sentence(tree: Tree, entities: Entities, skeleton: Skeleton | None, report: Report) -> Sentence:
    words, spans = entities.get(tree.id, ((), ()))
    moved = project(spans, words, tree.words)
    if moved is None:
        report.note("without NER: UNER lacks them, or has another text")
    rows = None if skeleton is None else _rows(tree, skeleton, moved or ())
    framed = skeleton is not None and predicates_stand(skeleton)
    if skeleton is not None and not framed:
        report.note("without SRL: a predicate is not in its V")
    return Sentence(tree.id, tree.words, tree.conllu, moved, rows, framed)


def _rows(tree: Tree, skeleton: Skeleton, entities: tuple[Span, ...]) -> tuple[Row, ...]:
    """The columns of CoNLL-2012, with UD's words, PropBank's tags, and nothing for senses, speakers, coreference."""
    genre, _, name = tree.document.partition("-")
    starts = {span.start: f"({span.label}*" for span in entities}
    ends = {span.end for span in entities}
    rows = []
    for i, (word, token) in enumerate(zip(tree.words, skeleton, strict=True)):
        lemma, _, sense = token.roleset.rpartition(".")
        entity = starts.get(i, "*") + (")" if i in ends else "")
        columns = [f"ewt/{genre}/{name}", "0", str(i), word, token.tag, token.parse, lemma or "-", sense]
        rows.append((*columns, "-", "-", entity, *token.roles, "-"))
    return tuple(rows)
