import numpy as np
import pytest
import torch

from stemcell.encoders.load import load_encoder
from stemcell.errors import UserError
from stemcell.figures.attention import attention_maps, check_heads, word_attention

WORDS = ["Mary", "saw", "the", "unbelievable", "man", "."]


def test_words_are_pooled_as_by_plain_loops():
    encoder = load_encoder("minilm", attention="eager").eval()
    tokens = encoder.tokenizer(WORDS, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        layers = encoder.model(**tokens, output_attentions=True).attentions
    words = tokens.word_ids()
    for (layer, head), found in word_attention(encoder, WORDS, [(3, 10), (4, 2)]).items():
        weights = layers[layer - 1][0, head - 1].double().numpy()
        for i, j in np.ndindex(found.shape):
            rows = [x for x, word in enumerate(words) if word == i]
            columns = [y for y, word in enumerate(words) if word == j]
            assert found[i, j] == pytest.approx(np.mean([weights[x, columns].sum() for x in rows]), abs=1e-6)


def test_heads_that_are_not_there_are_named():
    encoder = load_encoder("minilm", attention="eager")
    with pytest.raises(UserError, match="no head 7-1"):
        check_heads(encoder, [(7, 1)])
    encoder.keep_heads([[1]] + [range(12)] * 5)
    with pytest.raises(UserError, match="head 1-1 was removed"):
        check_heads(encoder, [(1, 2), (1, 1)])
    assert word_attention(encoder, WORDS, [(1, 2)])[1, 2].shape == (6, 6)


def test_each_map_has_all_words():
    figure = attention_maps({(1, 1): np.eye(3), (2, 2): np.eye(3)}, ["a", "$", "$b$"], "a $ $b$")
    for axes in figure.axes[:2]:
        assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "$", "$b$"]
    figure.draw_without_rendering()
