"""Beam search recorded as CUDA graphs."""
