"""Small copies of a run's weights, from the random start to the end, and what the model wrote for a few sentences at each.

    snapshots/step-00000128.safetensors   int8 weights, Adam's moments where they are small, and as JSON the sentences

The steps lie evenly on a logarithmic scale, because most is learnt early. Weights are those that a validation would
measure: the running average, where there is one. A snapshot depends on its step alone, so a resumed run has the same.

Writing the sentences would take longer than all the rest of a snapshot. So the training does not wait for it: they are
written by the weights of the file, when the run ends or somebody looks.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import safetensors
import safetensors.numpy
from torch.optim import AdamW

from regard.config import DecodeConfig
from regard.data.running_text import RunningText
from regard.engine.torch import TorchEngine, model_of, to_tensors
from regard.errors import TrainingError
from regard.files import writing
from regard.folder.tensors import Tensors, dequantize, quantize
from regard.model.transformer import EncoderOnly, Model, Translating
from regard.train.corpora import Text, Tokenizers
from regard.train.plan import Plan
from regard.train.validation import translate_all
from regard.translate.trace import search_recorded

SNAPSHOTS = "snapshots"
MAX_WITH_MOMENTS = 1_000_000
"""Maximum weights of a model whose snapshots hold Adam's moments too."""
NUM_PROBES = 4
LONGEST_PROBE = 60
"""Maximum characters of a probe sentence; longer validation sentences are taken only where no shorter ones are."""
NUM_GIVEN = 3  # Words of a line that a language model goes on from.
MAX_WRITTEN = 8  # Maximum tokens written for a probe, beyond those of its reference: an untrained model never ends.
_FIRST, _SECOND = "first.", "second."


@dataclass(frozen=True)
class Snapshot:
    """The weights of a step, Adam's two moments (empty where they were not kept), and what the model wrote."""

    step: int
    tensors: Tensors
    moments: tuple[Tensors, Tensors]
    probes: list[dict[str, str]]


def steps_of(count: int, steps: int | None) -> list[int]:
    """The steps of the snapshots; a run of unknown length takes powers of two.

    >>> steps_of(8, 500)
    [0, 1, 3, 8, 22, 63, 177, 500]
    """
    if count == 0:
        return []
    if steps is None:
        return [0, *(2**power for power in range(40))]
    growth = steps ** (1 / max(1, count - 2))
    return sorted({0, *(round(growth**power) for power in range(count - 1))})


class SnapshotWriter:
    """Takes the snapshots of a run."""

    def __init__(self, run: Path, plan: Plan, valid: Text) -> None:
        self._folder = run / SNAPSHOTS
        self._steps = set(steps_of(plan.train.snapshots or 0, plan.train.steps))
        self.is_on = bool(self._steps)
        self.probes = choose_probes(valid) if self.is_on else []

    def is_due(self, step: int) -> bool:
        return step in self._steps

    def forget_after(self, step: int) -> None:
        """Remove the snapshots of steps that will be repeated."""
        for each in list_snapshots(self._folder.parent):
            if each > step:
                _path(self._folder, each).unlink()

    def take(self, step: int, model: Model, optimizer: AdamW) -> None:
        """Write the snapshot of a step; `model` has the weights to keep, the optimizer their moments."""
        tensors = to_tensors(model.state_dict(), model.config)
        if sum(each.size for each in tensors.values()) <= MAX_WITH_MOMENTS:
            tensors |= _moments(model, optimizer)
        self._folder.mkdir(exist_ok=True)
        _save(_path(self._folder, step), quantize(tensors), step, self.probes)


def choose_probes(valid: Text) -> list[dict[str, str]]:
    """The first short sentences of the validation text; of running text, the beginnings of lines."""
    if isinstance(valid, RunningText):
        lines = [line for line in valid.lines() if line.strip()]
        lines = [line for line in lines if len(line.split()) > NUM_GIVEN] or lines
        pairs = [(" ".join(line.split()[:NUM_GIVEN]), line) for line in lines[:1000]]
    else:
        pairs = list(zip(valid.sources[:1000], valid.targets[:1000], strict=True))
    chosen = sorted(pairs, key=lambda pair: len(pair[1]) > LONGEST_PROBE)[:NUM_PROBES]
    return [{"source": source, "reference": reference} for source, reference in chosen]


