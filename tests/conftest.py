"""What the tests share: one thread, fixed seeds, and models so small that no two of their sizes are equal."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import shapes
import torch
from fixtures import make_model_folder, randomize_vectors
from hypothesis import HealthCheck, settings
from torch import Tensor

from regard import api
from regard.config import RECURRENT, ModelConfig
from regard.engine import compiler
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, EncoderOnly, Model, Translating, build
from regard.trace import Trace

# Whether the kernel in C is compiled here or not.
os.environ["REGARD_NATIVE"] = "0"
# For the processes that tests start: there are as many tests at a time as cores.
os.environ["OMP_NUM_THREADS"] = "1"
VOCABULARY = 23
_TODAY = dict(
    architecture="decoder-only", norm="rms", norm_placement="pre", position="rotary", feed_forward="gated-silu"
)
# Every feature that changes the maths, alone or in the company it usually keeps.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm_placement": "pre"},
    "rms": {"norm": "rms"},
    "learned": {"position": "learned"},
    "rotary-pre-norm": {"position": "rotary", "norm_placement": "pre"},
    "scaled": {"position": "scaled"},
    "integer": {"position": "integer"},
    "no-position": {"position": "none"},
    "relative": {"position": "relative", "num_buckets": 6, "max_distance": 9},
    "relative-decoder-only": dict(architecture="decoder-only", position="relative", num_buckets=7, max_distance=5),
    "alibi": {"position": "alibi"},
    "bloom": dict(architecture="decoder-only", position="alibi", norm_placement="pre", embedding_norm=True),
    "gelu": {"feed_forward": "gelu"},
    "gelu-tanh": {"feed_forward": "gelu-tanh"},
    "silu": {"feed_forward": "silu"},
    "gated-gelu-tanh": {"feed_forward": "gated-gelu-tanh"},
    "gated-gelu": {"feed_forward": "gated-gelu"},
    "tied-decoder": {"tied": "decoder", "source_vocab_size": 29},
    "tied-none": {"tied": "none", "source_vocab_size": 29},
    "embedding-norm": {"embedding_norm": True},
    "unscaled-embedding": {"scaled_embedding": False, "norm_epsilon": 1e-2},
    "output-bias": {"output_bias": True},
    "decoder-only": {"architecture": "decoder-only"},
    "decoder-only-today": _TODAY,
    "llama": _TODAY
    | dict(num_heads=6, num_key_value_heads=2, d_k=4, biases="none", rotary_factor=8.0, rotary_length=50),
    "qwen": _TODAY | dict(biases="query-key-value", query_key_norm=True, window=4, rotary_base=50.0, tied="none"),
    "multi-query": {"num_key_value_heads": 1, "biases": "none"},
    "batch": {"norm": "batch", "embedding_norm": True},
    "batch-pre-norm": {"norm": "batch", "norm_placement": "pre"},
    "encoder-only": {"architecture": "encoder-only"},
    "bert": dict(architecture="encoder-only", position="learned", embedding_norm=True, scaled_embedding=False)
    | dict(feed_forward="gelu", output_transform=True, output_bias=True),
}

# Every cell with every attention, and layers on both sides.
RECURRENTS: dict[str, dict[str, Any]] = {
    f"{cell}-{attention}": dict(architecture=cell, attention=attention, position="none")
    | (dict(num_encoder_layers=2, tied="none") if attention == "general" else {})
    for cell in RECURRENT
    for attention in ("none", "additive", "dot", "general")
}


def _writes(variant: dict[str, Any]) -> bool:
    return variant.get("architecture") != "encoder-only"


VARIANTS_OF: dict[str, dict[str, dict[str, Any]]] = {
    "variant": VARIANTS,
    "writing_variant": {name: each for name, each in VARIANTS.items() if _writes(each)},
    # The CPU engine's graphs have no relative positions, and no shared heads with an encoder.
    "graph_variant": {
        name: each
        for name, each in VARIANTS.items()
        if _writes(each) and each.get("position") != "relative" and name != "multi-query"
    },
    "any_variant": VARIANTS | RECURRENTS,
    "any_writing_variant": {name: each for name, each in (VARIANTS | RECURRENTS).items() if _writes(each)},
    "recurrent_variant": RECURRENTS,
}
"""a test with an argument of one of these names is run for each of its settings"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marks = metafunc.definition.iter_markers("parametrize")
    own = " ".join(str(mark.args[0]) for mark in marks)
    for name in metafunc.fixturenames:
        if name in VARIANTS_OF and name not in own:
            found = VARIANTS_OF[name]
            metafunc.parametrize(name, found.values(), ids=found.keys())


# The same examples in every run, however slow the machine is.
settings.register_profile("check", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("check")


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)
    # On a GPU some kernels, the variable-length attention's gradient among them, have no such form.
    # The other name for it, use_deterministic_algorithms, imports the compiler, which takes longer than torch itself.
    torch.set_deterministic_debug_mode("default" if torch.cuda.is_available() else "error")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a CUDA device its tests are not there at all: a skip would look like a gap."""
    gc.freeze()  # what has been imported stays, and is looked through for garbage no more
    if torch.cuda.is_available():
        return
    needs_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if needs_gpu:
        config.hook.pytest_deselected(items=needs_gpu)
        items[:] = [item for item in items if item not in needs_gpu]


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same random numbers whichever tests run before this one, and its shapes checked."""
    torch.manual_seed(2017)
    shapes.calls.clear()


