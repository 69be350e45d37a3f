"""The same weights in regard, Hugging Face transformers and CTranslate2, and one way to call all three.

A model of ours becomes a Marian (post-norm) or an M2M100 (pre-norm) of theirs: the same boxes in the same order.
Their tables of positions are overwritten with the paper's, sine and cosine in turns, so that no weight has to be
permuted.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn
from transformers import GenerationConfig, M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel

from regard.config import DecodeConfig, ModelConfig
from regard.decode import StepModel
from regard.engine import EngineKind, Precision, open_engine
from regard.model.position import sinusoidal
from regard.model.transformer import EncoderDecoder
from regard.translate.search import SearchInput, search_in_batches

MAX_POSITIONS = 512
Tokens = list[int]


class System(Protocol):
    """What is timed: the best outputs, without the end, of sources that carry theirs."""

    def decode(
        self, sources: Sequence[Sequence[int]], beam: int, predictions: int | None, once: bool = False
    ) -> list[Tokens]:
        """`predictions`: exactly so many, the end not allowed before; or None, as the model likes.

        once: no token may come twice.
        """


class Regard:
    """As `regard translate` has it: `open_engine`, and the search over it, in which several threads take sentences of their own."""

    def __init__(self, folder: Path, kind: EngineKind, device: str, threads: int | None, precision: Precision) -> None:
        self.engine: StepModel = open_engine(folder, kind, device=device, threads=threads, precision=precision)

    def decode(
        self, sources: Sequence[Sequence[int]], beam: int, predictions: int | None, once: bool = False
    ) -> list[Tokens]:
        # The last prediction says whether the output ends or is cut, so it writes no token.
        length = {} if predictions is None else dict.fromkeys(["min_length", "max_length"], predictions - 1)
        config = DecodeConfig(method="greedy" if beam == 1 else "beam", beam=beam, no_repeat_ngram=int(once), **length)
        found = search_in_batches(self.engine, [SearchInput(list(source), config) for source in sources])
        return [hypotheses[0].tokens for hypotheses in found]


class HuggingFace:
    """`generate` of the transformers library."""

    def __init__(self, model: Any, ids: ModelConfig) -> None:
        self.model, self.ids = model, ids

    @torch.inference_mode()
    def decode(
        self, sources: Sequence[Sequence[int]], beam: int, predictions: int | None, once: bool = False
    ) -> list[Tokens]:
        ids, longest = self.ids, max(map(len, sources))
        rows = [[*source, *[ids.pad_id] * (longest - len(source))] for source in sources]
        tokens = torch.tensor(rows, device=self.model.device)
        if predictions is None:
            length = dict(max_new_tokens=2 * longest + 50, length_penalty=0.6)
        else:
            length = dict(min_new_tokens=predictions, max_new_tokens=predictions)
        written = self.model.generate(
            input_ids=tokens,
            attention_mask=(tokens != ids.pad_id).long(),
            generation_config=GenerationConfig(
                do_sample=False,
                num_beams=beam,
                no_repeat_ngram_size=int(once),
                pad_token_id=ids.pad_id,
                eos_token_id=ids.eos_id,
                decoder_start_token_id=ids.bos_id,
                suppress_tokens=[ids.bos_id, ids.pad_id],
                **length,
            ),
        )
        return [_until_end(row[1:].tolist(), ids) for row in written]


class CTranslate2:
    """Its `Translator` in one process, over tokens that are the ids spelt out.

    Greedy search as it comes compares logits; only with scores are they made log-probabilities.
    """

    def __init__(
        self,
        model: Any,
        ids: ModelConfig,
        folder: Path,
        kind: str,
        threads: int,
        *,
        scores: bool = False,
        apart: bool = False,
    ) -> None:
        """apart: each thread decodes sentences of its own, instead of all a share of every product."""
        import ctranslate2
        from ctranslate2.converters.transformers import BartLoader, M2M100Loader

        self.ids, self.scores = ids, scores
        inter, intra = (threads, 1) if apart else (1, threads)
        self.parts = inter
        loader = M2M100Loader() if ids.norm_placement == "pre" else BartLoader()
        model.config.normalize_before = ids.norm_placement == "pre"
        model.config.normalize_embedding = False
        # Quantizing writes into the weights it is given.
        spec = loader.get_model_spec(copy.deepcopy(model))
        words = [str(number) for number in range(ids.source_vocab_size)]
        loader.set_vocabulary(spec, words)
        spec.config.bos_token = spec.config.decoder_start_token = str(ids.bos_id)
        spec.config.eos_token, spec.config.unk_token = str(ids.eos_id), "1"
        spec.config.add_source_bos = spec.config.add_source_eos = False
        spec.validate()
        spec.optimize(quantization=kind)
        folder.mkdir()
        spec.save(str(folder))
        self.translator = ctranslate2.Translator(
            str(folder), compute_type=kind, inter_threads=inter, intra_threads=intra
        )

    def decode(
        self, sources: Sequence[Sequence[int]], beam: int, predictions: int | None, once: bool = False
    ) -> list[Tokens]:
        if predictions is None:
            length = dict(max_decoding_length=2 * max(map(len, sources)) + 50, length_penalty=0.6)
        else:
            length = dict(min_decoding_length=predictions, max_decoding_length=predictions)
        found = self.translator.translate_batch(
            [[str(token) for token in source] for source in sources],
            beam_size=beam,
            max_batch_size=-(-len(sources) // self.parts),
            no_repeat_ngram_size=int(once),
            return_scores=self.scores,
            suppress_sequences=[[str(self.ids.bos_id)], [str(self.ids.pad_id)]],
            **length,
        )
        return [_until_end([int(each) for each in one.hypotheses[0]], self.ids) for one in found]


def _until_end(tokens: Tokens, ids: ModelConfig) -> Tokens:
    return tokens[: tokens.index(ids.eos_id)] if ids.eos_id in tokens else tokens


def for_hugging_face(model: EncoderDecoder) -> Any:
    """The same model, as theirs."""
    config = model.config
    assert config.position == "sinusoidal" and config.norm == "layer" and config.tied == "all"
    kind, kind_config = (
        (M2M100ForConditionalGeneration, M2M100Config)
        if config.norm_placement == "pre"
        else (MarianMTModel, MarianConfig)
    )
    theirs = kind(
        kind_config(
            vocab_size=config.source_vocab_size,
            d_model=config.d_model,
            encoder_layers=config.num_encoder_layers,
            decoder_layers=config.num_decoder_layers,
            encoder_attention_heads=config.num_heads,
            decoder_attention_heads=config.num_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function=config.feed_forward,
            max_position_embeddings=MAX_POSITIONS,
            scale_embedding=True,
            pad_token_id=config.pad_id,
            bos_token_id=config.bos_id,
            eos_token_id=config.eos_id,
            decoder_start_token_id=config.bos_id,
            forced_eos_token_id=None,
            dropout=0.0,
        )
    ).eval()
    with torch.no_grad():
        theirs.model.shared.weight.copy_(model.output.weight)
        for name in ("encoder", "decoder"):
            ours, stack = getattr(model, name), getattr(theirs.model, name)
            _copy_positions(stack.embed_positions, config)
            for layer, their_layer in zip(ours.layers, stack.layers, strict=True):
                _copy_layer(layer, their_layer)
            if config.norm_placement == "pre":
                stack.layer_norm.load_state_dict(ours.final_norm.state_dict())
    return theirs


def _copy_positions(table: Any, config: ModelConfig) -> None:
    positions = torch.arange(MAX_POSITIONS)[None]
    encoding = sinusoidal(positions, config.d_model)[0]
    if isinstance(table, nn.Embedding):
        table.weight.copy_(encoding)
    else:  # counted from the row after the padding's
        table.weights[config.pad_id + 1 : config.pad_id + 1 + MAX_POSITIONS] = encoding
        table.offset = config.pad_id + 1


def _copy_layer(ours: Any, theirs: Any) -> None:
    pairs = [(ours.self_attention, theirs.self_attn, theirs.self_attn_layer_norm)]
    if hasattr(theirs, "encoder_attn"):
        pairs.append((ours.cross_attention, theirs.encoder_attn, theirs.encoder_attn_layer_norm))
    for attention, their_attention, their_norm in pairs:
        for part, their_part in zip(
            ("query", "key", "value", "output"), ("q_proj", "k_proj", "v_proj", "out_proj"), strict=True
        ):
            getattr(their_attention, their_part).load_state_dict(getattr(attention, part).state_dict())
        their_norm.load_state_dict(attention.norm.state_dict())
    theirs.fc1.load_state_dict(ours.feed_forward.hidden.state_dict())
    theirs.fc2.load_state_dict(ours.feed_forward.output.state_dict())
    theirs.final_layer_norm.load_state_dict(ours.feed_forward.norm.state_dict())
