"""Noun phrases with clauses or asides inside: relative clauses, appositions, brackets, and nouns that have roles."""

from __future__ import annotations

from collections.abc import Sequence

from stemcell.corpora.demo import clauses
from stemcell.corpora.demo.phrases import (
    Nominal,
    named_words,
    noun_phrase,
    noun_words,
    possessor,
    preposition,
    profession,
    town_name,
)
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Frame, Node, comma, leaf, phrase, related
from stemcell.corpora.demo.verbs import VERBS

# The kinds of noun phrases that take relative clauses: each can be a person's object.
DESCRIBED = "person animal place org container object document food vehicle event contest plan"


def argument(s: Speaker, kinds: Sequence[str], depth: int, subject: bool = False) -> Nominal:
    """A noun phrase of one of the kinds; with depth left it may hold clauses, and a name an aside."""
    if depth > 0 and "plan" in kinds and s.chance(0.5):
        return deverbal(s, depth - 1)
    nominal = noun_phrase(s, kinds, subject, modified=0.3 if depth > 0 else 0.15)
    last = nominal.node.children[-1]
    if depth <= 0 or last.label == "PRP" or any(child.label == "CC" for child in nominal.node.children):
        return nominal
    if nominal.node.head().label in {"NNP", "NNPS"}:
        return _with_aside(s, nominal, depth) if s.chance(0.15) else nominal
    described = nominal.kind in DESCRIBED.split() and s.chance(0.5 if nominal.kind == "place" else 0.26)
    return with_relative(s, nominal, depth) if described else nominal


def with_relative(s: Speaker, nominal: Nominal, depth: int) -> Nominal:
    """The noun phrase with a clause about it."""
    clause = related(relative(s, nominal, depth - 1), "acl:relcl")
    if clause.label == "VP":
        clause.relation = "acl"
    return Nominal(phrase("NP", nominal.node, clause), nominal.kind, nominal.plural)


def _with_aside(s: Speaker, nominal: Nominal, depth: int) -> Nominal:
    """``Anna Reed , a doctor ,``, ``Oslo ( Norway )``, ``Ben , who had left ,``; countries have none."""
    node = nominal.node
    if nominal.kind == "city" and node.head().word not in s.names["city"]:
        return nominal
    if nominal.kind == "person" and s.chance(0.6):
        if s.chance(0.5):
            aside = related(profession(s), "appos")
        else:
            aside = related(subject_relative(s, nominal, depth - 1, "who"), "acl:relcl")
        return Nominal(phrase("NP", node, comma(aside), aside, comma(aside)), nominal.kind)
    if nominal.kind == "person":
        inner = phrase("NP", leaf("CD", s.word("24 34 45 58 61")))
    elif nominal.kind == "org":
        inner = phrase("NP", *named_words("ORG", [(s.pick(s.names["acronym"]), "NNP")]))
    else:
        inner = phrase("NP", *named_words("LOC", [(s.pick(s.names["country"]), "NNP")]))
    return Nominal(phrase("NP", node, bracketed(inner, "appos")), nominal.kind, nominal.plural)


def bracketed(inner: Node, relation: str) -> Node:
    """An aside in round brackets."""
    opening, closing = leaf("-LRB-", "(", "punct"), leaf("-RRB-", ")", "punct")
    return phrase("PRN", opening, inner, closing, relation=relation)


def relative(s: Speaker, antecedent: Nominal, depth: int) -> Node:
    """A clause about the noun phrase: subject, object, place, possessor relative, or a bare participle."""
    kind = antecedent.kind
    person = kind == "person"
    form = s.weighted(
        {
            "subject": 4,
            "object": 7 if kind == "place" else 4,
            "bare": 2,
            "whose": 3 if person else 0,
            "where": 12 if kind == "place" else 0,
            "to whom": 2 if person else 0,
            "written": 2 if kind in {"document", "place", "vehicle", "object", "food"} else 0,
            "waiting": 2 if kind in {"person", "animal"} else 0,
        }
    )
    if form == "subject":
        return subject_relative(s, antecedent, depth, s.word("who who that") if person else s.word("that that which"))
    if form in {"object", "bare"}:
        return _object_relative(s, antecedent, depth, form == "bare")
    if form == "whose":
        return _whose_relative(s, depth)
    if form in {"where", "to whom"}:
        return _oblique_relative(s, antecedent, depth, form)
    if form == "waiting":
        return clauses.predicate(s, antecedent, "gerund", depth, uses=clauses.INTENDED).core
    main = leaf("VBN", s.pick([verb for verb in VERBS["transitive"] if kind in verb.objects]).forms["VBN"])
    main.frame = Frame([("ARG1", antecedent.node)])
    agent = preposition("by", noun_phrase(s, ["person"], modified=0).node, "obl:agent")
    main.frame.add("ARG0", agent)
    return phrase("VP", main, agent)


