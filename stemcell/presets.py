"""Named settings. ``paper``: those of the paper's release, by tasks and encoder (docs/method.md, sections 4 and 5)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from stemcell.corpora.layers import LAYERS
from stemcell.encoders.names import short_name
from stemcell.errors import UserError, unknown

PRESETS = ("paper",)


def preset(name: str, encoder: str, tasks: tuple[str, ...], prune: str) -> dict[str, Any]:
    """The fields that a preset sets, for an encoder (by name), its tasks and its way of pruning.

    Encoders that the paper does not have are set as its others than BERT are.

    Raises:
        UserError: if there is no such preset, or the paper has no model of these tasks.
    """
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    known = [{task} for task in LAYERS] + [set(LAYERS)]
    if prune == "no":
        known += [set(pair) for pair in combinations(LAYERS, 2)]
    if set(tasks) not in known:
        pruned = "one task or all five" if prune != "no" else "one task, two or all five"
        raise UserError(f"the paper has no such model of {', '.join(tasks)} (it has {pruned}); leave --preset out")
    encoder = short_name(encoder)
    fields = _unpruned(encoder, tasks) if prune == "no" else _pruned(encoder, tasks)
    return {**fields, "srl_decoder": "paper"}


def _unpruned(encoder: str, tasks: tuple[str, ...]) -> dict[str, Any]:
    bert = encoder == "bert"
    if len(tasks) == 1:
        (task,) = tasks
        fields: dict[str, Any] = {"accumulation": {"pos": 2, "ner": 2, "srl": 4}.get(task, 1 if bert else 4)}
        if encoder == "electra" and task == "pos":
            fields["encoder_lr"] = 1e-5
        if encoder == "deberta" and task == "srl":
            fields["epochs"] = 100
        return fields
    if len(tasks) == 5 or "srl" in tasks:
        return {"accumulation": 4}
    return {"accumulation": 2 if set(tasks) == {"ner", "con"} else 1}


def _pruned(encoder: str, tasks: tuple[str, ...]) -> dict[str, Any]:
    bert = encoder == "bert"
    common = {"encoder_lr": 1e-5, "gate_lr": 1e-3, "balance_penalty": True}
    if len(tasks) == 5:
        return {**common, "l0_penalty": 0.001, "accumulation": 4, "epochs": 30, "early_stop": False}
    (task,) = tasks
    penalty = {
        "pos": 0.01,
        "con": 0.01,
        "dep": 0.02 if encoder == "deberta" else 0.01,
        "ner": 0.0002,
        "srl": 0.001 if bert else 0.002,
    }[task]
    fields = {**common, "l0_penalty": penalty, "accumulation": 4 if task == "srl" else 2, "epochs": 30}
    if task == "ner":
        fields |= {"epochs": 100, "early_stop": False}
    if task == "srl" or (bert and task == "dep"):
        fields |= {"epochs": 100}
    if bert and task in ("ner", "dep"):
        fields |= {"accumulation": 1}
    return fields
