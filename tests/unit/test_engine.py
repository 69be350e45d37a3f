"""Which engine opens, and what it says of a folder it cannot run."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures import save_model

from regard.engine import open_engine
from regard.engine.graphs import default_threads
from regard.engine.onnxruntime import OnnxEngine
from regard.engine.torch import TorchEngine, load_model
from regard.errors import MissingExtra, ModelError, UsageError
from regard.exchange.onnx import export
from regard.folder import checkpoint
from regard.model.transformer import Transformer

Saver = Callable[..., Path]


@pytest.fixture
def saved(tmp_path: Path, random_model: Callable[..., Transformer]) -> Saver:
    def save(weights: Any = "fp32", graphs: bool = True, **changes: Any) -> Path:
        return save_model(random_model(**changes), tmp_path / "model", weights, graphs=graphs)

    return save


def test_auto_takes_graphs_and_what_needs_torch_is_named(saved: Saver, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved()
    assert isinstance(open_engine(folder), OnnxEngine)
    assert isinstance(open_engine(folder, device="cpu"), OnnxEngine)
    assert isinstance(open_engine(folder, "torch"), TorchEngine)
    assert isinstance(open_engine(folder, precision="bf16"), TorchEngine)
    assert isinstance(open_engine(saved(graphs=False)), TorchEngine)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match="^running this model needs the package torch"):
        open_engine(saved(graphs=False))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "onnxruntime", "device": "cuda"}, "runs on cpu only: got device=cuda; use torch"),
        ({"kind": "onnxruntime", "precision": "int8"}, "int8 needs a model stored as int8"),
        ({"kind": "tensorflow"}, "engine must be auto, onnxruntime or torch: got 'tensorflow'; auto"),
        ({"kind": "torch", "device": "foo"}, "device must be one .* got 'foo'; use cpu or auto"),
        ({"kind": "torch", "threads": 0}, "threads must be at least 1: got 0; leave it out"),
    ],
)
def test_what_an_engine_cannot_do(saved: Saver, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_engine(saved(), **arguments)


def test_graphs_that_cannot_run_and_corrupt_weights(saved: Saver) -> None:
    folder = saved()
    (folder / "encoder.onnx").write_bytes(b"\x00 no graph")
    with pytest.raises(ModelError, match=r"encoder.onnx is not a graph that runs here") as caught:
        open_engine(folder)
    assert "\n" not in str(caught.value)
    (folder / "encoder.onnx").unlink()
    with pytest.raises(ModelError, match=r"needs .*encoder.onnx, which is not there"):
        open_engine(folder)
    folder = saved()
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    for kind in ("onnxruntime", "torch"):
        with pytest.raises(ModelError, match="truncated or corrupt"):
            open_engine(folder, kind)  # type: ignore[arg-type]


def test_graphs_of_another_weight_file(saved: Saver) -> None:
    folder = saved("int8")
    graphs = {path.name: path.read_bytes() for path in folder.glob("*.onnx")}
    assert set(graphs) == {
        "encoder.onnx", "decoder.onnx", "encoder.fp32.onnx", "decoder.fp32.onnx",
    }  # fmt: skip
    folder = saved("fp32", graphs=False)
    assert not list(folder.glob("*.onnx"))
    for name, content in graphs.items():
        (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=r"was made for another model.safetensors"):
        open_engine(folder)


def test_exporting_twice_gives_the_same_bytes_and_an_encoder_alone_writes_nothing(saved: Saver) -> None:
    folder = saved()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    export(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # Graphs only: the weights stay in their own file.
    assert len(before["encoder.onnx"]) < len(before["model.safetensors"])
    folder = saved(graphs=False, architecture="encoder-only")
    export(folder)
    assert [path.name for path in folder.glob("*.onnx")] == ["encoder.onnx"]
    for kind in ("onnxruntime", "torch"):
        with pytest.raises(UsageError, match="an encoder-only model writes nothing"):
            open_engine(folder, kind).start([[5, 3]])  # type: ignore[arg-type]


def test_a_loaded_model_is_the_saved_one(saved: Saver, random_model: Callable[..., Transformer]) -> None:
    folder = saved(tied="decoder")
    before = torch.get_rng_state()
    model, manifest = load_model(folder)
    assert torch.equal(torch.get_rng_state(), before), "nothing is drawn to load what is known"
    assert manifest.model.tied == "decoder"
    assert not model.training
    state = model.state_dict()
    assert state["output.weight"].data_ptr() == state["target.embedding.weight"].data_ptr()
    for name, tensor in checkpoint.read_tensors(folder).items():
        assert np.array_equal(state[name].numpy(), tensor)


def test_threads_leave_room_for_others_or_are_those_of_the_environment(monkeypatch: Any) -> None:
    monkeypatch.delenv("REGARD_THREADS", raising=False)
    for cores, threads in ((1, 1), (6, 3), (64, 8)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, n=cores: set(range(n)), raising=False)
        assert default_threads() == threads
    monkeypatch.setenv("REGARD_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("REGARD_THREADS", "two")
    with pytest.raises(UsageError, match="1 or more: got 'two'; change or unset it"):
        default_threads()