def list_snapshots(run: Path) -> list[int]:
    """The steps that a run has snapshots of."""
    return sorted(int(path.stem.removeprefix("step-")) for path in (run / SNAPSHOTS).glob("step-*.safetensors"))


def read_snapshot(run: Path, step: int) -> Snapshot:
    path = _path(run / SNAPSHOTS, step)
    try:
        with safetensors.safe_open(path, framework="np") as file:
            described = json.loads(file.metadata()["regard"])
            tensors = dequantize({name: file.get_tensor(name) for name in file.keys()})
    except (OSError, safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{path} must be a snapshot of a run: {error}; choose another step") from error
    first, second = (
        {name.removeprefix(prefix): tensors.pop(name) for name in [*tensors] if name.startswith(prefix)}
        for prefix in (_FIRST, _SECOND)
    )
    return Snapshot(described["step"], tensors, (first, second), described["probes"])


def probes_of(
    run: Path, step: int, plan: Plan, tokenizers: Tokenizers, model: Model | None = None
) -> list[dict[str, str]]:
    """The sentences of a step with what its model wrote, or writes now; an encoder alone writes nothing."""
    found = read_snapshot(run, step)
    if all("written" in each for each in found.probes):
        return found.probes
    model, probes = model or model_of(found.tensors, plan.model), found.probes
    own, sources = tokenizers[1], [each["source"] for each in probes]
    most = max((len(own.encode(each["reference"])) for each in probes), default=0) + MAX_WRITTEN
    greedy = DecodeConfig(method="greedy", max_length=most)
    if isinstance(model, EncoderOnly):
        written = [""] * len(probes)
    elif model.config.has_encoder:
        written = translate_all(cast(Translating, model), sources, tokenizers, greedy, "auto")
    else:
        records = [search_recorded(TorchEngine(model), [], greedy, own.encode(source)) for source in sources]
        written = [own.decode(each.hypotheses[0].tokens) for each in records]
    return [{**probe, "written": text} for probe, text in zip(probes, written, strict=True)]


def write_probes(run: Path, plan: Plan, tokenizers: Tokenizers) -> None:
    """Add to every snapshot what its model writes."""
    for step in list_snapshots(run):
        path, probes = _path(run / SNAPSHOTS, step), probes_of(run, step, plan, tokenizers)
        with safetensors.safe_open(path, framework="np") as file:
            _save(path, {name: file.get_tensor(name) for name in file.keys()}, step, probes)


def weights_of(run: Path, step: int) -> bytes:
    """The int8 weights of a step as a file of their own, without Adam's moments."""
    with safetensors.safe_open(_path(run / SNAPSHOTS, step), framework="np") as file:
        names = [name for name in file.keys() if not name.startswith((_FIRST, _SECOND))]
        return safetensors.numpy.save({name: file.get_tensor(name) for name in names})


def _save(path: Path, tensors: Tensors, step: int, probes: list[dict[str, str]]) -> None:
    described = {"step": step, "probes": probes}
    content = safetensors.numpy.save(tensors, {"regard": json.dumps(described, ensure_ascii=False)})
    # The training does not wait for the disk either: a snapshot that a power cut loses is one of many.
    with writing(path, synced=False) as file:
        file.write(content)


def _moments(model: Model, optimizer: AdamW) -> Tensors:
    """Adam's first moments, and the roots of the second, which are as wide in range as the first."""
    kept: Tensors = {}
    for name, parameter in model.named_parameters():
        state: Mapping[str, Any] = optimizer.state.get(parameter, {})
        if "exp_avg_sq" in state:  # Muon's matrices have a momentum alone
            kept[_FIRST + name] = state["exp_avg"].detach().cpu().numpy()
            kept[_SECOND + name] = np.sqrt(state["exp_avg_sq"].detach().cpu().numpy())
    return kept


def _path(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}.safetensors"
