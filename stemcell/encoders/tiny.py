"""Small encoders with random weights, made on the spot from a corpus' words: for tests and demos without a network.

They have the build of their families (special tokens, vocabulary, attention), not the knowledge. The same words and
seed give the same bytes on every machine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertTokenizer,
    DebertaConfig,
    DebertaTokenizer,
    ElectraConfig,
    PreTrainedConfig,
    RobertaConfig,
    RobertaTokenizer,
)

from stemcell.corpora.penn import normalise

VOCABULARY = 3000
LONGEST = 512
SHAPE: dict[str, Any] = {
    "hidden_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    # Narrow layers need larger weights than the 0.02 of wide ones, or the signal fades on its way up.
    "initializer_range": 0.05,
}


def tiny(name: str, sentences: Iterable[Sequence[str]]) -> tuple[PreTrainedConfig, Any]:
    """Configuration and tokenizer of a tiny encoder.

    Args:
        name: one of ``stemcell.encoders.names.TINY``.
        sentences: what the vocabulary is learnt from.
    """
    words = Counter(normalise(word) for sentence in sentences for word in sentence)
    tokenizer: Any
    build: Any
    choices: dict[str, Any] = {"max_position_embeddings": LONGEST}
    if name in ("tiny-bert", "tiny-electra"):
        vocabulary = _wordpiece(words, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
        tokenizer = BertTokenizer(vocabulary, do_lower_case=False, model_max_length=LONGEST)
        build = BertConfig
        if name == "tiny-electra":
            build = ElectraConfig
            # Narrower, as in the published small model: with embeddings as wide as its layers ELECTRA is BERT.
            choices["embedding_size"] = SHAPE["hidden_size"] // 2
    elif name == "tiny-roberta":
        vocabulary, merges = _bytes(words, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        tokenizer = RobertaTokenizer(vocabulary, merges, add_prefix_space=True, model_max_length=LONGEST)
        build = RobertaConfig
        choices = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "type_vocab_size": 1}
        # Positions are numbered from the padding id + 1.
        choices["max_position_embeddings"] = LONGEST + 2
    else:
        vocabulary, merges = _bytes(words, ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
        tokenizer = DebertaTokenizer(vocabulary, merges, add_prefix_space=True, model_max_length=LONGEST)
        build = DebertaConfig
        # As in the published base model: no absolute positions, relative ones both ways.
        choices |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
        choices["type_vocab_size"] = 0
    return build(**SHAPE, **choices, vocab_size=len(vocabulary)), tokenizer


def _wordpiece(words: Counter[str], specials: list[str]) -> dict[str, int]:
    """A cased WordPiece vocabulary.

    The trainer numbers continuations of one character (``##a``) as it meets them, in the order of a hash table that
    differs from run to run, and breaks ties between merges by these numbers; so they are given beforehand. For the
    same reason words with rare characters are left out here, and not by the trainer.
    """
    characters = Counter[str]()
    for word, count in words.items():
        characters.update({character: count for character in set(word)})
    common = sorted(characters, key=lambda character: (-characters[character], character))[:400]
    pieces = [f"##{character}" for character in sorted(common)]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY, special_tokens=[*specials, *pieces], initial_alphabet=common, show_progress=False
    )
    alphabet = set(common)
    tokenizer.train_from_iterator((w for w in words.elements() if alphabet.issuperset(w)), trainer)
    return json.loads(tokenizer.to_str())["model"]["vocab"]


def _bytes(words: Counter[str], specials: list[str]) -> tuple[dict[str, int], Any]:
    """A byte-level BPE vocabulary and its merges, pairs of subtokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=specials,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(words.elements(), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [(first, second) for first, second in model["merges"]]
