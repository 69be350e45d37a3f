"""Import and export: what is refused, pickles, the commands of models with one stack, and mixed weights."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch
from cli_fixtures import assert_one_sentence, run
from fixtures import make_random_folder
from huggingface_fixtures import MAKERS

from regard.api import export, import_model, load
from regard.errors import ModelError, RegardError, UsageError
from regard.exchange.huggingface_files import read_safetensors, read_weights
from regard.folder.checkpoint import read_tensors

SHAPE = dict(num_encoder_layers=1, num_decoder_layers=1, d_model=16, d_ff=24, num_heads=2)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("foreign")
    return {kind: make(folder / kind)[0] for kind, make in MAKERS.items()}


@pytest.fixture(scope="module")
def ours(foreign: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("ours")
    for kind in ("gpt2", "bert", "marian"):
        import_model(foreign[kind], folder / kind)
    return {kind: folder / kind for kind in ("gpt2", "bert", "marian")}


def copied(source: Path, folder: Path, **changes: Any) -> Path:
    """The folder again, with changes to its config.json."""
    folder.mkdir()
    for path in source.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    values = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({**values, **changes}))
    return folder


def refusal(folder: Path, output: Path, **options: Any) -> str:
    with pytest.raises(RegardError) as refused:
        import_model(folder, output, **options)
    assert not output.exists()
    return str(refused.value)


@pytest.mark.parametrize(
    ("kind", "changes", "sentence"),
    [
        ("marian", {"model_type": "gemma"}, "a model to import must be one of marian, bart, pegas"),
        ("marian", {"decoder_ffn_dim": 7}, "decoder_ffn_dim must be 31, as encoder_ffn_dim"),
        ("marian", {"decoder_layers": 1}, "is unknown in a model of this kind"),
        ("gpt2", {"n_embd": 24}, "tensor target.embedding.weight: expected"),
        ("llama", {"rope_scaling": {"type": "yarn"}, "rope_parameters": None}, "rope_type must be default, linear or"),
        ("qwen2", {"sliding_window": 4, "use_sliding_window": True, "layer_types": None}, "alike in all layers"),
        ("llama", {"num_hidden_layers": 10**9}, "1000000000 layers, but"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_named(foreign, tmp_path, kind, changes, sentence):
    folder = copied(foreign[kind], tmp_path / "theirs", **changes)
    assert sentence in refusal(folder, tmp_path / "ours")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("config.json", None, "must be a Hugging Face folder: it has no config.json"),
        ("config.json", b'{"model_type": "marian"}', "config.json must have the key 'vocab_size'"),
        ("model.safetensors", None, "must have its weights in model.safetensors: it has none"),
    ],
)
def test_damaged_folders(foreign, tmp_path, name, content, sentence):
    folder = copied(foreign["marian"], tmp_path / "theirs")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    assert sentence in refusal(folder, tmp_path / "ours")


class Harmful:
    """What a pickle can do to whoever reads it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("is_archive", [True, False])
def test_a_pickle_is_read_only_when_asked_and_never_run(foreign, tmp_path, is_archive):
    """Both containers that torch.save writes; transposed, half-precision and parameter tensors among them."""
    folder = copied(foreign["gpt2"], tmp_path / "theirs")
    weights = read_safetensors(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    tensors: dict[str, Any] = {name: torch.from_numpy(tensor) for name, tensor in weights.items()}
    bias, table = (next(name for name in tensors if name.endswith(end)) for end in ("c_attn.bias", "wte.weight"))
    tensors[bias] = torch.nn.Parameter(tensors[bias].bfloat16().float().bfloat16())
    tensors[table] = tensors[table].t().contiguous().t()
    tensors["ids"] = torch.arange(3)

    def save(content: Any) -> None:
        torch.save(content, folder / "pytorch_model.bin", _use_new_zipfile_serialization=is_archive)

    save(tensors)
    assert "a pickle: add --convert-pickle" in refusal(folder, tmp_path / "refused")
    read = read_weights(folder, convert_pickle=True)
    assert set(read) == set(weights)
    assert all(np.array_equal(read[name], tensors[name].detach().float().numpy()) for name in read)
    import_model(folder, tmp_path / "ours", convert_pickle=True)
    mark = tmp_path / "mark"
    for harmful in ({**tensors, "harm": Harmful(mark)}, Harmful(mark)):
        save(harmful)
        sentence = refusal(folder, tmp_path / "harmed", convert_pickle=True)
        assert "must be a pickle of weights alone: it was refused" in sentence
    assert not mark.exists()
    save(tensors)
    whole = (folder / "pytorch_model.bin").read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole.replace(b"FloatStorage", b"FloatStoragf")):
        (folder / "pytorch_model.bin").write_bytes(damaged)
        assert "it was refused" in refusal(folder, tmp_path / "damaged", convert_pickle=True)


