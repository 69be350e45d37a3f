"""What a configuration accepts, and the sentence it refuses the rest with."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math

import pytest

from regard.config import (
    SIZES,
    DataConfig,
    DecodeConfig,
    GenerateConfig,
    ModelConfig,
    TrainConfig,
    check_belongs,
    describe,
    from_dict,
    sized,
    to_dict,
)
from regard.errors import UsageError

KINDS = [ModelConfig, DataConfig, TrainConfig, DecodeConfig]


def refusal(kind, **values) -> str:
    """What a user reads; unwrapped, since the shape hook of the tests would speak first."""
    with pytest.raises(UsageError) as caught:
        inspect.unwrap(kind.__init__)(object.__new__(kind), **values)
    return str(caught.value)


# ------------------------------------------------------------ the paper's numbers


def test_the_defaults_are_the_base_model_of_the_paper():
    config = ModelConfig()
    assert (config.num_encoder_layers, config.num_decoder_layers) == (6, 6)
    assert (config.d_model, config.d_ff, config.num_heads, config.head_dim) == (512, 2048, 8, 64)
    assert (config.position, config.norm, config.norm_placement) == ("sinusoidal", "layer", "post")
    assert (config.feed_forward, config.tied, config.embedding_norm) == ("relu", "all", False)
    assert sized("base") == config


def test_the_named_sizes():
    shapes = {
        size: (c.num_encoder_layers, c.num_decoder_layers, c.d_model, c.d_ff, c.num_heads)
        for size in SIZES
        for c in [sized(size)]
    }
    assert shapes == {
        "tiny": (2, 2, 128, 512, 4),
        "small": (6, 2, 256, 1024, 4),
        "base": (6, 6, 512, 2048, 8),
        "big": (6, 6, 1024, 4096, 16),
    }


def test_a_size_takes_changes():
    config = sized("tiny", norm_placement="pre", d_ff=999)
    assert (config.d_model, config.d_ff, config.norm_placement) == (128, 999, "pre")


def test_an_unknown_size():
    with pytest.raises(UsageError) as caught:
        sized("bigg")
    assert str(caught.value) == (
        "size must be one of tiny, small, base, big: got 'bigg' (did you mean 'big'?)"
    )


def test_the_search_defaults_are_the_paper_s():
    assert (DecodeConfig().beam, DecodeConfig().length_penalty) == (4, 0.6)


@pytest.mark.parametrize(
    ("architecture", "has_encoder", "has_decoder"),
    [
        ("encoder-decoder", True, True),
        ("decoder-only", False, True),
        ("encoder-only", True, False),
    ],
)
def test_which_stacks_there_are(architecture, has_encoder, has_decoder):
    config = ModelConfig(architecture=architecture)
    assert (config.has_encoder, config.has_decoder) == (has_encoder, has_decoder)


# ------------------------------------------------------------ each check and its sentence


def test_heads_must_divide_d_model():
    assert refusal(ModelConfig, d_model=512, num_heads=7) == (
        "d_model must be a multiple of num_heads: got d_model=512, num_heads=7; change one of them, or give d_k"
    )


def test_sinusoids_come_in_pairs():
    assert refusal(ModelConfig, d_model=15, num_heads=3) == (
        "position=sinusoidal fills features in pairs of sine and cosine, so d_model must be even: "
        "got 15; change d_model"
    )
    assert ModelConfig(d_model=10, num_heads=2).head_dim == 5
    assert ModelConfig(d_model=15, num_heads=3, position="none").head_dim == 5
    narrow = ModelConfig(d_model=16, num_heads=3, d_k=7)
    assert (narrow.head_dim, narrow.d_attention) == (7, 21)


def test_rotations_come_in_pairs_within_a_head():
    assert refusal(ModelConfig, d_model=10, num_heads=2, position="rotary") == (
        "position=rotary turns features in pairs, so d_k, which is d_model / num_heads if not given, must be "
        "even: got 5; change one of them"
    )


def test_a_transformer_attends_by_scaled_dot_products():
    assert refusal(ModelConfig, attention="additive") == (
        "a Transformer attends by scaled dot products: got attention=additive; leave it out, or set "
        "architecture to rnn, gru or lstm"
    )


RECURRENT = dict(architecture="lstm", attention="additive", position="none")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"attention": "scaled-dot"},
            "architecture=lstm attends by additive, dot, general or none: got attention=scaled-dot, the "
            "Transformer's; choose one of these",
        ),
        (
            {"position": "rotary"},
            "architecture=lstm reads in order and takes no positions: got position=rotary; set position=none",
        ),
        (
            {"embedding_norm": True},
            "embedding_norm is for Transformers: got architecture=lstm; leave it out",
        ),
        (
            {"d_state": 7},
            "d_state is shared by the encoder's two directions, so it must be even: got 7; change d_state",
        ),
    ],
)
def test_what_a_recurrent_model_cannot_be(changes, sentence):
    assert refusal(ModelConfig, **{**RECURRENT, **changes}) == sentence


def test_a_recurrent_model_has_no_heads_to_divide_it():
    config = ModelConfig(**RECURRENT, d_model=15, num_heads=8)
    assert config.is_recurrent and config.has_encoder and config.has_decoder
    assert config.widths == {"d_model": 15, "d_state": 1000}
    assert not ModelConfig().is_recurrent
    assert ModelConfig().widths == {"d_model": 512, "d_ff": 2048, "heads": 8}


def test_a_recurrent_size_is_one_layer_a_side():
    config = sized("small", architecture="gru")
    assert (config.num_encoder_layers, config.num_decoder_layers, config.d_model) == (1, 1, 256)
    assert (config.attention, config.position) == ("additive", "none")
    assert sized("small", architecture="gru", d_state=50).d_state == 50
    assert sized("small", architecture="rnn").d_state > sized("small", architecture="lstm").d_state


def test_settings_of_the_other_kind_are_refused():
    with pytest.raises(UsageError) as caught:
        check_belongs({"architecture": "gru", "num_heads": 4})
    assert str(caught.value) == (
        "num_heads is a setting of Transformers: got it with architecture=gru; leave it out"
    )
    with pytest.raises(UsageError) as caught:
        check_belongs({"d_state": 64})
    assert str(caught.value) == (
        "d_state is a setting of recurrent models: got it with architecture=encoder-decoder; leave it out"
    )
    check_belongs({"architecture": "gru", "d_state": 64})


def test_one_table_needs_one_vocabulary():
    assert refusal(ModelConfig, source_vocab_size=29) == (
        "tied=all shares one table between both languages, so the vocabularies must be equal: "
        "got 29 and 32000; use a joint vocabulary or tied=decoder"
    )
    assert ModelConfig(source_vocab_size=29, tied="decoder").source_vocab_size == 29
    assert ModelConfig(source_vocab_size=29, architecture="decoder-only").tied == "all"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *[
            (ModelConfig, name)
            for name in (
                "source_vocab_size",
                "target_vocab_size",
                "num_encoder_layers",
                "num_decoder_layers",
                "d_model",
                "d_ff",
                "d_state",
                "num_heads",
                "max_positions",
            )
        ],
        *[(DataConfig, name) for name in ("vocabulary", "max_length", "max_ratio")],
        *[
            (TrainConfig, name)
            for name in (
                "steps",
                "batch_tokens",
                "accumulate",
                "learning_rate",
                "warmup",
                "average",
                "validate_every",
                "epsilon",
            )
        ],
        *[(DecodeConfig, name) for name in ("beam", "n_best", "temperature")],
    ],
)
@pytest.mark.parametrize("value", [0, -3, math.nan])
def test_what_must_be_above_zero(kind, name, value):
    assert (
        refusal(kind, **{name: value}) == f"{name} must be above 0: got {value}; give a larger one"
    )


def test_layers_that_are_not_there_may_be_none():
    config = ModelConfig(architecture="decoder-only", num_encoder_layers=0)
    assert config.num_encoder_layers == 0


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (DataConfig, "sampling"),
        *[(TrainConfig, n) for n in ("beta1", "beta2", "label_smoothing", "dropout", "ema")],
        (DecodeConfig, "top_p"),
        (GenerateConfig, "min_probability"),
    ],
)
@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan])
def test_what_must_be_a_fraction(kind, name, value):
    assert refusal(kind, **{name: value}) == (
        f"{name} must lie between 0 and 1: got {value}; give one between them"
    )


@pytest.mark.parametrize("name", ["beta1", "beta2", "dropout", "ema"])
def test_what_must_be_below_one(name):
    assert refusal(TrainConfig, **{name: 1.0}) == (
        f"{name} must be below 1, at which nothing is learnt: got 1; give a smaller one"
    )


@pytest.mark.parametrize("name", ["beam", "n_best"])
def test_how_many_hypotheses_there_may_be(name):
    assert DecodeConfig(**{"beam": 256, name: 256}).beam == 256
    assert refusal(DecodeConfig, **{name: 257}) == (
        f"{name} must be at most 256, or memory runs out: got 257; give a smaller one, 4 to 8 is usual"
    )


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *[(TrainConfig, n) for n in ("weight_decay", "clip", "r_drop", "patience")],
        *[
            (DecodeConfig, n)
            for n in ("max_length", "min_length", "no_repeat_ngram", "top_k", "coverage_penalty")
        ],
        *[(DecodeConfig, n) for n in ("presence_penalty", "frequency_penalty")],
        (GenerateConfig, "context_weight"),
    ],
)
def test_what_must_not_be_negative(kind, name):
    zero = 0.0 if "float" in kind.__annotations__[name] else 0
    assert getattr(kind(**{name: zero}), name) == 0
    assert refusal(kind, **{name: -1}) == f"{name} must not be negative: got -1; give 0 or more"


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *[(n, 2) for n in ("temperature", "presence_penalty", "frequency_penalty")],
        *[(n, 10) for n in ("length_penalty", "coverage_penalty")],
    ],
)
def test_what_would_be_noise(name, most):
    assert getattr(DecodeConfig(**{name: float(most)}), name) == most
    for value in (most + 0.5, math.inf):
        assert refusal(DecodeConfig, **{name: value}) == (
            f"{name} must be at most {most}: got {value:g}; give a smaller one"
        )
    assert refusal(DecodeConfig, length_penalty=-11.0) == (
        "length_penalty must be from -10 to 10: got -11; give one nearer to 0"
    )


def test_top_p_of_nothing():
    assert refusal(DecodeConfig, top_p=0.0) == (
        "top_p must be above 0: got 0; use top_k=1 for the single best token"
    )


def test_more_hypotheses_than_the_beam_holds():
    assert refusal(DecodeConfig, n_best=5) == (
        "n_best must be at most beam: got n_best=5, beam=4; raise beam or lower n_best"
    )
    assert DecodeConfig(method="sample", n_best=5).n_best == 5


@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        (
            ModelConfig,
            {"position": "sinusoid"},
            "position must be one of sinusoidal, learned, rotary, relative, scaled, integer, none: "
            "got 'sinusoid' (did you mean 'sinusoidal'?)",
        ),
        (
            ModelConfig,
            {"norm_placement": "middle"},
            "norm_placement must be one of post, pre: got 'middle'",
        ),
        (
            ModelConfig,
            {"feed_forward": "tanh"},
            "feed_forward must be one of relu, gelu, gelu-tanh, silu, gated-gelu, gated-gelu-tanh, gated-silu: "
            "got 'tanh' (did you mean 'gelu-tanh'?)",
        ),
        (
            TrainConfig,
            {"schedule": "cosin"},
            "schedule must be one of inverse-sqrt, cosine: got 'cosin' (did you mean 'cosine'?)",
        ),
        (
            DecodeConfig,
            {"method": "bean"},
            "method must be one of beam, greedy, sample: got 'bean' (did you mean 'beam'?)",
        ),
        (
            DataConfig,
            {"tokenizer": "words"},
            "tokenizer must be one of bpe, unigram: got 'words'",
        ),
    ],
)
def test_what_must_be_one_of_a_few(kind, values, sentence):
    assert refusal(kind, **values) == f"{sentence}; use one of these"


# ------------------------------------------------------------ from and to files


def read_refusal(kind, values) -> str:
    with pytest.raises(UsageError) as caught:
        from_dict(kind, values, "recipe.toml")
    return str(caught.value)


def test_an_unknown_key_is_named_with_the_nearest_known_one():
    sentence = read_refusal(ModelConfig, {"d_modell": 512})
    assert sentence.startswith(
        "recipe.toml: unknown key 'd_modell' (did you mean 'd_model'?); known keys: architecture, "
    )
    assert all(field.name in sentence for field in dataclasses.fields(ModelConfig))


def test_an_unknown_key_like_no_other():
    assert "unknown key 'zzz'; known keys: " in read_refusal(TrainConfig, {"zzz": 1})


@pytest.mark.parametrize(
    ("kind", "key", "value", "sentence"),
    [
        (ModelConfig, "d_model", "512", "d_model must be a whole number: got '512'"),
        (ModelConfig, "d_model", 512.0, "d_model must be a whole number: got 512.0"),
        (ModelConfig, "d_model", True, "d_model must be a whole number: got True"),
        (ModelConfig, "embedding_norm", 1, "embedding_norm must be true or false: got 1"),
        (ModelConfig, "norm", "group", "norm must be one of layer, rms, batch: got 'group'"),
        (ModelConfig, "norm", 3, "norm must be one of layer, rms, batch: got 3"),
        (DataConfig, "sampling", "often", "sampling must be a number: got 'often'"),
        (DataConfig, "sampling", False, "sampling must be a number: got False"),
        (DataConfig, "vocabulary", 1.5, "vocabulary must be a whole number: got 1.5"),
        (DataConfig, "source", 7, "source must be a text or a list of texts: got 7"),
        (DataConfig, "source", ["a", 7], "source must be a text or a list of texts: got ['a', 7]"),
        (DataConfig, "source_language", 7, "source_language must be a text: got 7"),
        (TrainConfig, "dropout", [], "dropout must be a number: got []"),
        (TrainConfig, "compile", "yes", "compile must be true or false: got 'yes'"),
    ],
)
def test_a_wrong_type_is_named(kind, key, value, sentence):
    assert read_refusal(kind, {key: value}) == f"recipe.toml: {sentence}; correct it"


def test_what_a_file_can_say_is_converted():
    data = from_dict(DataConfig, {"source": "a.fr", "target": ["a.en", "b.en"], "sampling": 0}, "x")
    assert data.source == ("a.fr",)
    assert data.target == ("a.en", "b.en")
    assert data.sampling == 0.0 and isinstance(data.sampling, float)
    train = from_dict(TrainConfig, {"dropout": 0, "steps": None, "packing": True}, "x")
    assert train.dropout == 0.0 and isinstance(train.dropout, float)
    assert train.steps is None
    assert train.packing is True


@pytest.mark.parametrize("kind", KINDS)
def test_a_configuration_survives_json(kind):
    config = kind()
    assert from_dict(kind, json.loads(json.dumps(to_dict(config))), "config.json") == config


def test_values_are_checked_on_the_way_in_too():
    assert read_refusal(ModelConfig, {"num_heads": 7}).startswith("d_model must be a multiple of")


@pytest.mark.parametrize("kind", KINDS)
def test_configurations_are_frozen_and_named(kind):
    config = kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, dataclasses.fields(kind)[0].name, None)
    with pytest.raises(TypeError):
        kind(1)


# ------------------------------------------------------------ documentation


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_documented(kind):
    texts = describe(kind)
    assert list(texts) == [field.name for field in dataclasses.fields(kind)]
    assert all(text.strip() for text in texts.values())


def test_a_description_is_the_string_under_the_field():
    assert describe(ModelConfig)["d_ff"] == "width inside the feed-forward"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"position": "relative", "num_buckets": 3},
            "num_buckets must be at least 4, and max_distance above its half: got num_buckets=3, "
            "max_distance=128; T5 has 32 and 128",
        ),
        (
            {"position": "relative", "max_distance": 16},
            "num_buckets must be at least 4, and max_distance above its half: got num_buckets=32, "
            "max_distance=16; T5 has 32 and 128",
        ),
        (
            {"output_transform": True},
            "output_transform is for an encoder-only model with a layer or rms norm and no gates: got "
            "architecture=encoder-decoder, norm=layer, feed_forward=relu; leave it out",
        ),
        (
            {"architecture": "gru", "attention": "dot", "position": "none", "output_bias": True},
            "output_bias is for Transformers: got architecture=gru; leave it out",
        ),
    ],
)
def test_what_belongs_to_some_models_only(changes, sentence):
    assert refusal(ModelConfig, **changes) == sentence
