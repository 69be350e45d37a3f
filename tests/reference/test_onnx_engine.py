"""The onnxruntime engine against the torch engine: the same numbers in fp32, close ones in int8."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures import KERNELS, save_model

from regard.engine import open_engine
from regard.engine.native import Kernel
from regard.engine.onnxruntime import OnnxEngine
from regard.engine.torch import TorchEngine, load_model
from regard.model.transformer import Transformer

TOLERANCE = 1e-4
KERNEL_SIZES: dict[str, Any] = dict(d_model=64, num_heads=4, d_ff=192)
SOURCES = [[5, 6, 7, 3], [8, 3], [9, 10, 11, 12, 13, 14, 3]]
# Rows that repeat, vanish, change places, and stand in unequal numbers for their sentences.
SELECTIONS = (None, [2, 2, 0, 0], [1, 0, 3], [0, 0, 2, 2, 1, 1], [5, 4], None)


def both(folder: Path, precision: Any = "fp32") -> tuple[TorchEngine, OnnxEngine]:
    model, _ = load_model(folder)
    return TorchEngine(model), OnnxEngine(folder, 1, precision)


def steps(engines: tuple[TorchEngine, Any]) -> list[tuple[np.ndarray, ...]]:
    """For each step the log-probabilities of both engines, and what both attended to where there is a source."""
    ours, theirs = engines
    sources: Sequence[Sequence[int]] = SOURCES if ours.config.has_encoder else [[]] * len(SOURCES)
    state, other = ours.start(sources, attention=True), theirs.start(sources, attention=True)
    tokens = np.full(len(sources), ours.config.bos_id)
    seen = []
    for selection in SELECTIONS:
        if selection is not None:
            state = state.select(torch.tensor(selection))
            other = other.select(np.array(selection))
            tokens = tokens[selection]
        logits, state = ours.step(torch.from_numpy(tokens), state)
        logits = logits.log_softmax(dim=1)
        other_logits, other = theirs.step(tokens, other)
        attention = (state.attention.numpy(), other.attention) if ours.config.has_encoder else ()
        seen.append((logits.numpy(), other_logits, *attention))
        tokens = (tokens * 7 + 5 + np.arange(len(tokens))) % ours.config.target_vocab_size
    return seen


@pytest.mark.parametrize("weights", ["fp32", "int8"])
def test_fp32_is_torch(tmp_path, random_model, graph_variant, weights):
    """Every step of every architecture, whichever form the weights are stored in."""
    folder = save_model(random_model(**graph_variant), tmp_path / "model", weights)
    for logits, others, *attention in steps(both(folder)):
        assert logits.shape == others.shape
        assert np.abs(logits - others).max() <= TOLERANCE
        if attention:
            assert np.abs(attention[0] - attention[1]).max() <= TOLERANCE
            assert np.allclose(attention[1].sum(axis=1), 1, atol=TOLERANCE)


def test_int8_is_near_torch(tmp_path, random_model, graph_variant):
    """Activations of 8 bits through a few layers: an error of a few hundredths of the logits' size."""
    folder = save_model(random_model(**graph_variant), tmp_path / "model", "int8")
    for logits, others, *_ in steps(both(folder, "int8")):
        assert np.linalg.norm(logits - others) <= 0.04 * np.linalg.norm(logits)
        assert np.abs(logits - others).max() > 0


PRE_NORM: dict[str, Any] = dict(norm_placement="pre", tied="none", source_vocab_size=29, output_bias=True)


@pytest.mark.parametrize("changes", [{}, PRE_NORM, dict(feed_forward="silu", output_bias=True)])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KERNELS or ["0"])
def test_the_kernel_is_near_torch(tmp_path, random_model, kernel, kind, threads, changes):
    """On a processor without the kernel the graphs stand in."""
    folder = save_model(random_model(**KERNEL_SIZES, **changes), tmp_path / "model", "int8")
    kernel(kind)
    engine = open_engine(folder, threads=threads)
    assert isinstance(engine, Kernel) == bool(KERNELS)
    for logits, others, seen, others_seen in steps((TorchEngine(load_model(folder)[0]), engine)):
        assert np.linalg.norm(logits - others) <= 0.04 * np.linalg.norm(logits)
        assert np.abs(seen - others_seen).max() <= 0.02
        assert np.allclose(others_seen.sum(axis=1), 1, atol=TOLERANCE)


@pytest.mark.parametrize("kind", KERNELS or ["0"])
def test_a_model_that_overflows_finds_nothing(tmp_path, random_model, kernel, kind):
    """Weights from elsewhere may be finite and still too large: no memory outside the arrays is read or written."""
    model = random_model(**KERNEL_SIZES)
    model.decoder.layers[-1].feed_forward.norm.weight.data.fill_(3e38)
    kernel(kind)
    engine = open_engine(save_model(model, tmp_path / "model", "int8"), threads=1)
    _, values, tokens, _ = engine.step_best([2], engine.start([[7, 3]]), 5)
    assert not np.greater(values, -np.inf).any() and max(tokens[0]) < engine.config.target_vocab_size


def test_a_row_of_zeros_stays_zero_in_int8(tmp_path: Path, random_model: Callable[..., Transformer]) -> None:
    """Where nothing passes the activation there is no largest value to scale by."""
    model = random_model()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "feed_forward.hidden" in name:
                weight.fill_(-1.0 if "bias" in name else 0.0)
    folder = save_model(model, tmp_path / "model", "int8")
    for logits, others, *_ in steps(both(folder, "int8")):
        assert np.isfinite(others).all()
        assert np.linalg.norm(logits - others) <= 0.04 * np.linalg.norm(logits)


@pytest.mark.parametrize("precision", ["fp32", "int8", *KERNELS])
def test_neighbours_do_not_matter(tmp_path, random_model, request, precision):
    """A sentence alone and the same one in a padded batch, to the bit: else a tie might break otherwise."""
    sizes = dict(d_model=24, num_heads=3, d_ff=40, num_encoder_layers=3)
    if precision in KERNELS:
        request.getfixturevalue("kernel")(precision)
        precision, sizes = "int8", KERNEL_SIZES
    folder = save_model(random_model(**sizes), tmp_path / "model", "int8")
    engine = open_engine(folder, threads=1, precision=precision)
    # Too many source tokens for one group, and sentences for two threads.
    sources = [*SOURCES, *([*range(4, 23), 3] * repeats for repeats in (1, 4, 6))]
    together = open_engine(folder, threads=2, precision=precision).start(sources)
    alone = [engine.start([source]) for source in sources]
    tokens = np.full(len(sources), 2)
    for _ in range(5):
        values, together = engine.step(tokens, together)
        for row, source in enumerate(sources):
            own, alone[row] = engine.step(tokens[row : row + 1], alone[row])
            assert np.array_equal(own[0], values[row]), source
        tokens = values.argmax(axis=1)
