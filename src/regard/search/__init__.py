"""Search in text files: a query's vector is compared with the vectors of all passages.

The vectors come from a model's encoder, so that words count in their context, in every language the model reads. Among
the nearest passages, those that share words with the query come first.
"""
