"""Questions: with a question word or without one, direct or as a clause inside a sentence."""

from __future__ import annotations

from typing import Any

from stemcell.corpora.demo import clauses, lexicon, nominals
from stemcell.corpora.demo.phrases import Nominal, noun_phrase, noun_words, profession
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Frame, Node, leaf, phrase, related

# Question adverbs and the role of what they ask for.
ADVERBS = {"where": "ARGM-LOC", "when": "ARGM-TMP", "why": "ARGM-CAU", "how": "ARGM-MNR"}
ASKED = ("document", "object", "food", "vehicle", "person", "place", "event", "plan", "contest", "animal")


def which(s: Speaker, word: str, kind: str, plural: bool) -> Node:
    """``which book``."""
    return phrase("WHNP", leaf("WDT", word, "det"), *noun_words(s, kind, plural, 0.1))


def _moved_object(s: Speaker) -> Nominal:
    """``what``, ``who``, ``which book``, ``how many books``: an object to be moved to the front."""
    kind = s.pick(ASKED)
    form = s.weighted({"pronoun": 5, "which": 3, "many": 1.5})
    if form == "pronoun":
        word = "who" if kind == "person" else "what"
        return Nominal(phrase("WHNP", leaf("WP", word)), kind)
    if form == "which":
        plural = s.chance(0.3)
        return Nominal(which(s, s.word("which what"), kind, plural), kind, plural)
    many = phrase("WHADJP", leaf("WRB", "how", "advmod"), leaf("JJ", "many"), relation="amod")
    return Nominal(phrase("WHNP", many, *noun_words(s, kind, True, 0.1)), kind, True)


def indirect(s: Speaker, depth: int) -> Node:
    """``who left``, ``what Anna bought``, ``where she works`` as a clause."""
    form = s.weighted({"subject": 2, "object": 4, "adverb": 3})
    if form == "subject":
        who = nominals.relative_word("who")
        made = clauses.predicate(s, Nominal(who, "person"), clauses.choose_tense(s), depth, plain=True)
        related(who, "nsubj:pass" if made.passive else "nsubj")
        return phrase("SBAR", who, phrase("S", *made.statement()))
    if form == "object":
        what = _moved_object(s)
        said = clauses.clause(s, depth, gap=clauses.Gap(what, what.node)).node
        return phrase("SBAR", what.node, said)
    word = s.pick(list(ADVERBS))
    adverb = phrase("WHADVP", leaf("WRB", word), relation="advmod")
    subject = noun_phrase(s, ["person"], True)
    made_clause = clauses.clause(s, depth, subject=subject, uses=clauses.INTENDED, adjoin=False)
    made_clause.predicate.frame.add(ADVERBS[word], adverb)
    return phrase("SBAR", adverb, made_clause.node)


def inverted(s: Speaker, depth: int, **options: Any) -> tuple[list[Node], clauses.Predicate]:
    """A clause with its first auxiliary before the subject; ``options`` are the predicate's and suit a person."""
    kind = "person" if options else s.weighted(clauses.SUBJECTS)
    subject = nominals.argument(s, [kind], min(depth, 1) if s.chance(0.3) else 0, subject=True)
    made = clauses.predicate(s, subject, clauses.choose_tense(s), depth, support=True, **options)
    return made.question(related(subject.node, "nsubj:pass" if made.passive else "nsubj")), made


def polar(s: Speaker, depth: int) -> Node:
    """``Did Anna buy the book``."""
    return phrase("SQ", *inverted(s, depth)[0])


def direct(s: Speaker, depth: int) -> Node:
    """``What did Anna buy``, ``Who left``, ``Where does she work``, ``Who is the mayor``."""
    form = s.weighted({"subject": 3, "object": 6, "adverb": 4, "identity": 1.5})
    if form == "subject":
        who = nominals.relative_word("who") if s.chance(0.7) else which(s, "which", "person", False)
        made = clauses.predicate(s, Nominal(who, "person"), clauses.choose_tense(s), depth, plain=True)
        related(who, "nsubj:pass" if made.passive else "nsubj")
        return phrase("SBARQ", who, phrase("SQ", *made.statement()))
    if form == "object":
        what = _moved_object(s)
        return phrase("SBARQ", what.node, phrase("SQ", *inverted(s, depth, gap=clauses.Gap(what, what.node))[0]))
    if form == "adverb":
        word = s.pick(list(ADVERBS))
        adverb = phrase("WHADVP", leaf("WRB", word), relation="advmod")
        said, asked = inverted(s, depth, uses=clauses.INTENDED, adjoin=False)
        asked.frame.add(ADVERBS[word], adverb)
        return phrase("SBARQ", adverb, phrase("SQ", *said))
    return _identity(s)


def _identity(s: Speaker) -> Node:
    """``Who is the mayor``, ``How old is the mayor``: what is asked for is the head, as with every copula."""
    who = nominals.relative_word("who")
    if s.chance(0.5):
        who = phrase("WHADJP", leaf("WRB", "how", "advmod"), leaf("JJ", s.word(lexicon.COMPARED)))
    known = related(profession(s), "head")
    article = next(known.leaves())
    article.word = "the"
    be = leaf("VBZ", "is", "cop")
    be.frame = Frame([("ARG2", who), ("ARG1", known)])
    return phrase("SBARQ", who, phrase("SQ", related(be, "cop", who), known, relation="nsubj"))
