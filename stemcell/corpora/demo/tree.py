"""The one structure behind all five layers: a constituent tree whose nodes know their dependency, name and roles.

Every child says how it hangs on its parent's head word: by ``relation``, or :data:`HEAD` if it holds the head
itself. A node that depends on something else than its parent's head (a conjunction on the next conjunct, a moved
question word on the verb that it belongs to) names that node as its ``anchor``. Words, tags, brackets,
dependencies, entities and frames are then read off, so they agree by construction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from stemcell.corpora.layers import Annotation, Arcs, Argument, Constituents, Frames, Span

HEAD = "head"


@dataclass(eq=False, slots=True)
class Entity:
    """A name; its words are the leaves that point to it."""

    label: str


@dataclass(eq=False, slots=True)
class Frame:
    """What a predicate word says of others: roles and the nodes that play them."""

    roles: list[tuple[str, Node]] = field(default_factory=list)

    def add(self, role: str, node: Node) -> None:
        """Let ``node`` play ``role``."""
        self.roles.append((role, node))


@dataclass(eq=False, slots=True)
class Node:
    """A phrase (with children) or a word; ``moved`` lists parts of this phrase that stand elsewhere."""

    label: str
    children: list[Node] = field(default_factory=list)
    word: str = ""
    relation: str = HEAD
    anchor: Node | None = None
    entity: Entity | None = None
    frame: Frame | None = None
    moved: list[Node] = field(default_factory=list)
    start: int = -1
    end: int = -1

    def leaves(self) -> Iterator[Node]:
        """The words under this node, from left to right."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def head(self) -> Node:
        """The word that this phrase hangs on."""
        node = self
        while node.children:
            node = next(child for child in node.children if child.relation == HEAD)
        return node


def leaf(tag: str, word: str, relation: str = HEAD) -> Node:
    """A word with its tag and its relation."""
    return Node(tag, word=word, relation=relation)


def phrase(label: str, *children: Node, relation: str = HEAD) -> Node:
    """A phrase; one of the children must have the relation :data:`HEAD`."""
    return Node(label, list(children), relation=relation)


def related(node: Node, relation: str, anchor: Node | None = None) -> Node:
    """The same node, now with a relation and maybe an anchor."""
    node.relation, node.anchor = relation, anchor
    return node


def comma(anchor: Node | None = None) -> Node:
    """A comma that depends on the anchor's head."""
    return related(leaf(",", ","), "punct", anchor)


def capitalise(node: Node) -> None:
    """Write the first word, past any punctuation, with a capital."""
    for word in node.leaves():
        if word.word[0].isalnum():
            word.word = word.word[0].upper() + word.word[1:]
            return


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the demo corpus: its words and, by layer, its annotations."""

    id: str
    words: tuple[str, ...]
    layers: dict[str, Annotation]


def read_off(root: Node, identifier: str) -> Sentence:
    """All five layers of a finished tree, whose root is ``TOP``."""
    _drop_idle_commas(root)
    capitalise(root)
    leaves = list(root.leaves())
    _choose_articles(leaves)
    for position, word in enumerate(leaves):
        word.start = word.end = position
    brackets: list[Span] = []
    _brackets(root, brackets)
    tags = tuple(word.label for word in leaves)
    layers: dict[str, Annotation] = {
        "pos": tags,
        "ner": _entities(leaves),
        "dep": _arcs(root, len(leaves)),
        "con": Constituents(tags, tuple(brackets)),
        "srl": _frames(leaves),
    }
    return Sentence(identifier, tuple(word.word for word in leaves), layers)


def _drop_idle_commas(root: Node) -> None:
    """Remove the closing comma of an aside where other punctuation follows."""
    leaves = list(root.leaves())
    idle = {
        id(word)
        for word, following in itertools.pairwise(leaves)
        if word.label == "," and following.label in {",", ".", ":", "-RRB-"}
    }
    _remove(root, idle)


def _remove(node: Node, unwanted: set[int]) -> None:
    node.children = [child for child in node.children if id(child) not in unwanted]
    for child in node.children:
        _remove(child, unwanted)


def _choose_articles(leaves: list[Node]) -> None:
    """``a`` before consonants, ``an`` before vowels (as they sound)."""
    for word, following in itertools.pairwise(leaves):
        if word.word in {"a", "A"}:
            sound = following.word.lower()
            vowel = sound[0] in "aeiou" and not sound.startswith(("uni", "one", "use", "eu"))
            word.word += "n" if vowel or sound.startswith(("hour", "honest")) else ""


def _brackets(node: Node, found: list[Span]) -> None:
    """Set the nodes' ends and list the brackets in preorder."""
    if not node.children:
        return
    place = len(found)
    found.append(Span(0, 0, node.label))
    for child in node.children:
        _brackets(child, found)
    node.start, node.end = node.children[0].start, node.children[-1].end
    found[place] = Span(node.start, node.end, node.label)


def _entities(leaves: list[Node]) -> tuple[Span, ...]:
    ends: dict[Entity, tuple[int, int]] = {}
    for word in leaves:
        if word.entity is not None:
            ends[word.entity] = (ends.get(word.entity, (word.start, 0))[0], word.end)
    return tuple(Span(start, end, entity.label) for entity, (start, end) in ends.items())


def _arcs(root: Node, length: int) -> Arcs:
    heads, relations = [0] * length, ["root"] * length
    stack = [root]
    while stack:
        node = stack.pop()
        for child in node.children:
            stack.append(child)
            if child.relation != HEAD:
                word = child.head().start
                heads[word] = (child.anchor or node).head().start + 1
                relations[word] = child.relation
    return Arcs(tuple(heads), tuple(relations))


def _frames(leaves: list[Node]) -> Frames:
    predicates = [word for word in leaves if word.frame is not None]
    arguments = []
    for predicate in predicates:
        assert predicate.frame is not None
        spans = []
        for role, node in predicate.frame.roles:
            if node.start < 0:  # the understood subject of an imperative is no word of the sentence
                continue
            spans.append(Argument(predicate.start, node.start, node.end, role))
            spans += [Argument(predicate.start, part.start, part.end, f"C-{role}") for part in node.moved]
        arguments += sorted(spans)
    return Frames(tuple(word.start for word in predicates), tuple(arguments))
