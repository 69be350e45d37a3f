"""A writer of stories that plans: before it goes on from a text it writes an outline of what comes, which is not shown.

    One evening a giant came down from the sky. [ Harriet she, Ernest he; Everybody hid in the barn. Outside … ] That same

It was trained on stories in which an outline stands in brackets after the beginning (`regard.corpora.outlines`). What it
writes for itself is all it knows of the rest of its story, and it reads it as it reads the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.config import DecodeConfig
from regard.decode import Constraints, StepModel, stream
from regard.translator import Translator

OPEN, CLOSE = "[", "]"
MOST_TOKENS = 256
"""pieces of an outline; what has no end by then is none"""


def outline(
    model: StepModel,
    translator: Translator,
    prefix: Sequence[int],
    decode: DecodeConfig,
    room: int,
    number: int = 0,
) -> Iterator[list[int]]:
    """Nothing after each piece of an outline, and in the end all of them, its brackets included, where it has an end.

    room: pieces that the text and its outline may have.
    """
    config, target = translator.config, translator.target
    opened, closing = target.encode(OPEN), target.encode(CLOSE)[-1]
    found = [*prefix, *opened]
    if len(found) >= room:
        return
    decode = replace(
        decode,
        n_best=1,
        min_length=0,
        max_length=min(len(found) + MOST_TOKENS, room),
        presence_penalty=0.0,
        frequency_penalty=0.0,
    )
    emissions = stream(
        model,
        [],
        decode,
        bos_id=config.bos_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        constraints=Constraints(prefix=found),
        number=number,
    )
    for emission in emissions:
        if emission.token is None:
            return
        found = [*found, emission.token]
        if emission.token == closing:
            yield found[len(prefix) :]
            return
        yield []
