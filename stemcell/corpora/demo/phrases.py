"""Noun phrases: names, pronouns, common nouns with what surrounds them, and their coordination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stemcell.corpora.demo import lexicon
from stemcell.corpora.demo.speaker import Speaker
from stemcell.corpora.demo.tree import Entity, Frame, Node, comma, leaf, phrase, related

NAMED = ("person", "org", "city")


@dataclass(eq=False, slots=True)
class Nominal:
    """A noun phrase as a player of roles: its kind and number, and the relative word that stands for it, if any."""

    node: Node
    kind: str
    plural: bool = False
    person: int = 3
    via: Node | None = None

    def fill(self, frame: Frame, role: str) -> None:
        """Play a role, and let the relative word play its reference (R-)."""
        frame.add(role, self.node)
        if self.via is not None:
            frame.add(f"R-{role}", self.via)


def preposition(word: str, inner: Node, relation: str) -> Node:
    """A prepositional phrase around a noun phrase (or whatever else is given)."""
    return phrase("PP", leaf("IN", word, "case"), inner, relation=relation)


def coordinate(label: str, parts: Sequence[Node], conjunction: str) -> Node:
    """Equal parts under one label; the first is the head, conjunction and commas hang on the part they precede."""
    children = [parts[0]]
    for part in parts[1:]:
        last = part is parts[-1]
        children.append(related(leaf("CC", conjunction), "cc", part) if last else comma(part))
        children.append(related(part, "conj"))
    return phrase(label, *children)


def named_words(label: str, tagged: Sequence[tuple[str, str]], first_is_head: bool = False) -> list[Node]:
    """The words of a name, which share one entity; the head is the last (companies) or the first (people)."""
    entity = Entity(label)
    words = [leaf(tag, word, "flat" if first_is_head else "compound") for word, tag in tagged]
    for word in words:
        word.entity = entity
    words[0 if first_is_head else -1].relation = "head"
    return words


def person_name(s: Speaker, bare: bool) -> Node:
    """A person; a surname alone only where nothing else than a person can stand."""
    first, last = s.pick(s.names["first"]), s.pick(s.names["last"])
    form = s.weighted({"first": 3, "full": 4, "title": 2, "last": 1.5 if bare else 0})
    if form == "title":
        title = leaf("NNP", s.word("Mr. Mrs. Dr. Mayor Judge"), "compound")
        return phrase("NP", title, *named_words("PER", [(last, "NNP")]))
    chosen = {"first": [first], "full": [first, last], "last": [last]}[form]
    return phrase("NP", *named_words("PER", [(word, "NNP") for word in chosen], first_is_head=True))


def town_name(s: Speaker) -> Node:
    """A city, a country or a range of mountains: what one can be in or from."""
    form = s.weighted({"city": 6, "country": 4, "range": 0.5})
    if form == "range":
        return phrase("NP", leaf("DT", "the", "det"), *named_words("LOC", [(s.word(lexicon.RANGES), "NNPS")]))
    return phrase("NP", *named_words("LOC", [(s.pick(s.names[form]), "NNP")]))


def place_name(s: Speaker) -> Node:
    """A town, or a river, bridge, park, street or lake."""
    form = s.weighted({"town": 6, "feature": 2, "lake": 0.7})
    if form == "feature":
        words = named_words("LOC", [(s.pick(s.names["last"]), "NNP"), (s.word(lexicon.FEATURES), "NNP")])
        article = [] if words[-1].word in {"Park", "Street"} else [leaf("DT", "the", "det")]
        return phrase("NP", *article, *words)
    if form == "lake":
        return phrase("NP", *named_words("LOC", [("Lake", "NNP"), (s.pick(s.names["city"]), "NNP")]))
    return town_name(s)


def org_name(s: Speaker, bare: bool) -> Node:
    """A company, university or museum; a single word only where no person or place can stand."""
    form = s.weighted({"suffix": 4, "university": 1, "museum": 1, "sons": 0.7, "bare": 5 if bare else 0, "acronym": 1})
    stem = s.pick(s.names["company"])
    if form == "university":
        kind = s.word("University Bank Port")
        first, of, city = named_words("ORG", [(kind, "NNP"), ("of", "IN"), (s.pick(s.names["city"]), "NNP")])
        first.relation, of.relation = "head", "case"
        name = phrase("NP", leaf("DT", "the", "det"), first)
        return phrase("NP", name, phrase("PP", of, phrase("NP", city), relation="nmod"))
    if form == "museum":
        words = [(s.pick(s.names["city"]), "NNP"), (s.word("Museum Council Hospital Times"), "NNP")]
        return phrase("NP", leaf("DT", "the", "det"), *named_words("ORG", words))
    if form == "sons":
        first, joint, last = named_words("ORG", [(s.pick(s.names["last"]), "NNP"), ("&", "CC"), ("Sons", "NNPS")])
        first.relation = "head"
        return phrase("NP", first, related(joint, "cc", last), related(last, "conj"))
    if form == "suffix":
        suffix = s.word(lexicon.SUFFIXES)
        tag = "NNPS" if suffix in {"Motors", "Airlines", "Foods"} else "NNP"
        return phrase("NP", *named_words("ORG", [(stem, "NNP"), (suffix, tag)]))
    return phrase("NP", *named_words("ORG", [(stem if form == "bare" else s.pick(s.names["acronym"]), "NNP")]))


def name(s: Speaker, kind: str, kinds: Sequence[str]) -> Node:
    """The name of a person, organisation or place where ``kinds`` could stand."""
    alone = sum(other in kinds for other in NAMED) == 1
    if kind == "person":
        return person_name(s, alone)
    return org_name(s, alone) if kind == "org" else place_name(s)


def pronoun(s: Speaker, kind: str, subject: bool) -> Nominal:
    """A personal pronoun in the case that the place asks for."""
    if kind != "person":
        plural = s.chance(0.25)
        return Nominal(phrase("NP", leaf("PRP", ("they" if subject else "them") if plural else "it")), kind, plural)
    cases, plural, person = s.weighted(
        {
            (("he", "him"), False, 3): 4,
            (("she", "her"), False, 3): 4,
            (("they", "them"), True, 3): 3,
            (("I", "me"), False, 1): 3,
            (("we", "us"), True, 1): 2,
            (("you", "you"), True, 2): 1,
        }
    )
    return Nominal(phrase("NP", leaf("PRP", cases[0 if subject else 1])), kind, plural, person)


def noun_words(s: Speaker, kind: str, plural: bool, adjectives: float = 0.35, definite: bool = False) -> list[Node]:
    """An adjective (superlative only if ``definite``), a compound's first part and the noun."""
    singular, _, irregular = s.word(lexicon.NOUNS[kind]).partition("/")
    words = []
    if s.chance(adjectives) and kind in lexicon.ADJECTIVES:
        adjective = s.word(lexicon.ADJECTIVES[kind])
        if s.chance(0.15):
            tag, graded = ("JJS", superlative(adjective)) if definite else ("JJR", comparative(adjective))
            words.append(leaf(tag, graded, "amod") if graded else leaf("JJ", adjective, "amod"))
        else:
            words.append(leaf("JJ", adjective, "amod"))
    if s.chance(0.15) and kind in lexicon.MATERIALS:
        words.append(leaf("NN", s.word(lexicon.MATERIALS[kind]), "compound"))
    words.append(leaf("NNS", irregular or lexicon.third(singular)) if plural else leaf("NN", singular))
    return words


