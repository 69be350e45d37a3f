"""What the weights are, how text becomes batches, how to train, how to search: frozen dataclasses.

Standard library only, so that `regard --help` can read them without torch or numpy. The string under a
field is its documentation; the command line takes its help from there (`describe`).
"""

from regard.config.fields import MOST_HYPOTHESES, check_types, describe, from_dict, to_dict
from regard.config.model import (
    RECURRENT,
    RUNNING_TEXT,
    SIZES,
    FeedForwardKind,
    ModelConfig,
    Position,
    check_belongs,
    shape_of,
    sized,
)
from regard.config.run import (
    MOVED,
    DataConfig,
    DecodeConfig,
    GenerateConfig,
    Objective,
    Precision,
    TrainConfig,
    with_generate_section,
)

__all__ = [
    "DataConfig",
    "DecodeConfig",
    "FeedForwardKind",
    "GenerateConfig",
    "MOST_HYPOTHESES",
    "MOVED",
    "ModelConfig",
    "Objective",
    "Position",
    "Precision",
    "RECURRENT",
    "RUNNING_TEXT",
    "SIZES",
    "TrainConfig",
    "check_belongs",
    "check_types",
    "describe",
    "from_dict",
    "shape_of",
    "sized",
    "to_dict",
    "with_generate_section",
]