@pytest.fixture
def tiny_config() -> Callable[..., ModelConfig]:
    """A configuration whose sizes are pairwise different, so that a mixed-up axis cannot fit."""

    def make(**changes: Any) -> ModelConfig:
        sizes = dict(source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, num_heads=3, max_positions=37)
        sizes |= dict(num_encoder_layers=1, num_decoder_layers=2, d_model=18, d_ff=31, d_state=26)
        return ModelConfig(**{**sizes, **changes})

    return make


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model_folder(tmp_path_factory.mktemp("models") / "fr-en")


@pytest.fixture(scope="session")
def model(folder: Path) -> api.Model:
    return api.load(folder, threads=1)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A model of every kind that can be served."""
    # A machine with a GPU need not have a web server.
    from serve_fixtures import make_folders

    return make_folders(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def compiled_kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Once for all processes of this run: the first compiles, the others wait for it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "kernels"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if compiler.kinds() and not (folder / "done").exists():
            compiler.compile_kernel(folder)
            (folder / "done").touch()
    return folder


@pytest.fixture
def kernel(compiled_kernels: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Models that the kernel in C covers run on this kind of it."""
    library_path = compiler.library_path
    monkeypatch.setattr(compiler, "library_path", lambda kind: compiled_kernels / library_path(kind).name)
    return lambda kind: monkeypatch.setenv("REGARD_NATIVE", kind)


@pytest.fixture
def random_model(tiny_config: Callable[..., ModelConfig]) -> Callable[..., Model]:
    """A tiny model with every weight random: biases and gains too, which begin at 0 and 1."""

    def make(dropout: float = 0.0, **changes: Any) -> Model:
        model = randomize_vectors(build(tiny_config(**changes), dropout))
        for name, statistic in model.named_buffers():
            statistic.uniform_(*((3.0, 5.0) if name.endswith("variance") else (-0.5, 0.5)))
        return model

    return make


@dataclass(frozen=True)
class Sentences:
    """Random sentences of unequal length, fed to whichever architecture a test has."""

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor

    def source_layout(self) -> Layout:
        return Layout.padded(self.source_lengths, self.source.shape[1])

    def target_layout(self) -> Layout:
        return Layout.padded(self.target_lengths, self.target.shape[1])

    def padded(self, model: Model, trace: Trace | None = None) -> Tensor:
        """The logits, one sentence a row."""
        return _fed(model, (self.source, self.source_layout()), (self.target, self.target_layout()), trace)

    def packed(self, model: Model) -> Tensor:
        """The logits with all sentences in one row; two sentences of length 0 stand last."""
        return _fed(model, _pack(self.source, self.source_lengths), _pack(self.target, self.target_lengths))

    def is_real(self, model: Model) -> Tensor:
        """True where the padded logits belong to a word, in the order of the packed ones."""
        if isinstance(model, EncoderOnly):
            return _within(self.source_lengths, self.source.shape[1])
        return _within(self.target_lengths, self.target.shape[1])

    def real(self, model: Model, trace: Trace | None = None) -> Tensor:
        """The logits of the words alone."""
        return self.padded(model, trace)[self.is_real(model)]

    def rows(self, *rows: int) -> Sentences:
        index = torch.tensor(rows)
        return Sentences(self.source[index], self.source_lengths[index], self.target[index], self.target_lengths[index])


def _fed(model: Model, source: tuple[Any, ...], target: tuple[Any, ...], trace: Trace | None = None) -> Tensor:
    if isinstance(model, Translating):
        return model(*source, *target, trace=trace)
    assert isinstance(model, DecoderOnly | EncoderOnly)
    return model(*(target if isinstance(model, DecoderOnly) else source), trace=trace)


def _within(lengths: Tensor, length: int) -> Tensor:
    return torch.arange(length) < lengths[:, None]


def _pack(tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Layout]:
    row = tokens[_within(lengths, tokens.shape[1])][None]
    with_empty = torch.cat([lengths, lengths.new_zeros(2)])
    return row, Layout.packed(with_empty, row.shape[1], tokens.shape[1])


@pytest.fixture
def sentences() -> Sentences:
    """Five pairs; on each side one sentence fills its row, and one pair is a single word on both."""
    source_lengths = torch.tensor([7, 3, 1, 6, 2], dtype=torch.int32)
    target_lengths = torch.tensor([4, 11, 1, 9, 2], dtype=torch.int32)
    source = torch.randint(4, VOCABULARY, (5, 7)).where(_within(source_lengths, 7), 0)
    target = torch.randint(4, VOCABULARY, (5, 11)).where(_within(target_lengths, 11), 0)
    return Sentences(source, source_lengths, target, target_lengths)
