"""A model as a folder: manifest, tensors, checkpoint, catalogue."""
