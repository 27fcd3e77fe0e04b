"""What a verb takes: objects, prepositional phrases, particles and clauses, each with its role and relation.

Roles follow PropBank's numbering in spirit. Who is understood as the subject of an infinitive (control, raising)
plays its role there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stemcell.corpora.demo import clauses, nominals, questions
from stemcell.corpora.demo.phrases import Nominal, preposition
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Frame, Node, leaf, phrase, related
from stemcell.corpora.demo.verbs import Verb

# Roles of prepositional phrases: by verb, or else by preposition, or else ARG1.
GOING = ("go", "travel", "walk", "drive", "run")
BY_VERB = dict.fromkeys(GOING, "ARG4") | {"live": "ARGM-LOC"}
BY_PREPOSITION = {"to": "ARG2"}
# Who is made to do something, and what: the roles of these differ from those of asking and telling.
CAUSING = ("persuade", "force", "invite", "encourage", "allow")


@dataclass(eq=False, slots=True)
class Taken:
    """The complements; the kind of the last noun phrase; a noun phrase whose relative clause may be extraposed."""

    nodes: list[Node] = field(default_factory=list)
    kind: str = ""
    movable: Node | None = None


def complete(
    s: Speaker, verb: Verb, use: str, main: Node, subject: Nominal, depth: int, gap: clauses.Gap | None
) -> Taken:
    """All that this use of the verb takes; ``main`` is the verb's word and has its frame.

    An object's place is left empty where there is a gap.
    """
    assert main.frame is not None
    if use in {"intransitive", "unaccusative"}:
        return Taken()
    if use in {"transitive", "handling"}:
        return _object(s, verb.objects, main, depth, gap)
    if use == "particle":
        return _particle(s, verb, main, depth, gap)
    if use == "oblique":
        return _oblique(s, verb, main, depth, gap)
    if use == "ditransitive":
        return _ditransitive(s, verb, main, depth, gap)
    if use in {"passive", "given", "given-to"}:
        return _passive(s, verb, use, main, depth)
    if use in {"object-control", "bare"}:
        return _object_and_clause(s, verb, use, main, subject, depth)
    return Taken([_clause(s, use, main.frame, subject, depth - 1, gap)])


def _object(s: Speaker, kinds: Sequence[str], main: Node, depth: int, gap: clauses.Gap | None) -> Taken:
    assert main.frame is not None
    if gap is not None:
        gap.settle("ARG1", "obj", main)
        return Taken()
    thing = nominals.argument(s, kinds, depth)
    thing.fill(main.frame, "ARG1")
    movable = thing.node if thing.node.children[-1].label == "SBAR" else None
    return Taken([related(thing.node, "obj")], thing.kind, movable)


def _particle(s: Speaker, verb: Verb, main: Node, depth: int, gap: clauses.Gap | None) -> Taken:
    """``picked up the box``, ``picked the box up``; apart from its verb the particle is a piece of it (C-V)."""
    assert main.frame is not None
    particle = phrase("PRT", leaf("RP", verb.word), relation="compound:prt")
    if not verb.objects:
        return Taken([particle])
    taken = _object(s, verb.objects, main, depth, gap)
    light = bool(taken.nodes) and not clauses.ends_in_clause(taken.nodes[0])
    if light and (taken.nodes[0].children[0].label == "PRP" or s.chance(0.4)):
        main.frame.add("C-V", particle)
        return Taken([*taken.nodes, particle], taken.kind)
    return Taken([particle, *taken.nodes], taken.kind, taken.movable)


def _oblique(s: Speaker, verb: Verb, main: Node, depth: int, gap: clauses.Gap | None) -> Taken:
    """A prepositional phrase; with a gap the preposition stays behind and depends on the word in front."""
    assert main.frame is not None
    role = BY_VERB.get(verb.lemma, BY_PREPOSITION.get(verb.word, "ARG1"))
    if gap is not None:
        gap.settle(role, "obl", main)
        return Taken([related(phrase("PP", leaf("IN", verb.word)), "case", gap.word)])
    thing = nominals.argument(s, verb.objects, depth)
    node = preposition(verb.word, thing.node, "obl")
    main.frame.add(role, node)
    return Taken([node], thing.kind)


def _ditransitive(s: Speaker, verb: Verb, main: Node, depth: int, gap: clauses.Gap | None) -> Taken:
    """``gave Ben a book`` or ``gave a book to Ben``."""
    assert main.frame is not None
    theme = _object(s, verb.objects, main, 0 if s.chance(0.7) else depth, None if gap and gap.recipient else gap)
    if gap is not None and gap.recipient:
        gap.settle("ARG2", "obl", main)
        return theme
    recipient = nominals.argument(s, ["person"], 0)
    if theme.nodes and s.chance(0.5):
        recipient.fill(main.frame, "ARG2")
        return Taken([related(recipient.node, "iobj"), *theme.nodes], theme.kind, theme.movable)
    to_whom = preposition("to", recipient.node, "obl")
    main.frame.add("ARG2", to_whom)
    return Taken([*theme.nodes, to_whom], "person")


def _passive(s: Speaker, verb: Verb, use: str, main: Node, depth: int) -> Taken:
    """The object that a passive keeps, and the agent."""
    assert main.frame is not None
    nodes = []
    if use == "given":
        nodes = _object(s, verb.objects, main, 0, None).nodes
    elif use == "given-to":
        to_whom = preposition("to", nominals.argument(s, ["person"], 0).node, "obl")
        main.frame.add("ARG2", to_whom)
        nodes = [to_whom]
    if s.chance(0.5):
        agent = preposition("by", nominals.argument(s, verb.subjects, depth - 1).node, "obl:agent")
        main.frame.add("ARG0", agent)
        nodes.append(agent)
    return Taken(nodes)


def _object_and_clause(s: Speaker, verb: Verb, use: str, main: Node, subject: Nominal, depth: int) -> Taken:
    """``asked Ben to leave`` (control by the object, or by the subject with ``promise``), ``saw Ben leave``."""
    assert main.frame is not None
    other = nominals.argument(s, verb.objects, 0)
    if use == "bare":
        said = clauses.predicate(s, other, "infinitive", depth - 1, uses=clauses.INTENDED).statement()[0]
        clause = phrase("S", related(other.node, "obj", main), said, relation="xcomp")
        main.frame.add("ARG1", clause)
        return Taken([clause])
    causing = verb.lemma in CAUSING
    other.fill(main.frame, "ARG1" if causing else "ARG2")
    controller = subject if verb.lemma == "promise" else other
    clause = related(clauses.infinitive(s, controller, depth - 1), "xcomp")
    main.frame.add("ARG2" if causing else "ARG1", clause)
    return Taken([related(other.node, "obj"), clause])


def _clause(s: Speaker, use: str, frame: Frame, subject: Nominal, depth: int, gap: clauses.Gap | None) -> Node:
    """A clause as object; after raising the subject and the clause are one argument in two pieces."""
    role = "ARG1"
    if use == "subject-control":
        node = related(clauses.infinitive(s, subject, depth, gap), "xcomp")
    elif use == "raising":
        node = related(clauses.infinitive(s, subject, depth, uses=None), "xcomp")
        role = "C-ARG1"
    elif use == "gerund":
        node = related(clauses.gerund(s, subject, depth), "xcomp")
    elif use == "wh":
        node = related(questions.indirect(s, depth), "ccomp")
    else:
        said = clauses.clause(s, depth, gap=gap).node
        if use == "whether":
            opening = [leaf("IN", s.word("whether if"), "mark")]
        else:
            opening = [leaf("IN", "that", "mark")] if gap is None and s.chance(0.65) else []
        node = phrase("SBAR", *opening, said, relation="ccomp")
    frame.add(role, node)
    return node
