"""From raw text to a finished model folder: plan, loop, checkpoints, and the run that joins them."""
