"""Whole sentences: statements and what can be added to them, questions, orders, quotations, fragments."""

from __future__ import annotations

from collections.abc import Callable

from stemcell.corpora.demo import adjuncts, clauses, lexicon, nominals, questions
from stemcell.corpora.demo.clauses import Clause
from stemcell.corpora.demo.conjugation import agree
from stemcell.corpora.demo.phrases import Nominal, common, name, noun_phrase, person_name, preposition, town_name
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Frame, Node, capitalise, comma, leaf, phrase, related
from stemcell.corpora.demo.verbs import VERBS

# Conjunctions of subordinate clauses and their roles.
SUBORDINATORS = {"because": "CAU", "after": "TMP", "before": "TMP", "while": "TMP", "if": "ADV", "although": "ADV"}


def stop(word: str = ".") -> Node:
    """The final punctuation mark."""
    return leaf(".", word, "punct")


def sentence(s: Speaker) -> Node:
    """A sentence as a tree under TOP."""
    depth = s.weighted({0: 5, 1: 7.5, 2: 1})
    kinds: dict[Callable[[Speaker, int], Node], float] = {
        statement: 52,
        joined: 8,
        polar: 7,
        wh_question: 10,
        order: 5,
        quotation: 9,
        existential: 4,
        anticipated: 3,
        extraposed: 3,
        fragment: 3,
        one_word: 3,
        aside: 2,
    }
    return phrase("TOP", s.weighted(kinds)(s, depth))


def statement(s: Speaker, depth: int) -> Node:
    """A statement with a full stop."""
    said = enriched(s, depth).node
    said.children.append(stop("!" if s.chance(0.03) else "."))
    return said


def enriched(s: Speaker, depth: int) -> Clause:
    """A clause, often with something said before it or after it."""
    made = clauses.clause(s, depth)
    form = s.weighted({"bare": 10, "stance": 1.5, "time": 1.5, "clause": 2 if depth else 0, "yes": 0.5})
    if form == "stance":
        _in_front(made, "ARGM-ADV", adjuncts.stance(s), s.chance(0.8))
    elif form == "time" and made.tense in {"past", "future"} and "ARGM-TMP" not in dict(made.predicate.frame.roles):
        _in_front(made, "ARGM-TMP", adjuncts.time(s, made.tense), s.chance(0.6))
    elif form == "clause":
        _in_front(made, *subordinate(s, depth - 1, made.tense), True)
    elif form == "yes":
        yes = phrase("INTJ", leaf("UH", s.word("Yes No Well Oh")), relation="discourse")
        made.node.children[:0] = [yes, comma(yes)]
    elif depth and not made.ends_in_clause and s.chance(0.5):
        _behind(s, made, depth - 1)
    return made


def _in_front(made: Clause, role: str, node: Node, pause: bool) -> None:
    made.predicate.frame.add(role, node)
    made.node.children[:0] = [node, comma(node)] if pause else [node]


def _behind(s: Speaker, made: Clause, depth: int) -> None:
    """A reason, a time, a purpose, a means or what else went on, at the end of the verb phrase."""
    subject = next(child for child in made.node.children if child.relation.startswith("nsubj"))
    agent = Nominal(subject, "person")
    host = made.node.children[-1]
    willing = made.predicate.willing
    form = s.weighted({"clause": 4, "purpose": 10 * willing, "means": 3 * willing, "other": 3 * willing})
    if form == "clause":
        role, node = subordinate(s, depth, made.tense)
    elif form == "purpose":
        role, node = "ARGM-PRP", related(clauses.infinitive(s, agent, depth, uses=clauses.AIMS), "advcl")
    elif form == "means":
        doing = clauses.gerund(s, agent, depth)
        role, node = "ARGM-MNR", phrase("PP", leaf("IN", s.word("by without"), "mark"), doing, relation="advcl")
    else:
        role, node = "ARGM-ADV", related(clauses.gerund(s, agent, depth), "advcl")
        host.children.append(comma(node))
    made.predicate.frame.add(role, node)
    host.children.append(node)


def subordinate(s: Speaker, depth: int, tense: str) -> tuple[str, Node]:
    """An adverbial clause and its role."""
    said = clauses.clause(s, depth, tense="past" if tense == "past" else "present").node
    if s.chance(0.25):
        when = phrase("WHADVP", leaf("WRB", "when"), relation="advmod")
        return "ARGM-TMP", phrase("SBAR", when, said, relation="advcl")
    word = s.pick(list(SUBORDINATORS))
    return f"ARGM-{SUBORDINATORS[word]}", phrase("SBAR", leaf("IN", word, "mark"), said, relation="advcl")


