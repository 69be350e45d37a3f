"""Linear and Softmax: the top of Figure 1, and what every model shares at its two ends.

    logits = hidden E^T,   probabilities = softmax(logits)

Vaswani et al. 2017, section 3.4: the output's linear map may share the embedding's table E.

Differs from the paper: nowhere in the default. `output_bias` adds a number to each score (Marian, BERT);
`output_transform` adds a layer before the table (BERT).
"""

from __future__ import annotations

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.config.fields import registered
from regard.model.embedding import InputEmbedding
from regard.model.feedforward import ACTIVATIONS
from regard.model.layout import Layout
from regard.model.norm import make_norm
from regard.trace import Trace, at, keep

Stack = Callable[[ModelConfig, float], nn.Module]
"""An encoder or a decoder, made from a configuration and a dropout."""


class OutputTransform(nn.Module):
    """LayerNorm(activation(hidden W + b)) before the output's table: Devlin et al. 2019, in their code."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.hidden = nn.Linear(config.d_model, config.d_model)
        self.activation = registered(ACTIVATIONS, "feed_forward", config.feed_forward)
        self.norm = make_norm(config)

    def forward(
        self, x: Float[Tensor, "*batch d_model"], *, trace: Trace | None = None
    ) -> Float[Tensor, "*batch d_model"]:
        hidden = keep(trace, "hidden", self.hidden(x))
        activated = keep(trace, "activated", self.activation(hidden))
        return keep(trace, "norm", self.norm(activated))


class Network(nn.Module):
    """Base of every model: embeddings, encoder, decoder and output, as far as the architecture has them."""

    source: InputEmbedding
    encoder: nn.Module
    target: InputEmbedding
    decoder: nn.Module
    output: nn.Linear

    def __init__(self, config: ModelConfig, dropout: float, encoder: Stack, decoder: Stack) -> None:
        super().__init__()
        self.config = config
        if config.has_encoder:
            self.source = InputEmbedding(config, config.source_vocab_size, dropout)
            self.encoder = encoder(config, dropout)
        if config.has_decoder:
            self.target = InputEmbedding(config, config.target_vocab_size, dropout)
            self.decoder = decoder(config, dropout)
        self.transform = OutputTransform(config) if config.output_transform else None
        self._draw_linear_maps()
        self.output = self._make_output()

    @property
    def sides(self) -> dict[str, InputEmbedding]:
        """The embeddings by name: source, target, or both."""
        names = ["source"] * self.config.has_encoder + ["target"] * self.config.has_decoder
        return {name: getattr(self, name) for name in names}

    def project(
        self, hidden: Float[Tensor, "*batch d_model"], *, trace: Trace | None = None
    ) -> Float[Tensor, "*batch vocab"]:
        """The score of every token of the vocabulary."""
        logits = keep(trace, "logits", self.output(self.transformed(hidden, trace=trace)))
        if trace is not None:
            keep(trace, "probabilities", logits.softmax(dim=-1))
        return logits

    def transformed(
        self, hidden: Float[Tensor, "*batch d_model"], *, trace: Trace | None = None
    ) -> Float[Tensor, "*batch d_model"]:
        """The input of the output's linear map."""
        if self.transform is None:
            return hidden
        changed: Tensor = self.transform(hidden, trace=at(trace, "transform"))
        return changed

    def _draw_linear_maps(self) -> None:
        """Random weights for every linear map but the output's (Glorot and Bengio 2010)."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def _make_output(self) -> nn.Linear:
        """The output's linear map; its table and the embeddings' are shared as the configuration says."""
        config = self.config
        if config.has_encoder and config.has_decoder and config.tied == "all":
            self.target.embedding = self.source.embedding
        last = self.target if config.has_decoder else self.source
        output = nn.Linear(config.d_model, last.embedding.num_embeddings, bias=config.output_bias)
        if config.output_bias:
            nn.init.zeros_(output.bias)
        if config.tied == "none":
            nn.init.normal_(output.weight, std=config.d_model**-0.5)
        else:
            output.weight = last.embedding.weight
        return output


class TeacherForcing(Network):
    """How a model that reads a source and writes a target is trained."""

    encode: Callable[..., Tensor]
    decode: Callable[..., Tensor]

    def forward(
        self,
        source: Int[Tensor, "batch source_len"],
        source_layout: Layout,
        target: Int[Tensor, "batch target_len"],
        target_layout: Layout,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch target_len vocab"]:
        """The scores of every next token, given the correct ones before it."""
        memory = self.encode(source, source_layout, trace=trace)
        hidden = self.decode(target, target_layout, memory, source_layout, trace=trace)
        return self.project(hidden, trace=trace)
