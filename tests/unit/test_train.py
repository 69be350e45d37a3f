"""A training run as a user starts it: what it writes, how it resumes, what it refuses."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from train_fixtures import QUICK, SHAPE, checkpoint_of, run

from regard.config import DataConfig, TrainConfig, sized
from regard.errors import TrainingError, UsageError
from regard.folder.checkpoint import read_tensors
from regard.folder.manifest import read_manifest
from regard.model.transformer import EncoderDecoder, build
from regard.text.tokenizer import EOS_ID, Tokenizer
from regard.train import corpora
from regard.train.checkpoints import load_latest
from regard.train.corpora import read_corpora, with_languages
from regard.train.loss import Tensors
from regard.train.optimizer import make_optimizer
from regard.train.plan import choose_dropout, choose_size, complete
from regard.train.prefetch import DeviceBatch
from regard.train.recipe import read_recipe
from regard.train.report import Reporter
from regard.train.request import Request
from regard.train.run import TrainResult
from regard.train.run_folder import locked
from regard.train.update import Updater


def test_raw_text_becomes_a_finished_folder(corpus: DataConfig, tmp_path: Path) -> None:
    result = run(corpus, tmp_path / "run")
    assert isinstance(result, TrainResult)
    manifest = read_manifest(result.folder)
    assert (manifest.source_language, manifest.target_language) == ("fr", "en")
    assert manifest.model.d_model == SHAPE["d_model"]
    for name in ("encoder.onnx", "decoder.onnx", "README.md", "metrics.jsonl", "run.json"):
        assert (result.folder / name).stat().st_size > 0, name
    evidence = json.loads((result.folder / "result.json").read_text())
    assert evidence["steps"] == 12 and evidence["scores"][0]["bleu"] == result.scores[0].bleu
    assert 0 < evidence["seconds"]["training"] < evidence["seconds"]["total"]
    assert evidence["hardware"] and set(evidence["versions"]) >= {"regard", "python", "torch"}
    lines = [
        json.loads(line) for line in (result.folder / "metrics.jsonl").read_text().split("\n")[:-1]
    ]
    assert [line["step"] for line in lines if line["kind"] == "valid"] == [6, 12]
    assert result.scores[0].bleu_signature.endswith(f"version:{_sacrebleu_version()}")


def _sacrebleu_version() -> str:
    import sacrebleu

    return str(sacrebleu.__version__)


@pytest.mark.parametrize("packing", [False, True], ids=["padded", "packed"])
def test_200_steps_equal_100_and_100_more_bit_for_bit(
    corpus: DataConfig, tmp_path: Path, packing: bool
) -> None:
    settings = dataclasses.replace(QUICK, steps=200, validate_every=100, packing=packing, ema=0.9)
    run(corpus, tmp_path / "whole", settings)
    assert run(corpus, tmp_path / "halves", settings, stop_at=100) is None
    assert run(corpus, tmp_path / "halves", settings, resume=True) is not None
    whole, halves = checkpoint_of(tmp_path / "whole", 200), checkpoint_of(tmp_path / "halves", 200)
    assert whole.keys() == halves.keys()
    assert any(name.startswith("adam.exp_avg_sq.") for name in whole)
    assert any(name.startswith("average.") for name in whole)
    for name, tensor in whole.items():
        assert torch.equal(tensor, halves[name]), name
    states = [
        json.loads((tmp_path / run_name / "checkpoints/step-00000200/state.json").read_text())
        for run_name in ("whole", "halves")
    ]
    assert states[0]["position"] == states[1]["position"]
    losses = [
        [
            json.loads(line)["loss"]
            for line in (tmp_path / run_name / "metrics.jsonl").read_text().splitlines()
        ]
        for run_name in ("whole", "halves")
    ]
    assert losses[0] == losses[1]


def test_stopping_anywhere_changes_nothing(corpus: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(QUICK, steps=30, validate_every=10)
    run(corpus, tmp_path / "whole", settings)
    for stop in (7, 23):
        run(corpus, tmp_path / "parts", settings, resume=stop > 7, stop_at=stop)
    run(corpus, tmp_path / "parts", settings, resume=True)
    whole, parts = checkpoint_of(tmp_path / "whole", 30), checkpoint_of(tmp_path / "parts", 30)
    for name, tensor in whole.items():
        assert torch.equal(tensor, parts[name]), name


def test_what_is_measured_and_learnt_alike_is_told(corpus: DataConfig) -> None:
    data = dataclasses.replace(corpus, test_source=corpus.source, test_target=corpus.target)
    said: list[str] = []
    training, _ = read_corpora(data, 1, said.append)
    [told] = [line for line in said if "as well" in line]
    known = set(zip(training.sources, training.targets, strict=True))
    texts = [Path(file[0]).read_text().splitlines() for file in (corpus.source, corpus.target)]
    num_known = sum(pair in known for pair in zip(*texts, strict=True))
    assert 500 < num_known and told.startswith(f"{num_known} of 600 pairs of the test set train")


def test_few_pairs_held_out_are_told(corpus: DataConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    for few, told in ((600, True), (2, False)):
        monkeypatch.setattr(corpora, "FEW_HELD_OUT", few)
        said: list[str] = []
        read_corpora(corpus, 1, said.append)
        [line] = [line for line in said if "held out" in line]
        assert ("say little" in line) == told


def test_separate_vocabularies_and_pairs_from_one_file(corpus: DataConfig, tmp_path: Path) -> None:
    lines = zip(
        Path(corpus.source[0]).read_text().splitlines(),
        Path(corpus.target[0]).read_text().splitlines(),
        strict=True,
    )
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{fr}\t{en}\tignored\n" for fr, en in lines))
    data = DataConfig(pairs=(str(table),), joint=False, tokenizer="unigram", wrong_language=True)
    result = run(data, tmp_path / "run")
    manifest = read_manifest(result.folder)
    assert manifest.tokenizer.source != manifest.tokenizer.target
    assert manifest.model.tied == "decoder"


def test_init_starts_from_the_given_weights(corpus: DataConfig, tmp_path: Path) -> None:
    first = run(corpus, tmp_path / "first")
    # One step at a rate of nothing: what comes out is what went in.
    still = dataclasses.replace(QUICK, steps=1, validate_every=1, learning_rate=1e-12)
    second = run(corpus, tmp_path / "second", still, init=first.folder)
    before, after = read_tensors(first.folder), read_tensors(second.folder)
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        np.testing.assert_allclose(after[name], tensor, atol=1e-9)


# A processor without bf16 does it in another way, and says so.
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
def test_options_that_change_the_loop_all_run(corpus: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(
        QUICK,
        accumulate=2,
        r_drop=1.0,
        average=2,
        schedule="inverse-sqrt",
        learning_rate=None,
        metric="loss",
        ema=0.0,
        tensorboard=True,
        precision="bf16",
    )
    result = run(corpus, tmp_path / "run", settings)
    assert sorted(path.name for path in (result.folder / "best").iterdir()) == [
        "step-00000006",
        "step-00000012",
    ]
    assert list((result.folder / "tensorboard").iterdir())


def test_gradients_of_two_batches_are_those_of_both_at_once() -> None:
    config = sized("tiny", source_vocab_size=31, target_vocab_size=31)
    rows = [[5, 6, 7, 8, 9, 10, 11, EOS_ID], [12, 13, EOS_ID, 0, 0, 0, 0, 0], [14] * 7 + [EOS_ID]]
    source, lengths = torch.tensor(rows), torch.tensor([8, 3, 8], dtype=torch.int32)
    target_input = torch.cat([torch.full((3, 1), 2), source[:, :-1]], dim=1)

    def fed(*which: int) -> DeviceBatch:
        index = torch.tensor(which)
        sides = (source[index], lengths[index], target_input[index], source[index], lengths[index])
        return DeviceBatch(Tensors(*sides), False, 0, int(lengths[index].sum()), {})

    results = []
    for batches in ([fed(0, 1, 2)], [fed(0), fed(1, 2)]):
        torch.manual_seed(3)
        model = build(config)
        assert isinstance(model, EncoderDecoder)
        settings = TrainConfig(compile=False, packing=False, clip=0.0)
        updater = Updater(model, make_optimizer(model, settings), settings, longest=8)
        sums = updater(batches, rate=0.0)
        for batch in batches:
            updater.accumulate(batch.tensors, packed=False)
        results.append((sums, [p.grad for p in model.parameters()]))
    (once, at_once), (twice, in_parts) = results
    torch.testing.assert_close(once.loss, twice.loss)
    for one, other in zip(at_once, in_parts, strict=True):
        assert one is not None and other is not None
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_an_update_of_two_batches_reads_two_batches(corpus: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(QUICK, accumulate=2, dropout=0.0, steps=6)
    run(corpus, tmp_path / "run", settings)
    state = json.loads((tmp_path / "run/checkpoints/step-00000006/state.json").read_text())
    lanes = state["position"]["lanes"]
    assert set(lanes) == {"0", "1"}, "each of an update's batches comes from a lane of its own"
    assert all(batch > 0 for _, batch in lanes.values())


def test_patience_ends_a_run_that_no_longer_improves(
    corpus: DataConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(Reporter, "say", lambda _, text: said.append(text))
    settings = dataclasses.replace(
        QUICK, steps=1000, validate_every=2, patience=2, learning_rate=1e-9, metric="loss", ema=0.0
    )
    result = run(corpus, tmp_path / "run", settings)
    lines = (result.folder / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["step"] < 1000
    assert said[-1].startswith(
        "stopped early: no better validation in the last 2; --set patience=0"
    )
    said.clear()
    run(corpus, tmp_path / "whole", dataclasses.replace(settings, steps=4, patience=0))
    assert said and not any("stopped early" in line for line in said)


def test_a_folder_in_use_is_refused_and_left_alone(corpus: DataConfig, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    with pytest.raises(
        UsageError, match="must be a new or empty folder: .* no training run .*name another"
    ):
        run(corpus, tmp_path / "run")
    assert (tmp_path / "run" / "thesis.txt").read_text() == "mine"


def test_resume_needs_an_earlier_run(corpus: DataConfig, tmp_path: Path) -> None:
    with pytest.raises(
        TrainingError,
        match="must be the folder of an earlier run",
    ):
        run(corpus, tmp_path / "nowhere", resume=True)


def test_resume_refuses_changed_text(corpus: DataConfig, tmp_path: Path) -> None:
    texts = []
    for file in (*corpus.source, *corpus.target):
        copy = tmp_path / Path(file).name
        copy.write_text(Path(file).read_text())
        texts.append(copy)
    data = dataclasses.replace(corpus, source=(str(texts[0]),), target=(str(texts[1]),))
    run(data, tmp_path / "run", stop_at=6)
    for text in texts:
        text.write_text(text.read_text() + "deux\n")
    with pytest.raises(TrainingError, match="resumed with the text"):
        run(data, tmp_path / "run", resume=True)


def test_a_loss_that_is_no_number_stops_the_run(corpus: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(
        QUICK, steps=200, validate_every=200, learning_rate=1e30, warmup=1, clip=0.0
    )
    with pytest.raises(TrainingError, match="the loss must fall: at step 1.*lower learning_rate"):
        run(corpus, tmp_path / "run", settings)


def test_device_must_exist(corpus: DataConfig, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="device must be one this machine has: got 'quantum'"):
        run(corpus, tmp_path / "run", dataclasses.replace(QUICK, device="quantum"))


def test_a_refused_run_leaves_nothing_and_can_be_repeated(
    corpus: DataConfig, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="batch_tokens must have room"):
        run(corpus, tmp_path / "run", dataclasses.replace(QUICK, batch_tokens=4))
    assert not (tmp_path / "run").exists()
    assert run(corpus, tmp_path / "run") is not None


def test_a_second_trainer_in_a_folder_is_refused(corpus: DataConfig, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", stop_at=6)
    with locked(tmp_path / "run"), pytest.raises(TrainingError, match="another one trains in"):
        run(corpus, tmp_path / "run", resume=True)
    assert run(corpus, tmp_path / "run", resume=True) is not None
    assert not (tmp_path / "run" / ".lock").exists()


def test_output_must_not_be_a_file(corpus: DataConfig, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="must be a folder: .* is a file"):
        run(corpus, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_resume_refuses_other_settings(corpus: DataConfig, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", stop_at=6)
    with pytest.raises(UsageError, match=r"as it began, with steps=12: got 50"):
        run(corpus, tmp_path / "run", dataclasses.replace(QUICK, steps=50), resume=True)
    with pytest.raises(UsageError, match="with num_encoder_layers=1: got 6"):
        run(corpus, tmp_path / "run", size="big", model={}, resume=True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            dict(model={"architecture": "decoder-only"}),
            "a model that is decoder-only learns from running text: got",
        ),
        (
            dict(init=Path("x"), size="tiny"),
            "takes shape and tokenizer from the given model: got size",
        ),
        (dict(init=Path("x"), data={"vocabulary": 99}), "got vocabulary as well"),
        (dict(data={"tokenizer_file": "x", "joint": False}), "one tokenizer for both languages"),
    ],
)
def test_requests_that_contradict_themselves(asked: dict[str, Any], message: str) -> None:
    data = DataConfig(**asked.pop("data", {}))
    with pytest.raises(UsageError, match=message):
        Request(data, **asked).check()


def test_paper_recipes_give_the_papers_models() -> None:
    tokenizer = Tokenizer.train(["a b c d e f g"], vocabulary=300, exact=False)
    for size in ("base", "big"):
        recipe = read_recipe(f"paper-{size}")
        request = Request(recipe.data, recipe.train, recipe.size, recipe.model)
        vocabulary = dict(
            source_vocab_size=tokenizer.vocab_size, target_vocab_size=tokenizer.vocab_size
        )
        assert request.model_for((tokenizer, tokenizer), 10**6) == sized(size, **vocabulary)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("train.fr", "fr"),
        ("a.b.en.xz", "en"),
        ("a.txt", ""),
        ("a.tok", ""),
        ("a.in", ""),
        ("fr", ""),
    ],
)
def test_languages_come_from_suffixes_that_name_one(name: str, code: str) -> None:
    assert with_languages(DataConfig(source=(name,))).source_language == code


def test_a_number_is_checked_before_anything_is_saved(corpus: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(
        QUICK, steps=9, validate_every=3, learning_rate=1e30, warmup=1, clip=0.0
    )
    with pytest.raises(TrainingError, match="the loss must stay a number"):
        run(corpus, tmp_path / "run", settings)
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_exits(corpus: DataConfig, tmp_path: Path, number: int) -> None:
    command = [
        *(sys.executable, "-m", "regard", "train", "--size", "tiny", "--output", tmp_path / "run"),
        *("--source", corpus.source[0], "--target", corpus.target[0]),
        *("--set", "steps=100000", "--set", "validate_every=5", "--set", "patience=0"),
        *("--set", "d_model=24", "--set", "num_heads=2", "--set", "wrong_language=true"),
    ]
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "run").glob("checkpoints/step-????????")):
        assert process.poll() is None and time.monotonic() < deadline, process.stderr
        time.sleep(0.1)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    found = load_latest(tmp_path / "run", torch.device("cpu"))
    assert found is not None and found[1]["step"] > 0


def test_the_plan_leaves_what_was_asked_for_and_fills_the_rest() -> None:
    asked = TrainConfig(steps=77, dropout=0.0)
    plan = complete(asked, sized("small"), num_pairs=29_000, num_tokens=900_000, on_gpu=True)
    assert (plan.steps, plan.dropout) == (77, 0.0)
    assert plan.packing and plan.compile
    for field in dataclasses.fields(plan):
        assert (getattr(plan, field.name) is None) == (field.name == "minutes"), field.name


def test_more_text_gets_a_larger_model_and_less_dropout() -> None:
    assert [choose_size(n) for n in (100, 29_000, 3_000_000)] == ["tiny", "small", "base"]
    assert choose_dropout(29_000) > choose_dropout(3_000_000) > 0
