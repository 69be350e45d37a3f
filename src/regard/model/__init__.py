"""The maths: one box of the paper's Figure 1 is one file. Imports torch, config and trace; nothing else.

Read in this order: embedding, position, attention, norm, feedforward, encoder, decoder, transformer; then what came
before it: cell, alignment, recurrent_encoder, recurrent_decoder, recurrent.
"""