def comparative(adjective: str) -> str:
    """``older`` for the adjectives that grade so, nothing for the others."""
    if adjective not in lexicon.COMPARED.split():
        return ""
    if adjective.endswith("e"):
        return adjective + "r"
    return adjective.replace("y", "i") + "er" if adjective.endswith("y") else adjective + "er"


def superlative(adjective: str) -> str:
    """``oldest`` as :func:`comparative`."""
    graded = comparative(adjective)
    return graded[:-1] + "st" if graded else ""


def possessor(s: Speaker) -> Node:
    """``her``, ``Anna 's`` or ``the teachers '``."""
    form = s.weighted({"pronoun": 5, "name": 4, "noun": 2})
    if form == "pronoun":
        return leaf("PRP$", s.word("his her her its their my our your"), "nmod:poss")
    owner = person_name(s, False) if form == "name" else None
    if owner is None:
        plural = s.chance(0.3)
        owner = phrase("NP", leaf("DT", "the", "det"), *noun_words(s, "person", plural, 0.15))
    ending = "'" if owner.children[-1].label == "NNS" and owner.children[-1].word.endswith("s") else "'s"
    owner.children.append(leaf("POS", ending, "case"))
    return related(owner, "nmod:poss")


def determiners(s: Speaker, plural: bool, indefinite: bool) -> list[Node]:
    """What stands before the noun; ``indefinite``: as after ``there is``."""
    if indefinite and not plural:
        return [leaf("DT", s.word("a a a no another"), "det")]
    if plural:
        form = s.weighted(
            {"none": 4, "JJ": 2, "CD": 4, "QP": 1} | ({} if indefinite else {"the": 8, "DT": 4, "PDT": 0.7, "owner": 3})
        )
        if form == "JJ":
            return [leaf("JJ", s.word("many few several other"), "amod")]
        if form == "CD":
            article = [leaf("DT", s.word("the these those"), "det")] if s.chance(0.3) and not indefinite else []
            return [*article, leaf("CD", s.word(lexicon.NUMBERS), "nummod")]
        if form == "QP":
            more, than, number = leaf("JJR", "more", "advmod"), leaf("IN", "than"), leaf("CD", s.word("20 60 100 200"))
            if s.chance(0.4):
                return [phrase("QP", leaf("RB", s.word("about nearly"), "advmod"), number, relation="nummod")]
            return [phrase("QP", more, related(than, "fixed", more), number, relation="nummod")]
        if form == "PDT":
            return [leaf("PDT", "all", "det:predet"), leaf("DT", "the", "det")]
        if form in {"the", "DT"}:
            return [leaf("DT", "the" if form == "the" else s.word("these those some some all all no"), "det")]
        return [possessor(s)] if form == "owner" else []
    form = s.weighted({"the": 9, "a": 6, "other": 1.5, "owner": 3.5})
    if form == "owner":
        return [possessor(s)]
    return [leaf("DT", s.word("this that every another no each") if form == "other" else form, "det")]


