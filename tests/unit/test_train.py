"""A training run as a user starts it: what it writes, how it resumes, what it refuses."""

import dataclasses
import hashlib
import json
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import sacrebleu
import torch
from train_fixtures import QUICK, SHAPE, checkpoint_of, counting_corpus, metrics, position, run

from regard.config import DataConfig, DecodeConfig, TrainConfig, sized
from regard.data.corpus import Corpus
from regard.errors import DataError, TrainingError, UsageError
from regard.folder.checkpoint import read_tensors
from regard.folder.manifest import read_manifest
from regard.text.tokenizer import Tokenizer
from regard.train import finish
from regard.train.corpora import count_pairs, read_corpora
from regard.train.finish import model_card
from regard.train.parallel import Processes
from regard.train.plan import Plan, choose_model, complete
from regard.train.progress import History, Reporter
from regard.train.recipe import Request, read_recipe
from regard.train.run import TrainResult
from regard.train.summary import reasons


def test_raw_text_becomes_a_finished_folder(corpus: DataConfig, tmp_path: Path) -> None:
    result = run(corpus, tmp_path / "run", dataclasses.replace(QUICK, metric="bleu"))
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
    assert [line["step"] for line in metrics(result.folder, "valid")] == [6, 12]
    assert result.scores[0].bleu_signature.endswith(f"version:{sacrebleu.__version__}")


LSTM = dict(architecture="lstm", attention="additive", d_model=24, d_state=20)
BATCH = {**SHAPE, "norm": "batch"}


@pytest.mark.parametrize(
    ("model", "changes"),
    [(SHAPE, {"optimizer": "muon"}), (LSTM, {}), (BATCH, {"packing": True})],
    ids=["muon", "lstm", "batch-norm"],
)
def test_a_run_in_parts_is_the_run_bit_for_bit(model, changes, corpus, tmp_path):
    settings = dataclasses.replace(QUICK, **{"snapshots": 2, "packing": False, "ema": 0.9, **changes})
    run(corpus, tmp_path / "whole", settings, model=model)
    for stop in (5, 7):
        run(corpus, tmp_path / "parts", settings, model=model, resume=stop > 5, stop_at=stop)
    run(corpus, tmp_path / "parts", settings, model=model, resume=True)
    whole, parts = checkpoint_of(tmp_path / "whole", 12), checkpoint_of(tmp_path / "parts", 12)
    assert whole.keys() == parts.keys()
    assert any(name.startswith("adam.exp_avg_sq.") for name in whole)
    inner = [name for name in whole if name.startswith("adam.exp_avg_sq.encoder.layers.") and whole[name].dim() == 2]
    assert bool(inner) == ("optimizer" not in changes)  # Muon keeps one moment of a layer's matrix, Adam two
    assert any(name.startswith("average.") for name in whole)
    for name, tensor in whole.items():
        assert torch.equal(tensor, parts[name]), name
    found = [tmp_path / "whole", tmp_path / "parts"]
    assert position(found[0], 12) == position(found[1], 12)
    losses = [[line["loss"] for line in metrics(folder)] for folder in found]
    assert losses[0] == losses[1]


def test_text_that_looks_wrong_is_refused_unless_forced(corpus: DataConfig, tmp_path: Path) -> None:
    lines = Path(corpus.target[0]).read_text().splitlines()
    random.Random(5).shuffle(lines)
    texts = {"shuffled": "\n".join(lines).encode(), "broken": b"\xff\n" * 301 + b"one\n" * 299}
    for (name, text), told in zip(
        texts.items(), ("fit others as well", r"got 299 of 600 \(not UTF-8 301\)"), strict=True
    ):
        (tmp_path / name).write_bytes(text)
        data = dataclasses.replace(corpus, target=(str(tmp_path / name),), duplicates=True, max_ratio=99.0)
        with pytest.raises(DataError, match=told):
            read_corpora(data, 1, lambda _: None, tmp_path / "text")
        assert len(read_corpora(dataclasses.replace(data, force=True), 1, lambda _: None, tmp_path / "text")[0]) > 200


