"""Training for search: the loss is the formula, however the pairs are laid out, and a run learns from it."""

import dataclasses
from pathlib import Path

import pytest
import torch
from fixtures import make_model_folder
from torch import Tensor
from torch.nn import functional as F
from train_fixtures import QUICK, VOCABULARY, counting_corpus, make_batch, run

from regard.config import sized
from regard.folder.checkpoint import read_tensors
from regard.folder.manifest import read_manifest
from regard.model.layout import Layout
from regard.model.transformer import EncoderOnly, build
from regard.text.tokenizer import Tokenizer
from regard.train.batches import DeviceBatch, without_answers
from regard.train.loss import Sums, contrastive_loss
from regard.train.validation import retrieval_score, text_vectors
from regard.translate.evaluate import Retrieval

TEMPERATURE = 0.07
CONTRASTIVE = dataclasses.replace(QUICK, objective="contrastive", snapshots=2, steps=40, validate_every=20)


def encoder(vocabulary: int = VOCABULARY) -> EncoderOnly:
    torch.manual_seed(5)
    sizes = dict(source_vocab_size=vocabulary, target_vocab_size=vocabulary)
    model = build(sized("tiny", architecture="encoder-only", **sizes))
    assert isinstance(model, EncoderOnly)
    return model


def loss_of(model: EncoderOnly, fed: DeviceBatch) -> Sums:
    return contrastive_loss(model, fed.tensors, packed=fed.packed, longest=31, temperature=TEMPERATURE)


def one_by_one(model: EncoderOnly, fed: DeviceBatch) -> tuple[Tensor, Tensor]:
    """The vectors of a padded batch, a text at a time: the mean of what the encoder makes of its words."""
    tensors = fed.tensors
    sides = []
    for tokens, lengths in ((tensors.source, tensors.source_lengths), (tensors.target_output, tensors.target_lengths)):
        texts = [row[:length][None] for row, length in zip(tokens, lengths.tolist(), strict=True)]
        layouts = [Layout.padded(torch.tensor([text.shape[1]]), text.shape[1]) for text in texts]
        means = [model.encode(*each)[0].mean(dim=0) for each in zip(texts, layouts, strict=True)]
        sides.append(torch.stack([mean / mean.norm() for mean in means]))
    return sides[0], sides[1]


def written_out(model: EncoderOnly, fed: DeviceBatch) -> Tensor:
    queries, passages = one_by_one(model, fed)
    scores = queries @ passages.T / TEMPERATURE
    right = torch.arange(len(scores))
    return (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2


@pytest.mark.parametrize("packed", [False, True])
def test_the_loss_and_its_gradient_are_those_of_cross_entropy(packed: bool) -> None:
    model = encoder()
    fed = make_batch(packed)
    found = loss_of(model, fed).loss / fed.num_targets
    found.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    expected = written_out(model, make_batch(packed=False))
    expected.backward()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert len(gradients) == len(dict(model.named_parameters()))
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("packed", [False, True])
def test_a_batch_without_answers_changes_nothing(packed: bool) -> None:
    model = encoder()
    sums = loss_of(model, without_answers(make_batch(packed)))
    sums.loss.backward()
    assert sums.loss == 0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_each_finds_its_own(tmp_path: Path) -> None:
    folder = make_model_folder(tmp_path / "model")
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    model = encoder(tokenizer.vocab_size)
    texts = ["Bonjour.", "Le chat dort.", "Jane visits Africa.", "Hello"]
    found = retrieval_score(model, tokenizer, texts, texts, "fp32", name="same")
    assert found == Retrieval(recall_1=100, recall_10=100, mrr=100, num_queries=4, name="same")
    twice = retrieval_score(model, tokenizer, [texts[0]] * 3, [texts[0]] * 3, "fp32")
    assert twice.recall_1 == 100, "the same text several times is one answer"
    behind = retrieval_score(model, tokenizer, [texts[0]] * 4, [texts[0]] * 3 + [texts[1]], "fp32")
    assert behind.mrr == pytest.approx(100 * (3 + 1 / 2) / 4), "and one wrong answer"
    vectors = text_vectors(model, tokenizer, texts, "fp32")
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(len(texts)))


def test_a_run_learns_to_search(tmp_path: Path) -> None:
    result = run(counting_corpus(tmp_path), tmp_path / "run", CONTRASTIVE)
    [score] = result.scores
    assert score.mrr > 50, "by chance it would be about 27"
    manifest = read_manifest(tmp_path / "run")
    assert manifest.task == "search" and manifest.model.architecture == "encoder-only"
    assert (tmp_path / "run" / "encoder.onnx").is_file()
    assert "sentence-similarity" in (tmp_path / "run" / "README.md").read_text()


def test_a_run_starts_from_the_encoder_of_a_translator(tmp_path: Path) -> None:
    translator = make_model_folder(tmp_path / "translator")
    settings = dataclasses.replace(CONTRASTIVE, steps=1, learning_rate=1e-9, ema=0.0)
    run(counting_corpus(tmp_path), tmp_path / "run", settings, init=translator)
    before, after = read_tensors(translator), read_tensors(tmp_path / "run")
    assert set(after) == {name for name in before if name.startswith(("source.", "encoder."))}
    for name in after:
        torch.testing.assert_close(*(torch.from_numpy(each[name]) for each in (before, after)))
