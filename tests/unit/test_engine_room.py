"""The shapes of recorded searches: few, large enough, and within the memory that they may take."""

from __future__ import annotations

import pytest

from regard.config import DecodeConfig, ModelConfig
from regard.engine.gpu.recording import Room

MODEL = ModelConfig(
    source_vocab_size=23,
    target_vocab_size=23,
    num_encoder_layers=2,
    num_decoder_layers=3,
    d_model=14,
    d_ff=37,
    num_heads=2,
)
ITEMSIZE = 2
BYTES_PER_TOKEN = 2 * 3 * 14 * ITEMSIZE


def is_power_of_two(number: int) -> bool:
    return number.bit_count() == 1


@pytest.mark.parametrize("beam", [1, 3, 5])
@pytest.mark.parametrize("count", [1, 7, 301])
@pytest.mark.parametrize(("source_len", "limit"), [(1, 1), (31, 83), (130, 310)])
def test_a_shape_has_room_for_what_it_is_asked_for(
    beam: int, count: int, source_len: int, limit: int
) -> None:
    config = DecodeConfig(beam=beam, n_best=beam, min_length=1, no_repeat_ngram=2)
    shape = Room().shape(MODEL, ITEMSIZE, config, count=count, source_len=source_len, limit=limit)
    assert shape.num_sentences >= count and shape.source_len >= source_len and shape.max_len > limit
    assert all(map(is_power_of_two, (shape.num_sentences, shape.source_len, shape.max_len)))
    assert 0 < shape.num_slots <= shape.num_sentences and shape.num_rows <= Room.rows
    assert (shape.beam, shape.n_best) == (beam, beam)
    assert (shape.min_length, shape.no_repeat_ngram) == (1, 2)


@pytest.mark.parametrize("memory", [BYTES_PER_TOKEN * 128 * 11, BYTES_PER_TOKEN * 128 * 16])
def test_memory_is_for_sources_and_for_outputs(memory: int) -> None:
    shape = Room(memory=memory).shape(
        MODEL, ITEMSIZE, DecodeConfig(beam=2), count=97, source_len=101, limit=99
    )
    assert shape.num_sentences < 97
    assert shape.num_sentences * shape.source_len * BYTES_PER_TOKEN <= memory
    assert shape.num_rows * shape.max_len * BYTES_PER_TOKEN <= memory
