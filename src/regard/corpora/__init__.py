"""Public corpora that the recipes use: what there is, and how it comes from its publishers."""
