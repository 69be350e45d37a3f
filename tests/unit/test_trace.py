"""Recording and editing the intermediate values of a pass."""

import pytest
import torch

from regard.errors import UsageError
from regard.trace import Trace, at, keep


def test_values_are_recorded_under_their_path_and_an_unknown_name_suggests_one() -> None:
    trace = Trace()
    keep(trace.at("encoder").at("layers.0"), "norm", 1)
    keep(trace, "memory", 2)
    keep(at(trace, "decoder"), "norm", 3)
    assert list(trace.items()) == [("encoder.layers.0.norm", 1), ("memory", 2), ("decoder.norm", 3)]
    assert "memory" in trace and "norm" not in trace and trace["decoder.norm"] == len(trace)
    with pytest.raises(KeyError) as caught:
        trace["memry"]
    assert isinstance(caught.value, UsageError)
    assert str(caught.value).startswith("a name must be one of the trace: got 'memry'")
    assert "(did you mean 'memory'?)" in str(caught.value)


@pytest.mark.parametrize(
    "edit, message",
    [
        (3, "at 'memory' must be a function: got 3"),
        (lambda value: None, "at 'memory' must return the changed value: got None"),
        (lambda value: value[1:], r"must return a value of shape \[5, 3\]: got \[4, 3\]"),
        (lambda value: 0, r"must return a value of shape \[5, 3\]: got int"),
    ],
)
def test_an_edit_must_give_a_value_of_the_same_shape(edit, message):
    with pytest.raises(UsageError, match=message):
        keep(Trace(edits={"memory": edit}), "memory", torch.ones(5, 3))


WRITES = dict(architecture="decoder-only", norm_placement="pre", position="rotary")
READS = dict(architecture="encoder-only", embedding_norm=True, feed_forward="gated-silu")


@pytest.mark.parametrize("changes", [dict(num_decoder_layers=1), WRITES, READS], ids=str)
def test_every_value_can_be_edited(changes, random_model, sentences):
    """No name is a mere copy: a change to any of them reaches the probabilities."""
    model = random_model(**changes)
    plain = Trace()
    sentences.padded(model, plain)
    real = sentences.is_real(model)
    unmoved = []
    for name in plain:
        edited = Trace(edits={name: _disturb})
        sentences.padded(model, edited)
        if torch.equal(edited["probabilities"][real], plain["probabilities"][real]):
            unmoved.append(name)
    assert unmoved == []


def _disturb(value: torch.Tensor) -> torch.Tensor:
    """Different numbers at every place: a softmax takes back a shift, a norm a common factor."""
    if not value.is_floating_point():
        return (value + 1) % 23
    ramp = torch.linspace(0.5, 1.5, value.numel()).reshape(value.shape)
    return value * ramp + ramp.flip(-1)
