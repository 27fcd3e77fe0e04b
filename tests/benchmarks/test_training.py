"""What training and evaluation cost beside the bare encoder, as ratios in one process; never a timed test.

Run with ``pytest -m benchmark tests/benchmarks -s`` on a quiet machine.
"""

import resource
import time
from pathlib import Path

import pytest
import torch

from stemcell.config import RunConfig
from stemcell.corpora.demo import write_demo
from stemcell.cpu import fast_linear
from stemcell.training.batches import length_batches, padding_waste
from stemcell.training.display import Display
from stemcell.training.evaluation import evaluate
from stemcell.training.loop import Trainer
from stemcell.training.setup import prepare

pytestmark = [pytest.mark.benchmark]
BATCHES = 5
TOKENS = 1600


class Mute:
    """A tracker that keeps nothing."""

    folder = Path("nowhere")

    def metrics(self, step, values):
        pass


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, request):
    shared = request.config.rootpath.parent / "shared" / "data" / "ewt5"
    if shared.exists():
        return shared
    folder = tmp_path_factory.mktemp("corpus") / "demo"
    write_demo(folder)
    return folder


def base_encoder(words):
    """BERT-base's shape with random weights."""
    from transformers import BertConfig

    from stemcell.encoders.load import random_encoder
    from stemcell.encoders.tiny import tiny

    config, tokenizer = tiny("tiny-bert", words)
    return random_encoder(BertConfig(vocab_size=config.vocab_size), tokenizer)


@pytest.fixture(scope="module", params=["minilm", "bert-base"])
def trainer(request, corpus, monkeypatch_module):
    from accelerate import Accelerator

    config = RunConfig(data=str(corpus), encoder="minilm", train_limit=1500, batch_tokens=TOKENS)
    encoder = None
    if request.param == "bert-base":
        from stemcell.corpora.store import read_corpus

        encoder = base_encoder(example.words for example in read_corpus(corpus)["train"]["pos"].take(1500))
    return Trainer(config, prepare(config, encoder), Accelerator(), Mute())


@pytest.fixture(scope="module")
def monkeypatch_module(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEMCELL_HOME", str(tmp_path_factory.mktemp("home")))
        yield patch


def forward(trainer, batch):
    with trainer.accelerator.autocast(), fast_linear("cpu"):
        return trainer.model.encoder.model(batch.ids, attention_mask=batch.mask).last_hidden_state


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(benchmark, **figures):
    benchmark.extra_info.update(figures)
    print("\n", "  ".join(f"{name} {value:.3g}" for name, value in figures.items()))


def test_a_training_step_beside_the_bare_encoder(trainer, benchmark):
    schedule, model = trainer.setup.schedule, trainer.model
    trainer._save_last = lambda: None
    display = Display("", 10**6, False)
    ratios, words, total = {}, 0, 0.0
    for task in schedule.tasks:
        steps = [step for epoch in range(9) for step in schedule.epoch(epoch) if step.task == task][: BATCHES + 1]
        whole = bare = 0.0
        for number, step in enumerate(steps):
            prepared = trainer._parts.prepare(step, number)
            batch = trainer.setup.training[task].batch(step.batch)
            model.train()
            encoder = seconds(lambda batch=batch: forward(trainer, batch).sum().backward())
            model.zero_grad()
            ours = seconds(lambda step=step, prepared=prepared: trainer._step(step, prepared, display))
            if number:
                whole, bare = whole + ours, bare + encoder
                words += sum(len(trainer.setup.training[task].words[i]) for i in step.batch)
        ratios[task] = whole / bare
        total += whole
    benchmark.pedantic(lambda: None, rounds=1)
    report(benchmark, **ratios, mtl5=sum(ratios.values()) / len(ratios), words_per_second=words / total)
    assert set(ratios) == set(schedule.tasks)


def test_evaluation_beside_the_bare_forward(trainer, benchmark):
    data, model = trainer.setup.dev, trainer.model
    batches = length_batches(data.sentences.sizes, 64, TOKENS)

    def bare():
        model.eval()
        with torch.inference_mode():
            for indices in batches:
                forward(trainer, data.sentences.batch(indices))

    def ours():
        evaluate(model, data, batch_sentences=64, batch_tokens=TOKENS, autocast=trainer.accelerator.autocast)

    seconds(bare)
    without, full = seconds(bare), seconds(ours)
    benchmark.pedantic(lambda: None, rounds=1)
    report(benchmark, ratio=full / without, sentences_per_second=len(data.sentences) / full)
    assert full > 0


def test_padding_and_memory(trainer, benchmark):
    waste = {
        task: padding_waste([step.batch for step in trainer.setup.schedule.epoch(0) if step.task == task], data.sizes)
        for task, data in trainer.setup.training.items()
    }
    benchmark.pedantic(lambda: None, rounds=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    report(benchmark, **waste, peak_gigabytes=peak)
    assert max(waste.values()) < 0.08
