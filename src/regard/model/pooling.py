"""One vector for a whole text: the mean of its words' vectors in context, brought to length 1.

    sentence = mean_i memory_i,   vector = sentence / |sentence|

so that the dot product of two texts is the cosine of the angle between them. Reimers and Gurevych 2019,
section 3, found the mean better than the vector of one special token.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.model.layout import Layout


def sentence_vectors(
    memory: Float[Tensor, "batch length d_model"], layout: Layout
) -> Float[Tensor, "sequences d_model"]:
    """A vector for each sentence of the layout; an empty sentence has the vector 0."""
    if layout.is_packed:
        numbers = torch.arange(len(layout.lengths), device=memory.device)
        # A matrix product: faster than a sum over rows of unequal length, and compiled better.
        belongs = (layout.sequence_of() == numbers[:, None]).to(memory.dtype)
        total = belongs @ memory[0]
    else:
        inside = layout.positions() < layout.lengths[:, None]
        total = (memory * inside[:, :, None]).sum(dim=1)
    mean = total.float() / layout.lengths.clamp(min=1)[:, None]
    return F.normalize(mean, dim=-1)
