"""Real checkpoints that a user has, compared with transformers: REGARD_CHECKPOINTS names the folder they are in.

Without it there is nothing to compare, and these tests are not there at all. For GGUF files transformers needs the package
accelerate too.
"""

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from regard.config import DecodeConfig
from regard.decode import Constraints, search
from regard.engine import open_engine
from regard.engine.torch import TorchEngine, load_model
from regard.exchange import onnx
from regard.exchange.huggingface import FAMILIES, ImportOptions, import_file, import_folder
from regard.exchange.huggingface_files import read_json
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import read_manifest
from regard.model.layout import Layout
from regard.search.encoder import TextEncoder

TEXT = "The old house at the end of the street was empty."
NUM_WRITTEN = 30
KINDS = {"write": hf.AutoModelForCausalLM, "fill": hf.AutoModelForMaskedLM, "search": hf.AutoModel}


def checkpoints() -> list[Path]:
    home = os.environ.get("REGARD_CHECKPOINTS", "")
    found = sorted(Path(home).expanduser().glob("*/config.json")) if home else []
    kinds = {path.parent: read_json(path.parent, path.name).get("model_type") for path in found}
    return [folder for folder, kind in kinds.items() if kind in FAMILIES]


def assert_goes_on_alike(model: Any, theirs: Any, given: list[int]) -> None:
    """A decoder alone writes the same after a text; a text begins with the piece that stands for none."""
    config = model.config
    prompt = given[1:] if given[0] == config.bos_id else given
    decode = DecodeConfig(method="greedy", max_length=NUM_WRITTEN + len(prompt))
    before = [Constraints(prefix=prompt)]
    [[found]] = search(TorchEngine(model), [[]], decode, constraints=before)
    ours = found.tokens[len(prompt) :]
    tokens = torch.tensor([[config.bos_id, *prompt]])
    written = theirs.generate(tokens, num_beams=1, do_sample=False, max_new_tokens=NUM_WRITTEN)
    assert written[0, tokens.shape[1] :][: len(ours)].tolist() == ours


def model_files() -> list[Path]:
    """GGUF files, and checkpoints of llama2.c."""
    home = os.environ.get("REGARD_CHECKPOINTS", "")
    names = ("*.gguf", "[!t]*.bin")  # not tokenizer.bin
    return sorted(each for name in names for each in Path(home).expanduser().glob(name)) if home else []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, found in {"checkpoint": checkpoints(), "model_file": model_files()}.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, found, ids=[each.name for each in found])


def theirs_of(path: Path) -> Any:
    """Transformers' own reading of a GGUF file; of llama2.c's its Llama with the tensors put back into its order."""
    if path.suffix == ".gguf":
        return hf.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    width, inner, layers, heads, key_heads, vocabulary, length = struct.unpack("<7i", path.read_bytes()[:28])
    about = dict(num_attention_heads=heads, num_key_value_heads=key_heads, max_position_embeddings=length)
    sizes = dict(vocab_size=vocabulary, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers)
    model = hf.LlamaForCausalLM(hf.LlamaConfig(**sizes, **about, rms_norm_eps=1e-5, tie_word_embeddings=True)).eval()
    numbers = torch.from_numpy(np.fromfile(path, "<f4", offset=28))
    weights = model.state_dict()
    own = "input_layernorm", *(f"self_attn.{part}_proj" for part in "qkvo"), "post_attention_layernorm"
    parts = (*own, *(f"mlp.{part}_proj" for part in ("gate", "down", "up")))
    listed = [f"model.layers.{i}.{part}.weight" for part in parts for i in range(layers)]
    for name in ("model.embed_tokens.weight", *listed, "model.norm.weight"):
        shape = weights[name].shape
        taken, numbers = numbers[: shape.numel()].reshape(shape), numbers[shape.numel() :]
        if "q_proj" in name or "k_proj" in name:
            of = heads if "q_proj" in name else key_heads
            taken = taken.reshape(of, -1, 2, width).transpose(1, 2).reshape(shape)
        weights[name].copy_(taken)
    return model


