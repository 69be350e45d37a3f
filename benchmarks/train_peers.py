"""The peers of a training benchmark, doing the same work: Hugging Face Marian and torch.nn.Transformer.

Dropout stands where the paper has it (embedding sums and sub-layers' outputs) in all of them; what a peer
drops elsewhere is switched off, so that all do the same work.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel

from regard.config import ModelConfig
from regard.model.layout import Layout
from regard.model.position import sinusoidal
from regard.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from regard.train.batches import DeviceBatch
from regard.train.loss import Tensors

DROPOUT, LABEL_SMOOTHING, CLIP, RATE = 0.1, 0.1, 1.0, 1e-4
MAX_POSITIONS = 2048

Logits = Callable[[Tensors], Tensor]


class Peer:
    """A model trained the way its users do: autocast, fused Adam, clipping."""

    def __init__(self, model: nn.Module, logits: Logits, *, compiled: bool = False) -> None:
        self.model, self.device = model.train(), next(model.parameters()).device
        self.optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.0, fused=True)
        self._logits = torch.compile(logits, dynamic=True) if compiled else logits

    def __call__(self, fed: DeviceBatch) -> Tensor:
        """One step of training; the mean loss of a target token."""
        tensors = Tensors(*(t.to(self.device, non_blocking=True) for t in fed.tensors))
        with torch.autocast(self.device.type, torch.bfloat16, self.device.type == "cuda"):
            loss = F.cross_entropy(
                self._logits(tensors).flatten(0, 1),
                tensors.target_output.flatten(),
                ignore_index=PAD_ID,
                label_smoothing=LABEL_SMOOTHING,
                reduction="sum",
            )
        (loss / fed.num_targets).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach() / fed.num_targets


def hugging_face(config: ModelConfig, device: torch.device, *, compiled: bool = False) -> Peer:
    marian = MarianConfig(
        vocab_size=config.target_vocab_size,
        d_model=config.d_model,
        encoder_layers=config.num_encoder_layers,
        decoder_layers=config.num_decoder_layers,
        encoder_attention_heads=config.num_heads,
        decoder_attention_heads=config.num_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        activation_function="relu",
        dropout=DROPOUT,
        attention_dropout=0.0,
        activation_dropout=0.0,
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
        scale_embedding=True,
        tie_word_embeddings=True,
        max_position_embeddings=MAX_POSITIONS,
        pad_token_id=PAD_ID,
        eos_token_id=EOS_ID,
        decoder_start_token_id=BOS_ID,
        attn_implementation="sdpa",
    )
    model = MarianMTModel(marian).to(device)

    def logits(batch: Tensors) -> Tensor:
        found: Tensor = model(
            input_ids=batch.source,
            attention_mask=(batch.source != PAD_ID).long(),
            decoder_input_ids=batch.target_input,
            use_cache=False,
        ).logits
        return found

    return Peer(model, logits, compiled=compiled)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer between one shared table of embeddings."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.target_vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        positions = torch.arange(MAX_POSITIONS)[None]
        self.register_buffer("position", sinusoidal(positions, config.d_model)[0])
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_encoder_layers,
            config.num_decoder_layers,
            config.d_ff,
            DROPOUT,
            batch_first=True,
        )
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0  # inside the feed-forward

    def _embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * self.embedding.embedding_dim**0.5
        embedded: Tensor = self.dropout(scaled + self.position[: tokens.shape[1]])
        return embedded

    def forward(self, batch: Tensors) -> Tensor:
        source_layout = Layout.padded(batch.source_lengths, batch.source.shape[1])
        hidden_source = source_layout.positions() >= batch.source_lengths[:, None]
        length = batch.target_input.shape[1]
        future = torch.ones(length, length, dtype=torch.bool, device=batch.source.device).triu(1)
        hidden = self.transformer(
            self._embed(batch.source),
            self._embed(batch.target_input),
            tgt_mask=future,
            src_key_padding_mask=hidden_source,
            memory_key_padding_mask=hidden_source,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)


def torch_transformer(config: ModelConfig, device: torch.device) -> Peer:
    model = TorchTransformer(config).to(device)
    return Peer(model, model)
