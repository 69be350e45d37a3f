"""A model folder with random weights, small enough to be made in every test session."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch

from regard.config import DecodeConfig, ModelConfig
from regard.engine import compiler
from regard.engine.torch import to_tensors
from regard.exchange import onnx
from regard.folder.checkpoint import save
from regard.folder.manifest import Manifest
from regard.model.transformer import Model, build
from regard.text.tokenizer import Tokenizer

TEXT = [
    "Jane visite l'Afrique en septembre.",
    "Jane visits Africa in September.",
    "Le chat dort ; il fait beau, n'est-ce pas ?",
    "The cat sleeps; the weather is fine, isn't it?",
    "Bonjour, comment allez-vous ? Je vais bien.",
    "Hello, how are you? I am fine.",
]

KERNELS = compiler.kinds()
"""parameters of tests that run on the kernel in C as well, in each of its kinds that the processor can run"""


def randomize(model: Any) -> Any:
    """Every weight random: biases and gains too, which begin at 0 and 1 and would hide a forgotten one; sinusoids stay."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" in name and not weight.requires_grad:
                continue
            if weight.dim() == 1:
                weight.add_(torch.rand_like(weight) - 0.5)
            else:
                weight.normal_(std=weight.shape[1] ** -0.5)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.uniform_(-0.5, 0.5)
    return model.eval()


def randomize_vectors(model: Model) -> Model:
    """Biases and gains random too, within bounds."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("norm.weight"):
                weight.uniform_(0.5, 1.5)
            elif weight.dim() == 1:
                weight.uniform_(-0.5, 0.5)
    return model.eval()


def save_model(model: Model, folder: Path, weights: Any = "fp32", *, graphs: bool = True) -> Path:
    """A folder with a tokenizer's file that is empty."""
    manifest = Manifest(model=model.config, weights=weights)
    tensors = to_tensors(model.state_dict(), model.config)
    files = {"tokenizer.model": b""}
    save(folder, manifest, tensors, files, "", graphs=onnx.export if graphs else None)
    return folder


def make_model_folder(folder: Path, **changes: Any) -> Path:
    """It answers with pieces of real words, at most seven of them; changes go into the manifest."""
    shape = dict(num_encoder_layers=1, num_decoder_layers=2, d_model=26, d_ff=37, num_heads=2, max_positions=53)
    languages = dict(source_language="fr", target_language="en")
    about = {**languages, "decode": DecodeConfig(max_length=7), **changes}
    return make_random_folder(folder, shape, seed=11, without_bytes=True, **about)


def make_random_folder(
    folder: Path, shape: dict[str, Any], *, seed: int, without_bytes: bool = False, **about: Any
) -> Path:
    """A model of this shape whose pieces are those of TEXT; `about` goes into the manifest.

    without_bytes: pieces that are no text but a byte are as improbable as any. Made once a process, then copied.
    """
    asked = repr((shape, seed, without_bytes, sorted(about.items())))
    if asked not in _MADE:
        _MADE[asked] = Path(_MADE["home"], str(len(_MADE)))
        _make_random_folder(_MADE[asked], shape, seed, without_bytes, **about)
    return shutil.copytree(_MADE[asked], folder, dirs_exist_ok=True)


_MADE = {"home": Path(tempfile.mkdtemp())}
atexit.register(shutil.rmtree, _MADE["home"])


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXT, vocabulary=400, exact=False)


def _make_random_folder(folder: Path, shape: dict[str, Any], seed: int, without_bytes: bool, **about: Any) -> None:
    vocabulary = tokenizer()
    sizes = dict(source_vocab_size=vocabulary.vocab_size, target_vocab_size=vocabulary.vocab_size)
    config = ModelConfig(**sizes, **shape)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build(config)
    if without_bytes:
        with torch.no_grad():
            for id, piece in enumerate(vocabulary.token_strings(range(vocabulary.vocab_size))):
                if piece.startswith("<0x"):
                    model.output.weight[id] = 0
    tensors = to_tensors(model.state_dict(), config)
    files = {"tokenizer.model": vocabulary.proto}
    manifest = Manifest(model=config, **about)
    save(folder, manifest, tensors, files, "# A random model\n", graphs=onnx.export)
