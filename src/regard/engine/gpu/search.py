"""Search for many sentences at once with a step that never leaves the GPU.

Sources are encoded in batches of similar length. Then one recorded step (decoder, choice of tokens, beams, next
sentences for the slots that are done) is replayed until the queue is empty. The host only asks, a few steps
behind, how many sentences are done.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from regard.config import DecodeConfig
from regard.decode.arrays import Host
from regard.decode.interface import IMPOSSIBLE, Hypothesis
from regard.decode.sampling import LARGEST_UNIFORM, generators
from regard.engine import pad
from regard.engine.gpu.recording import Recorded, Room, Shape, at_least
from regard.engine.gpu.slots import Slots, backtrace, candidates, drawn
from regard.errors import UsageError
from regard.model.decoder import DecoderLayer
from regard.model.encoder import EncoderLayer
from regard.model.layout import Layout
from regard.model.static_cache import SourceCache, StaticState, TargetCache
from regard.model.transformer import DecoderOnly, EncoderDecoder, Transformer

if torch.version.cuda is not None:
    from regard.engine.gpu.kernels import MAX_CANDIDATES, advance, chunked_top


STEPS_AHEAD = 2  # Steps between two queries of the host, and between a query and its answer.
MAX_PLACES = 256  # Tokens of a prefix whose scores of the whole vocabulary are in memory together.
MIN_POSITIONS = 1024  # Decoder positions whose vectors are computed once, at least.
MIN_MEMORY = 1 << 24  # Minimum bytes for the sources of a search; with less the search gives up.
SOURCE_STEP = 16  # Multiple that sources are padded to, so that recordings of the encoder can be replayed.


def frozen(model: Transformer, dtype: torch.dtype) -> Transformer:
    """A copy for inference: in this precision, with query, key and value weights side by side."""
    model = copy.deepcopy(model).to(dtype).eval().requires_grad_(False)
    for layer in model.modules():
        if isinstance(layer, EncoderLayer | DecoderLayer):
            layer.self_attention.join()
    return model


class StaticSearch:
    """Recorded searches over one model, whose weights must not change."""

    def __init__(self, model: Transformer, dtype: torch.dtype, room: Room) -> None:
        self.model, self.room = frozen(model, dtype), room
        self._recordings: dict[Shape, RecordedSearch] = {}
        self._num_positions = 0

    @torch.inference_mode()
    def __call__(
        self,
        sources: Sequence[Sequence[int]],
        config: DecodeConfig,
        limits: Host,
        prefixes: Sequence[Sequence[int]] | None = None,
        numbers: Sequence[int] = (),
    ) -> list[list[Hypothesis]]:
        """The best outputs of each source, each at most as long as its limit; of a decoder alone, those after a prefix.

        numbers: of a sampled search, what draws each source's output besides the seed.
        """
        # The longest first, so that only short ones are left when slots run empty.
        read = sources if prefixes is None else prefixes
        order = sorted(range(len(sources)), key=lambda i: (-len(read[i]), -int(limits[i])))
        found: list[list[Hypothesis]] = [[] for _ in sources]
        begin = 0
        while begin < len(order):
            count, source_len, limit = len(order) - begin, len(sources[order[begin]]), int(limits[order[begin:]].max())
            sizes = {"count": count, "source_len": source_len, "limit": limit}
            shape = self.room.shape(self.model.config, self.model.output.weight.dtype.itemsize, config, **sizes)
            # A prefix is read into the memory of a slot, so there is no queue.
            group = order[begin : begin + (shape.num_sentences if prefixes is None else shape.num_slots)]
            given = None if prefixes is None else [prefixes[i] for i in group]
            own = [numbers[i] for i in group] if shape.sampling else ()
            results = self._run(shape, [sources[i] for i in group], limits[group], config, given, own)
            if results is None:
                self._halve_memory()
                continue
            for i, hypotheses in zip(group, results, strict=True):
                found[i] = hypotheses
            begin += len(group)
        return found

    def _run(self, shape: Shape, *asked: Any) -> list[list[Hypothesis]] | None:
        """None where memory ran out: leaving this frame frees what the search had allocated."""
        try:
            return self._recording(shape).run(*asked)
        except torch.OutOfMemoryError:
            return None

    def _halve_memory(self) -> None:
        """Use half the memory: other programs may have taken some since it was measured."""
        self._recordings.clear()
        torch.cuda.empty_cache()
        memory = self.room.memory // 2
        if memory < MIN_MEMORY:
            raise UsageError(
                "a search needs some memory of the GPU: it is full, even for a few sentences at a time; stop what "
                "else runs on it, or name --device cpu"
            )
        self.room = replace(self.room, memory=memory)

    def _recording(self, shape: Shape) -> RecordedSearch:
        if shape.max_len > self._num_positions:
            # Recordings read the table in place, so a new table invalidates them.
            self._recordings.clear()
            self._num_positions = max(shape.max_len, MIN_POSITIONS)
            if self.model.config.position == "sinusoidal":
                self.model.target.position.tabulate(self._num_positions, self.model.output.weight.device)
        recording = self._recordings.pop(shape, None)
        while recording is None and len(self._recordings) >= self.room.kept:
            self._recordings.pop(next(iter(self._recordings)))
        recording = recording or RecordedSearch(self.model, shape, self.room)
        self._recordings[shape] = recording  # the newest last
        return recording


class RecordedSearch:
    """The memory and the recorded steps of searches of one shape."""

    def __init__(self, model: Transformer, shape: Shape, room: Room) -> None:
        self.model, self.shape, self.room = model, shape, room
        config, weight = model.config, model.output.weight
        self.device = weight.device
        self.slots = Slots(shape, config, self.device)
        num_layers, heads, head_dim = config.num_decoder_layers, config.num_key_heads, config.head_dim
        self.past = weight.new_zeros(num_layers, 2, shape.num_rows, heads, shape.max_len, head_dim)
        self.bank = weight.new_zeros(num_layers, 2, shape.num_sentences + 1, heads, shape.source_len, head_dim)
        self.source_lengths = torch.ones(shape.num_sentences + 1, dtype=torch.int64, device=self.device)
        slots, positions = self.slots, self.slots.positions.view(-1)
        owners = None if slots.owners is None else slots.owners.view(shape.num_rows, shape.max_len)
        past = tuple(TargetCache(key, value, positions, owners, config.window) for key, value in self.past)
        banks = (SourceCache(key, value, self.source_lengths, slots.sentence) for key, value in self.bank)
        self.state = StaticState(positions, past, tuple(banks) if shape.source_len else ())
        self.step = Recorded(self._step, self.device)
        self.readers: dict[tuple[int, int], Reader] = {}

    def run(
        self,
        sources: Sequence[Sequence[int]],
        limits: Host,
        config: DecodeConfig,
        prefixes: Sequence[Sequence[int]] | None,
        numbers: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """Search for all of these sources, the longest first."""
        slots, count = self.slots, len(sources)
        if slots.uniforms is not None:
            drawing = generators(config, [(number, 0) for number in numbers])
            uniforms = torch.from_numpy(np.stack([each.random(self.shape.max_len) for each in drawing]))
            slots.uniforms[:count] = uniforms.clamp(max=LARGEST_UNIFORM)
        if self.shape.source_len:
            self._read(sources)
        slots.begin(torch.from_numpy(limits), config.length_penalty)
        by_length: dict[int, list[int]] = {}
        for slot, prefix in enumerate(prefixes or ()):
            by_length.setdefault(len(prefix), []).append(slot)
        for length, alike in by_length.items():
            rows = max(self.room.source_tokens // max(length, 1), 1)
            for first in range(0, len(alike) if length else 0, rows):
                part = alike[first : first + rows]
                self._read_prefixes(part, [(prefixes or ())[slot] for slot in part])
        most_steps = int(np.sort(limits + 1).sum()) if count > self.shape.num_slots else int(limits.max()) + 1
        asked: deque[Callable[[], int]] = deque()
        for number in range(1, most_steps + 1):
            self.step()
            if number % STEPS_AHEAD == 0:
                asked.append(self._ask())
                if len(asked) > 1 and asked.popleft()() == count:
                    break
        tables = (slots.choices, slots.gains, slots.endings, slots.end_gains)
        return backtrace(config, *(table[:count].cpu().numpy() for table in tables))

    def _read_prefixes(self, places: Sequence[int], prefixes: Sequence[Sequence[int]]) -> None:
        """Read prefixes of one length in one pass; keys, values and choices go where steps would have put them."""
        slots, model, beam = self.slots, cast(DecoderOnly, self.model), self.shape.beam
        tokens, own = torch.tensor(prefixes, device=self.device), torch.tensor(places, device=self.device)
        length = tokens.shape[1]
        read = torch.cat([torch.full_like(tokens[:, :1], slots.bos_id), tokens[:, :-1]], dim=1)
        hidden, state = model.read_on(read, model.start())
        assert state.past is not None
        for table, layer in zip(self.past, state.past, strict=True):
            for place, new in zip(table, layer, strict=True):
                place[own * beam, :, length - new.shape[2] : length] = new  # with a window only the last ones
        if slots.owners is not None:
            slots.owners[own, :, :length] = (own * beam)[:, None, None].to(slots.owners.dtype)
        parts = zip(hidden.flatten(0, 1).split(MAX_PLACES), tokens.flatten().split(MAX_PLACES), strict=True)
        gains = torch.cat([self._project(x).log_softmax(-1).gather(1, each[:, None])[:, 0] for x, each in parts])
        gains = gains.clamp(min=IMPOSSIBLE).view(tokens.shape)
        slots.choices[own, :, :length] = (tokens * beam).to(slots.choices.dtype)[:, None]
        slots.gains[own, :, :length] = gains[:, None]
        slots.totals[own, 0] = gains.double().sum(dim=1)
        slots.positions[own], slots.tokens[own] = length, tokens[:, -1:]

    def _ask(self) -> Callable[[], int]:
        """Ask how many sentences are done; the answer waits only for the steps before it."""
        if self.device.type != "cuda":
            done = int(self.slots.num_done)
            return lambda: done
        answer = torch.empty(1, dtype=torch.int64, pin_memory=True)
        answer.copy_(self.slots.num_done, non_blocking=True)
        event = torch.cuda.Event()
        event.record()

        def wait() -> int:
            event.synchronize()
            return int(answer)

        return wait

    def _step(self) -> None:
        hidden, _ = self.model.read(self.slots.tokens.view(-1), self.state)
        logits = self._project(hidden)
        if self.shape.sampling is not None:
            self.slots.advance(*drawn(*candidates(logits, self.slots), self.slots))
        elif logits.is_cuda and not self.shape.no_repeat_ngram and self.shape.beam <= MAX_CANDIDATES:
            advance(self.slots, *chunked_top(logits, self.slots))
        else:
            self.slots.advance(*candidates(logits, self.slots))

    def _project(self, hidden: Tensor) -> Tensor:
        """Scores in single precision whatever the weights: in bf16 many would be equal."""
        weight = self.model.output.weight
        if hidden.is_cuda and hidden.dtype != torch.float32:
            scores = torch.mm(hidden, weight.t(), out_dtype=torch.float32)
            bias = self.model.output.bias
            return scores if bias is None else scores + bias
        return self.model.project(hidden).float()

    def _read(self, sources: Sequence[Sequence[int]]) -> None:
        """Encode all sources."""
        begin = 0
        while begin < len(sources):
            source_len = -(-len(sources[begin]) // SOURCE_STEP) * SOURCE_STEP
            source_len = min(source_len, self.shape.source_len)
            batch = min(at_least(len(sources) - begin), max(self.room.source_tokens // source_len, 1))
            if (batch, source_len) not in self.readers:
                self.readers[batch, source_len] = Reader(self, batch, source_len)
            self.readers[batch, source_len](sources[begin : begin + batch], begin)
            begin += batch


class Reader:
    """The encoder for batches of one shape; its output goes to the source cache."""

    def __init__(self, recording: RecordedSearch, batch: int, source_len: int) -> None:
        self.recording = recording
        # One tensor, so that one copy brings everything.
        self._inputs = torch.zeros(batch * (source_len + 2), dtype=torch.int64, device=recording.device)
        source, self.lengths, self.sentences = self._inputs.split([batch * source_len, batch, batch])
        self.source = source.view(batch, source_len)
        self._recorded = Recorded(self._read, recording.device)

    def __call__(self, sources: Sequence[Sequence[int]], first: int) -> None:
        """Encode these sources as sentences `first` and so on; rows without one go to the dummy."""
        batch, source_len = self.source.shape
        inputs = np.zeros(len(self._inputs), dtype=np.int64)
        source, lengths, sentences = np.split(inputs, [batch * source_len, -batch])
        lengths[:], sentences[:] = 1, self.recording.shape.num_sentences
        rows, lengths[: len(sources)] = pad(sources, 0)
        source.reshape(batch, source_len)[: len(sources), : rows.shape[1]] = rows
        sentences[: len(sources)] = np.arange(first, first + len(sources))
        self._inputs.copy_(torch.from_numpy(inputs))
        self._recorded()

    def _read(self) -> None:
        recording, source_len = self.recording, self.source.shape[1]
        model = cast(EncoderDecoder, recording.model)
        memory = model.encode(self.source, Layout.padded(self.lengths, source_len))
        for bank, projected in zip(recording.bank, model.decoder.project_memory(memory), strict=True):
            for table, new in zip(bank, projected, strict=True):
                table[:, :, :source_len].index_copy_(0, self.sentences, new)
        recording.source_lengths.index_copy_(0, self.sentences, self.lengths)
