"""The maths: one box of the paper's Figure 1 is one file. Imports torch, config and trace; nothing else.

Read in this order: embedding, position, attention, norm, feedforward, encoder, decoder, network (the output),
transformer; then the models before it in `recurrent/`. `kernels/` computes the same faster.
"""
