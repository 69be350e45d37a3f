"""Recurrent cells: one step of a plain RNN, a GRU and an LSTM.

    plain   s_i = tanh(W x_i + U s_{i-1})                                           (Elman 1990)
    GRU     r = sigmoid(W_r x_i + U_r s_{i-1}),   z = sigmoid(W_z x_i + U_z s_{i-1})
            n = tanh(W_n x_i + r * (U_n s_{i-1})),   s_i = (1 - z) * n + z * s_{i-1}
    LSTM    f, g, o = sigmoid(W x_i + U s_{i-1}),   m_i = f * m_{i-1} + g * tanh(W_m x_i + U_m s_{i-1})
            s_i = o * tanh(m_i)

Cho et al. 2014, section 2.3; Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000. Every
product has a bias. An LSTM's state is two vectors, s and its memory m.

`run` is torch's recurrence over words that are all known. `advance` is one step of it written out, for a
decoder whose next input depends on its last state. A law test holds them equal.

Differs from the papers: the GRU's reset gate acts after the product with U_n, as torch's and cuDNN's does. The
recurrent matrices begin orthogonal, gate by gate (Bahdanau et al. 2015, appendix B.1), an LSTM's forget gate
half open (Jozefowicz et al. 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

KINDS: dict[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
NUM_GATES = {"rnn": 1, "gru": 3, "lstm": 4}
NUM_PARTS = {"rnn": 1, "gru": 1, "lstm": 2}
"""Number of vectors in a state."""


class Weights(NamedTuple):
    """W and U of a cell with a bias each, the gates below one another."""

    inputs: Float[Tensor, "gates features"]
    recurrent: Float[Tensor, "gates width"]
    inputs_bias: Float[Tensor, " gates"]
    recurrent_bias: Float[Tensor, " gates"]

    @classmethod
    def of(cls, cell: nn.RNNBase) -> Weights:
        named: Any = cell
        return cls(named.weight_ih_l0, named.weight_hh_l0, named.bias_ih_l0, named.bias_hh_l0)


def make_cell(kind: str, num_inputs: int, width: int) -> nn.RNNBase:
    """A cell with random weights."""
    cell = KINDS[kind](num_inputs, width, batch_first=True)
    weights = Weights.of(cell)
    with torch.no_grad():
        nn.init.xavier_uniform_(weights.inputs)
        for gate in weights.recurrent.chunk(NUM_GATES[kind]):
            nn.init.orthogonal_(gate)
        for bias in (weights.inputs_bias, weights.recurrent_bias):
            nn.init.zeros_(bias)
        if kind == "lstm":
            weights.inputs_bias.chunk(4)[1].fill_(1.0)
    return cell


def run(
    cell: nn.RNNBase, x: Float[Tensor, "batch length features"], state: Float[Tensor, "parts batch width"] | None = None
) -> tuple[Float[Tensor, "batch length width"], Float[Tensor, "parts batch width"]]:
    """The state after each word, and all parts of the last state; starts from zeros without a state."""
    dtype = Weights.of(cell).inputs.dtype
    given = None if state is None else state.to(dtype)
    # Autocast would make cuDNN compute in half precision, whose small gradients vanish.
    with torch.autocast(x.device.type, enabled=False):
        x = x.to(dtype)
        if isinstance(cell, nn.LSTM):
            parts = None if given is None else (given[:1].contiguous(), given[1:].contiguous())
            states, last = cell(x, parts)
            return states, torch.cat(last)
        states, last = cell(x, given)
        return states, last


def advance(
    cell: nn.RNNBase, inputs: Float[Tensor, "batch gates"], state: Float[Tensor, "parts batch width"]
) -> Float[Tensor, "parts batch width"]:
    """The state after one more word, given `inputs` = W x + bias."""
    weights = Weights.of(cell)
    recurrent = F.linear(state[0], weights.recurrent, weights.recurrent_bias)
    inputs, recurrent = inputs.to(state.dtype), recurrent.to(state.dtype)
    if isinstance(cell, nn.GRU):
        reset, update, new = inputs.chunk(3, dim=-1)
        from_reset, from_update, from_new = recurrent.chunk(3, dim=-1)
        reset, update = (reset + from_reset).sigmoid(), (update + from_update).sigmoid()
        new = torch.tanh(new + reset * from_new)
        return (new + update * (state[0] - new))[None]
    if isinstance(cell, nn.LSTM):
        write, forget, new, show = (inputs + recurrent).chunk(4, dim=-1)
        memory = forget.sigmoid() * state[1] + write.sigmoid() * new.tanh()
        return torch.stack([show.sigmoid() * memory.tanh(), memory])
    return torch.tanh(inputs + recurrent)[None]