if model_files():

    @pytest.mark.timeout(1800)
    @torch.no_grad()
    def test_a_real_gguf_or_llama2c(model_file: Path, tmp_path: Path) -> None:
        import_file(model_file, tmp_path / "ours", ImportOptions(), onnx.export)
        model, manifest = load_model(tmp_path / "ours")
        _, tokenizer = open_tokenizers(tmp_path / "ours", manifest.tokenizer)
        theirs, config = theirs_of(model_file), manifest.model
        ids = tokenizer.encode(TEXT)
        if model_file.suffix == ".gguf":
            other = hf.AutoTokenizer.from_pretrained(model_file.parent, gguf_file=model_file.name)
            for text in (TEXT, "x = [1, 22]\n\ty = 3  # naïve 漢字 🙂 it's", "I'LL go\n\n"):
                assert tokenizer.encode(text) == other(text, add_special_tokens=False)["input_ids"]
        tokens = torch.tensor([[config.bos_id, *ids]])
        ours, expected = model(tokens, Layout.padded(torch.tensor([len(ids) + 1]), len(ids) + 1)), theirs(tokens).logits
        print(f"{model_file.name}: logits differ by at most {(ours - expected).abs().max():.1e}")
        torch.testing.assert_close(ours, expected, atol=1e-3, rtol=1e-4)
        decode = DecodeConfig(method="greedy", max_length=50 + len(ids), min_length=50 + len(ids))
        settings: dict[str, Any] = dict(num_beams=1, do_sample=False, max_new_tokens=50, min_new_tokens=50)
        # Qwen's first token is that of padding, which `generate` would not look at.
        settings |= dict(repetition_penalty=1.0, attention_mask=torch.ones_like(tokens))
        unwanted = sorted({config.pad_id, config.bos_id} - {config.eos_id})
        written = theirs.generate(tokens, **settings, suppress_tokens=[config.eos_id, *unwanted])[0, tokens.shape[1] :]
        for engine in (TorchEngine(model), open_engine(tmp_path / "ours", "onnxruntime")):
            [[found]] = search(engine, [[]], decode, constraints=[Constraints(prefix=ids)])
            assert found.tokens[len(ids) :] == written.tolist(), engine
        print(tokenizer.decode(written.tolist()))


if checkpoints():

    @torch.no_grad()
    def test_a_real_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
        import_folder(checkpoint, tmp_path / "ours", ImportOptions(convert_pickle=True), None)
        manifest = read_manifest(tmp_path / "ours")
        source, _ = open_tokenizers(tmp_path / "ours", manifest.tokenizer)
        model, _ = load_model(tmp_path / "ours")
        theirs = KINDS.get(manifest.task, hf.AutoModelForSeq2SeqLM).from_pretrained(checkpoint).eval()
        config = model.config
        ids = [*source.beginning, *source.encode(TEXT), config.eos_id]
        tokens = torch.tensor([ids])
        read = (tokens, Layout.padded(torch.tensor([len(ids)]), len(ids)))
        if manifest.task == "search":
            expected = theirs(input_ids=tokens).last_hidden_state
            ours = model.encode(*read)
            print(f"{checkpoint.name}: hidden states differ by at most {(ours - expected).abs().max():.1e}")
            torch.testing.assert_close(ours, expected, atol=2e-5, rtol=0)
            mean = expected[0].mean(dim=0) if manifest.pooling == "mean" else expected[0, 0]
            [vector] = TextEncoder(tmp_path / "ours", TorchEngine(model)).vectors([TEXT])
            torch.testing.assert_close(torch.from_numpy(vector), mean / mean.norm(), atol=2e-6, rtol=0)
            return
        if manifest.task != "translate":
            expected = theirs(input_ids=tokens).logits
            torch.testing.assert_close(model(*read), expected, atol=1e-3, rtol=1e-4)
            if manifest.task == "write":
                assert_goes_on_alike(model, theirs, ids[:-1])
            return
        decode = DecodeConfig(method="greedy", max_length=NUM_WRITTEN)
        [[found]] = search(TorchEngine(model), [ids], decode)
        target = torch.tensor([[config.bos_id, *found.tokens]])
        length = target.shape[1]
        ours = model(*read, target, Layout.padded(torch.tensor([length]), length))
        expected = theirs(input_ids=tokens, decoder_input_ids=target).logits
        torch.testing.assert_close(ours, expected, atol=1e-3, rtol=1e-4)
        written = theirs.generate(tokens, num_beams=1, do_sample=False, max_new_tokens=NUM_WRITTEN)
        assert written[0, 1 : 1 + len(found.tokens)].tolist() == found.tokens
