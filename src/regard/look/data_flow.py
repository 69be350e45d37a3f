"""The way of a value through a Transformer: its sub-layers, and which value reads which."""

from collections.abc import Sequence

from regard.config import ModelConfig

Reader = tuple[str, str]  # "same" (the number again), "norm" or "linear", and the name of the value


def sub_layers(config: ModelConfig, stack: str) -> list[str]:
    """The paths of the sub-layers of a stack, in their order."""
    cross = ["cross_attention"] * (stack == "decoder" and config.has_encoder)
    kinds = ["self_attention", *cross, "feed_forward"]
    num_layers = config.num_layers[-1 if stack == "decoder" else 0]
    return [f"{stack}.layers.{i}.{kind}" for i in range(num_layers) for kind in kinds]


class DataFlow:
    """The readers of each value of the trace: sub-layers, and the residual stream between them."""

    def __init__(self, config: ModelConfig) -> None:
        self.config, self.is_pre = config, config.norm_placement == "pre"

    def readers(self, name: str) -> list[Reader]:
        """What reads a value; nothing, where the norm of an embedding does."""
        path, _, last = name.rpartition(".")
        parts = sub_layers(self.config, path.split(".")[0])
        if name == "memory":
            crosses = [part for part in sub_layers(self.config, "decoder") if part.endswith("cross_attention")]
            return [("linear", f"{part}.{kind}") for part in crosses for kind in ("key", "value")]
        if last == "position_bias":
            return [("same", f"{part}.masked") for part in parts if part.endswith("self_attention")]
        if last in ("embedding", "position"):
            return [] if self.config.embedding_norm else [("same", f"{path}.input")]
        if last == "input":
            return self._of_stream(sub_layers(self.config, "encoder" if path == "source" else "decoder"), 0)
        if last == "final_norm":
            return self._of_stack(path)
        if last in ("concatenated", "activated"):
            return [("linear", f"{path}.output")]
        if last == "output":
            return [("same", f"{path}.residual")]
        if path not in parts:
            return []
        after = self._of_stream(parts, parts.index(path) + 1)
        if last == "residual":
            return after if self.is_pre else [("norm", f"{path}.norm")]
        return self._of_input(path) if self.is_pre else after

    def _of_stream(self, parts: Sequence[str], place: int) -> list[Reader]:
        """What reads the residual stream where it enters a sub-layer, or leaves the last."""
        if place < len(parts):
            reads = [("norm", f"{parts[place]}.norm")] if self.is_pre else self._of_input(parts[place])
            return [*reads, ("same", f"{parts[place]}.residual")]
        stack = parts[0].split(".")[0]
        return [("norm", f"{stack}.final_norm")] if self.is_pre else self._of_stack(stack)

    def _of_stack(self, stack: str) -> list[Reader]:
        """What reads the output of a stack."""
        is_last = stack == "decoder" or not self.config.has_decoder
        return [("linear", "logits")] if is_last else [("same", "memory")]

    def _of_input(self, part: str) -> list[Reader]:
        """The linear maps that read what enters a sub-layer."""
        kinds = ["hidden", *["gate"] * self.config.is_gated]
        if not part.endswith("feed_forward"):
            kinds = ["query"] if part.endswith("cross_attention") else ["query", "key", "value"]
        return [("linear", f"{part}.{kind}") for kind in kinds]

    def input_of(self, map: str) -> str:
        """What a linear map of a sub-layer reads."""
        path, _, last = map.rpartition(".")
        if last == "output":
            return f"{path}.activated" if path.endswith("feed_forward") else f"{path}.concatenated"
        if last in ("key", "value") and path.endswith("cross_attention"):
            return "memory"
        return f"{path}.norm" if self.is_pre else self.into(path)

    def into(self, part: str) -> str:
        """The residual stream where it enters a sub-layer, or leaves a stack; without a name, the last."""
        stack = part.split(".")[0] or ("decoder" if self.config.has_decoder else "encoder")
        parts = sub_layers(self.config, stack)
        place, last = parts.index(part) if part in parts else len(parts), "residual" if self.is_pre else "norm"
        return f"{parts[place - 1]}.{last}" if place else ("source.input" if stack == "encoder" else "target.input")
