"""What is exported runs elsewhere: in transformers and CTranslate2 the same numbers and tokens, ONNX by itself."""

import re
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import onnx
import pytest
import torch
from fixtures import TEXT, make_model_folder, randomize
from huggingface_fixtures import MAKERS
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from regard.api import export, import_model, load
from regard.config import DecodeConfig, ModelConfig
from regard.decode import Constraints, search
from regard.engine.torch import load_model, to_tensors
from regard.errors import UsageError
from regard.folder.checkpoint import CARD, save
from regard.folder.manifest import Manifest
from regard.model.layout import Layout
from regard.model.transformer import build
from regard.text.tokenizer import Tokenizer

WORDS = 11
ALONE: dict[str, Any] = {"architecture": "decoder-only", "norm_placement": "pre"}
LEARNED = {"position": "learned", "scaled_embedding": False, "feed_forward": "gelu-tanh"}
EXPORTED: dict[str, dict[str, Any]] = {
    "marian": {},
    "marian-bias": {"feed_forward": "silu", "output_bias": True, "scaled_embedding": False},
    "pegasus": {"norm_placement": "pre"},
    "gpt2": {**ALONE, **LEARNED},
    "gpt2-sinusoids": ALONE,
    "gpt2-untied": {**ALONE, "tied": "none"},
}


def random_folder(folder: Path, **changes: Any) -> Path:
    """A model of ours with every weight random, biases and gains too, so that none can go astray."""
    tokenizer = Tokenizer.train(TEXT, vocabulary=300, exact=False)
    size = tokenizer.vocab_size
    sizes = dict(source_vocab_size=size, target_vocab_size=size, d_model=18, d_ff=31, num_heads=3)
    layers = dict(num_encoder_layers=1, num_decoder_layers=2, max_positions=61)
    config = ModelConfig(**{**sizes, **layers, **changes})
    model = randomize(build(config))
    manifest = Manifest(task="translate" if config.has_encoder else "write", model=config, longest=90)
    tensors = to_tensors(model.state_dict(), config)
    save(folder, manifest, tensors, {"tokenizer.model": tokenizer.proto}, "# Random\n")
    return folder


@torch.no_grad()
@pytest.mark.parametrize("kind", EXPORTED)
def test_transformers_computes_the_same(kind: str, tmp_path: Path) -> None:
    folder = random_folder(tmp_path / "ours", **EXPORTED[kind])
    export(folder, tmp_path / "theirs", to="huggingface")
    is_alone = kind.startswith("gpt2")
    their_class = AutoModelForCausalLM if is_alone else AutoModelForSeq2SeqLM
    theirs, told = their_class.from_pretrained(tmp_path / "theirs", output_loading_info=True)
    assert not any(told.values()), "transformers would warn"
    theirs.eval()
    model, _ = load_model(folder)
    tokens = torch.randint(4, model.config.target_vocab_size, (1, 13))
    read = (tokens, Layout.padded(torch.tensor([13]), 13))
    target = tokens[:, :7].flip(1)
    written = () if is_alone else (target, Layout.padded(torch.tensor([7]), 7))
    more = {} if is_alone else {"decoder_input_ids": target}
    expected = theirs(input_ids=tokens, **more).logits
    torch.testing.assert_close(model(*read, *written), expected, atol=1e-4, rtol=0)


@pytest.mark.filterwarnings("ignore:Recommended")
def test_transformers_reads_and_writes_our_texts(tmp_path: Path) -> None:
    folder = make_model_folder(tmp_path / "ours")
    export(folder, tmp_path / "theirs", to="huggingface")
    theirs = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "theirs").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "theirs")
    model = load(folder, threads=1)
    for text in TEXT:
        ids = model.translator.source_ids(text)
        read = tokenizer(text, return_tensors="pt")
        assert read["input_ids"][0].tolist() == ids
        written = theirs.generate(**read, num_beams=1, max_new_tokens=7)
        ours = model.translate(text, split=False, method="greedy", max_length=7)
        assert tokenizer.decode(written[0], skip_special_tokens=True) == ours.strip()


@pytest.mark.parametrize("kind", ["marian", "pegasus", "gpt2"])
def test_there_and_back(kind: str, tmp_path: Path) -> None:
    """Imported and exported again, a model is the same to the bit, or as near as a factor allows."""
    folder, theirs = MAKERS[kind](tmp_path / "theirs")
    import_model(folder, tmp_path / "ours")
    export(tmp_path / "ours", tmp_path / "again", to="huggingface")
    kind_of = AutoModelForCausalLM if kind == "gpt2" else AutoModelForSeq2SeqLM
    again = kind_of.from_pretrained(tmp_path / "again").state_dict()
    for name, tensor in theirs.state_dict().items():
        if "embed_positions" not in name:
            assert torch.equal(again[name], tensor), name


CTRANSLATE2: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm_placement": "pre"},
    "today": dict(norm="rms", norm_placement="pre", feed_forward="gated-silu", position="rotary", biases="none"),
    "learned": LEARNED,
    "bart": {"embedding_norm": True, "output_bias": True, "feed_forward": "gelu"},
}