def joined(s: Speaker, depth: int) -> Node:
    """Two statements in one sentence."""
    first, second = enriched(s, min(depth, 1)).node, clauses.clause(s, min(depth, 1)).node
    if s.chance(0.2):
        return phrase("S", first, related(leaf(":", ";"), "punct", second), related(second, "parataxis"), stop())
    both = [first, comma(second), related(leaf("CC", s.word("and and but or so")), "cc", second)]
    return phrase("S", *both, related(second, "conj"), stop())


def polar(s: Speaker, depth: int) -> Node:
    """``Did Anna leave ?``, now and then with an address before it."""
    asked = questions.polar(s, depth)
    if s.chance(0.15):
        _address(s, asked)
    asked.children.append(stop("?"))
    return asked


def _address(s: Speaker, node: Node) -> None:
    called = related(person_name(s, False), "vocative")
    node.children[:0] = [called, comma(called)]


def wh_question(s: Speaker, depth: int) -> Node:
    """``What did Anna buy ?``"""
    asked = questions.direct(s, depth)
    asked.children.append(stop("?"))
    return asked


def order(s: Speaker, depth: int) -> Node:
    """``Please open the door .``"""
    you = Nominal(leaf("PRP", "you"), "person", plural=True, person=2)
    made = clauses.predicate(s, you, "infinitive", depth, uses=clauses.INTENDED)
    said = phrase("S", *made.statement())
    opening = s.weighted({"": 5, "please": 3, "address": 1, "never": 1})
    if opening == "please":
        said.children.insert(0, phrase("INTJ", leaf("UH", "please"), relation="discourse"))
    elif opening == "address":
        _address(s, said)
    elif opening == "never":
        never = adjuncts.adverb("never")
        made.frame.add("ARGM-NEG", never)
        said.children.insert(0, never)
    said.children.append(stop(s.word(". . !")))
    return said


def quotation(s: Speaker, depth: int) -> Node:
    """``Anna said , `` I left . ''``, the same turned round, or a quotation in two pieces."""
    verb = s.pick(VERBS["speech"])
    speaker = noun_phrase(s, ["person"], True)
    main = leaf("VBD", verb.forms["VBD"])
    main.frame = Frame([("ARG0", speaker.node)])
    related(speaker.node, "nsubj")
    opening, closing = leaf("``", "``", "punct"), leaf("''", "''", "punct")
    question = verb.lemma == "ask"
    form = s.weighted({"before": 4, "after": 3, "split": 0 if question else 3})
    if speaker.node.head().label == "PRP":
        form = "after"
    if form == "split":
        return _split_quotation(s, main, speaker.node, depth)
    said = questions.polar(s, min(depth, 1)) if question else clauses.clause(s, min(depth, 1)).node
    capitalise(said)
    main.frame.add("ARG1", said)
    related(opening, "punct", said)
    related(closing, "punct", said)
    if form == "after":
        mark = related(stop("?" if question else "."), "punct", said)
        vp = phrase("VP", main, comma(), opening, related(said, "ccomp"))
        return phrase("S", speaker.node, vp, mark, closing)
    mark = stop("?") if question else comma()
    related(mark, "punct", said)
    vp = phrase("VP", main)
    return phrase("SINV", opening, related(said, "ccomp"), mark, closing, vp, speaker.node, stop())


def _split_quotation(s: Speaker, main: Node, speaker: Node, depth: int) -> Node:
    """`` `` The door , '' said Anna , `` is open . '' ``: what is said is one argument in two pieces."""
    made = clauses.clause(s, min(depth, 1))
    subject, *rest = made.node.children
    capitalise(subject)
    assert main.frame is not None
    main.frame.roles += [("ARG1", subject), ("C-ARG1", rest[-1])]
    telling = phrase("SINV", phrase("VP", main), speaker)
    quotes = [leaf(mark, mark, "punct") for mark in ("``", "''", "``", "''")]
    break_ = phrase("PRN", comma(), quotes[1], telling, comma(), quotes[2], relation="parataxis")
    return phrase("S", quotes[0], subject, break_, *rest, stop(), quotes[3])


