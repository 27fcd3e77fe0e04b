"""What a verb takes: objects, prepositional phrases, particles and clauses, each with its role and relation.

Roles follow PropBank's numbering in spirit. Who is understood as the subject of an infinitive (control, raising)
plays its role there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stemcell.corpora.demo import clauses, nominals, questions
from stemcell.corpora.demo.phrases import Nominal, preposition, pronoun
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Node, leaf, phrase, related
from stemcell.corpora.demo.verbs import Verb

# Roles of prepositional phrases, by verb or else by preposition.
BY_VERB = {"go": "ARG4", "travel": "ARG4", "walk": "ARG4", "drive": "ARG4", "run": "ARG4", "live": "ARGM-LOC", "pay": "ARG3"}
BY_PREPOSITION = {"to": "ARG2", "in": "ARG2"}


@dataclass(eq=False, slots=True)
class Taken:
    """The complements; the kind of the last noun phrase; and a noun phrase whose relative clause may move away."""

    nodes: list[Node] = field(default_factory=list)
    kind: str = ""
    movable: Node | None = None


def complete(
    s: Speaker, verb: Verb, use: str, main: Node, subject: Nominal, depth: int, gap: clauses.Gap | None
) -> Taken:
    """All that this use of the verb takes after it; ``main`` is the verb's word and has its frame."""
    if use in {"transitive", "particle", "oblique"}:
        if not verb.objects:
            return Taken([_particle(verb)])
        return _one_object(s, verb, use, main, depth, gap)
    if use in {"passive", "given", "given-to"}:
        return _passive(s, verb, use, main, depth)
    if use == "ditransitive":
        return _two_objects(s, verb, main, depth, gap)
    if use in {"intransitive", "unaccusative"}:
        return Taken()
    return Taken([_clausal(s, verb, use, main, subject, depth - 1, gap)] if use != "object-control" and use != "bare"
                 else _object_and_clause(s, verb, use, main, subject, depth - 1))
