"""CUDA graphs: work that a GPU replays, and the shapes a search is recorded for."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from regard.config import DecodeConfig, ModelConfig


class Recorded:
    """A function of tensors that never move: the first call runs it, the second records it, others replay it.

    The first call initialises libraries and kernels, which a recording must not contain. Without a GPU every
    call runs the function.
    """

    def __init__(self, function: Callable[[], None], device: torch.device) -> None:
        self._function = function
        self._device = device
        self._is_ready = False
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self._device.type == "cuda" and self._is_ready and self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            # Other threads, such as a training's prefetcher, may use the GPU meanwhile.
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._function()
        if self._graph is not None:
            self._graph.replay()
        else:
            self._function()
            self._is_ready = True


@dataclass(frozen=True)
class Shape:
    """The sizes of a recorded search."""

    num_sentences: int  # Capacity of the queue.
    num_slots: int
    beam: int
    n_best: int
    source_len: int
    max_len: int  # Longest output plus one: the step that ends it has a place too.
    min_length: int
    no_repeat_ngram: int
    sampling: tuple[int, float, float] | None = None  # top_k, temperature and top_p, where tokens are drawn.

    @property
    def num_rows(self) -> int:
        return self.num_slots * self.beam


@dataclass(frozen=True)
class Room:
    """Limits of what is searched at the same time."""

    rows: int = 1024  # Rows of all slots together; more rows share the cost of a step.
    sentences: int = 4096  # Sentences encoded before decoding starts.
    source_tokens: int = 16384  # Tokens encoded at once, padding included.
    memory: int = 4 << 30  # Bytes for keys and values of the sources, and as many for those of the outputs.
    kept: int = 4  # Recorded searches kept, each with its memory.

    def shape(
        self, model: ModelConfig, itemsize: int, config: DecodeConfig, *, count: int, source_len: int, limit: int
    ) -> Shape:
        """The smallest power-of-two shape for `count` sources, or for as many as memory allows.

        itemsize: bytes of a number of the model; limit: tokens of the longest output.
        """
        beam = config.beam if config.method == "beam" else 1
        bytes_per_token = 2 * model.num_decoder_layers * model.num_key_heads * model.head_dim * itemsize
        source_len, max_len = at_least(source_len, 32), at_least(limit + 1, 64)
        fitting = max(_at_most(self.memory // (bytes_per_token * source_len)), 1)
        num_sentences = min(at_least(count), self.sentences, fitting)
        num_rows = min(self.rows, _at_most(self.memory // (bytes_per_token * max_len)))
        return Shape(
            num_sentences=num_sentences,
            num_slots=min(num_sentences, max(num_rows // beam, 1)),
            beam=beam,
            n_best=min(config.n_best, beam),
            source_len=source_len if model.has_encoder else 0,
            max_len=max_len,
            min_length=config.min_length,
            no_repeat_ngram=config.no_repeat_ngram,
            sampling=(config.top_k, config.temperature, config.top_p) if config.method == "sample" else None,
        )


def at_least(count: int, least: int = 1) -> int:
    """The next power of two."""
    return max(1 << (count - 1).bit_length(), least) if count > 0 else least


def _at_most(count: int) -> int:
    """The power of two before it."""
    return 1 << (count.bit_length() - 1) if count > 0 else 0
