"""Encoders by name: from a folder, from the hub, or made on the spot.

No code but transformers' own is run, and no pickle is read.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub.utils import are_progress_bars_disabled, enable_progress_bars
from safetensors.torch import load_file
from transformers import MODEL_MAPPING, AutoConfig, AutoModel, AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerFast
from transformers.initialization import no_init_weights
from transformers.utils import logging

from stemcell.encoders import hub
from stemcell.encoders.families import family_of
from stemcell.encoders.names import TINY, locate
from stemcell.encoders.tiny import tiny
from stemcell.encoders.words import WordEncoder
from stemcell.errors import UserError

Attention = Literal["sdpa", "eager"]
"""``eager`` where attention weights are wanted, ``sdpa`` for speed. DeBERTa, which has no ``sdpa``, is always eager."""


def load_encoder(
    name: str,
    *,
    words: Iterable[Sequence[str]] | None = None,
    seed: int = 0,
    attention: Attention = "sdpa",
    revision: str | None = None,
) -> WordEncoder:
    """An encoder with its weights, in float32 on the CPU, in evaluation mode.

    Args:
        name: of the table in :mod:`stemcell.encoders.names`, a local folder, or ``owner/model`` on the hub.
        words: training sentences, which the tiny encoders learn their vocabulary from; the others need none.
        seed: of the tiny encoders' weights.
        revision: branch, tag or commit on the hub.

    Raises:
        UserError: unknown name, hub out of reach, not a bidirectional encoder, a family without adapter, no usable
            tokenizer, or weights that are missing, damaged or pickled.
    """
    if name in TINY:
        if words is None:
            raise UserError(f"encoder '{name}' learns its vocabulary from training sentences, and none were given")
        config, tokenizer = tiny(name, words)
        return random_encoder(config, tokenizer, seed=seed, attention=attention)
    source = locate(name)
    # For a few models the weights are at another revision than the rest.
    files: dict[str, Any] = {"revision": revision or "main"}
    weights: dict[str, Any] = {}
    if isinstance(source, Path):
        hub.check_folder(source)
    elif not hub.reachable():
        files["local_files_only"] = True
        with _told(f"encoder '{name}' is no model of the hub"):
            source, weights["revision"] = hub.cached_weights(source, revision)

    with _quiet():
        with _told(f"encoder '{name}' has no configuration that can be used"):
            config = AutoConfig.from_pretrained(source, trust_remote_code=False, **files)
        choices = _choices(config, attention)
        removed = _take_removed(config, str(source))
        with _told(f"encoder '{name}' has no tokenizer that can be used"):
            # Byte-level tokenizers are to be built for words that come one by one.
            tokenizer = AutoTokenizer.from_pretrained(source, add_prefix_space=True, trust_remote_code=False, **files)
        if removed:
            if not isinstance(source, Path):
                raise UserError(f"encoder '{name}' has heads removed: download it and give its folder as the encoder")
            with _told(f"encoder '{name}' has no weights that can be used", "Copy the folder again, whole"):
                return _filled(_without(removed, config, tokenizer, choices), source)
        with _told(f"encoder '{name}' has no weights that can be used", hub.conversion(source)):
            model, report = AutoModel.from_pretrained(
                source, config=config, use_safetensors=True, output_loading_info=True, **choices, **{**files, **weights}
            )
    if report["missing_keys"]:
        missing = sorted(report["missing_keys"])
        raise UserError(f"encoder '{name}': its weights lack {len(missing)} tensors of the model, such as {missing[0]}")
    return WordEncoder(model, tokenizer).eval()


def random_encoder(
    config: PreTrainedConfig, tokenizer: Any, *, seed: int = 0, attention: Attention = "sdpa"
) -> WordEncoder:
    """An untrained encoder, in evaluation mode; the same seed gives the same weights. The global random state stays."""
    with torch.random.fork_rng(devices=[]), _quiet():
        torch.default_generator.manual_seed(seed)
        model = AutoModel.from_config(config, **_choices(config, attention))
    return WordEncoder(model, tokenizer).eval()


def untrained(encoder: WordEncoder, seed: int) -> WordEncoder:
    """A copy of an encoder with random weights, on the CPU, in evaluation mode and eager; it lacks the same heads."""
    config = copy.deepcopy(encoder.model.config)
    config.__dict__.pop("removed_heads", None)
    fresh = random_encoder(config, encoder.tokenizer, seed=seed, attention="eager")
    fresh.keep_heads(encoder.kept_heads)
    return fresh


def from_description(folder: Path, *, attention: Attention = "sdpa") -> WordEncoder:
    """The inverse of :meth:`WordEncoder.save_description`: all but the weights, which hold whatever was in memory and
    are to be filled with ``load_state_dict``. Heads that were removed are missing here too. Needs no network.

    Raises:
        UserError: a file is missing or damaged.
    """
    with _quiet(), _told(f"'{folder}' does not describe an encoder", "Copy the folder again, whole"):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        # Not the family's own class, which would build the tokenizer anew: this one takes it as it was saved.
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
        removed = _take_removed(config, str(folder))
        return _without(removed, config, tokenizer, _choices(config, attention))


def _without(removed: dict[int, set[int]], config: Any, tokenizer: Any, choices: dict[str, Any]) -> WordEncoder:
    """An encoder whose weights are whatever was in memory, without some of its heads."""
    with no_init_weights():
        encoder = WordEncoder(AutoModel.from_config(config, **choices), tokenizer)
    encoder.keep_heads(
        [set(range(count)).difference(removed.get(layer, ())) for layer, count in enumerate(encoder.heads)]
    )
    return encoder.eval()


def _take_removed(config: Any, source: str) -> dict[int, set[int]]:
    """Take ``removed_heads`` out of a configuration (:meth:`WordEncoder.keep_heads` puts them back): heads by layer.

    Raises:
        UserError: they are not heads of this model.
    """
    removed = config.__dict__.pop("removed_heads", {})
    heads, layers = range(config.num_attention_heads), range(config.num_hidden_layers)
    try:
        found = {int(layer): set(own) for layer, own in removed.items()}
        if not all(layer in layers and all(head in heads for head in own) for layer, own in found.items()):
            raise ValueError
    except (AttributeError, TypeError, ValueError):
        raise UserError(
            f"'{source}': removed_heads in config.json is not a list of heads (0 to {heads[-1]}) a layer (0 to "
            f"{layers[-1]}); copy the folder again, whole"
        ) from None
    return found


def _filled(encoder: WordEncoder, folder: Path) -> WordEncoder:
    """The encoder with the weights of a folder, which must be just those it has.

    Raises:
        UserError: they are not.
    """
    weights, wanted = load_file(folder / "model.safetensors"), encoder.model.state_dict()
    different = [key for key in wanted if key not in weights or weights[key].shape != wanted[key].shape]
    if different or len(weights) > len(wanted):
        example = next(iter(different or weights.keys() - wanted.keys()))
        raise UserError(
            f"'{folder / 'model.safetensors'}' does not fit removed_heads in config.json beside it: {example} is "
            "missing, of another size or too much; copy the folder again, whole"
        )
    encoder.model.load_state_dict(weights)
    return encoder


def _choices(config: PreTrainedConfig, attention: Attention) -> dict[str, Any]:
    """How a model is built: attention, float32 whatever the file holds, and without a pooler that nobody would train.

    Raises:
        UserError: not an encoder of a known family.
    """
    choices: dict[str, Any] = {
        "attn_implementation": attention if family_of(config).SDPA else "eager",
        "dtype": torch.float32,
    }
    build: Any = MODEL_MAPPING[type(config)]
    if "add_pooling_layer" in inspect.signature(build).parameters:
        choices["add_pooling_layer"] = False
    return choices


@contextmanager
def _told(problem: str, remedy: str = "") -> Iterator[None]:
    """Turns what transformers raises, which may be anything, into one clear message."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        cause = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UserError(f"{problem}: {cause}{'. ' if remedy else ''}{remedy}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' reports of unused heads and its bars for what takes a second; downloads keep theirs."""
    level, bars, no_downloads = logging.get_verbosity(), logging.is_progress_bar_enabled(), are_progress_bars_disabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if not no_downloads:
        enable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
