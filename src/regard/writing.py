"""A text that goes on from its beginning, by a model that has a decoder alone (GPT)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from regard.checkpoint import Manifest
from regard.config import DecodeConfig
from regard.decode import Constraints, StepModel, stream
from regard.errors import UsageError
from regard.text.growing import GrowingText
from regard.text.pieces import Pieces


def write(
    engine: StepModel,
    manifest: Manifest,
    tokenizer: Pieces,
    text: str,
    decode: DecodeConfig,
    length: int,
) -> Iterator[str]:
    """What follows the text, at most `length` pieces, as it is found; of a long text its end is read."""
    if length < 1:
        raise UsageError(f"length must be at least 1: got {length}; leave it out for the usual one")
    config = manifest.model
    given = tokenizer.encode(text)
    if config.position == "learned":
        room = config.max_positions - 1
        if length >= room:
            raise UsageError(
                f"length must be below {room}, for the model has {config.max_positions} positions: got "
                f"{length}; give a smaller one"
            )
        given = given[-(room - length) :]
    emissions = stream(
        engine,
        [],
        replace(decode, n_best=1, max_length=len(given) + length),
        bos_id=config.bos_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        constraints=Constraints(prefix=given) if given else None,
    )
    written = list(given)
    growing = GrowingText(tokenizer.decode(written), ())
    for emission in emissions:
        if emission.token is None:
            break
        written.append(emission.token)
        if new := growing.grow(tokenizer.decode(written)):
            yield new
    if rest := growing.rest():
        yield rest
