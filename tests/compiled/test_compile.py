"""The model under torch.compile: one graph, no break, and the same numbers as without.

Run on its own (`pytest tests/compiled`), without the shape hook, which no compiler can look through.
Most cases capture graphs only; a small one goes through the code generator as training does.
"""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from regard.model.layout import Layout
from regard.model.transformer import EncoderDecoder
from regard.train.loss import Tensors, batch_loss

CLOSE = dict(atol=1e-4, rtol=1e-4)


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.set_stance("default")


def assert_same_training_step(model: EncoderDecoder, expected: Tensor, actual: Tensor) -> None:
    """The logits or the loss, and the gradient of every weight."""
    torch.testing.assert_close(actual, expected, **CLOSE)
    toward = torch.randn_like(expected)
    weights = list(model.parameters())
    theirs = torch.autograd.grad((expected * toward).sum(), weights)
    ours = torch.autograd.grad((actual * toward).sum(), weights)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


@pytest.mark.parametrize(
    "changes", [{}, {"norm": "rms", "norm_placement": "pre", "position": "rotary"}], ids=["paper", "today"]
)
def test_a_padded_training_step_is_one_graph(changes, random_model, sentences):
    model = random_model(num_decoder_layers=1, **changes)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    source, target = sentences.source_layout(), sentences.target_layout()
    batch = (sentences.source, source, sentences.target, target)
    assert_same_training_step(model, model(*batch), compiled(*batch))


def packed(lengths: list[int]) -> tuple[Tensor, Tensor]:
    return torch.randint(4, 23, (1, sum(lengths))), torch.tensor(lengths, dtype=torch.int32)


def test_a_packed_training_step_is_one_graph_for_every_batch(random_model):
    """Layouts are made inside the graph, so that other lengths in the same buffer are no new graph."""
    model = random_model(num_decoder_layers=1)

    def forward(source, source_lengths, target, target_lengths):
        return model(
            source,
            Layout.packed(source_lengths, source.shape[1], 7),
            target,
            Layout.packed(target_lengths, target.shape[1], 11),
        )

    compiled = torch.compile(forward, fullgraph=True, backend="aot_eager", dynamic=False)
    for source_lengths, target_lengths in (([7, 3, 1, 5, 0], [4, 11, 1, 8, 0]), ([2, 6, 3, 3, 2], [9, 3, 5, 2, 5])):
        batch = (*packed(source_lengths), *packed(target_lengths))
        assert_same_training_step(model, forward(*batch), compiled(*batch))
        torch.compiler.set_stance("fail_on_recompile")


def test_a_step_is_one_graph(random_model, sentences):
    """The first step has no past and the others do: two graphs, of which the second grows."""
    model = random_model(num_decoder_layers=1)
    compiled = torch.compile(model.step, fullgraph=True, backend="eager", dynamic=True)
    with torch.no_grad():
        eager_state = state = model.start(sentences.source, sentences.source_lengths)
        for i in range(3):
            expected, eager_state = model.step(sentences.target[:, i], eager_state)
            logits, state = compiled(sentences.target[:, i], state)
            torch.testing.assert_close(logits, expected, **CLOSE)
    assert state.position == 3


def test_blanks_are_scored_in_one_graph_however_many_there_are(random_model):
    model = random_model(architecture="encoder-only")
    compiled = torch.compile(batch_loss, fullgraph=True, dynamic=False)
    for lengths, num_answers in (([7, 3, 1, 6, 0], 5), ([2, 6, 3, 4, 2], 2)):
        text, lengths = packed(lengths)
        answers = torch.zeros_like(text)
        answers[0, torch.randperm(text.shape[1])[:num_answers]] = 11
        batch = Tensors(text[:, :0], torch.zeros_like(lengths), text, answers, lengths)
        options = dict(packed=True, longest=7, label_smoothing=0.1, asked_share=0.3)
        expected = batch_loss(model, batch, **options)
        assert_same_training_step(model, expected.loss, compiled(model, batch, **options).loss)
        torch.compiler.set_stance("fail_on_recompile")


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # the compiler looks at it, and hides the warning itself
def test_a_step_of_additive_attention_is_compiled_once_for_all_lengths(random_model, sentences):
    """The logits and gradients of the plain loop, and no other compilation for longer sentences."""
    kind = dict(architecture="gru", attention="additive", position="none")
    model = random_model(**kind, num_encoder_layers=1, num_decoder_layers=1, d_state=24).train()
    source, target = sentences.source_layout(), sentences.target_layout()
    batch = (sentences.source, source, sentences.target, target)
    expected = model(*batch)
    model.decoder.compile_step()
    assert_same_training_step(model, expected, model(*batch))
    torch.compiler.set_stance("fail_on_recompile")
    wider = [part if isinstance(part, Layout) else torch.cat([part, part], dim=1) for part in batch]
    wider[1], wider[3] = (Layout.padded(2 * layout.lengths, 2 * layout.length) for layout in (source, target))
    model(*wider).sum().backward()
