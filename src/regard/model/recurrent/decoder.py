"""A recurrent decoder: it writes the target word by word, each from its state s, the last word y and a context c.

    s_0 = tanh(W_s h),   s_i = f(s_{i-1}, y_{i-1}, c_i),   p(y_i | y_1 ... y_{i-1}, x) = g(y_{i-1}, s_i, c_i)

f is a cell (`cell`), g a maxout of two and the output's linear map. What c_i is makes the kinds:

    none        c, the same for every word: the two states of the encoder that have read all of it
                (Cho et al. 2014, section 2.2 and appendix A.1.2; Sutskever et al. 2014)
    additive    what s_{i-1} finds in the source (Bahdanau et al. 2015, section 3.1 and appendix A.2.2)
    dot, general
                what s_i finds in it, s_i = f(s_{i-1}, y_{i-1}) (Luong et al. 2015, section 3)

So with and without attention only c differs. Without attention the fixed vector makes the first state and enters
every step, as in Cho's; with attention s_0 comes from the backward state at the first word, as in Bahdanau's.

Differs from the papers: g has the newest state, as Bahdanau's section 3.1 says, not the one before as its appendix
A.2.2; its output has d_model features, the table's. Luong's kinds have the same g in place of tanh(W [c ; s]), and
no input feeding. An LSTM's memory vector starts from a map of its own. Layers may be stacked; the context
enters the first, and the last one's state looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import ModelConfig
from regard.model.dropout import Dropout
from regard.model.layout import Layout
from regard.model.recurrent.attention import Alignment
from regard.model.recurrent.cell import NUM_PARTS, Weights, advance, make_cell, run
from regard.trace import Trace, at, keep

Value = TypeVar("Value")
Cells = tuple[Float[Tensor, "parts batch d_state"], ...]
"""The state of each layer."""


@dataclass(frozen=True)
class RecurrentState:
    """The decoder's state between two steps; passed in and returned, never kept on a module."""

    position: int
    """Number of tokens read."""
    cells: Cells
    summary: Float[Tensor, "batch d_state"] | None = None
    """Without attention: the fixed vector."""
    memory: Float[Tensor, "batch source_len d_state"] | None = None
    """With attention: the encoder's output."""
    keys: Float[Tensor, "batch source_len d_state"] | None = None
    """With attention: the vectors that states are compared with."""
    source_lengths: Int[Tensor, " batch"] | None = None

    def select(self, rows: Int[Tensor, " chosen"]) -> RecurrentState:
        """The state of these rows; a row may be repeated or left out."""
        tensors = {name: each for name, each in vars(self).items() if isinstance(each, Tensor)}
        chosen: dict[str, Any] = {n: each.index_select(0, rows) for n, each in tensors.items()}
        cells = tuple(cell.index_select(1, rows) for cell in self.cells)
        return replace(self, cells=cells, **chosen)

    def may_attend(self) -> Bool[Tensor, "batch 1 source_len"]:
        """Each target word sees its own source sentence, not the padding behind it."""
        assert self.memory is not None and self.source_lengths is not None
        layout = Layout.padded(self.source_lengths, self.memory.shape[1])
        return (layout.positions() < layout.lengths[:, None])[:, None]


