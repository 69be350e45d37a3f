"""What every model has, whatever stands between: the tables of its words and the output's linear map.

    logits = hidden E^T,   probabilities = softmax(logits)

Vaswani et al. 2017, section 3.4: the output's linear map may share the embedding's table E.

Differs from the paper: nowhere in the default. `output_bias` adds a number to each score (Marian, BERT); for
`output_transform` see `transform`.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.embedding import InputEmbedding
from regard.model.transform import OutputTransform
from regard.trace import Trace, at, keep


class Network(nn.Module):
    """A model by its two ends; those it builds on add what reads and what writes."""

    source: InputEmbedding
    target: InputEmbedding
    output: nn.Linear

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.transform: OutputTransform | None = None

    @property
    def sides(self) -> dict[str, InputEmbedding]:
        """What reads words: of the source, of the target, or of both."""
        names = ["source"] * self.config.has_encoder + ["target"] * self.config.has_decoder
        return {name: getattr(self, name) for name in names}

    def make_output(self) -> nn.Linear:
        """The output's linear map, its table and the others shared as the configuration says."""
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

    def draw_linear_maps(self) -> None:
        """Fresh weights for every linear map that is there so far (Glorot and Bengio 2010)."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def transformed(
        self, hidden: Float[Tensor, "*batch d_model"], *, trace: Trace | None = None
    ) -> Float[Tensor, "*batch d_model"]:
        """What enters the output's linear map."""
        if self.transform is None:
            return hidden
        changed: Tensor = self.transform(hidden, trace=at(trace, "transform"))
        return changed

    def project(
        self, hidden: Float[Tensor, "*batch d_model"], *, trace: Trace | None = None
    ) -> Float[Tensor, "*batch vocab"]:
        """The score of every piece of the vocabulary."""
        logits = keep(trace, "logits", self.output(self.transformed(hidden, trace=trace)))
        if trace is not None:
            keep(trace, "probabilities", logits.softmax(dim=-1))
        return logits
