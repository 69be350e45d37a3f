"""Positions of a formula as a table, for formats that know nothing but tables."""

from __future__ import annotations

import numpy as np

from regard.config import ModelConfig

BASE = 10000.0


def position_table(config: ModelConfig, num_positions: int) -> np.ndarray:
    """What is added at each position (`regard.model.position`)."""
    if config.position == "none":
        return np.zeros((num_positions, config.d_model), np.float32)
    assert config.position == "sinusoidal"
    pairs = np.arange(0, config.d_model, 2) / config.d_model
    angle = np.arange(num_positions)[:, None] * BASE**-pairs
    rows = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return np.asarray(rows.reshape(num_positions, config.d_model), np.float32)
