"""Hugging Face folders of every family with random weights, so small that they are made in every test session."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
import transformers as hf
from fixtures import TEXT, randomize
from transformers.utils import logging

logging.disable_progress_bar()

D_MODEL, HEADS = 18, 3
ENCODER_DECODER = {
    **dict(d_model=D_MODEL, max_position_embeddings=61, forced_eos_token_id=None),
    **dict(encoder_layers=1, encoder_attention_heads=HEADS, encoder_ffn_dim=31),
    **dict(decoder_layers=2, decoder_attention_heads=HEADS, decoder_ffn_dim=31),
}


def saved(model: hf.PreTrainedModel, folder: Path) -> tuple[Path, hf.PreTrainedModel]:
    randomize(model).save_pretrained(folder)
    return folder, model


def pieces_model(**ids: int) -> tuple[bytes, list[str]]:
    """A SentencePiece model with the normalisation that is usual elsewhere, and its tokens."""
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=content, vocab_size=71, minloglevel=2, **ids
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
    return content.getvalue(), [processor.id_to_piece(i) for i in range(processor.vocab_size())]


def marian(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    folder.mkdir()
    proto, pieces = pieces_model()
    known = [piece for piece in pieces if piece not in ("<unk>", "<s>", "</s>")]
    listed = ["</s>", "<unk>", *reversed(known), ">>fra<<", "<pad>"]
    vocabulary = {piece: id for id, piece in enumerate(listed)}
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(proto)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    described = {"source_lang": "fr", "target_lang": "en", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    ids = dict(pad_token_id=vocabulary["<pad>"], decoder_start_token_id=vocabulary["<pad>"], eos_token_id=0)
    settings = {"activation_function": "swish", "scale_embedding": True, **ENCODER_DECODER, **changes}
    config = hf.MarianConfig(vocab_size=len(vocabulary), **ids, **settings)
    return saved(hf.MarianMTModel(config), folder)


def bart(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    folder.mkdir()
    size = byte_pairs(folder, ["<s>", "<pad>", "</s>", "<unk>"])
    config = hf.BartConfig(vocab_size=size, **{**ENCODER_DECODER, "forced_bos_token_id": 0, **changes})
    return saved(hf.BartForConditionalGeneration(config), folder)


def pegasus(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    folder.mkdir()
    size = byte_pairs(folder, ["<pad>", "</s>"], as_json=True)
    config = hf.PegasusConfig(vocab_size=size, **{**ENCODER_DECODER, **changes})
    return saved(hf.PegasusForConditionalGeneration(config), folder)


def t5(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    folder.mkdir()
    proto, pieces = pieces_model(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(proto)
    # As there, a few rows more than pieces. As many layers on both sides: else its own cache fails.
    sizes = dict(vocab_size=len(pieces) + 6, d_model=D_MODEL, d_kv=D_MODEL // HEADS, d_ff=31, num_layers=2)
    positions = dict(relative_attention_num_buckets=8, relative_attention_max_distance=13)
    config = hf.T5Config(num_heads=HEADS, decoder_start_token_id=0, **positions, **{**sizes, **changes})
    return saved(hf.T5ForConditionalGeneration(config), folder)


def gpt2(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    folder.mkdir()
    size = byte_pairs(folder, ["<|endoftext|>"])
    sizes = dict(n_embd=D_MODEL, n_layer=2, n_head=HEADS, n_inner=31, n_positions=61)
    config = hf.GPT2Config(vocab_size=size, bos_token_id=0, eos_token_id=0, **sizes, **changes)
    return saved(hf.GPT2LMHeadModel(config), folder)


def _decoder(model: type[hf.PreTrainedModel], folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    folder.mkdir()
    size = byte_pairs(folder, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], as_json=True)
    sizes = dict(vocab_size=size, hidden_size=18, intermediate_size=31, num_hidden_layers=2, max_position_embeddings=61)
    heads = dict(num_attention_heads=6, num_key_value_heads=2, head_dim=4)
    ids = dict(bos_token_id=0, eos_token_id=2, pad_token_id=0)
    return saved(model(model.config_class(**{**sizes, **heads, **ids, **changes})), folder)


def llama(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    return _decoder(hf.LlamaForCausalLM, folder, **changes)


def mistral(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    return _decoder(hf.MistralForCausalLM, folder, **{"sliding_window": 4, **changes})


def qwen2(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    return _decoder(hf.Qwen2ForCausalLM, folder, **{"num_attention_heads": 3, "num_key_value_heads": 1, **changes})


def qwen3(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    return _decoder(hf.Qwen3ForCausalLM, folder, **{"tie_word_embeddings": True, **changes})


def bert(folder: Path, **changes: Any) -> tuple[Path, hf.PreTrainedModel]:
    folder.mkdir()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = tokenizers.BertWordPieceTokenizer()
    trained.train_from_iterator(TEXT, vocab_size=131, special_tokens=special, show_progress=False, min_frequency=1)
    ids = trained.get_vocab()
    (folder / "vocab.txt").write_text("\n".join(sorted(ids, key=ids.__getitem__)) + "\n")
    layers = dict(num_hidden_layers=2, num_attention_heads=HEADS, max_position_embeddings=61)
    sizes = dict(vocab_size=len(ids), hidden_size=D_MODEL, intermediate_size=31)
    config = hf.BertConfig(**layers, **sizes, **changes)
    return saved(hf.BertForMaskedLM(config), folder)


def byte_pairs(folder: Path, special: list[str], as_json: bool = False) -> int:
    """GPT-2's two files, or the one that holds both."""
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXT, vocab_size=307, special_tokens=special, show_progress=False, min_frequency=1)
    if as_json:
        trained.save(str(folder / "tokenizer.json"))
    else:
        trained.save_model(str(folder))
    return int(trained.get_vocab_size())


MAKERS: dict[str, Callable[..., tuple[Path, hf.PreTrainedModel]]] = {
    make.__name__: make for make in (marian, bart, pegasus, t5, gpt2, bert, llama, mistral, qwen2, qwen3)
}
