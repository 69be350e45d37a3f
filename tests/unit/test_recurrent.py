"""What recurrent models do in company: how they begin, search, edits, folders, engines. Their laws stand with the Transformer's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures import save_model

from regard.config import DecodeConfig
from regard.decode import search
from regard.engine import open_engine
from regard.engine.torch import TorchEngine, UncachedEngine
from regard.errors import UsageError
from regard.model.recurrent.cell import NUM_PARTS, Weights, make_cell
from regard.trace import Trace
from regard.translate.trace import trace_pair

SOURCES = [[5, 6, 7, 3], [8, 3], [9, 10, 11, 12, 13, 14, 3]]
ADDITIVE = dict(architecture="gru", attention="additive", position="none")


def find(engine: TorchEngine, sources: list[list[int]], **more: Any) -> list[Any]:
    attention = more.pop("attention", False)
    config = DecodeConfig(**{"max_length": 9, **more})
    return search(engine, sources, config, attention=attention)


def test_the_search_shows_the_alignment_of_the_full_pass_if_there_is_one(random_model):
    model = random_model(**ADDITIVE)
    [[best, *_]] = find(TorchEngine(model), SOURCES[:1], attention=True)
    trace = trace_pair(model, SOURCES[0], best.tokens)
    expected = trace["decoder.attention.weights"][0, : len(best.tokens)]
    np.testing.assert_allclose(best.attention, expected, atol=1e-6)
    engine = TorchEngine(random_model(architecture="gru", attention="none", position="none"))
    with pytest.raises(UsageError, match="^an alignment needs a model that attends to its source"):
        find(engine, SOURCES, attention=True)


@pytest.mark.parametrize("attention", ["additive", "dot", "general"])
def test_an_edit_is_the_same_in_one_pass_and_step_by_step(attention, random_model):
    """The word at position 2 is made to look at the source's second word alone."""
    model = random_model(architecture="lstm", attention=attention, position="none")

    def edits_at(first: int) -> dict[str, Any]:
        def replace(weights: torch.Tensor) -> torch.Tensor:
            row = 2 - first
            if not 0 <= row < weights.shape[2]:
                return weights
            weights = weights.clone()
            weights[:, 0, row] = torch.tensor([0.0, 1.0, 0.0, 0.0])
            return weights

        return {"decoder.attention.weights": replace}

    target = [5, 9, 14, 6]
    full = trace_pair(model, SOURCES[0], target, edits_at(0))
    assert full["decoder.attention.weights"][0, 2].tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(full["decoder.attention.context"][0, 2], full["memory"][1])
    plain = trace_pair(model, SOURCES[0], target)
    np.testing.assert_array_equal(full["logits"][:2], plain["logits"][:2])
    assert not np.allclose(full["logits"][2], plain["logits"][2], atol=1e-3)
    # In additive attention what was found enters the state, so that later words differ too.
    assert np.allclose(full["logits"][3], plain["logits"][3]) == (attention != "additive")
    for engine in (TorchEngine(model, edits_at=edits_at), UncachedEngine(model, edits_at=edits_at)):
        state: Any = engine.start(SOURCES[:1])
        for i, token in enumerate([2, *target]):
            logits, state = engine.step(torch.tensor([token]), state)
            np.testing.assert_allclose(logits[0], full["logits"][i], atol=1e-5)


def test_an_edited_state_goes_on(random_model, sentences):
    """A value is edited where it is computed: the additive decoder's later states follow from it."""
    model = random_model(**ADDITIVE, num_decoder_layers=1)
    trace = Trace({"decoder.layers.0.state": torch.zeros_like})
    sentences.padded(model, trace)
    assert not trace["decoder.layers.0.state"].any()
    # Every word after the first looks from the same state, zero.
    weights = trace["decoder.attention.weights"][:, 0]
    torch.testing.assert_close(weights[:, 1:-1], weights[:, 2:])
    assert not torch.allclose(weights[:, 0], weights[:, 1])


def test_the_torch_engine_runs_it(random_model, tmp_path: Path):
    folder = save_model(random_model(**ADDITIVE), tmp_path / "m")
    assert not (folder / "decoder.onnx").exists()
    assert isinstance(open_engine(folder), TorchEngine)
    with pytest.raises(UsageError) as caught:
        open_engine(folder, "onnxruntime")
    assert str(caught.value) == ("the onnxruntime engine runs Transformers: got architecture=gru; use torch")


# torch says so on a processor without bf16 arithmetic, and computes it in another way
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
def test_narrow_products_change_little(recurrent_variant, random_model, sentences):
    model = random_model(**recurrent_variant)
    expected = sentences.real(model)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = sentences.real(model)
    assert (narrow.float() - expected).norm() < 0.05 * expected.norm()


@pytest.mark.gpu
def test_a_gpu_gives_the_same(recurrent_variant, random_model, sentences):
    """Logits in full precision, and gradients that are numbers under autocast."""
    model = random_model(**recurrent_variant)
    expected = sentences.real(model)
    there = type(sentences)(*(getattr(sentences, name).cuda() for name in sentences.__dataclass_fields__))
    model = model.cuda()
    is_real = sentences.is_real(model).cuda()
    close = dict(atol=2e-2, rtol=2e-2)  # cuDNN multiplies in TF32
    torch.testing.assert_close(there.padded(model)[is_real].cpu(), expected, **close)
    model.train()
    with torch.autocast("cuda", torch.bfloat16):
        loss = there.padded(model)[is_real].float().square().mean()
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("kind", NUM_PARTS)
def test_recurrent_matrices_begin_orthogonal(kind):
    """So that what a plain cell knows neither fades nor grows in the first steps of training."""
    weights = Weights.of(make_cell(kind, 5, 7))
    for gate in weights.recurrent.split(7):
        torch.testing.assert_close(gate @ gate.T, torch.eye(7), atol=1e-5, rtol=0)
    assert not weights.recurrent_bias.any()
    forget_gate = [0] * 7 + [1] * 7 + [0] * 14
    assert weights.inputs_bias.tolist() == (forget_gate if kind == "lstm" else [0] * len(weights.inputs))
