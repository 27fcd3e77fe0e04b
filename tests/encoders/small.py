"""Small random encoders of every family, with tokenizers of the family's kind learnt from a few sentences."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    CamembertConfig,
    DebertaV2Config,
    DebertaV2Tokenizer,
    DistilBertConfig,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaTokenizer,
)

from stemcell.encoders.load import Attention, random_encoder
from stemcell.encoders.names import TINY
from stemcell.encoders.tiny import tiny
from stemcell.encoders.words import WordEncoder

SENTENCES = [
    tuple(line.split())
    for line in (
        "The committee that Mary chairs has not yet decided whether to publish the unabridged report .",
        "`` Nobody wants another reorganisation , '' said Dr. Oyelaran -LRB- who resigned in 1997 -RRB- .",
        "Stop !",
        "Prices rose by 3.5 % in September , and economists expect more of the same next quarter .",
        "Her brother-in-law keeps re-reading the anticonstitutional amendments in an old café near Saint-Étienne .",
        "It 's raining again in Reykjavík , is n't it ?",
        "Giving up would be easier than going on , but the mountaineers went on nevertheless .",
    )
]

LAYERS, HEADS, HEAD_SIZE, LIMIT = 3, 4, 8, 24
FAMILIES = (*TINY, "deberta-v3", "xlm-r", "camembert", "modernbert", "distilbert")
SIZES = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": HEADS * HEAD_SIZE}


@cache
def small(family: str, attention: Attention = "sdpa") -> WordEncoder:
    """An encoder with a limit of :data:`LIMIT` subtokens; do not change it."""
    config, tokenizer = _parts(family)
    tokenizer.model_max_length = LIMIT
    return random_encoder(config, tokenizer, seed=1, attention=attention)


def _parts(family: str) -> tuple[Any, Any]:
    shape: dict[str, Any] = {**SIZES, "intermediate_size": 48, "initializer_range": 0.2, "max_position_embeddings": 64}
    if family in TINY:
        config, tokenizer = tiny(family, SENTENCES)
        changes = {**shape, "embedding_size": 20} if family == "tiny-electra" else shape
        return type(config)(**{**config.to_dict(), **changes}), tokenizer
    if family == "deberta-v3":
        pieces = _unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"], "[UNK]")
        attention: dict[str, Any] = {"relative_attention": True, "position_buckets": 8, "share_att_key": True}
        attention |= {"pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm", "position_biased_input": False}
        config = DebertaV2Config(**shape, **attention, type_vocab_size=0, vocab_size=len(pieces) + 3)
        return config, DebertaV2Tokenizer(pieces, unk_id=3)
    if family in ("xlm-r", "camembert"):
        pieces = _unigram(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "<unk>")
        build: Any = XLMRobertaConfig if family == "xlm-r" else CamembertConfig
        return build(**shape, pad_token_id=1, vocab_size=len(pieces)), XLMRobertaTokenizer(pieces)
    if family == "modernbert":
        tokenizer = _byte_level_without_spaces()
        kinds: Any = ["full_attention", "sliding_attention", "sliding_attention"]
        config = ModernBertConfig(
            **shape, local_attention=8, layer_types=kinds, vocab_size=len(tokenizer),
            pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3,
        )  # fmt: skip
        return config, tokenizer
    _, tokenizer = tiny("tiny-bert", SENTENCES)
    config = DistilBertConfig(
        dim=HEADS * HEAD_SIZE, n_layers=LAYERS, n_heads=HEADS, hidden_dim=48, vocab_size=len(tokenizer),
        max_position_embeddings=64, initializer_range=0.2,
    )  # fmt: skip
    return config, tokenizer


def _unigram(specials: list[str], unknown: str) -> list[tuple[str, float]]:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=specials, unk_token=unknown, show_progress=False)
    tokenizer.train_from_iterator((" ".join(words) for words in SENTENCES), trainer)
    return [(piece, score) for piece, score in json.loads(tokenizer.to_str())["model"]["vocab"]]


def _byte_level_without_spaces() -> Any:
    """As ModernBERT's: a plain fast tokenizer that, left alone, would not start split words with a space."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((" ".join(words) for words in SENTENCES), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **dict(zip(names, specials, strict=True)))
