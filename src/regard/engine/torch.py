"""The torch engine: any model on CPU or GPU, run by the modules of `regard.model`; plain, or with edited activations.

An edit is a function of one value of a pass, by the value's trace name. A pass over the whole target begins at
position 0, a cached step at the position of its one token. So edits are asked for by position, and an edit of
one word knows whether that word is in the pass.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.config import ModelConfig
from regard.decode.interface import State
from regard.engine import WRITES_NOTHING, Precision, pad
from regard.engine.gpu.recording import Room
from regard.engine.gpu.search import MAX_PLACES, StaticSearch
from regard.errors import UsageError
from regard.folder import checkpoint
from regard.folder.manifest import Manifest, read_manifest
from regard.folder.tensors import Tensors, tied_names
from regard.model.decoder import DecoderState
from regard.model.layout import Layout
from regard.model.recurrent import RecurrentEncoderDecoder
from regard.model.recurrent.decoder import RecurrentState
from regard.model.transformer import DecoderOnly, EncoderOnly, Model, Translating, build
from regard.trace import Trace, cross_attentions

Edits = Mapping[str, Callable[[Any], Any]]
EditsAt = Callable[[int], Edits]  # From the position of a pass's first target word to the edits of that pass.
MEMORY_SHARE = 6  # Divisor of the GPU's free memory: one part for the sources of a search, one for its outputs.


def to_tensors(state_dict: Mapping[str, Tensor], config: ModelConfig) -> Tensors:
    """A state dict as NumPy arrays to save: float32, a tied table once."""
    ties = tied_names(config)
    own = {name: tensor.detach() for name, tensor in state_dict.items() if name not in ties}
    return {name: np.array(tensor.to("cpu", torch.float32).numpy()) for name, tensor in own.items()}


def to_state_dict(tensors: Mapping[str, np.ndarray], config: ModelConfig) -> dict[str, Tensor]:
    """The state dict of a model of this configuration, tied tables under all their names."""
    state = {name: torch.from_numpy(np.array(tensor)) for name, tensor in tensors.items()}
    return state | {name: state[first] for name, first in tied_names(config).items()}


def load_model(folder: str | Path) -> tuple[Model, Manifest]:
    """The module of a model folder, on the CPU in float32."""
    manifest = read_manifest(folder)
    return model_of(checkpoint.read_tensors(folder, manifest), manifest.model), manifest


def model_of(tensors: Tensors, config: ModelConfig) -> Model:
    """The module with these weights; draws no random number."""
    with _SkipInitialisation():
        model = build(config)
    model.load_state_dict(to_state_dict(tensors, config))
    return model.eval()


class _SkipInitialisation(TorchFunctionMode):
    """Skips random initialisation of weights that are about to be loaded: it takes longer than reading."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function.__name__ in ("normal_", "uniform_", "xavier_uniform_", "kaiming_uniform_"):
            return args[0] if args else kwargs["tensor"]
        if function is torch.linalg.qr:  # makes a random matrix orthogonal
            return args[0], args[0]
        return function(*args, **kwargs)


@dataclass(frozen=True)
class TorchState:
    """A decoder's state, and the attention of the newest token."""

    decoder: DecoderState | RecurrentState
    attention: Tensor | None = None  # [rows, source_len]
    wants_attention: bool = False

    def select(self, indices: Tensor | np.ndarray) -> Self:
        indices = torch.as_tensor(indices)
        seen = None if self.attention is None else self.attention.index_select(0, indices)
        return replace(self, decoder=self.decoder.select(indices), attention=seen)


