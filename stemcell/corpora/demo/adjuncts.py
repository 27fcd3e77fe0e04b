"""What a clause may say besides its arguments: when, where, how, with whom, why and how surely."""

from __future__ import annotations

from stemcell.corpora.demo import lexicon
from stemcell.corpora.demo.phrases import noun_phrase, noun_words, person_name, preposition, town_name
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Entity, Frame, Node, leaf, phrase, related

TENSES = ("past", "perfect", "present", "progressive", "future")


def adverb(word: str, *before: Node) -> Node:
    """An adverb phrase."""
    return phrase("ADVP", *before, leaf("RB", word), relation="advmod")


def date(relation: str, *tagged: tuple[str, str, str]) -> Node:
    """A noun phrase that is a date: words with tags and relations (``head`` for one)."""
    entity = Entity("DATE")
    words = [leaf(tag, word, how) for word, tag, how in tagged]
    for word in words:
        word.entity = entity
    return phrase("NP", *words, relation=relation)


def year(s: Speaker) -> str:
    """A year in figures."""
    return str(1950 + int(s.chance(0.5)) * 40 + s.pick(range(35)))


def calendar(s: Speaker, tense: str) -> Node:
    """``on Monday``, ``in May 1998`` and the like."""
    form = s.weighted({"day": 4, "year": 3 if tense == "past" else 0, "month": 2})
    if form == "day":
        return preposition(s.word("on on by"), date("head", (s.word(lexicon.DAYS), "NNP", "head")), "obl")
    if form == "year":
        return preposition(s.word("in in before"), date("head", (year(s), "CD", "head")), "obl")
    month = (s.word(lexicon.MONTHS), "NNP", "head")
    if tense == "past" and s.chance(0.5):
        return preposition("in", date("head", month, (year(s), "CD", "nmod:unmarked")), "obl")
    return preposition("in", date("head", month), "obl")


def definite(s: Speaker, kind: str) -> Node:
    """``the`` and a noun."""
    return phrase("NP", leaf("DT", "the", "det"), *noun_words(s, kind, s.chance(0.15), 0.2))


def time(s: Speaker, tense: str) -> Node:
    """When: what suits the tense."""
    if tense in {"present", "perfect"}:
        if tense == "perfect" or s.chance(0.3):
            return adverb(s.word("recently twice before" if tense == "perfect" else "often sometimes"))
        return date("obl:unmarked", ("every", "DT", "det"), (s.word("day morning week year summer"), "NN", "head"))
    if tense == "progressive":
        if s.chance(0.5):
            return adverb("now")
        return date("obl:unmarked", (s.word("today"), "NN", "head"))
    form = s.weighted({"calendar": 5, "near": 3, "relative": 2, "event": 2, "ago": 1.5 if tense == "past" else 0})
    if form == "calendar":
        return calendar(s, tense)
    if form == "near":
        return date("obl:unmarked", (("yesterday" if tense == "past" else "tomorrow"), "NN", "head"))
    if form == "relative":
        which = s.word("last that" if tense == "past" else "next this")
        tag, how = ("DT", "det") if which in {"that", "this"} else ("JJ", "amod")
        return date("obl:unmarked", (which, tag, how), (s.word("week month year summer night"), "NN", "head"))
    if form == "ago":
        span = phrase("NP", leaf("CD", s.word(lexicon.NUMBERS), "nummod"), leaf("NNS", s.word("days years weeks")))
        return adverb("ago", related(span, "obl:unmarked"))
    return preposition(s.word("before after during"), definite(s, s.word("event contest force")), "obl")


def place(s: Speaker) -> Node:
    """Where: in a city, or in, at, near or by a building."""
    if s.chance(0.5):
        return preposition("in", town_name(s), "obl")
    where = phrase("NP", leaf("DT", s.word("the the a this"), "det"), *noun_words(s, "place", False, 0.25))
    return preposition(s.word("in at near by behind outside"), where, "obl")


def instrument(s: Speaker, tools: str) -> Node:
    """``with`` one of the tools."""
    quality = [leaf("JJ", s.word("sharp long old rusty small"), "amod")] if s.chance(0.4) else []
    tool = phrase("NP", leaf("DT", s.word("a a the"), "det"), *quality, leaf("NN", s.word(tools)))
    return preposition("with", tool, "obl")


def company(s: Speaker) -> Node:
    """``with`` a person."""
    with_whom = person_name(s, False) if s.chance(0.6) else noun_phrase(s, ["person"], modified=0).node
    return preposition("with", with_whom, "obl")


def cause(s: Speaker) -> Node:
    """``because of`` something."""
    what = definite(s, s.word("force force contest"))
    because, of = leaf("IN", "because", "case"), leaf("IN", "of")
    return phrase("PP", because, related(of, "fixed", because), what, relation="obl")


def stance(s: Speaker) -> Node:
    """A sentence adverb."""
    return adverb(s.word(lexicon.STANCES))


def after_verb(
    s: Speaker, frame: Frame, tense: str, *, manner: bool, tool: str, settled: bool, amount: float
) -> list[Node]:
    """Adjuncts at the end of a verb phrase, with their roles.

    Args:
        manner: whether the verb can be done in some manner, place or company.
        tool: tools that it can be done with, if any.
        settled: whether a place said next would belong to the object instead.
        amount: how many to expect, roughly.
    """
    chosen: list[tuple[str, Node]] = []
    if tool and s.chance(0.6):
        chosen.append(("ARGM-MNR", instrument(s, tool)))
    elif manner and s.chance(0.3 * amount):
        if s.chance(0.3):
            chosen.append(("ARGM-COM", company(s)))
        else:
            degree = [leaf("RB", s.word("very too so"), "advmod")] if s.chance(0.2) else []
            chosen.append(("ARGM-MNR", adverb(s.word("quickly slowly carefully quietly well badly"), *degree)))
    if manner and not settled and s.chance(0.3 * amount):
        chosen.append(("ARGM-LOC", place(s)))
    if s.chance(0.45 * amount):
        chosen.append(("ARGM-TMP", time(s, tense)))
    elif manner and s.chance(0.04 * amount):
        chosen.append(("ARGM-CAU", cause(s)))
    for role, node in chosen:
        frame.add(role, node)
    return [node for _, node in chosen]
