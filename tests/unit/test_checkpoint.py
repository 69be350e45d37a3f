"""A model folder is written whole or not at all, read back exactly, and refused in one sentence when broken."""

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from regard.config import ModelConfig
from regard.errors import ModelError
from regard.folder import checkpoint
from regard.folder.manifest import Manifest, TokenizerFiles, read_manifest
from regard.folder.tensors import dequantize, expected_tensors, quantize, stored_tensors, tied_names
from regard.model.transformer import Model

FILES = {"tokenizer.model": b"pieces"}
FORMS = ("fp32", "fp16", "int8")


@pytest.fixture
def tensors(tiny_config: Callable[..., ModelConfig]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(2017)
    shapes = expected_tensors(tiny_config())
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path: Path, manifest: Manifest, tensors: dict[str, np.ndarray]) -> Path:
    checkpoint.save(tmp_path / "model", manifest, tensors, FILES, "# A model\n")
    return tmp_path / "model"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_names_and_shapes_are_the_modules(random_model: Callable[..., Model], any_variant: dict[str, Any]) -> None:
    model = random_model(**any_variant)
    ties = tied_names(model.config)
    state = model.state_dict()
    assert all(state[name].data_ptr() == state[first].data_ptr() for name, first in ties.items())
    shapes = {name: tuple(value.shape) for name, value in state.items() if name not in ties}
    assert expected_tensors(model.config) == shapes


@pytest.mark.parametrize("form", FORMS)
def test_save_load_save_is_identical(tmp_path, manifest, tensors, form):
    manifest = replace(manifest, weights=form)
    checkpoint.save(tmp_path / "first", manifest, tensors, FILES, "card")
    assert read_manifest(tmp_path / "first") == manifest
    again = checkpoint.read_tensors(tmp_path / "first")
    assert all(tensor.dtype == np.float32 for tensor in again.values())
    kinds = {"float32": "F32", "float16": "F16", "int8": "I8"}
    held = safetensors.numpy.load_file(tmp_path / "first" / "model.safetensors")
    got = {name: (kinds[str(tensor.dtype)], tensor.shape) for name, tensor in held.items()}
    assert got == stored_tensors(manifest.model, form)
    files = checkpoint.read_files(tmp_path / "first", manifest)
    checkpoint.save(tmp_path / "second", manifest, again, files, "card")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_int8_is_within_half_a_step_of_the_row_and_as_by_hand(tensors: dict[str, np.ndarray]) -> None:
    stored = quantize(tensors)
    back = dequantize(stored)
    for name, tensor in tensors.items():
        if tensor.ndim == 2:
            step = stored[name + "_scale"][:, None]
            assert np.abs(stored[name]).max() == 127
            assert (np.abs(back[name] - tensor) <= step * 0.5001).all()
            assert np.allclose(step[:, 0] * 127, np.abs(tensor).max(axis=1), rtol=1e-4)
        else:
            assert np.array_equal(back[name], tensor)
    rows = np.array([[127, -63.4, 0], [0, 0, 0]], dtype=np.float32)
    stored = quantize({"layer.weight": rows, "target.embedding.weight": rows})
    # A matrix lies [inputs, outputs], a table [rows, features]; a row of zeros has the scale 1.
    assert stored["layer.weight"].tolist() == [[127, 0], [-63, 0], [0, 0]]
    assert stored["target.embedding.weight"].tolist() == [[127, -63, 0], [0, 0, 0]]
    assert stored["layer.weight_scale"].tolist() == [1, 1]


def test_saving_again_replaces_the_model_and_nothing_else(folder, manifest, tensors):
    (folder / "metrics.jsonl").write_text("kept")
    (folder / "decoder.onnx").write_text("of the old weights")
    changed = {name: tensor + 1 for name, tensor in tensors.items()}
    other = replace(manifest, tokenizer=TokenizerFiles(source="a.model", target="b.model"))
    checkpoint.save(folder, other, changed, {"a.model": b"a", "b.model": b"b"}, "new")
    own = {"config.json", "model.safetensors", "README.md", "SHA256SUMS", "a.model", "b.model"}
    assert set(contents(folder)) == own | {"metrics.jsonl"}
    assert read_manifest(folder) == other
    again = checkpoint.read_tensors(folder)
    assert all(np.array_equal(again[name], tensor) for name, tensor in changed.items())
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("how", ["by its path", "from inside", "by a link"])
def test_a_model_joins_the_files_of_its_run(tmp_path, manifest, tensors, monkeypatch, how):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "metrics.jsonl").write_text("kept")
    (tmp_path / "link").symlink_to(run)
    monkeypatch.chdir(run)
    folder = {"by its path": run, "from inside": Path("."), "by a link": tmp_path / "link"}[how]
    entries = set(tmp_path.iterdir())
    names = {"config.json", "model.safetensors", "README.md", "tokenizer.model", "SHA256SUMS"}
    for card in ("first", "second"):
        number = run.stat().st_ino
        checkpoint.save(folder, manifest, tensors, FILES, card)
        # The folder itself stays: it may be the current one, or a mount point.
        assert run.stat().st_ino == number and set(tmp_path.iterdir()) == entries
        assert {path.name for path in run.iterdir()} == names | {"checkpoints", "metrics.jsonl"}
        assert (run / "README.md").read_text() == card
        assert read_manifest(folder) == manifest