def test_files_are_mixed_by_weight_and_by_temperature(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{side}.tsv") for side in "abc"]
    for name, size in zip(names, (60, 20, 10), strict=True):
        Path(name).write_text("".join(f"{Path(name).stem} {n} un\t{Path(name).stem} {n} one\n" for n in range(size)))
    pairs = (f"{names[0]}@0.3", f"{names[1]}@2.5", names[2])
    valid = dict(valid_source=(names[0],), valid_target=(names[0],))
    data = DataConfig(pairs=pairs, tags=("en", "de", "en"), **valid)
    read, _ = read_corpora(data, 1, lambda _: None, tmp_path / "text")
    assert read.mixture is not None and count_pairs(read) == len(read.mixture) == 18 + 50 + 10
    counts = Counter[str]()
    for epoch in range(10):
        rows = read.mixture.rows(epoch, np.arange(len(read.mixture)))
        counts.update(read.sources[row] for row in rows.tolist())
    assert {text[:7] for text in counts} == {"<2en> a", "<2de> b", "<2en> c"}
    by_file = {side: {count for text, count in counts.items() if text[6] == side} for side in "abc"}
    assert by_file == {"a": {3}, "b": {25}, "c": {10}}
    data = DataConfig(pairs=tuple(names), mix_temperature=2.0, **valid)
    read, _ = read_corpora(data, 1, lambda _: None, tmp_path / "again")
    assert read.mixture is not None and np.allclose(read.mixture.weights, [1, 3**0.5, 6**0.5])


def test_what_is_measured_and_learnt_alike_is_told(corpus: DataConfig, tmp_path: Path) -> None:
    data = dataclasses.replace(corpus, test_source=corpus.source, test_target=corpus.target)
    said: list[str] = []
    training, _ = read_corpora(data, 1, said.append, tmp_path / "text")
    [told] = [line for line in said if "as well" in line]
    known = set(zip(training.sources, training.targets, strict=True))
    texts = [Path(file[0]).read_text().splitlines() for file in (corpus.source, corpus.target)]
    num_known = sum(pair in known for pair in zip(*texts, strict=True))
    assert 450 < num_known and told.startswith(f"{num_known} of 600 pairs of the test set train")


# A processor without bf16 does it in another way, and says so.
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
def test_options_that_change_the_loop_all_run(corpus: DataConfig, tmp_path: Path) -> None:
    wishes = dict(accumulate=2, r_drop=1.0, average=2, schedule="inverse-sqrt", learning_rate=None, ema=0.0)
    settings = dataclasses.replace(QUICK, steps=4, validate_every=2, tensorboard=True, precision="bf16", **wishes)
    result = run(corpus, tmp_path / "run", settings)
    assert sorted(path.name for path in (result.folder / "best").iterdir()) == ["step-00000002", "step-00000004"]
    assert list((result.folder / "tensorboard").iterdir())


def test_patience_ends_a_run_that_no_longer_improves(corpus, tmp_path, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(Reporter, "say", lambda _, text: said.append(text))
    settings = dataclasses.replace(QUICK, steps=1000, validate_every=2, patience=2, learning_rate=1e-9, ema=0.0)
    result = run(corpus, tmp_path / "run", settings)
    assert metrics(result.folder)[-1]["step"] < 1000
    assert said[-1] == "stopped: 2 validations no better; --resume --set patience=0 goes on"
    steps = metrics(result.folder)[-1]["step"]
    assert run(corpus, tmp_path / "run", dataclasses.replace(settings, patience=3), resume=True) is not None
    assert metrics(result.folder)[-1]["step"] >= steps + 6


def test_a_finished_run_stays_as_it_is_and_more_steps_extend_it(corpus: DataConfig, tmp_path: Path) -> None:
    output = tmp_path / "run"
    run(corpus, output, stop_at=6)
    seconds = json.loads((output / "checkpoints/step-00000006/state.json").read_text())["total_seconds"]
    run(corpus, output, resume=True)
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    first = json.loads((output / "result.json").read_text())
    assert first["seconds"]["total"] > seconds > 0, "summed over the interruption"
    for again in (QUICK, dataclasses.replace(QUICK, threads=1)):
        assert run(corpus, output, again, resume=True) is None
        assert {path: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before
    with pytest.raises(UsageError, match="as it began, with steps=12: got 11"):
        run(corpus, output, dataclasses.replace(QUICK, steps=11), resume=True)
    run(corpus, output, dataclasses.replace(QUICK, steps=18), resume=True)
    longer = json.loads((output / "result.json").read_text())
    assert longer["steps"] == 18 and longer["seconds"]["total"] > first["seconds"]["total"]
    assert [line["step"] for line in metrics(output, "valid")] == [6, 12, 18]


def test_the_given_model_is_kept_where_nothing_is_better(corpus: DataConfig, tmp_path: Path) -> None:
    parent, text = run(dataclasses.replace(corpus, max_length=20), tmp_path / "parent").folder, tmp_path / "keep.tsv"
    (parent / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    text.write_text("un deux\tone two\n" * 3)
    data = dataclasses.replace(corpus, source_language="", target_language="", keep=(str(text),))
    ruined = dataclasses.replace(QUICK, learning_rate=9.0, warmup=1, ema=0.0)
    folder = run(data, tmp_path / "kept", ruined, init=parent, curves=True).folder
    before, after = read_tensors(parent), read_tensors(folder)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    found = metrics(folder, "valid")
    assert [line["step"] for line in found] == [0, 6, 12]
    assert read_manifest(folder).languages == ("fr", "en"), "those of the given model"
    assert read_manifest(folder).longest == read_manifest(parent).longest == 20, "longer sentences are still split"
    assert Plan.load(folder / "run.json").data.sampling == 0.0, "it has never read a word cut at random"
    card = (folder / "README.md").read_text()
    parts = "license: cc-by-4.0; base_model: parent; pairs kept; seed 1; dropout; no later validation was".split("; ")
    assert [part for part in parts if part not in card] == []
    assert hashlib.sha256(Path(corpus.source[0]).read_bytes()).hexdigest() in card
    assert "(curves.png)" in card and (folder / "curves.png").is_file()
    plan = Plan.load(folder / "run.json")
    plan = dataclasses.replace(plan, data=dataclasses.replace(plan.data, tags=("en", "de", "en")))
    assert " for fr to en and de, trained" in model_card("run", plan, 1, {}, [])


BETTER, NOISE, WORSE = range(35), range(19, 40), range(10)


@pytest.mark.parametrize(
    ("right", "harm", "share"),
    [(BETTER, 0, 1.0), (NOISE, 0, 0.0), (WORSE, 0, 0.0), (BETTER, 8, 0.5), (BETTER, 40, 0.0)],
)
def test_a_given_model_gives_way_to_more_than_chance_alone(right, harm, share, monkeypatch, tmp_path):
    """And only as far as the text to keep allows."""
    lines = [" ".join(random.Random(i).choices("one two three four five six seven".split(), k=9)) for i in range(40)]
    loaded, valid, keep = dict[str, Any](), Corpus(lines, lines), Corpus(["", *lines], ["zero", *lines])

    def translate(model, sources, *_):
        harmless = range(round(harm * float(loaded["w"])), 41)
        known = harmless if "" in sources else right if loaded["w"] else range(20)
        return [line if i in known else "eight nine" for i, line in enumerate(sources)]

    monkeypatch.setattr(finish, "average_best", lambda run, steps: {"w": torch.tensor(float(steps != [0]))})
    monkeypatch.setattr(finish, "_load", lambda model, weights: loaded.update(weights))
    monkeypatch.setattr(finish, "translate_all", translate)
    trainer: Any = SimpleNamespace(history=History(1, [(0.0, 0.0, 6)]), processes=Processes(), run_folder=tmp_path)
    plan = Plan(DataConfig(), sized("small"), TrainConfig(keep_tolerance=8.0), DecodeConfig(), "parent")
    steps, weights, told = finish._choose(plan, trainer, cast(Any, None), cast(Any, None), valid, keep)
    assert weights["w"] == share and steps == ([6] if share else [0])
    assert told.startswith("parent went from BLEU" if share else "kept parent as it was: ")


def test_fine_tuning_has_a_lower_rate_and_fewer_passes() -> None:
    sizes: dict[str, Any] = dict(num_pairs=500, num_tokens=20_000, on_gpu=False)
    fresh, tuned = (complete(TrainConfig(), sized("small"), **sizes, tunes=tunes) for tunes in (False, True))
    assert tuned.learning_rate == pytest.approx(fresh.learning_rate / 20)
    passes = [each.steps * each.batch_tokens / 20_000 for each in (fresh, tuned)]
    assert passes[0] > 50 and passes[1] < 12 and tuned.steps / tuned.validate_every >= 5


def test_a_plan_says_what_was_chosen_and_why(corpus: DataConfig, tmp_path: Path) -> None:
    """And nothing of what was asked for; `--resume` and `models show` say the same."""
    text: dict[str, Any] = dict(num_pairs=9000, num_tokens=10**6)
    plans = []
    for asked in (TrainConfig(), TrainConfig(steps=7, dropout=0.3, learning_rate=1e-3, batch_tokens=20_000)):
        train, request = complete(asked, sized("small"), **text, on_gpu=False), Request(corpus, asked, size=None)
        plan = Plan(corpus, sized("small"), train, DecodeConfig(), "")
        plans.append(dataclasses.replace(plan, reasons=reasons(request, plan, **text, on_gpu=False, tunes=False)))
    chosen, given = (plan.describe("cpu").partition("chosen: ")[2] for plan in plans)
    parts = ("size small for 9,000 pairs", "passes over 1,000,000 tokens", "updates of 10,000 tokens, 1 % of the text")
    assert [
        part for part in (*parts, "in 2 batches", "dropout 0.2", "rate by the model's width") if part not in chosen
    ] == []
    for width in ("d_ff", "d_state"):
        shape = dataclasses.replace(request, model={"d_model": 64, width: 128})
        assert "size" not in reasons(shape, plan, **text, on_gpu=False, tunes=False), "the recipe says it all"
    assert "size small" in given and not any(part in given for part in ("passes", "updates", "dropout", "rate"))
    plans[0].save(tmp_path / "run.json")
    assert Plan.load(tmp_path / "run.json") == plans[0]


def test_resume_refuses_changed_text(tmp_path: Path) -> None:
    data = counting_corpus(tmp_path)
    run(data, tmp_path / "run", stop_at=6)
    for text in map(Path, (*data.source, *data.target)):
        text.write_text(text.read_text() + "deux\n")
    with pytest.raises(TrainingError, match="resumed with the text"):
        run(data, tmp_path / "run", resume=True)


def test_paper_recipes_give_the_papers_models() -> None:
    tokenizer = Tokenizer.train(["a b c d e f g"], vocabulary=300, exact=False)
    for size in ("base", "big"):
        request = read_recipe(f"paper-{size}")
        vocabulary = dict(source_vocab_size=tokenizer.vocab_size, target_vocab_size=tokenizer.vocab_size)
        assert choose_model(request, (tokenizer, tokenizer), 10**6) == sized(size, **vocabulary)


def test_a_number_is_checked_before_anything_is_saved(corpus: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(QUICK, steps=9, validate_every=3, learning_rate=1e30, warmup=1, clip=0.0)
    with pytest.raises(TrainingError, match="the loss must stay a number"):
        run(corpus, tmp_path / "run", settings)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_resume_refuses_other_settings_and_knows_the_kind(corpus: DataConfig, tmp_path: Path) -> None:
    shape = dict(architecture="gru", attention="additive")
    quick = dataclasses.replace(QUICK, steps=2, validate_every=1)
    run(corpus, tmp_path / "run", quick, model=shape, stop_at=1)
    with pytest.raises(UsageError, match="as it began, with steps=2: got 50"):
        run(corpus, tmp_path / "run", dataclasses.replace(quick, steps=50), resume=True)
    with pytest.raises(UsageError, match="with attention='additive': got 'none'"):
        run(corpus, tmp_path / "run", quick, model={"attention": "none"}, resume=True)
    assert run(corpus, tmp_path / "run", quick, size="tiny", model={}, resume=True) is not None
