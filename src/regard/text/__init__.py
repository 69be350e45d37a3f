"""Tokenizers, sentences, languages, normalisation, protected spans, word alignment."""

Span = tuple[int, int]
"""Start and end of a part of a text, in characters."""