def modifier(s: Speaker, kind: str) -> Node | None:
    """A prepositional phrase that belongs to a noun of this kind, which its words give away."""
    forms = {"with": 4.0 if kind in lexicon.PARTS else 0, "of": 1.0 if kind == "person" else 0}
    forms |= {"from": 3.0 if kind in {"person", "org"} else 0, "by": 2.0 if kind in {"document", "plan"} else 0}
    forms |= {"in": 3.0 if kind in {"place", "org", "event", "contest"} else 0, "near": 1.0 if kind == "place" else 0}
    forms |= {"about": 4.0 if kind in {"document", "plan"} else 0}
    if not any(forms.values()):
        return None
    word = s.weighted(forms)
    if word == "with":
        part, _, plural = s.word(lexicon.PARTS[kind]).partition("/")
        color = [leaf("JJ", s.word("red black white strange small"), "amod")] if s.chance(0.5) else []
        inner = phrase("NP", leaf("DT", "a", "det"), *color, leaf("NN", part))
        if plural and s.chance(0.4):
            inner = phrase("NP", leaf("CD", s.word("two three"), "nummod"), leaf("NNS", plural))
    elif word in {"from", "in"}:
        inner = town_name(s)
    elif word in {"by", "of"}:
        inner = person_name(s, False)
    elif word == "near":
        inner = phrase("NP", leaf("DT", "the", "det"), *noun_words(s, "place", False, 0.2))
    else:
        inner = topic(s) if s.chance(0.6) else town_name(s)
    return preposition(word, inner, "nmod")


def topic(s: Speaker) -> Node:
    """A bare mass noun: something one can study, or talk about."""
    return phrase("NP", leaf("NN", s.word(lexicon.TOPICS)))


def common(s: Speaker, kind: str, modified: float, indefinite: bool = False) -> Nominal:
    """A common noun with its determiner and, with probability ``modified``, a prepositional phrase."""
    plural = s.chance(0.33)
    before = determiners(s, plural, indefinite)
    definite = bool(before) and (before[-1].word == "the" or before[0].relation == "nmod:poss")
    node = phrase("NP", *before, *noun_words(s, kind, plural, definite=definite))
    after = modifier(s, kind) if s.chance(modified) else None
    return Nominal(phrase("NP", node, after) if after else node, kind, plural)


def noun_phrase(s: Speaker, kinds: Sequence[str], subject: bool = False, modified: float = 0.25) -> Nominal:
    """A noun phrase of one of the kinds, in the case of a subject or of an object."""
    kind = s.pick(kinds)
    if kind == "topic":
        return Nominal(topic(s), kind)
    if kind == "city" or (kind == "person" and s.chance(0.4)) or (kind == "org" and s.chance(0.65)):
        node = name(s, kind, kinds)
        return Nominal(node, kind, node.children[-1].word in lexicon.RANGES.split())
    if s.chance(0.3 if kind == "person" else 0.06):
        return pronoun(s, kind, subject)
    first = common(s, kind, modified)
    if s.chance(0.06):
        second = name(s, kind, ("person", "org")) if kind in {"person", "org"} else common(s, kind, 0).node
        third_one = [common(s, kind, 0).node] if s.chance(0.2) else []
        return Nominal(coordinate("NP", [first.node, *third_one, second], "and"), kind, True)
    return first


def profession(s: Speaker) -> Node:
    """``a doctor``, ``a teacher from Oslo``."""
    node = phrase("NP", leaf("DT", "a", "det"), *noun_words(s, "person", False, 0.3))
    after = modifier(s, "person") if s.chance(0.3) else None
    return phrase("NP", node, after) if after else node
