"""Models trained alike and compared: the lineage from RNN to Transformer as one report."""
