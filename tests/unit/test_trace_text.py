"""A traced text: what the search saw, what a given translation gives, and what an edit changes."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.api import Model, load
from regard.decode.single_path import NUM_SHOWN
from regard.errors import UsageError
from regard.trace import Trace


@pytest.mark.parametrize("target", [None, "The cat"], ids=["of the search", "of a translation"])
@pytest.mark.parametrize("name", ["encoder.layer.0.norm", "steps.0.scores"])
def test_an_edit_that_changes_nothing_is_refused(model: Model, target: str | None, name: str) -> None:
    with pytest.raises(UsageError, match=f"got '{name}'.*list\\(trace\\)"):
        model.trace("Le chat", target, edits={name: lambda value: value})
    with pytest.raises(UsageError, match=r"did you mean 'encoder.layers.0.self_attention.query'\?"):
        model.trace("Le chat", target, edits={"encoder.layer.0.self_attention.query": torch.neg})


def test_a_trace_of_the_search(model: Model) -> None:
    trace = model.trace("Le chat dort.", beam=3)
    source, target = trace["source.tokens"], trace["target.tokens"]
    weights = trace["decoder.layers.1.cross_attention.weights"]
    assert weights.shape == (2, len(target), len(source))
    assert weights.sum(axis=-1) == pytest.approx(np.ones(weights.shape[:2]), abs=1e-5)
    assert trace["memory"].shape == (len(source), 26)
    assert trace["probabilities"].shape == (len(target), model.manifest.model.target_vocab_size)
    steps = [name for name in trace if name.startswith("steps.")]
    assert steps[:4] == [f"steps.0.{name}" for name in ("beams", "scores", "top_tokens", "top_probabilities")]
    # What the full pass gives after the first token is what the search saw there.
    best = np.sort(trace["probabilities"][0])[::-1][:NUM_SHOWN]
    assert trace["steps.0.top_probabilities"][0] == pytest.approx(best, abs=1e-5)
    assert (trace.metadata["source_tokens"][-1], trace.metadata["target_tokens"][0]) == ("</s>", "<s>")
    assert trace.metadata["target"] == model.translate("Le chat dort.", beam=3)


def test_every_stage_of_the_text_is_in_the_trace() -> None:
    text = "Bonjour. Voir\u00a0: https://a.org \U0001f600"
    model = load("fr-en", threads=1)
    trace = model.trace(text, sentence=1)
    stages = {name: trace.metadata[f"text.{name}"] for name in trace.metadata["sentences"][0]}
    assert stages["given"] == text and stages["restored"] == model.translate(text)
    assert stages["normalised"] == "Bonjour. Voir : https://a.org \U0001f600"
    assert stages["protected"] == "Bonjour. Voir : X1 \U0001f600" and "X1" in stages["written"]
    assert trace.metadata["sentence"] == 1 and len(trace.metadata["sentences"]) == 2
    read = model.translator.source.decode(trace["source.tokens"].tolist())
    assert read == trace.metadata["sentences"][1]["protected"]
    written = trace["target.tokens"].tolist()[1:]
    assert written in trace[f"steps.{len(written)}.beams"], "the search had these tokens"
    with pytest.raises(UsageError, match="sentence must be one of the text's: got number 3 of 2"):
        model.trace(text, sentence=2)
    plain = model.trace(text, split=False, plain=True).metadata
    assert plain["text.protected"] == text and plain["text.restored"] == plain["text.written"]


def test_a_trace_of_a_given_translation_an_edit_and_one_saved_and_loaded(model: Model, tmp_path: Path) -> None:
    plain = model.trace("Le chat", "The cat")
    assert plain.metadata["target"] == plain.metadata["text.restored"] == "The cat"
    assert not [name for name in plain if name.startswith("steps.")]
    path = "encoder.layers.0.self_attention.weights"
    edited = model.trace("Le chat", "The cat", edits={path: lambda weights: weights * 0})
    assert not edited[path].any()
    assert not np.allclose(edited["logits"], plain["logits"])
    trace = model.trace("Le chat dort.")
    trace.save(tmp_path / "one.safetensors")
    again = Trace.load(tmp_path / "one.safetensors")
    assert list(again) == list(trace)
    assert again.metadata == trace.metadata
    assert all(np.array_equal(again[name], trace[name]) for name in trace)
    again.save(tmp_path / "two.safetensors")
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.safetensors", "two.safetensors"]


def test_an_edit_reaches_the_search(model: Model) -> None:
    source, plain = "Le chat dort.", model.trace("Le chat dort.")
    forbidden = int(plain["target.tokens"][1])

    def without(logits: torch.Tensor) -> torch.Tensor:
        logits = logits.clone()
        logits[..., forbidden] = -torch.inf
        return logits

    edited = model.trace(source, edits={"logits": without})
    assert forbidden not in edited["target.tokens"][1:]
    assert edited.metadata["target"] != plain.metadata["target"]
    # What the search saw is what the edited pass gives.
    seen = edited["steps.0.top_probabilities"][0]
    best = np.sort(edited["probabilities"][0])[::-1][: len(seen)]
    assert seen == pytest.approx(best, abs=1e-5)
    for step, token in enumerate(edited["target.tokens"][1:]):
        assert (np.array(edited[f"steps.{step}.top_tokens"]) == token).any()
    # Changing nothing changes nothing, though every step is a whole pass then.
    same = model.trace(source, edits={"memory": lambda memory: memory})
    assert same["target.tokens"].tolist() == plain["target.tokens"].tolist()