def existential(s: Speaker, depth: int) -> Node:
    """``There was a dog in the garden .``"""
    there = phrase("NP", leaf("EX", "there"), relation="expl")
    thing = common(s, s.word("animal person vehicle document container"), 0.2, indefinite=True)
    if depth > 0 and s.chance(0.4):
        thing = nominals.with_relative(s, thing, depth)
    word, tag = agree("be", s.chance(0.6), thing)
    be = leaf(tag, word)
    be.frame = Frame([("ARG1", thing.node)])
    vp = phrase("VP", be)
    if s.chance(0.12):
        not_ = leaf("RB", "n't", "advmod")
        be.frame.add("ARGM-NEG", not_)
        vp.children.append(not_)
    vp.children.append(related(thing.node, "nsubj"))
    if not clauses.ends_in_clause(thing.node):
        where = adjuncts.place(s)
        be.frame.add("ARGM-LOC", where)
        vp.children.append(where)
    return phrase("S", there, vp, stop())


def anticipated(s: Speaker, depth: int) -> Node:
    """``It is clear that Anna left .``: the subject stands at the end, ``it`` in its place."""
    it = phrase("NP", phrase("NP", leaf("PRP", "it")), relation="expl")
    clause = phrase("SBAR", leaf("IN", "that", "mark"), clauses.clause(s, min(depth, 1)).node, relation="csubj")
    it.moved.append(clause)
    quality = phrase("ADJP", leaf("JJ", s.word("clear strange true important possible sad")))
    be = leaf("VBZ", "is", "cop") if s.chance(0.5) else leaf("VBD", "was", "cop")
    be.frame = Frame([("ARG1", it), ("ARG2", quality)])
    return phrase("S", it, phrase("VP", be, quality, clause), stop())


def extraposed(s: Speaker, depth: int) -> Node:
    """``A man arrived who knew Anna .``: the relative clause stands apart from its noun."""
    inner = common(s, s.word("person person document animal"), 0)
    clause = nominals.subject_relative(s, inner, max(depth - 1, 0), "who" if inner.kind == "person" else "that")
    whole = phrase("NP", inner.node, related(clause, "acl:relcl"))
    uses = {"unaccusative": 2, "passive": 1, "intransitive": 2}
    subject = Nominal(whole, inner.kind, inner.plural)
    made = clauses.clause(s, 0, subject=subject, uses=uses, tense="past")
    clauses.extrapose(whole, made.node.children[-1])
    made.node.children.append(stop())
    return made.node


def fragment(s: Speaker, depth: int) -> Node:
    """A noun phrase as a headline or an answer."""
    form = s.weighted({"noun": 3, "interview": 1, "thanks": 1})
    if form == "thanks":
        reason = preposition("for", common(s, "document", 0).node, "nmod")
        return phrase("NP", phrase("NP", leaf("NNS", "thanks")), reason, stop("!"))
    if form == "interview":
        opening = phrase("NP", leaf("NN", s.word("interview lunch talk")))
        return phrase("NP", opening, preposition("with", person_name(s, False), "nmod"))
    thing = common(s, s.word("person place document event org"), 0.4)
    node = (nominals.with_relative(s, thing, depth) if s.chance(0.4) else thing).node
    return phrase("FRAG", node, stop()) if s.chance(0.5) else phrase("FRAG", node)


def one_word(s: Speaker, depth: int) -> Node:
    """A sentence of one word, with or without a mark."""
    made = {
        "INTJ": phrase("INTJ", leaf("UH", s.word("yes no hello thanks please"))),
        "FRAG": phrase("FRAG", phrase("ADVP", leaf("RB", s.word("never perhaps fortunately together slowly")))),
        "NP": phrase("NP", leaf("NN", s.word(lexicon.TOPICS))),
        "name": town_name(s) if s.chance(0.5) else name(s, "person", ["person"]),
        "S": phrase("S", phrase("VP", leaf("VB", s.word("wait stop listen look run")))),
        "SBARQ": phrase("SBARQ", phrase("WHADVP", leaf("WRB", s.word("why when where how")))),
    }
    form = s.weighted({"INTJ": 3, "FRAG": 2, "NP": 1, "name": 2, "S": 2, "SBARQ": 2})
    node = made[form]
    if form == "S":
        verb = next(node.leaves())
        verb.frame = Frame()
    if form == "SBARQ":
        node.children.append(stop("?"))
    elif s.chance(0.5):
        node.children.append(stop(s.word(". !")))
    return node


def aside(s: Speaker, depth: int) -> Node:
    """A whole sentence in brackets."""
    said = clauses.clause(s, min(depth, 1)).node
    capitalise(said)
    said.children = [leaf("-LRB-", "(", "punct"), *said.children, stop(), leaf("-RRB-", ")", "punct")]
    return said