def relative_word(word: str) -> Node:
    """``who``, ``that`` or ``which`` as a phrase."""
    return phrase("WHNP", leaf("WP" if word.startswith("who") else "WDT", word))


def subject_relative(s: Speaker, antecedent: Nominal, depth: int, word: str) -> Node:
    """``who left``."""
    opening = relative_word(word)
    subject = Nominal(antecedent.node, antecedent.kind, antecedent.plural, antecedent.person, via=opening)
    made = clauses.predicate(s, subject, clauses.choose_tense(s), depth)
    related(opening, "nsubj:pass" if made.passive else "nsubj")
    return phrase("SBAR", opening, phrase("S", *made.statement()))


def _object_relative(s: Speaker, antecedent: Nominal, depth: int, bare: bool) -> Node:
    """``that Anna bought``, ``Anna bought``, ``who Anna talked to``, ``that Ben thinks Anna bought``."""
    person = antecedent.kind == "person"
    opening = None if bare else relative_word(s.word("whom who that" if person else "that which"))
    filler = Nominal(antecedent.node, antecedent.kind, antecedent.plural, antecedent.person, via=opening)
    said = clauses.clause(s, depth, gap=clauses.Gap(filler, opening)).node
    return phrase("SBAR", *([opening] if opening else []), said)


def _whose_relative(s: Speaker, depth: int) -> Node:
    kind = s.word("animal vehicle document person")
    plural = s.chance(0.3)
    opening = phrase("WHNP", leaf("WP$", "whose", "nmod:poss"), *noun_words(s, kind, plural, 0.1))
    made = clauses.predicate(s, Nominal(opening, kind, plural), clauses.choose_tense(s), depth)
    related(opening, "nsubj:pass" if made.passive else "nsubj")
    return phrase("SBAR", opening, phrase("S", *made.statement()))


def _oblique_relative(s: Speaker, antecedent: Nominal, depth: int, form: str) -> Node:
    """``where Anna works``, ``in which Anna works``, ``to whom Anna gave the book``."""
    word = "to" if form == "to whom" else "in"
    if form == "where" and s.chance(0.5):
        opening = phrase("WHADVP", leaf("WRB", "where"), relation="advmod")
    else:
        inner = relative_word("whom" if form == "to whom" else "which")
        opening = phrase("WHPP", leaf("IN", word, "case"), inner, relation="obl")
    filler = Nominal(antecedent.node, antecedent.kind, via=opening)
    subject = noun_phrase(s, ["person"], True)
    if form == "to whom":
        said = clauses.clause(s, depth, subject=subject, gap=clauses.Gap(filler, opening, recipient=True))
    else:
        said = clauses.clause(s, depth, subject=subject, uses=clauses.INTENDED, adjoin=False)
        filler.fill(said.predicate.frame, "ARGM-LOC")
    return phrase("SBAR", opening, said.node)


def deverbal(s: Speaker, depth: int) -> Nominal:
    """A noun that has roles as its verb has: ``Anna 's decision to leave``, ``the arrival of the train``."""
    frame = Frame()
    form = s.weighted({"intention": 4, "visit": 3, "arrival": 2, "attack": 2, "destruction": 2})
    if form == "intention":
        return _intention(s, frame, depth)
    noun = leaf("NN", {"arrival": s.word("arrival death return"), "attack": s.word("attack report")}.get(form, form))
    noun.frame = frame
    if form == "visit":
        owner = possessor(s)
        to = preposition("to", town_name(s), "nmod")
        frame.roles += [("ARG0", owner), ("ARG1", to)]
        return Nominal(phrase("NP", phrase("NP", owner, noun), to), "plan")
    about = {"arrival": ("of", ["person"]), "attack": ("on", ["place", "person"]), "destruction": ("of", ["place"])}
    word, kinds = about[form]
    object_ = preposition(word, noun_phrase(s, kinds, modified=0).node, "nmod")
    frame.add("ARG1", object_)
    agent = []
    if form != "arrival" and s.chance(0.5):
        who = noun_phrase(s, ["person" if form == "attack" else "force"], modified=0).node
        agent = [preposition("by", who, "nmod")]
        frame.add("ARG0", agent[0])
    return Nominal(phrase("NP", phrase("NP", leaf("DT", "the", "det"), noun), object_, *agent), "plan")


def _intention(s: Speaker, frame: Frame, depth: int) -> Nominal:
    owner = possessor(s)
    noun = leaf("NN", s.word("decision plan attempt promise"))
    noun.frame = frame
    what = related(clauses.infinitive(s, Nominal(owner, "person"), depth), "acl")
    frame.roles += [("ARG0", owner), ("ARG1", what)]
    return Nominal(phrase("NP", owner, noun, what), "plan")
