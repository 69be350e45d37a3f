"""What a configuration accepts, and the sentence it refuses the rest with."""

import dataclasses
import inspect
import json
import math

import pytest
from generate import describe

from regard.config import (
    DataConfig,
    DecodeConfig,
    GenerateConfig,
    ModelConfig,
    TrainConfig,
    from_dict,
    recurrent_like,
    sized,
    to_dict,
)
from regard.errors import UsageError
from regard.folder.tensors import expected_tensors

KINDS = [ModelConfig, DataConfig, TrainConfig, DecodeConfig, GenerateConfig]
RECURRENT = dict(architecture="lstm", attention="additive", position="none")


def refusal(kind, **values) -> str:
    """What a user reads; unwrapped, since the shape hook of the tests would speak first."""
    with pytest.raises(UsageError) as caught:
        inspect.unwrap(kind.__init__)(object.__new__(kind), **values)
    return str(caught.value)


def test_the_named_sizes():
    changed = sized("tiny", norm_placement="pre", d_ff=999)
    assert (changed.d_model, changed.d_ff, changed.norm_placement) == (128, 999, "pre")
    with pytest.raises(UsageError, match=r"tiny, small, base, big: got 'bigg' \(did you mean 'big'"):
        sized("bigg")
    config = sized("small", architecture="gru")
    assert (config.num_encoder_layers, config.num_decoder_layers, config.d_model) == (1, 1, 256)
    assert (config.attention, config.position) == ("additive", "none")
    assert sized("small", architecture="gru", d_state=50).d_state == 50


@pytest.mark.parametrize(
    ("kind", "changes", "sentence"),
    [
        (ModelConfig, dict(d_model=512, num_heads=7), "d_model must be a multiple of num_heads: got d_model=512, num_heads=7; change one of them, or give d_k"),
        (ModelConfig, dict(attention="additive"), "a Transformer attends by scaled dot products: got attention=additive; leave it out"),
        (ModelConfig, dict(source_vocab_size=29), "tied=all shares one table between both languages, so the vocabularies must be equal: got 29 and 32000; use a joint vocabulary or tied=decoder"),
        (ModelConfig, dict(output_transform=True), "output_transform is for an encoder-only model with a layer or rms norm and no gates: leave it out"),
        (ModelConfig, {**RECURRENT, "position": "rotary"}, "architecture=lstm takes no positions: got position=rotary; set position=none"),
        (ModelConfig, dict(position="sinusoid"), "position must be one of sinusoidal, learned, rotary, relative, alibi, scaled, integer, none: got 'sinusoid' (did you mean 'sinusoidal'?); use one of these"),
        (DecodeConfig, dict(beam=257), "beam must be at most 256: got 257; give fewer"),
        (DecodeConfig, dict(top_p=0.0), "top_p must be above 0: got 0; use top_k=1 for the single best token"),
        (DecodeConfig, dict(n_best=5), "n_best must be at most beam: got n_best=5, beam=4; raise beam or lower n_best"),
    ],
)  # fmt: skip
def test_what_cannot_be(kind, changes, sentence):
    assert refusal(kind, **changes) == sentence


def test_numbers_out_of_range():
    for kind, name in ((ModelConfig, "num_decoder_layers"), (TrainConfig, "learning_rate")):
        for value in (0, -3, math.nan):
            sentence = f"{name} must be above 0: got {value}; give a larger one"
            assert refusal(kind, **{name: value}) == sentence
    for value in (-0.1, 1.5, math.nan):
        sentence = f"top_p must lie between 0 and 1: got {value}; give one between them"
        assert refusal(DecodeConfig, top_p=value) == sentence


def read_refusal(kind, values) -> str:
    with pytest.raises(UsageError) as caught:
        from_dict(kind, values, "recipe.toml")
    return str(caught.value)


def test_an_unknown_key_is_named_and_values_converted() -> None:
    sentence = read_refusal(ModelConfig, {"d_modell": 512})
    assert sentence.startswith("recipe.toml: unknown key 'd_modell' (did you mean 'd_model'?); known keys: archi")
    assert "unknown key 'zzz'; known keys: " in read_refusal(TrainConfig, {"zzz": 1})
    assert read_refusal(ModelConfig, {"num_heads": 7}).startswith("d_model must be a multiple of")
    data = from_dict(DataConfig, {"source": "a.fr", "target": ["a.en", "b.en"], "sampling": 0}, "x")
    assert data.source == ("a.fr",)
    assert data.target == ("a.en", "b.en")
    assert data.sampling == 0.0 and isinstance(data.sampling, float)
    train = from_dict(TrainConfig, {"steps": None, "packing": True}, "x")
    assert train.steps is None and train.packing is True


@pytest.mark.parametrize(
    ("kind", "key", "value", "sentence"),
    [
        (ModelConfig, "embedding_norm", 1, "embedding_norm must be true or false: got 1"),
        (DataConfig, "vocabulary", 1.5, "vocabulary must be a whole number: got 1.5"),
        (DataConfig, "source", ["a", 7], "source must be a text or a list of texts: got ['a', 7]"),
    ],
)
def test_a_wrong_type_is_named(kind, key, value, sentence):
    assert read_refusal(kind, {key: value}) == f"recipe.toml: {sentence}; correct it"


@pytest.mark.parametrize("kind", KINDS)
def test_every_configuration(kind):
    """Survives JSON, is frozen, takes names only, and every field is documented."""
    config = kind()
    assert from_dict(kind, json.loads(json.dumps(to_dict(config))), "config.json") == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, dataclasses.fields(kind)[0].name, None)
    with pytest.raises(TypeError):
        kind(1)
    texts = describe(kind)
    assert list(texts) == [field.name for field in dataclasses.fields(kind)]
    assert all(text.strip() for text in texts.values())


def test_a_recurrent_model_takes_the_size_of_a_transformer() -> None:
    """Within a quarter of its weights outside the tables, and with no setting that only Transformers have."""
    lesson = dict(num_encoder_layers=1, num_decoder_layers=1, d_model=64, d_ff=128, num_heads=2)
    counts = []
    for values in (lesson, recurrent_like(lesson, "gru", "additive") | dict(architecture="gru", attention="additive")):
        config = ModelConfig(source_vocab_size=9, target_vocab_size=9, **{"position": "none", **values})
        shapes = expected_tensors(config).items()
        counts.append(sum(math.prod(shape) for name, shape in shapes if "embedding" not in name))
    assert abs(counts[1] / counts[0] - 1) < 0.25