class TorchEngine:
    """The step interface over a module, which stays accessible as `model`."""

    def __init__(
        self, model: Model, device: str = "cpu", precision: Precision = "auto", edits_at: EditsAt | None = None
    ) -> None:
        """With edits, a cached step has those of its position, and the source those of position 0."""
        self.config, self.edits_at = model.config, edits_at
        self.device = torch.device(device)
        self.model = model.to(self.device).eval()
        if isinstance(model, DecoderOnly) and edits_at is None:
            self.read = self._read
        on_gpu = self.device.type == "cuda"
        self.precision = ("bf16" if on_gpu else "fp32") if precision == "auto" else precision

    @functools.cached_property
    def search_whole(self) -> StaticSearch | None:
        """The recorded search on a GPU; the first use copies the weights."""
        if self.device.type != "cuda" or not self.config.has_decoder or isinstance(self.model, RecurrentEncoderDecoder):
            return None
        memory = torch.cuda.mem_get_info(self.device)[0] // MEMORY_SHARE
        dtype = torch.float32 if self.precision == "fp32" else torch.bfloat16
        return StaticSearch(self.model, dtype, Room(memory=min(memory, Room.memory)))

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> TorchState:
        if isinstance(self.model, DecoderOnly):
            return TorchState(self.model.start())
        if isinstance(self.model, EncoderOnly):
            raise UsageError(WRITES_NOTHING)
        if attention and not cross_attentions(self.config):
            raise UsageError(
                "an alignment needs a model that attends to its source: got one with attention=none; use another model"
            )
        source, lengths = (torch.from_numpy(each).to(self.device) for each in pad(sources, self.config.pad_id))
        with self._autocast():
            state = cast(Translating, self.model).start(source, lengths, trace=self._trace(0))
        return TorchState(state, wants_attention=attention)

    @torch.inference_mode()
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, TorchState]:
        state = cast(TorchState, state)
        trace = self._trace(state.decoder.position)
        if trace is None and state.wants_attention:
            trace = Trace()
        with self._autocast():
            logits, decoder = cast(Any, self.model).step(tokens, state.decoder, trace=trace)
        seen = self._attention_of(trace) if trace is not None and state.wants_attention else None
        return logits.float(), replace(state, decoder=decoder, attention=seen)

    @torch.inference_mode()
    def _read(self, tokens: np.ndarray, following: np.ndarray, state: State) -> tuple[np.ndarray, TorchState]:
        """Many steps in one pass: for tokens [rows, length], the log-probabilities of the `following` tokens."""
        state, network = cast(TorchState, state), cast(DecoderOnly, self.model)
        decoder, values = cast(Any, state.decoder), []
        # With a window a part is as long: no token sees further back, and all scores at once would be the text's square.
        size = max(self.config.window or tokens.shape[1], MAX_PLACES)
        for begin in range(0, tokens.shape[1], size):
            part = torch.from_numpy(tokens[:, begin : begin + size]).to(self.device)
            wanted = torch.from_numpy(following[:, begin : begin + size]).to(self.device)
            with self._autocast():
                hidden, decoder = network.read_on(part, decoder)
                # Scores of the whole vocabulary for every place would take more memory than the model.
                for places, each in zip(hidden.split(MAX_PLACES, 1), wanted.split(MAX_PLACES, 1), strict=True):
                    scores = network.project(places).float().log_softmax(dim=-1)
                    values.append(scores.gather(2, each[:, :, None])[..., 0])
        return torch.cat(values, dim=1).cpu().numpy(), replace(state, decoder=decoder)

    @torch.inference_mode()
    def log_probabilities(self, tokens: Sequence[int], places: Sequence[int]) -> np.ndarray:
        """[places, vocabulary]: the probabilities of every token at these places of a text."""
        assert isinstance(self.model, EncoderOnly)
        read, lengths = (torch.tensor([each], device=self.device) for each in (list(tokens), len(tokens)))
        with self._autocast():
            logits = self.model(read, Layout.padded(lengths, len(tokens)))[0, list(places)]
        return logits.float().log_softmax(dim=-1).cpu().numpy()

    @torch.inference_mode()
    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """[tokens, features] of each source: one vector in context for each token."""
        tokens, lengths = pad(sources, self.config.pad_id)
        layout = Layout.padded(torch.from_numpy(lengths).to(self.device), tokens.shape[1])
        with self._autocast():
            memory = cast(Any, self.model).encode(torch.from_numpy(tokens).to(self.device), layout)
        rows = memory.float().cpu().numpy()
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]

    def _trace(self, position: int) -> Trace | None:
        """The trace of a pass that begins at this position, where there are edits."""
        return None if self.edits_at is None else Trace(self.edits_at(position))

    def _attention_of(self, trace: Trace) -> Tensor | None:
        """[rows, source_len]: what the newest token attended to; None without a source."""
        paths = cross_attentions(self.config)
        return trace[f"{paths[-1]}.weights"].float().mean(dim=1)[:, -1] if paths else None

    def _autocast(self) -> AbstractContextManager[object]:
        if self.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


@dataclass(frozen=True)
class WrittenState:
    """The tokens so far and the encoder's output, no cache."""

    tokens: Tensor  # [rows, written]
    memory: Tensor | None
    source_lengths: Tensor | None
    attention: Tensor | None = None

    def select(self, indices: Tensor) -> Self:
        chosen = {name: values.index_select(0, indices) for name, values in vars(self).items() if values is not None}
        return replace(self, **chosen)


class UncachedEngine(TorchEngine):
    """Every step is one whole pass over the tokens so far.

    An edit that lets a word see later ones changes the earlier vectors with every new word, so that they
    cannot be cached.
    """

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> Any:
        empty = torch.zeros((len(sources), 0), dtype=torch.int64)
        if isinstance(self.model, DecoderOnly):
            return WrittenState(empty, None, None)
        source, lengths = (torch.from_numpy(each) for each in pad(sources, self.config.pad_id))
        layout = Layout.padded(lengths, source.shape[1])
        memory = cast(Translating, self.model).encode(source, layout, trace=self._trace(0))
        return WrittenState(empty, memory, lengths)

    @torch.inference_mode()
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, Any]:
        written = cast(WrittenState, state)
        target = torch.cat([written.tokens, tokens[:, None]], dim=1)
        layout = Layout.padded(target.new_full((len(target),), target.shape[1]), target.shape[1])
        trace = self._trace(0)
        assert trace is not None, "without edits a cache is faster"
        if isinstance(self.model, DecoderOnly):
            logits = self.model(target, layout, trace=trace)[:, -1]
        else:
            model = cast(Translating, self.model)
            assert written.memory is not None and written.source_lengths is not None
            source_layout = Layout.padded(written.source_lengths, written.memory.shape[1])
            hidden = model.decode(target, layout, written.memory, source_layout, trace=trace)
            logits = model.project(hidden[:, -1], trace=trace)
        return logits, replace(written, tokens=target, attention=self._attention_of(trace))