class RecurrentDecoder(nn.Module):
    """Cells, attention and the readout g."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.config, width = config, config.d_state
        num_layers, self.num_parts = config.num_decoder_layers, NUM_PARTS[config.architecture]
        self.is_fixed = config.attention == "none"
        self.initial = nn.Linear(width if self.is_fixed else width // 2, num_layers * self.num_parts * width)
        self.attention = None if self.is_fixed else Alignment(config)
        fed = width if config.attention in ("none", "additive") else 0
        inputs = [config.d_model + fed] + [width] * (num_layers - 1)
        self.layers = nn.ModuleList(make_cell(config.architecture, each, width) for each in inputs)
        self.readout = nn.Linear(width + config.d_model + width, 2 * config.d_model)
        self.dropout = Dropout(dropout)
        self._compiled: Callable[..., Any] | None = None

    @property
    def cells(self) -> Sequence[nn.RNNBase]:
        return [cast(nn.RNNBase, layer) for layer in self.layers]

    def begin(
        self, memory: Float[Tensor, "batch source_len d_state"], layout: Layout, *, trace: Trace | None = None
    ) -> RecurrentState:
        """The state before the first word."""
        summary = keep(trace, "summary", summary_of(memory, layout, both=self.is_fixed))
        initial = self.initial(summary).to(memory.dtype).tanh()
        initial = keep(trace, "initial", initial.unflatten(-1, (len(self.layers), -1)))
        parts = initial.unflatten(-1, (self.num_parts, -1)).permute(1, 2, 0, 3)
        cells = tuple(parts.contiguous().unbind())
        if self.attention is None:
            return RecurrentState(0, cells, summary=summary)
        keys = self.attention.keys(memory, trace=at(trace, "attention"))
        return RecurrentState(0, cells, memory=memory, keys=keys, source_lengths=layout.lengths)

    def forward(
        self, words: Float[Tensor, "batch target_len d_model"], state: RecurrentState, *, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "batch target_len d_model"], RecurrentState]:
        """The readout after each of these words, and the state that has read them."""
        num_words = words.shape[1]
        if self.config.attention == "additive":
            states, contexts, cells = self._attend_then_write(words, state, trace)
        elif state.summary is not None:
            contexts = state.summary[:, None].expand(-1, num_words, -1)
            inputs = torch.cat([words.to(contexts.dtype), contexts], dim=-1)
            states, cells = self._write(inputs, state, trace)
        else:
            states, cells = self._write(words, state, trace)
            assert self.attention is not None
            sight = state.keys, state.memory, state.may_attend()
            contexts = self.attention(states, *sight, trace=at(trace, "attention"))
        inputs = torch.cat([states, words.to(states.dtype), contexts.to(states.dtype)], dim=-1)
        hidden = keep(trace, "readout.hidden", self.readout(inputs))
        output = keep(trace, "readout.output", hidden.unflatten(-1, (-1, 2)).amax(dim=-1))
        return self.dropout(output), replace(state, cells=cells, position=state.position + num_words)

    def _write(
        self, inputs: Float[Tensor, "batch target_len features"], state: RecurrentState, trace: Trace | None
    ) -> tuple[Float[Tensor, "batch target_len d_state"], Cells]:
        """All words at once: their inputs do not depend on the states."""
        cells = []
        for i, cell in enumerate(self.cells):
            inputs, last = run(cell, self.dropout(inputs) if i else inputs, state.cells[i])
            inputs = keep(trace, f"layers.{i}.state", inputs)
            cells.append(last)
        return inputs, tuple(cells)

    def _attend_then_write(
        self, words: Float[Tensor, "batch target_len d_model"], state: RecurrentState, trace: Trace | None
    ) -> tuple[Float[Tensor, "batch target_len d_state"], Float[Tensor, "batch target_len d_state"], Cells]:
        """Word by word: attention depends on the state before it, and the next state on the attention."""
        first = Weights.of(self.cells[0])
        of_words, of_contexts = first.inputs.split([self.config.d_model, self.config.d_state], dim=1)
        from_words = F.linear(words, of_words, first.inputs_bias)
        steps = None if trace is None else StepTrace(trace, words.shape[1])
        advance_once: Callable[..., Any] = self._advance
        if self._compiled is not None and self.training and steps is None:
            advance_once = self._compiled
        cells, sight = state.cells, (of_contexts, state.keys, state.memory, state.may_attend())
        states, contexts = [], []
        for from_word in from_words.unbind(dim=1):
            context, cells = advance_once(from_word, cells, *sight, steps)
            states.append(cells[-1][0])
            contexts.append(context)
            if steps is not None:
                steps.next()
        if steps is not None:
            steps.finish()
        return torch.stack(states, dim=1), torch.stack(contexts, dim=1), cells

    def _advance(
        self,
        from_word: Float[Tensor, "batch gates"],
        cells: Cells,
        of_contexts: Float[Tensor, "gates d_state"],
        keys: Float[Tensor, "batch source_len d_state"],
        memory: Float[Tensor, "batch source_len d_state"],
        may_attend: Bool[Tensor, "batch 1 source_len"],
        steps: StepTrace | None,
    ) -> tuple[Float[Tensor, "batch d_state"], Cells]:
        """The context of one more word, and the cells that have read it."""
        assert self.attention is not None
        context = self.attention(cells[-1][0][:, None], keys, memory, may_attend, trace=at(steps, "attention"))[:, 0]
        inputs = from_word + F.linear(context, of_contexts)
        found: list[Tensor] = []
        for i, cell in enumerate(self.cells):
            if found:
                weights = Weights.of(cell)
                inputs = F.linear(self.dropout(found[-1][0]), weights.inputs, weights.inputs_bias)
            found.append(_kept(at(steps, f"layers.{i}"), advance(cell, inputs, cells[i])))
        return context, tuple(found)

    def compile_step(self) -> None:
        """Train with a few fused kernels a word instead of a kernel an operation."""
        self._compiled = torch.compile(self._advance, dynamic=True)


def summary_of(
    memory: Float[Tensor, "batch source_len d_state"], layout: Layout, *, both: bool
) -> Float[Tensor, "batch summary"]:
    """The last state of both directions, or of the backward one only."""
    forwards, backwards = memory.chunk(2, dim=-1)
    first = backwards[:, 0]
    if not both:
        return first
    rows = torch.arange(len(memory), device=memory.device)
    return torch.cat([forwards[rows, layout.lengths.to(torch.int64) - 1], first], dim=-1)


def _kept(trace: Trace | None, cell: Float[Tensor, "parts batch d_state"]) -> Float[Tensor, "parts batch d_state"]:
    if trace is None:
        return cell
    shown = keep(trace, "state", cell[0][:, None])
    return torch.cat([shown[:, 0][None], cell[1:]])


class StepTrace(Trace):
    """Records values [..., 1, features] position by position, so that a loop traces like one pass.

    An edit is a function of all positions. Each step gives it an array in which only its own position is
    filled in, and goes on with the edited position.
    """

    def __init__(self, trace: Trace, num_steps: int) -> None:
        super().__init__()
        self.whole, self.num_steps, self.position = trace, num_steps, [0]
        self._kept: dict[str, list[Tensor]] = {}

    def at(self, name: str) -> StepTrace:
        child = StepTrace(self.whole, self.num_steps)
        child.position, child._kept = self.position, self._kept
        child._prefix = f"{self._prefix}{name}."
        return child

    def record(self, name: str, value: Value) -> Value:
        assert isinstance(value, Tensor) and value.shape[-2] == 1
        path, here = self._prefix + name, slice(self.position[0], self.position[0] + 1)
        changed: Tensor = value
        if self.whole._prefix + path in self.whole.edits:
            every = value.new_zeros((*value.shape[:-2], self.num_steps, value.shape[-1]))
            every[..., here, :] = value
            changed = self.whole.edited(path, every)[..., here, :]
        self._kept.setdefault(path, []).append(changed)
        return changed  # type: ignore[return-value]

    def next(self) -> None:
        """Move on to the next position."""
        self.position[0] += 1

    def finish(self) -> None:
        """Store the collected values in the whole trace."""
        for path, values in self._kept.items():
            self.whole.store(path, torch.cat(values, dim=-2))
