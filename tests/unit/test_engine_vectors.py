"""The encoder's vectors: the same by both engines, in every batch, for every model that has an encoder."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx as onnx_package
import pytest
import torch
from fixtures import make_model_folder, save_model

from regard.config import ModelConfig
from regard.engine import open_encoder
from regard.errors import ModelError
from regard.model.layout import Layout
from regard.model.transformer import Transformer, build

VOCABULARY = 61
SOURCES = [[7, 11, 3], [5, 3], [9, 9, 42, 17, 33, 3], [3]]
ALONE = dict(architecture="encoder-only")
SHAPE = dict(num_encoder_layers=2, num_decoder_layers=1, d_model=26, d_ff=37, num_heads=2)


def saved(folder: Path, weights: str = "fp32", **changes: Any) -> Transformer:
    config = ModelConfig(source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, **{**SHAPE, **changes})
    torch.manual_seed(5)
    model = build(config).eval()
    assert isinstance(model, Transformer)
    save_model(model, folder, weights)
    return model


def alone(model: Transformer, source: list[int]) -> np.ndarray:
    with torch.inference_mode():
        layout = Layout.padded(torch.tensor([len(source)]), len(source))
        return model.encode(torch.tensor([source]), layout)[0].numpy()


@pytest.mark.parametrize("changes", [{}, ALONE, ALONE | dict(output_transform=True, output_bias=True)], ids=str)
@pytest.mark.parametrize("kind", ["onnxruntime", "torch"])
def test_vectors_are_those_of_each_source_alone(tmp_path: Path, kind: Any, changes: dict[str, Any]) -> None:
    model = saved(tmp_path / "model", **changes)
    encoder = open_encoder(tmp_path / "model", kind)
    for source, found in zip(SOURCES, encoder.vectors(SOURCES), strict=True):
        assert found.shape == (len(source), 26) and found.dtype == np.float32
        np.testing.assert_allclose(found, alone(model, source), atol=2e-5)


def test_int8_is_near_and_knows_itself(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", weights="int8", architecture="encoder-only")
    quantized, wide = (open_encoder(tmp_path / "model", precision=each) for each in ("auto", "fp32"))
    assert (quantized.precision, wide.precision) == ("int8", "fp32")
    for source, near, nearer in zip(SOURCES, quantized.vectors(SOURCES), wide.vectors(SOURCES), strict=True):
        expected = alone(model, source)
        scale = np.abs(expected).max()
        assert np.abs(near - expected).max() < 0.1 * scale
        assert np.abs(nearer - expected).max() < 0.05 * scale


def test_what_cannot_read_is_refused_and_a_graph_from_before_named(tmp_path: Path) -> None:
    import regard

    folder = make_model_folder(tmp_path / "model")
    expected = regard.load(folder).translate("Bonjour.")
    graph = onnx_package.load(folder / "encoder.onnx", load_external_data=False)
    kept = [each for each in graph.graph.output if each.name != "memory"]
    assert len(kept) < len(graph.graph.output)
    del graph.graph.output[:]
    graph.graph.output.extend(kept)
    (folder / "encoder.onnx").write_bytes(graph.SerializeToString())
    assert regard.load(folder).translate("Bonjour.") == expected
    with pytest.raises(ModelError, match="an older version wrote"):
        open_encoder(folder).vectors([[5, 3]])
    saved(tmp_path / "writer", architecture="decoder-only")
    with pytest.raises(ModelError, match="a model with an encoder"):
        open_encoder(tmp_path / "writer")
