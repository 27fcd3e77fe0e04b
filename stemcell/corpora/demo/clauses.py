"""Clauses: a subject and a predicate.

The grammar is recursive, and so are its modules: this one, :mod:`complements` (what a verb takes), :mod:`nominals`
(noun phrases with clauses inside) and :mod:`questions` import each other as modules. ``depth`` bounds the
recursion: a clause inside a clause has one less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stemcell.corpora.demo import adjuncts, complements, lexicon, nominals
from stemcell.corpora.demo.conjugation import BASES, Predicate, conjugate, negation, shorten
from stemcell.corpora.demo.phrases import Nominal, comparative, coordinate, noun_phrase, preposition, profession
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Frame, Node, leaf, phrase, related
from stemcell.corpora.demo.verbs import VERBS, Verb

# How often a kind is a subject, and a use of verbs is tried; a use that the subject's kind cannot have is not taken.
SUBJECTS = {"person": 11, "org": 4, "animal": 1.2, "document": 1.2, "place": 0.8, "city": 0.5, "vehicle": 0.9}
SUBJECTS |= {"object": 0.5, "container": 0.4, "event": 0.7, "contest": 0.4, "plan": 0.9, "force": 0.8, "food": 0.2}
SIMPLE = {
    "intransitive": 4,
    "unaccusative": 4,
    "transitive": 13,
    "handling": 3.5,
    "passive": 6,
    "oblique": 8,
    "ditransitive": 5,
}
SIMPLE |= {"given": 1, "given-to": 2, "particle": 6, "copula": 7}
NESTING = {"subject-control": 14, "object-control": 9, "raising": 6, "gerund": 5, "bare": 4, "that": 11}
NESTING |= {"whether": 3, "wh": 4}
INTENDED = {"intransitive": 3, "transitive": 9, "handling": 3, "oblique": 5, "ditransitive": 3, "particle": 4}
AIMS = {"transitive": 9, "handling": 3, "oblique": 3, "ditransitive": 3}
GAPPED = {"transitive": 9, "handling": 2, "particle": 1.5, "ditransitive": 2}
PASSIVES = ("passive", "given", "given-to")


@dataclass(eq=False, slots=True)
class Gap:
    """The place of a phrase that stands in front: an object's, or that of whom something is given to.

    ``word`` is the phrase moved to the front (none: nothing was said), ``filler`` what plays the role.
    """

    filler: Nominal
    word: Node | None
    recipient: bool = False

    def settle(self, role: str, relation: str, verb: Node) -> None:
        """Let the filler play ``role`` for the verb, and its word depend on it."""
        assert verb.frame is not None
        self.filler.fill(verb.frame, role)
        if self.word is not None:
            related(self.word, relation, verb)


@dataclass(eq=False, slots=True)
class Clause:
    """A finished clause, with what else may be said of its predicate."""

    node: Node
    predicate: Predicate
    tense: str
    ends_in_clause: bool


def choose_tense(s: Speaker) -> str:
    """A tense of a statement."""
    return s.weighted({"past": 10, "perfect": 2, "present": 3, "progressive": 1.5, "future": 2})


def choose(
    s: Speaker, kind: str, depth: int, gap: Gap | None, uses: Mapping[str, float] | None
) -> tuple[str, Verb | None]:
    """A use that a subject of this kind can have, and a verb for it (none: the copula)."""
    if gap is not None and gap.recipient:
        uses = {"ditransitive": 1}
    elif gap is not None:
        nesting = {"that": 5.0, "subject-control": 4.0} if depth > 0 else {}
        uses = GAPPED | nesting | ({"oblique": 4} if gap.word is not None else {})
    elif uses is None:
        uses = SIMPLE | NESTING if depth > 0 else SIMPLE
    while True:
        use = s.weighted(uses)
        if use == "copula":
            return use, None
        if use in PASSIVES:
            verbs = [
                verb
                for verb in (VERBS["transitive"] + VERBS["handling"] if use == "passive" else VERBS["ditransitive"])
                if kind in (("person",) if use == "given" else verb.objects) and not verb.stative
            ]
        else:
            verbs = [verb for verb in VERBS[use] if kind in verb.subjects]
            if gap is not None and not gap.recipient and use not in NESTING:
                # What one goes to is not moved: R-ARG4 would be too rare to be learnt.
                verbs = [v for v in verbs if gap.filler.kind in v.objects and v.lemma not in complements.GOING]
        if verbs:
            return use, s.pick(verbs)


def predicate(
    s: Speaker,
    subject: Nominal,
    tense: str,
    depth: int,
    *,
    gap: Gap | None = None,
    uses: Mapping[str, float] | None = None,
    support: bool = False,
    plain: bool = False,
    adjoin: bool = True,
) -> Predicate:
    """Something said of the subject.

    Args:
        gap: an object that stands elsewhere.
        uses: weights of the uses to choose among.
        support: an auxiliary is needed, for a question.
        plain: neither negation nor adverbs nor contraction, as inside coordinations.
        adjoin: adjuncts may follow.
    """
    use, verb = choose(s, subject.kind, depth, gap, uses)
    frame = Frame()
    passive = use in PASSIVES
    negated = not plain and tense not in BASES and s.chance(0.12)
    auxiliaries, tag = conjugate(
        s,
        subject,
        tense,
        stative=verb is not None and verb.stative,
        passive=passive,
        copula=verb is None,
        support=support or negated,
    )
    if verb is None:
        auxiliaries[-1].frame = frame
        made = Predicate(_complement_of_be(s, subject, frame), frame, auxiliaries)
        _after_auxiliary(s, made, subject, tense, negated, plain or support)
        if adjoin and not ends_in_clause(made.core):
            made.tail = adjuncts.after_verb(s, frame, tense, manner=False, tool="", settled=True, amount=0.3)
        return made
    main = leaf(tag, verb.forms[tag])
    main.frame = frame
    first_role = {"unaccusative": "ARG1", "raising": "ARG1", "passive": "ARG1", "given-to": "ARG1", "given": "ARG2"}
    subject.fill(frame, first_role.get(use, "ARG0"))
    taken = complements.complete(s, verb, use, main, subject, depth, gap)
    made = Predicate(phrase("VP", main, *taken.nodes), frame, auxiliaries, passive=passive)
    _after_auxiliary(s, made, subject, tense, negated, plain or support)
    made.willing = subject.kind == "person" and not verb.stative and first_role.get(use, "ARG0") == "ARG0"
    if not adjoin:
        return made
    if not ends_in_clause(made.core):
        made.core.children += adjuncts.after_verb(
            s,
            frame,
            tense,
            manner=not verb.stative and use not in {"unaccusative", "raising"} and subject.kind not in {"org", "force"},
            tool=lexicon.TOOLS.get(verb.lemma, lexicon.TOOLS[""]) if verb.use == "handling" else "",
            settled=taken.kind in {"place", "org", "event", "contest", "city"},
            amount=0.4 if verb.stative else 1.0 if depth > 0 else 0.8,
        )
    elif taken.movable is not None and s.chance(0.5):
        when = adjuncts.time(s, tense)
        frame.add("ARGM-TMP", when)
        made.core.children.append(when)
        extrapose(taken.movable, made.core)
    return made


def ends_in_clause(node: Node) -> bool:
    """Whether the last words belong to an embedded clause, to which an adjunct after them would belong."""
    while node.children:
        node = node.children[-1]
        if node.label in {"S", "SBAR", "VP"}:
            return True
    return False


def extrapose(owner: Node, host: Node) -> None:
    """Move the relative clause at the end of a noun phrase to the end of ``host``, past what stands between."""
    clause = owner.children.pop()
    owner.moved.append(clause)
    host.children.append(related(clause, clause.relation, owner.children[0]))


def _after_auxiliary(s: Speaker, made: Predicate, subject: Nominal, tense: str, negated: bool, plain: bool) -> None:
    """Roles of modals; negation, adverbs and contraction."""
    for word in made.auxiliaries:
        if word.label == "MD":
            made.frame.add("ARGM-MOD", word)
    if negated:
        made.middle.append(negation(s, made.auxiliaries[0]))
        made.frame.add("ARGM-NEG", made.middle[0])
    elif not plain and tense not in BASES and s.chance(0.12):
        adverb = s.word(lexicon.FREQUENCIES if tense in {"past", "present"} else "already finally probably just")
        made.middle.append(adjuncts.adverb(adverb))
        roles = {"never": "ARGM-NEG", "probably": "ARGM-ADV", "finally": "ARGM-ADV"}
        made.frame.add(roles.get(adverb, "ARGM-TMP"), made.middle[0])
    if not plain and made.auxiliaries:
        shorten(s, made.auxiliaries[0], subject)


def _complement_of_be(s: Speaker, subject: Nominal, frame: Frame) -> Node:
    """What the copula says of its subject: a quality, a comparison, a feeling, a place or what it is."""
    subject.fill(frame, "ARG1")
    person = subject.kind == "person"
    graded = [word for word in lexicon.ADJECTIVES[subject.kind].split() if comparative(word)]
    form = s.weighted(
        {
            "quality": 5,
            "comparison": 2 if graded else 0,
            "feeling": 2 if person else 0,
            "place": 2 if subject.kind in {"person", "object", "vehicle", "animal", "food"} else 0,
            "noun": 3 if person and subject.person == 3 else 0,
        }
    )
    if form == "noun":
        if subject.plural:
            node = phrase("NP", leaf("NNS", s.word("doctors teachers friends neighbors engineers tourists")))
        else:
            node = profession(s)
    elif form == "place":
        node = related(adjuncts.place(s), "head")
    elif form == "comparison":
        than = preposition("than", noun_phrase(s, [subject.kind], modified=0).node, "obl")
        node = phrase("ADJP", leaf("JJR", comparative(s.pick(graded))), than)
    elif form == "feeling":
        feeling = s.pick(list(lexicon.FEELINGS))
        about = noun_phrase(s, ["person", "topic", "document", "food"], modified=0.1).node
        node = phrase("ADJP", leaf("JJ", feeling), preposition(lexicon.FEELINGS[feeling], about, "obl"))
    else:
        words = lexicon.ADJECTIVES[subject.kind]
        adjective = leaf("JJ", s.word(f"{words} {lexicon.MOODS}" if person else words))
        if s.chance(0.12):
            other = leaf("JJ", s.word("cheap good" if not person else "careful clever"))
            node = coordinate("ADJP", [adjective, other], "and")
        else:
            degree = [leaf("RB", s.word("very too so quite"), "advmod")] if s.chance(0.35) else []
            node = phrase("ADJP", *degree, adjective)
    frame.add("ARG2", node)
    return node


def clause(
    s: Speaker,
    depth: int,
    *,
    tense: str = "",
    subject: Nominal | None = None,
    gap: Gap | None = None,
    uses: Mapping[str, float] | None = None,
    adjoin: bool = True,
) -> Clause:
    """A statement, without punctuation; sometimes two predicates share its subject."""
    tense = tense or choose_tense(s)
    if subject is None:
        kind = "person" if gap is not None else s.weighted(SUBJECTS)
        subject = nominals.argument(s, [kind], depth, subject=True)
    first = predicate(s, subject, tense, depth, gap=gap, uses=uses, adjoin=adjoin)
    related(subject.node, "nsubj:pass" if first.passive else "nsubj")
    said = first.statement()
    last = first
    if gap is None and depth > 0 and not first.middle and not ends_in_clause(first.core) and s.chance(0.1):
        last = predicate(s, subject, tense, depth - 1, plain=True)
        said = [coordinate("VP", [said[0], last.statement()[0]], s.word("and and and but"))]
    return Clause(phrase("S", subject.node, *said), first, tense, ends_in_clause(last.core))


def infinitive(
    s: Speaker, subject: Nominal, depth: int, gap: Gap | None = None, uses: Mapping[str, float] | None = INTENDED
) -> Node:
    """``to`` and a verb phrase whose subject is known but not said here."""
    made = predicate(s, subject, "infinitive", depth, gap=gap, uses=uses)
    return phrase("S", phrase("VP", leaf("TO", "to", "mark"), made.statement()[0]))


def gerund(s: Speaker, subject: Nominal, depth: int) -> Node:
    """A verb phrase in -ing whose subject is known but not said here."""
    return phrase("S", predicate(s, subject, "gerund", depth, uses=INTENDED).statement()[0])
