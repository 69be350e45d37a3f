"""The maths: one box of the paper's Figure 1 is one file. Imports torch, config and trace; nothing else.

`build` makes the module of a `ModelConfig`; docs/how-to/own-loop.md trains one.

Read in this order: embedding, position, attention, norm, feedforward, encoder, decoder, network (the output),
transformer; then the models before it in `recurrent/`. `kernels/` computes the same faster.
"""

from regard.model.layout import Layout as Layout
from regard.model.transformer import DecoderOnly as DecoderOnly
from regard.model.transformer import EncoderDecoder as EncoderDecoder
from regard.model.transformer import EncoderOnly as EncoderOnly
from regard.model.transformer import build as build
