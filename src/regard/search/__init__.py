"""Search: queries, keys and values over the passages of text files.

A query's vector meets the vectors of all passages, the keys; what comes back are the passages themselves. The
vectors are those of a model's encoder, so that words count in their context, and in any language the model reads;
among the nearest a passage that holds the query's own words comes first.
"""
