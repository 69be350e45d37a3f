"""Search recorded as CUDA graphs."""
