"""Imported models equal transformers: logits to 1e-4, generated tokens exactly, the same ids for the same texts."""

from pathlib import Path
from typing import Any

import pytest
import torch
from fixtures import TEXT
from huggingface_fixtures import MAKERS
from torch import Tensor
from transformers import BertTokenizer, GenerationConfig, GPT2Tokenizer, MarianTokenizer

from regard.api import load
from regard.config import DecodeConfig
from regard.decode import Constraints, search
from regard.engine import open_engine
from regard.engine.torch import TorchEngine, load_model
from regard.exchange import onnx
from regard.exchange.huggingface import ImportOptions, import_folder
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import read_manifest
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, EncoderOnly

_LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
_LLAMA3 = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
_LLAMA3["original_max_position_embeddings"] = 20
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "marian": ("marian", {}),
    "marian-two-vocabularies": ("marian", {"share_encoder_decoder_embeddings": False}),
    "bart": ("bart", {}),
    "pegasus": ("pegasus", {"scale_embedding": True}),
    "t5": ("t5", {}),
    "t5-narrow-heads": ("t5", {"d_kv": 5}),
    "t5-gated": ("t5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "gpt2": ("gpt2", {}),
    "gpt2-untied-relu": ("gpt2", {"tie_word_embeddings": False, "activation_function": "relu"}),
    "bert": ("bert", {"layer_norm_eps": 1e-3}),
    "llama": ("llama", {"tie_word_embeddings": True, "rope_theta": 500.0}),
    "llama3-biases": ("llama", {"rope_parameters": _LLAMA3, "attention_bias": True, "mlp_bias": True}),
    "llama-linear-multi-query": ("llama", {"rope_parameters": _LINEAR, "num_key_value_heads": 1}),
    "mistral-window": ("mistral", {}),
    "qwen2": ("qwen2", {"rope_theta": 1000.0}),
    "qwen3": ("qwen3", {}),
}
NUM_WRITTEN = 11


_WRITING = "marian-two-vocabularies bart t5-gated gpt2 llama3-biases mistral-window qwen3"
WRITING = {name: VARIANTS[name] for name in _WRITING.split()}


@pytest.fixture
def pair(variant: tuple[str, dict[str, Any]], tmp_path: Path) -> tuple[Path, Any]:
    """A folder of ours, and the model of transformers that it was imported from."""
    kind, changes = variant
    folder, model = MAKERS[kind](tmp_path / "theirs", **changes)
    import_folder(folder, tmp_path / "ours", ImportOptions(), onnx.export)
    return tmp_path / "ours", model


def sentences(low: int, high: int) -> tuple[Tensor, Tensor]:
    return torch.randint(low, high, (4, 7)), torch.tensor([7, 3, 1, 6])


@torch.no_grad()
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_logits_are_theirs(pair: tuple[Path, Any]) -> None:
    folder, theirs = pair
    model, manifest = load_model(folder)
    tokens, lengths = sentences(4, manifest.model.source_vocab_size - 2)
    read = (tokens, Layout.padded(lengths, tokens.shape[1]))
    mask = (torch.arange(7) < lengths[:, None]).long()
    if isinstance(model, EncoderOnly | DecoderOnly):
        ours = model(*read)
        expected = theirs(input_ids=tokens, attention_mask=mask).logits
        real = mask.bool()
    else:
        target = torch.randint(4, manifest.model.target_vocab_size - 2, (4, 9))
        ours = model(*read, target, Layout.padded(torch.full((4,), 9), 9))
        expected = theirs(input_ids=tokens, attention_mask=mask, decoder_input_ids=target).logits
        real = torch.ones(4, 9, dtype=torch.bool)
    torch.testing.assert_close(ours[real], expected[real], atol=1e-4, rtol=0)
    assert expected[real].std() > 0.2  # else a tolerance of 1e-4 would prove little


