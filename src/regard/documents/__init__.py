"""Whole documents: segments out, translations back in, everything else byte for byte as it was."""