def test_graphs_are_part_of_the_whole(folder: Path, manifest: Manifest, tensors: dict[str, np.ndarray]) -> None:
    def graphs(fresh: Path) -> None:
        assert read_manifest(fresh) == manifest
        assert not list(folder.glob("*.onnx"))
        (fresh / "decoder.onnx").write_bytes(b"graph")

    checkpoint.save(folder, manifest, tensors, FILES, "with graphs", graphs=graphs)
    before = contents(folder)
    assert before["decoder.onnx"] == b"graph"

    def broken(fresh: Path) -> None:
        (fresh / "decoder.onnx").write_bytes(b"half")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        checkpoint.save(folder, manifest, tensors, FILES, "without", graphs=broken)
    assert contents(folder) == before
    with pytest.raises(OSError, match="No space"):
        checkpoint.save(folder.parent / "new", manifest, tensors, FILES, "", graphs=broken)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_strangers_file_is_not_overwritten(tmp_path, manifest, tensors):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "README.md").write_text("mine")
    with pytest.raises(ModelError, match=r"holds a README.md that is not a model's: move it"):
        checkpoint.save(tmp_path / "home", manifest, tensors, FILES, "card")
    assert contents(tmp_path / "home") == {"README.md": b"mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v["model"].update(source_vocab_size=29, target_vocab_size=29),
         r"source.embedding.weight: expected .'F32', .29, 18.. as config.json says, got .'F32', .23, 18.."),
        (lambda v: v["model"].update(num_decoder_layers=3), "tensor decoder.layers.2.*expected .* got none"),
        (lambda v: v["model"].update(num_decoder_layers=1), "tensor decoder.layers.1.*expected none"),
        (lambda v: v.update(weights="fp16"), "expected .'F16'.* got .'F32'.*; .* get it again"),
        (lambda v: v.update(format_version=99), "expected format_version 1, got 99"),
        (lambda v: v.pop("model"), "model must be an object: got None; correct it"),
        (lambda v: v["model"].update(d_model=19), "d_model must be"),
        (lambda v: v["tokenizer"].update(kind="pickle"), "kind must be"),
        (lambda v: v["tokenizer"].update(source="../x"), "plain file name: got '../x'; get the model again"),
    ],
)  # fmt: skip
def test_a_config_that_is_wrong_or_of_another_model(folder, change: Callable[[dict[str, Any]], Any], message: str):
    values = json.loads((folder / "config.json").read_text())
    change(values)
    (folder / "config.json").write_text(json.dumps(values))
    with pytest.raises(ModelError, match=message) as caught:
        checkpoint.check_weights(folder, read_manifest(folder))
    assert "\n" not in str(caught.value)


def hostile(header: Any, length: int | None = None, data: int = 16) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + bytes(data)


ENTRY = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}


def test_hostile_weights_are_refused(folder: Path, manifest: Manifest) -> None:
    for content in (
        b"",
        hostile({}, 2**63),
        hostile(b"not json"),
        hostile({"a": ENTRY, "b": {**ENTRY, "data_offsets": [8, 24]}}, data=24),
        hostile({"a": {**ENTRY, "data_offsets": [0, 10**9]}}),
        hostile({"a": {**ENTRY, "shape": [2**40, 2**40]}}),
        hostile(b'{"a": %b, "a": %b}' % ((json.dumps(ENTRY).encode(),) * 2)),
    ):
        (folder / "model.safetensors").write_bytes(content)
        with pytest.raises(ModelError, match="model.safetensors is truncated or corrupt") as caught:
            checkpoint.check_weights(folder, manifest)
        assert "\n" not in str(caught.value)


def test_weights_that_are_not_numbers(tmp_path: Path, manifest: Manifest, tensors: dict[str, np.ndarray]) -> None:
    manifest = replace(manifest, weights="int8")
    checkpoint.save(tmp_path / "m", manifest, tensors, FILES, "")
    path = tmp_path / "m" / "model.safetensors"
    stored = safetensors.numpy.load_file(path)
    name = min(name for name in stored if stored[name].dtype != np.int8)
    stored[name] = np.full_like(stored[name], np.nan)
    safetensors.numpy.save_file(stored, path)
    with pytest.raises(ModelError, match=f"{name} holds values that are not finite"):
        checkpoint.check_weights(tmp_path / "m", manifest)
    name = "encoder.layers.0.feed_forward.hidden.weight"
    broken = tensors | {name: np.full_like(tensors[name], np.inf)}
    with pytest.raises(ModelError, match=f"{name} holds values that are not finite"):
        checkpoint.save(tmp_path / "diverged", manifest, broken, FILES, "")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model"])
def test_a_changed_bit_is_noticed(folder: Path, manifest: Manifest, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1  # still a number, and still text
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name} must have the checksum in SHA256SUMS: it has another"):
        checkpoint.read_tensors(folder, manifest)
        checkpoint.open_tokenizers(folder, manifest.tokenizer)
    (folder / "SHA256SUMS").unlink()
    checkpoint.check_sum(folder / name)
    assert len(checkpoint.read_tensors(folder, manifest)) == len(expected_tensors(manifest.model))
