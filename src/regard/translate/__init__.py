"""The pipeline of a translation, its options and results, glossary, evaluation, corpora of any size."""
