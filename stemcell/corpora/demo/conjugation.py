"""Tense, aspect, voice and negation: the auxiliaries before a verb and the form that they ask of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from stemcell.corpora.demo.phrases import Nominal
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Frame, Node, leaf, phrase

BASES = {"infinitive": "VB", "gerund": "VBG"}

_FORMS = {
    "be": {"VB": "be", "VBN": "been", "VBG": "being"},
    "have": {"VB": "have", "VBN": "had", "VBG": "having", "VBD": "had", "VBZ": "has", "VBP": "have"},
    "do": {"VBD": "did", "VBZ": "does", "VBP": "do"},
}
_MODALS = {"past": "could would might", "present": "can must should may", "future": "will will may might"}
_ASKING = {"past": "could would", "present": "can should", "future": "will will would"}
_SHORT = {"is": "'s", "has": "'s", "are": "'re", "am": "'m", "will": "'ll", "would": "'d", "have": "'ve"}
_NOT_SHORTENED = {"am", "may", "might", "be", "being", "been", "having"}


@dataclass(eq=False, slots=True)
class Predicate:
    """A verb phrase in the making.

    Args:
        core: the innermost phrase: the verb's, or what the copula links to the subject.
        frame: the main verb's roles.
        auxiliaries: the words before the core, outermost first; with a copula they end in it.
        middle: negation and adverbs, which follow the first auxiliary or else precede the verb phrase.
        tail: what follows the core inside the innermost auxiliary's phrase.
        passive: whether the subject is ``nsubj:pass``.
        willing: whether a person does it, and so may have a purpose.
    """

    core: Node
    frame: Frame
    auxiliaries: list[Node]
    middle: list[Node] = field(default_factory=list)
    tail: list[Node] = field(default_factory=list)
    passive: bool = False
    willing: bool = False

    def nest(self, auxiliaries: list[Node], middle: list[Node]) -> Node:
        """The core inside one verb phrase for each of the auxiliaries."""
        node = self.core
        for position in range(len(auxiliaries) - 1, -1, -1):
            between = middle if position == 0 else []
            after = self.tail if position == len(auxiliaries) - 1 else []
            node = phrase("VP", auxiliaries[position], *between, node, *after)
        return node

    def statement(self) -> list[Node]:
        """What follows the subject of a statement."""
        if self.auxiliaries:
            return [self.nest(self.auxiliaries, self.middle)]
        return [*self.middle, self.core]

    def question(self, subject: Node) -> list[Node]:
        """The clause with its first auxiliary before the subject."""
        first, *others = self.auxiliaries
        tight = [word for word in self.middle if word.word == "n't"]
        loose = [word for word in self.middle if word.word != "n't"]
        rest = [self.nest(others, [])] if others else [self.core, *self.tail]
        return [first, *tight, subject, *loose, *rest]


def agree(lemma: str, past: bool, subject: Nominal) -> tuple[str, str]:
    """Word and tag of a finite auxiliary."""
    singular = not subject.plural and subject.person == 3
    tag = "VBD" if past else "VBZ" if singular else "VBP"
    if lemma != "be":
        return _FORMS[lemma][tag], tag
    if past:
        return ("were" if subject.plural else "was"), tag
    return ("are" if subject.plural else "is" if singular else "am"), tag


def conjugate(
    s: Speaker, subject: Nominal, tense: str, *, stative: bool, passive: bool, copula: bool, support: bool
) -> tuple[list[Node], str]:
    """The auxiliaries, and the tag of the form that the main verb takes after them.

    Args:
        tense: one of the five tenses, ``infinitive`` or ``gerund``.
        copula: the main verb is ``be``, then the last of the auxiliaries.
        support: an auxiliary is needed (a question or negation), so ``do`` helps out.
    """
    chain: list[tuple[str, str, str]] = []
    modal = ""
    past = tense == "past"
    modals = _ASKING if support else _MODALS
    if tense in {"past", "present"}:
        weights = {"simple": 9, "modal": 0.5 if copula else 1.5}
        aspect = s.weighted(weights | ({"perfect": 1, "progressive": 0 if stative else 1.5} if past else {}))
        modal = s.word(modals[tense]) if aspect == "modal" else ""
    elif tense in {"perfect", "progressive"}:
        aspect = tense if tense == "perfect" or not stative else "simple"
    else:
        aspect, modal = "simple", s.word(modals["future"]) if tense == "future" else ""
    if aspect == "perfect":
        chain.append(("have", "VBN", "aux"))
    elif aspect == "progressive" and not copula:
        chain.append(("be", "VBG", "aux"))
    if passive:
        chain.append(("be", "VBN", "aux:pass"))
    if copula:
        chain.append(("be", "", "cop"))
    if support and not (chain or modal or tense in BASES):
        chain.append(("do", "VB", "aux"))
    auxiliaries = [leaf("MD", modal, "aux")] if modal else []
    need = "VB" if modal else BASES.get(tense, "")
    for lemma, following, relation in chain:
        word, tag = (_FORMS[lemma][need], need) if need else agree(lemma, past, subject)
        auxiliaries.append(leaf(tag, word, relation))
        need = following
    singular = not subject.plural and subject.person == 3
    return auxiliaries, need or ("VBD" if past else "VBZ" if singular else "VBP")


def negation(s: Speaker, first: Node) -> Node:
    """``not`` or ``n't`` after an auxiliary, which may change its form (``wo n't``)."""
    if first.word in _NOT_SHORTENED or s.chance(0.4):
        return leaf("RB", "not", "advmod")
    first.word = {"will": "wo", "can": "ca"}.get(first.word, first.word)
    return leaf("RB", "n't", "advmod")


def shorten(s: Speaker, first: Node, subject: Nominal) -> None:
    """Sometimes contract an auxiliary with the pronoun or name before it."""
    before = subject.node.children[-1] if subject.node.children else subject.node
    allowed = {"PRP": _SHORT, "NNP": {"is": "'s", "has": "'s"}}.get(before.label, {})
    if subject.via is None and first.word in allowed and s.chance(0.2):
        first.word = allowed[first.word]