def test_halves_and_parts_are_read_and_damaged_tokenizers_named(foreign, tmp_path, ours):
    """Weights as bfloat16, in two files with an index."""
    folder = copied(foreign["gpt2"], tmp_path / "theirs")
    weights = read_safetensors(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    shards = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    from safetensors.torch import save_file

    for file, held in shards.items():
        halves = {name: torch.from_numpy(weights[name]).bfloat16() for name in held}
        save_file(halves, folder / file)
    index = {"weight_map": {name: file for file, held in shards.items() for name in held}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    import_model(folder, tmp_path / "ours")
    got = safetensors.numpy.load_file(tmp_path / "ours" / "model.safetensors")
    table = torch.from_numpy(weights["transformer.wte.weight"]).bfloat16().float().numpy()
    assert np.array_equal(got["target.embedding.weight"], table)
    index["weight_map"][names[0]] = "../one.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "must name files of its folder" in refusal(folder, tmp_path / "outside")
    for kind, name, sentence in (
        ("marian", "source.spm", "must be a SentencePiece model"),
        ("marian", "vocab.json", "must be a JSON object of tokens"),
        ("gpt2", "tokenizer.json", "must be a tokenizer.json"),
    ):
        folder = copied(ours[kind], tmp_path / f"{kind}-{name}")
        (folder / "SHA256SUMS").unlink()
        (folder / name).write_bytes(b"[1")
        with pytest.raises(ModelError, match=sentence):
            load(folder)


def test_the_commands(foreign: dict[str, Path], tmp_path: Path) -> None:
    result = run("import", foreign["bert"], tmp_path / "bert", "--weights", "int8")
    assert result.exit_code == 0, result.output
    filled = run("fill", "--model", tmp_path / "bert", "Jane [MASK] l'Afrique.", "--n-best", 3)
    assert filled.exit_code == 0 and len(filled.output.splitlines()) == 3
    answer = run("fill", "-m", tmp_path / "bert", "-", "--json", stdin="A [MASK] b [MASK]")
    assert [len(blank) for blank in json.loads(answer.output)["blanks"]] == [5, 5]
    assert run("fill", "-m", tmp_path / "bert", "[MASK] " * 70).exit_code == 2
    assert run("import", foreign["gpt2"], tmp_path / "gpt2").exit_code == 0
    options = ["write", "-m", tmp_path / "gpt2", "Jane", "--length", 9, "--seed", 3]
    first, again = run(*options), run(*options)
    assert first.output == again.output and first.output.startswith("Jane")
    written = json.loads(run(*options, "--json", "--top-p", 0.5).output)
    assert written["text"] == written["prompt"] + written["written"]
    assert run(*options, "--length", 61).exit_code == 2
    assert run("write", "-m", tmp_path / "bert", "x").exit_code == 1


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    return [make_random_folder(folder / str(seed), SHAPE, seed=seed, weights="fp32") for seed in range(3)]


def test_each_weight_is_so_much_of_each(models: list[Path], tmp_path: Path) -> None:
    export(models[0], tmp_path / "m", to="safetensors", mix=[(models[1], 0.25), (models[2], 0.125)])
    first, second, third = map(read_tensors, models)
    mixed = read_tensors(tmp_path / "m")
    assert mixed.keys() == first.keys()
    for name, tensor in mixed.items():
        wanted = 0.625 * first[name] + 0.25 * second[name] + 0.125 * third[name]
        np.testing.assert_allclose(tensor, wanted, rtol=1e-6, atol=1e-7)
    result = run("export", models[0], tmp_path / "m", "--mix", f"{models[1]}=0.25")
    assert result.exit_code == 0, result.stderr
    assert isinstance(load(tmp_path / "m").translate("a"), str)
    card = (tmp_path / "m" / "README.md").read_text("utf-8")
    assert card.startswith("> Weights mixed by regard: 0.75 of 0, 0.25 of 1.")


def test_models_that_cannot_be_mixed_and_shares_that_are_none(models: list[Path], tmp_path: Path) -> None:
    for share in ("", "=1", "=nan"):
        result = run("export", models[0], tmp_path / "m", "--mix", f"{models[1]}{share}")
        assert_one_sentence(result, 2)
        assert "share" in result.stderr
    wider = make_random_folder(tmp_path / "wider", {**SHAPE, "d_ff": 32}, seed=1)
    german = make_random_folder(tmp_path / "german", SHAPE, seed=1, source_language="de")
    other = make_random_folder(tmp_path / "other", SHAPE, seed=1)
    [tokenizer] = other.glob("*.model")
    tokenizer.write_bytes(tokenizer.read_bytes() + b"\x00")
    for model, what in ((wider, "model"), (german, "source_language"), (other, "tokenizer")):
        with pytest.raises(UsageError, match=f"must have one {what}: .* has another"):
            export(models[0], tmp_path / "m", mix=[(model, 0.5)])
    with pytest.raises(UsageError, match="together below 1"):
        export(models[0], tmp_path / "m", mix=[(models[1], 0.6)] * 2)
    assert not (tmp_path / "m").exists()