@torch.no_grad()
@pytest.mark.parametrize("variant", WRITING.values(), ids=WRITING.keys())
def test_generated_tokens_are_theirs(pair: tuple[Path, Any]) -> None:
    """Each piece at most once: random weights would otherwise write one of them over and over."""
    folder, theirs = pair
    model, manifest = load_model(folder)
    config = manifest.model
    tokens, lengths = sentences(4, config.source_vocab_size - 2)
    prompts = [row[:length].tolist() for row, length in zip(tokens, lengths, strict=True)]
    never = sorted({config.pad_id, config.bos_id} - {config.eos_id})
    no_repeat = 1 if config.has_encoder else 2
    greedy = dict(max_new_tokens=NUM_WRITTEN, do_sample=False, num_beams=1, no_repeat_ngram_size=no_repeat)
    ids = dict(pad_token_id=config.pad_id, eos_token_id=config.eos_id, bos_token_id=config.bos_id)
    unwanted = dict(bad_words_ids=[[id] for id in never] or None, suppress_tokens=[config.eos_id])
    settings = GenerationConfig(**greedy, **ids, **unwanted, decoder_start_token_id=config.bos_id)
    engines: list[Any] = [TorchEngine(model)]
    assert (folder / "decoder.onnx").is_file() == (config.position != "relative")
    if config.position != "relative":
        engines.append(open_engine(folder, "onnxruntime", threads=1))
    for prompt in prompts:
        given = prompt if config.has_encoder else [config.bos_id, *prompt]
        read = dict(input_ids=torch.tensor([given]), attention_mask=torch.ones(1, len(given), dtype=torch.long))
        expected = theirs.generate(**read, generation_config=settings)[0].tolist()
        expected = expected[1:] if config.has_encoder else expected[len(given) :]
        source, prefix = (prompt, []) if config.has_encoder else ([], prompt)
        length = NUM_WRITTEN + len(prefix)
        sizes = dict(max_length=length, min_length=length, no_repeat_ngram=no_repeat)
        decode = DecodeConfig(method="greedy", **sizes)
        begin = [Constraints(prefix=prefix)]
        for engine in engines:
            [[found]] = search(engine, [source], decode, constraints=begin)
            assert found.tokens[len(prefix) :] == expected, engine


TEXTS = [*TEXT, "", " ", "  two  spaces ", "ein Fluß, ½ & naïve 漢字 🙂"]


@pytest.mark.filterwarnings("ignore:Recommended")
@pytest.mark.parametrize("kind", ["marian", "gpt2", "bert"])
def test_texts_have_their_ids(kind: str, tmp_path: Path) -> None:
    folder, _ = MAKERS[kind](tmp_path / "theirs")
    import_folder(folder, tmp_path / "ours", ImportOptions(), None)
    classes = {"marian": MarianTokenizer, "gpt2": GPT2Tokenizer, "bert": BertTokenizer}
    theirs = classes[kind].from_pretrained(folder)
    manifest = read_manifest(tmp_path / "ours")
    source, target = open_tokenizers(tmp_path / "ours", manifest.tokenizer)
    for text in TEXTS:
        expected = theirs(text, add_special_tokens=False)["input_ids"]
        assert source.encode(text) == expected
        assert target.decode(expected) == theirs.decode(expected, skip_special_tokens=True)
    ends = [*source.beginning, *source.encode(TEXT[0]), manifest.model.eos_id]
    if kind != "gpt2":
        assert ends == theirs(TEXT[0])["input_ids"]


@torch.no_grad()
@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
def test_blanks_are_filled_as_bert_fills_them(engine: Any, tmp_path: Path) -> None:
    folder, theirs = MAKERS["bert"](tmp_path / "theirs")
    import_folder(folder, tmp_path / "ours", ImportOptions(), onnx.export)
    tokenizer = BertTokenizer.from_pretrained(folder)
    text = "Jane [MASK] l'Afrique en [MASK]."
    read = tokenizer(text, return_tensors="pt")
    probabilities = theirs(**read).logits[0].softmax(dim=-1)
    places = (read["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0]
    blanks = load(tmp_path / "ours", engine=engine).fill(text, n_best=7)
    assert len(blanks) == len(places) == 2
    for place, choices in zip(places, blanks, strict=True):
        row = probabilities[place]
        row[tokenizer.all_special_ids] = 0
        values, ids = row.topk(7)
        pieces = [each.removeprefix("##") for each in tokenizer.convert_ids_to_tokens(ids)]
        assert [each.word for each in choices] == pieces
        torch.testing.assert_close(torch.tensor([each.probability for each in choices]), values, atol=1e-5, rtol=0)
    word = blanks[1][0].word
    assert blanks[1][0].text == f"Jane [MASK] l'Afrique en {word}."


@torch.no_grad()
@pytest.mark.filterwarnings("ignore:Recommended")
def test_a_language_is_asked_for_by_a_prompt(tmp_path: Path) -> None:
    folder, _ = MAKERS["marian"](tmp_path / "theirs")
    import_folder(folder, tmp_path / "ours", ImportOptions(prompt=">>fra<< "), None)
    tokenizer = MarianTokenizer.from_pretrained(folder)
    model = load(tmp_path / "ours", engine="torch")
    ids = model.translator.source_ids(TEXT[1])
    assert ids == tokenizer(f">>fra<< {TEXT[1]}")["input_ids"]
