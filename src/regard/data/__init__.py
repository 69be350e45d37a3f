"""Corpora: reading, cleaning, encoding, batches, packing; public corpora listed and fetched."""
