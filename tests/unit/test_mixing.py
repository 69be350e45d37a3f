"""Weights mixed at export: so much of each, and only of models that go together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_fixtures import assert_one_sentence, run
from fixtures import make_random_folder

from regard.api import export, import_model, load
from regard.errors import UsageError
from regard.folder.checkpoint import read_tensors
from regard.folder.tensors import dequantize, quantize

SHAPE = dict(num_encoder_layers=1, num_decoder_layers=1, d_model=16, d_ff=24, num_heads=2)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    return [
        make_random_folder(folder / str(seed), SHAPE, seed=seed, weights="fp32")
        for seed in range(3)
    ]


def test_each_weight_is_so_much_of_each(models: list[Path], tmp_path: Path) -> None:
    export(models[0], tmp_path / "m", to="safetensors", mix=[(models[1], 0.25), (models[2], 0.125)])
    first, second, third = map(read_tensors, models)
    mixed = read_tensors(tmp_path / "m")
    assert mixed.keys() == first.keys()
    for name, tensor in mixed.items():
        wanted = 0.625 * first[name] + 0.25 * second[name] + 0.125 * third[name]
        np.testing.assert_allclose(tensor, wanted, rtol=1e-6, atol=1e-7)
        assert not np.allclose(tensor, first[name]) or name.endswith(("norm.weight", ".bias"))


def test_a_model_mixed_with_itself_is_itself(models: list[Path], tmp_path: Path) -> None:
    export(models[0], tmp_path / "m", to="safetensors", mix=[(models[0], 0.5)])
    for name, tensor in read_tensors(tmp_path / "m").items():
        np.testing.assert_array_equal(tensor, read_tensors(models[0])[name])


def test_by_the_command_in_any_form(models: list[Path], tmp_path: Path) -> None:
    result = run("export", models[0], tmp_path / "m", "--mix", f"{models[1]}=0.25")
    assert result.exit_code == 0, result.stderr
    export(models[0], tmp_path / "same", to="safetensors", mix=[(models[1], 0.25)])
    rounded = dequantize(quantize(read_tensors(tmp_path / "same")))
    for name, tensor in read_tensors(tmp_path / "m").items():
        np.testing.assert_array_equal(tensor, rounded[name])
    assert isinstance(load(tmp_path / "m").translate("a"), str)


@pytest.mark.parametrize("share", ["", "=", "=half", "=0.2.5", "=0", "=1", "=-0.1", "=nan"])
def test_a_share_that_is_none(share: str, models: list[Path], tmp_path: Path) -> None:
    result = run("export", models[0], tmp_path / "m", "--mix", f"{models[1]}{share}")
    assert_one_sentence(result, 2)
    assert "share" in result.stderr and not (tmp_path / "m").exists()


def test_a_share_without_a_model(models: list[Path], tmp_path: Path) -> None:
    for mix in ("=0.25", "0.25"):
        result = run("export", models[0], tmp_path / "m", "--mix", mix)
        assert_one_sentence(result, 2)
        assert "--mix must be a model and a share" in result.stderr


def test_shares_of_one_model_add_up(models: list[Path], tmp_path: Path) -> None:
    half, once = [(models[1], 0.25)] * 2, [(models[1], 0.5)]
    for name, mix in (("twice", half), ("once", once)):
        export(models[0], tmp_path / name, to="safetensors", mix=mix)
    for name, tensor in read_tensors(tmp_path / "twice").items():
        np.testing.assert_allclose(tensor, read_tensors(tmp_path / "once")[name], atol=1e-6)
    with pytest.raises(UsageError, match="together below 1"):
        export(models[0], tmp_path / "m", mix=[(models[1], 0.6)] * 2)


def test_the_card_says_that_it_is_a_mix(models: list[Path], tmp_path: Path) -> None:
    export("fr-en", tmp_path / "m", to="safetensors", mix=[("fr-en", 0.25)])
    card = (tmp_path / "m" / "README.md").read_text("utf-8")
    assert card.startswith("> Weights mixed by regard: 0.75 of fr-en, 0.25 of fr-en.")
    assert "model-index" not in card and "# fr-en" in card


@pytest.mark.parametrize("form", ["int8", "fp16"])
def test_models_in_smaller_forms(form: str, models: list[Path], tmp_path: Path) -> None:
    small = [tmp_path / str(number) for number in range(2)]
    for model, folder in zip(models, small, strict=False):
        export(model, folder, to="safetensors", weights=form)
    export(small[0], tmp_path / "m", to="safetensors", mix=[(small[1], 0.25)])
    first, second = map(read_tensors, small)
    for name, tensor in read_tensors(tmp_path / "m").items():
        np.testing.assert_allclose(tensor, 0.75 * first[name] + 0.25 * second[name], atol=1e-6)


def test_in_the_format_of_another_program(models: list[Path], tmp_path: Path) -> None:
    export(models[0], tmp_path / "m", to="huggingface", mix=[(models[1], 0.25)])
    export(models[0], tmp_path / "ours", to="safetensors", mix=[(models[1], 0.25)])
    import_model(tmp_path / "m", tmp_path / "back")
    ours = read_tensors(tmp_path / "ours")
    for name, tensor in read_tensors(tmp_path / "back").items():
        if name in ours:
            np.testing.assert_allclose(tensor, ours[name], atol=1e-6)


def test_models_that_do_not_go_together(models: list[Path], tmp_path: Path) -> None:
    wider = make_random_folder(tmp_path / "wider", {**SHAPE, "d_ff": 32}, seed=1)
    with pytest.raises(UsageError, match="alike: .* has d_ff=24, .* has 32"):
        export(models[0], tmp_path / "m", mix=[(wider, 0.5)])
    german = make_random_folder(tmp_path / "german", SHAPE, seed=1, source_language="de")
    with pytest.raises(UsageError, match="has source_language=, .* has de"):
        export(models[0], tmp_path / "m", mix=[(german, 0.5)])
    other = make_random_folder(tmp_path / "other", SHAPE, seed=1)
    [tokenizer] = other.glob("*.model")
    tokenizer.write_bytes(tokenizer.read_bytes() + b"\x00")
    with pytest.raises(UsageError, match="one tokenizer"):
        export(models[0], tmp_path / "m", mix=[(other, 0.5)])
    assert not (tmp_path / "m").exists()
