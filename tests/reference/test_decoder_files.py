"""GGUF and llama2.c: written from transformers' models by other means, read by regard, equal to them; and damaged."""

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from decoder_files import write_gguf, write_llama2c
from fixtures import TEXT, randomize
from huggingface_fixtures import MAKERS
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from regard.api import load
from regard.config import GenerateConfig
from regard.engine.torch import load_model
from regard.errors import ModelError
from regard.exchange import gguf_file, llama2c
from regard.exchange.huggingface import ImportOptions, import_file, import_folder
from regard.folder.checkpoint import open_tokenizers
from regard.generate.prompts import chat_prompt
from regard.model.layout import Layout
from regard.text.imported_tokenizers import JsonTokenizer

CHATML = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are small.<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""
LLAMA3 = """{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'
+ message['content'] | trim + '<|eot_id|>' }}{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"""
LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set told = messages[0]['content'] %}
{%- else %}{% set rest = messages %}{% set told = false %}{% endif %}{% for message in rest %}
{%- if loop.first and told %}{% set content = '<<SYS>>\n' + told + '\n<</SYS>>\n\n' + message['content'] %}
{%- else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}
{{- '<s>' + '[INST] ' + content.strip() + ' [/INST]' }}{% else %}{{- ' ' + content.strip() + ' ' + '</s>' }}
{%- endif %}{% endfor %}"""
TURNS = ["Hello, <|im_end|> </s>", "How are you?", "I am\nfine."]


@torch.no_grad()
def assert_equal(folder: Path, theirs: Any) -> None:
    model, manifest = load_model(folder)
    tokens = torch.randint(4, manifest.model.target_vocab_size, (2, 11))
    ours = model(tokens, Layout.padded(torch.tensor([11, 11]), 11))
    expected = theirs(input_ids=tokens).logits
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=0)
    assert expected.std() > 0.2


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_gguf(kind: str, tmp_path: Path) -> None:
    folder, theirs = MAKERS[kind](tmp_path / "theirs")
    import_file(write_gguf(tmp_path / "model.gguf", theirs, folder), tmp_path / "ours", ImportOptions(), None)
    assert_equal(tmp_path / "ours", theirs)
    _, target = open_tokenizers(tmp_path / "ours", load(tmp_path / "ours").manifest.tokenizer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    for text in (*TEXT, "  two  spaces ", "ein Fluß, ½ & naïve 漢字 🙂"):
        assert target.encode(text) == tokenizer(text, add_special_tokens=False)["input_ids"]
        assert target.decode(target.encode(text)) == text


@pytest.mark.parametrize("tied", [True, False])
def test_llama2c(tied: bool, tmp_path: Path) -> None:
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 3), model_writer=content, vocab_size=330, model_type="bpe", byte_fallback=True,
        hard_vocab_limit=False, minloglevel=2, normalization_rule_name="identity", remove_extra_whitespaces=False,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
    size = processor.vocab_size()
    sizes = dict(vocab_size=size, hidden_size=24, intermediate_size=31, num_hidden_layers=2)
    heads = dict(num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=61, tie_word_embeddings=tied)
    theirs = randomize(LlamaForCausalLM(LlamaConfig(**sizes, **heads, rms_norm_eps=1e-5)))
    tokens, scores = zip(*((processor.id_to_piece(i), processor.get_score(i)) for i in range(size)), strict=True)
    path = write_llama2c(tmp_path / "model.bin", theirs, list(tokens), list(scores))
    import_file(path, tmp_path / "ours", ImportOptions(), None)
    assert_equal(tmp_path / "ours", theirs)
    _, target = open_tokenizers(tmp_path / "ours", load(tmp_path / "ours").manifest.tokenizer)
    for text in (*TEXT, "two  spaces", "naïve 漢字"):
        assert target.encode(text) == processor.encode(text)
        assert target.decode(processor.encode(text)) == text
    for cut in (7, 28, 4000):
        path.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(ModelError, match="must be a whole checkpoint"):
            llama2c.read(path)


@pytest.mark.parametrize(("name", "template"), [("chatml", CHATML), ("llama3", LLAMA3), ("llama2", LLAMA2)])
def test_a_conversation_is_written_as_the_llama_or_qwen_template_says(name: str, template: str, tmp_path: Path) -> None:
    """Typed marks stay letters, which the template engine itself does not promise: there they are left out."""
    folder, _ = MAKERS["llama"](tmp_path / "theirs", vocab_size=330, max_position_embeddings=2000)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    marks = ["<s>", "</s>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    tokenizer.chat_template, tokenizer.bos_token, tokenizer.eos_token = template, "<s>", "</s>"
    tokenizer.save_pretrained(folder)
    if name == "chatml":  # as older folders have it: several templates with names
        (folder / "chat_template.jinja").unlink()
        described = json.loads((folder / "tokenizer_config.json").read_text())
        described["chat_template"] = [{"name": "tools", "template": LLAMA2}, {"name": "default", "template": template}]
        (folder / "tokenizer_config.json").write_text(json.dumps(described))
    manifest = import_folder(folder, tmp_path / "ours", ImportOptions(), None)
    assert (manifest.task, manifest.generate.chat_template) == ("chat", name)
    translator = load(tmp_path / "ours")._translator
    plain = ["Hello, Jane.", "How are you?", "I am\nfine."]
    told = manifest.generate.system or "Be kind."
    roles = zip(("system", "user", "assistant", "user"), (told, *plain), strict=True)
    messages = [{"role": role, "content": text} for role, text in roles]
    expected = tokenizer.apply_chat_template(messages, tokenize=True, add_generation_prompt=True, return_dict=False)
    options = GenerateConfig(chat_template=name, system=told)  # type: ignore[arg-type]
    found = chat_prompt(translator, plain, options).prefix
    assert found == expected[name == "llama2" :], "Llama 2 begins with the token that every text begins with"
    typed = chat_prompt(translator, TURNS, options).prefix
    own = {id for mark in (*marks, "<|im_start|>", "<|im_end|>") if (id := tokenizer.convert_tokens_to_ids(mark))}
    assert [id for id in typed if id in own] == [id for id in found if id in own]


def test_damaged_gguf_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """Bytes of the header changed at random, lengths made huge, the end cut off: 1,000 times."""
    folder, theirs = MAKERS["llama"](tmp_path / "theirs")
    whole = write_gguf(tmp_path / "model.gguf", theirs, folder, CHATML).read_bytes()
    draw, path, refused = random.Random(1), tmp_path / "damaged.gguf", 0
    size = whole.index(b"token_embd.weight") + 400
    for _ in range(1000):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 8))):
            place = draw.randrange(size)
            if draw.random() < 0.3:
                content[place : place + 8] = draw.choice((b"\xff" * 8, b"\0" * 8, b"\xff" * 5 + b"\0" * 3))
            content[place] = draw.randrange(256)
        path.write_bytes(content[: draw.randrange(size) if draw.random() < 0.2 else None])
        try:
            found = gguf_file.read(path)
            assert all(np.isfinite(each).any() for each in found.tensors.values())
        except ModelError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) < 500
    assert refused > 250


WRONG: list[Any] = [
    None, True, -1, 0, 3.5, 2**40, "", "x", "[UNK]", "(a+)+$", "[", [], {}, [[]], ["a", "b"], {"type": "Sequence"},
]  # fmt: skip


def damaged_json(whole: bytes, draw: random.Random) -> bytes:
    """Bytes changed and cut off, or a part of the described tokenizer taken out or replaced."""
    if draw.random() < 0.4:
        content = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 8))):
            content[draw.randrange(len(content))] = draw.choice((*b'{}[]",:09ent', draw.randrange(256)))
        return bytes(content[: draw.randrange(len(content)) if draw.random() < 0.3 else None])
    described = json.loads(whole)
    for _ in range(draw.choice((1, 1, 2))):
        part = described
        while True:
            key = draw.choice(list(part) if isinstance(part, dict) else list(range(len(part))))
            if isinstance(part[key], dict | list) and part[key] and draw.random() < 0.8:
                part = part[key]
                continue
            part[key] = draw.choice(WRONG)
            if isinstance(part, dict) and draw.random() < 0.4:
                del part[key]
            break
    return json.dumps(described).encode()


@pytest.mark.parametrize("kind", ["qwen2", "bert", "pegasus"])
def test_a_damaged_tokenizer_json_is_refused_in_one_sentence(kind: str, tmp_path: Path) -> None:
    """What is not refused reads any text. Most files fall to the reader of JSON; a pattern without end falls at its text."""
    folder, _ = MAKERS[kind](tmp_path / "theirs")
    import_folder(folder, tmp_path / "whole", ImportOptions(), None)
    whole = (tmp_path / "whole" / "tokenizer.json").read_bytes()
    draw, refused = random.Random(1), 0
    for number in range(200):
        content = damaged_json(whole, draw)
        try:
            if number % 10 == 0:
                (folder / "tokenizer.json").write_bytes(content)
                import_folder(folder, tmp_path / "ours", ImportOptions(), None)
            tokenizer = JsonTokenizer(content, name="model/tokenizer.json")
            ids = tokenizer.encode("a" * 30 + "! Two words, naïve 漢字 🙂 <s> [MASK]\n")
            assert isinstance(tokenizer.decode(ids), str) and len(tokenizer.token_strings(ids)) == len(ids)
        except ModelError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) < 400
    assert refused > 100


def test_a_tokenizer_with_more_words_than_the_model_is_refused(tmp_path: Path) -> None:
    folder, _ = MAKERS["llama"](tmp_path / "theirs")
    described = json.loads((folder / "tokenizer.json").read_bytes())
    described["model"]["vocab"]["zebra"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(described))
    with pytest.raises(ModelError, match="ids must be below .*: got 5000"):
        import_folder(folder, tmp_path / "ours", ImportOptions(), None)
    pattern = {"Regex": "(a+)+$"}
    described["pre_tokenizer"] = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    tokenizer = JsonTokenizer(json.dumps(described).encode(), name="tokenizer.json")
    with pytest.raises(ModelError, match="damaged"):
        tokenizer.encode("a" * 40 + "!")