@pytest.mark.parametrize("changes", CTRANSLATE2.values(), ids=CTRANSLATE2.keys())
def test_ctranslate2_writes_the_same_tokens(changes, tmp_path: Path) -> None:
    folder = random_folder(tmp_path / "ours", **changes)
    export(folder, tmp_path / "theirs", to="ctranslate2")
    theirs = ctranslate2.Translator(str(tmp_path / "theirs"), intra_threads=1)
    model = load(folder, engine="torch")
    tokenizer = model.translator.target
    for text in TEXT:
        options = {"method": "greedy", "max_length": WORDS, "min_length": WORDS, "details": True}
        ours = model.translate(text, split=False, no_repeat_ngram=1, **options)
        pieces = tokenizer.token_strings(tokenizer.encode(text))
        never = dict(suppress_sequences=[["<pad>"], ["<s>"], ["</s>"]], disable_unk=False, no_repeat_ngram_size=1)
        sizes = dict(beam_size=1, max_decoding_length=WORDS, min_decoding_length=WORDS)
        [result] = theirs.translate_batch([pieces], **sizes, **never)
        assert result.hypotheses[0] == ours.sentences[0].candidates[0].tokens


def test_ctranslate2_goes_on_from_a_text_alike(tmp_path: Path) -> None:
    folder = random_folder(tmp_path / "ours", **ALONE, feed_forward="gelu")
    export(folder, tmp_path / "theirs", to="ctranslate2")
    theirs = ctranslate2.Generator(str(tmp_path / "theirs"), intra_threads=1)
    model, _ = load_model(folder)
    tokens = [2, *range(5, 16)]
    tensor = torch.tensor([tokens])
    with torch.no_grad():
        ours = model(tensor, Layout.padded(torch.tensor([len(tokens)]), len(tokens)))
    logits = np.array(theirs.forward_batch([tokens]))
    np.testing.assert_allclose(logits, ours.numpy(), atol=1e-4)


def called(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str:
    """What the program on a folder's card prints; it has nothing to warn of."""
    card = (folder / CARD).read_text()
    assert "library_name: regard\n" not in card, "a hub would call it by the wrong library"
    [code] = re.findall(r"## How to call it\n\nIn this folder:\n\n```python\n(.*?)```", card, re.DOTALL)
    monkeypatch.chdir(folder)
    capfd.readouterr()
    exec(compile(code, str(folder / CARD), "exec"), {})
    out, err = capfd.readouterr()
    assert err == ""
    return out.strip()


@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, which the card names
@pytest.mark.parametrize("to", ["huggingface", "ctranslate2", "onnx"])
def test_the_program_on_the_card_writes_what_we_write(to, tmp_path, monkeypatch, capfd):
    export("fr-en", tmp_path / "there", to=to)
    assert called(tmp_path / "there", monkeypatch, capfd) == load("fr-en").translate("Bonjour.", plain=True)
    if to == "huggingface":
        return
    for path in (tmp_path / "there").glob("*.onnx"):
        onnx.checker.check_model(model := onnx.load(path, load_external_data=False))
        assert all(not tensor.external_data for tensor in model.graph.initializer)
    export("story", tmp_path / "story", to=to)
    model = load("story", precision="fp32")._translator
    decode = DecodeConfig(method="greedy", max_length=30)
    prompt = [Constraints(prefix=model.target.encode("Hello."))]
    [[found]] = search(model.engine, [[]], decode, constraints=prompt)
    assert called(tmp_path / "story", monkeypatch, capfd).startswith(model.target.decode(found.tokens[:20]).strip())


@pytest.mark.filterwarnings("ignore:Recommended")
@pytest.mark.parametrize(
    ("kind", "to"),
    [("gpt2", "huggingface"), ("gpt2", "ctranslate2"), ("bart", "ctranslate2")]
    + [(kind, "onnx") for kind in ("gpt2", "bart", "marian", "bert", "llama")],
)
def test_the_program_runs_for_every_tokenizer(kind, to, tmp_path, monkeypatch, capfd):
    folder, _ = MAKERS[kind](tmp_path / "theirs")
    import_model(folder, tmp_path / "ours")
    export(tmp_path / "ours", tmp_path / "there", to=to)
    printed = called(tmp_path / "there", monkeypatch, capfd)
    assert printed.endswith(", 18)") if kind == "bert" else printed


@pytest.mark.parametrize(
    ("to", "changes", "sentence"),
    [
        ("huggingface", {"architecture": "decoder-only"}, "a GPT-2 folder can only hold a model with norm_placement=pre: got post; "),
        ("huggingface", {"architecture": "encoder-only"}, "a Hugging Face folder can only hold a model with architecture=encoder-decoder or decoder-only: got encoder-only; "),
        ("ctranslate2", {"position": "alibi"}, "a CTranslate2 folder can only hold a model with position=sinusoidal or learned or rotary: got alibi; "),
        ("onnx", {"position": "relative"}, "an ONNX graph must hold a whole model: it cannot hold position=relative; "),
        ("huggingface", {"position": "alibi"}, "a marian folder can only hold a model with position=sinusoidal: got alibi; "),
        ("tensorflow", {}, "a format must be one of regard, safetensors, huggingface, ctranslate2, onnx, web: got 'tensorflow'; "),
    ],
)  # fmt: skip
def test_what_a_format_cannot_hold(to, changes, sentence, tmp_path: Path) -> None:
    folder = random_folder(tmp_path / "ours", **changes)
    with pytest.raises(UsageError) as refused:
        export(folder, tmp_path / "theirs", to=to)
    assert str(refused.value).startswith(sentence) and " use " in str(refused.value)
    assert not (tmp_path / "theirs").exists()
