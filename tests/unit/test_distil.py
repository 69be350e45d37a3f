"""Distillation: what is kept, and a run that was killed twice ends as one that was not."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_fixtures import assert_one_sentence, run
from fixtures import make_model_folder
from train_fixtures import SHAPE

from regard.api import load
from regard.config import DataConfig, TrainConfig
from regard.errors import UsageError
from regard.train import distil as stages
from regard.train import finish as finishing
from regard.train import run as training
from regard.train.recipe import Request
from regard.translate.corpus import Block, Job, in_this_process
from regard.translate.translation import Candidate, Sentence, Translation


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> stages.Distillation:
    monkeypatch.setattr(finishing, "write_curves", lambda folder: None)  # they take longer than the run
    words = "le chat dort Jane visite une maison bleue en septembre".split()
    lines = [" ".join([words[n % 9], words[n // 9 % 9], words[n // 3 % 9], str(n)]) for n in range(200)]
    for name, some in (("a.fr", lines[:100]), ("b.fr", lines[90:])):
        (tmp_path / name).write_text("\n".join(some) + "\n")
    (tmp_path / "human.tsv").write_text("bonjour\thello\n" * 3)
    (tmp_path / "test.fr").write_text("le chat dort\n")
    (tmp_path / "test.en").write_text("the cat sleeps\n")
    pairs, source, target = ((str(tmp_path / name),) for name in ("human.tsv", "test.fr", "test.en"))
    data = DataConfig(
        pairs=pairs, test_source=source, test_target=target, wrong_language=True, max_ratio=50, force=True
    )
    quick = TrainConfig(steps=6, batch_tokens=400, validate_every=3, snapshots=0)
    teacher = make_model_folder(tmp_path / "teacher")
    text = (tmp_path / "a.fr", tmp_path / "b.fr")
    return stages.Distillation(teacher, text, Request(data, quick, "tiny", SHAPE), min_score=-99.0)


def finish(asked: stages.Distillation, output: Path, said: list[str] | None = None) -> Path:
    execute = in_this_process(functools.partial(stages.JudgedTeacher, load))
    say = (said if said is not None else []).append
    return stages.distil(asked, output, load, (in_this_process(load), execute), say)()


def test_a_run_killed_twice_ends_as_one_that_was_not(asked, tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finish(asked, whole)
    done = in_this_process(functools.partial(stages.JudgedTeacher, load))

    def killed(job: Job, blocks: list[Block]) -> Iterator[int]:
        if "b.fr" in blocks[0].path:
            raise KeyboardInterrupt
        yield from done(job, blocks)

    with pytest.raises(KeyboardInterrupt):
        stages.distil(asked, broken, load, (killed, killed), lambda text: None)
    assert (broken / "teacher" / "a.fr").exists() and not (broken / "pairs.tsv").exists()
    with monkeypatch.context() as patch:
        patch.setattr(training, "train", functools.partial(training.train, stop_at=4))
        with pytest.raises(FileNotFoundError):  # there is no card yet
            finish(asked, broken)
    assert (broken / "model" / "checkpoints").exists()
    said: list[str] = []
    finish(asked, broken, said)
    assert not any("blocks" in line for line in said), "the teacher is not asked again"
    assert said[-1].startswith("student on test  BLEU") and "\nteacher on test  BLEU" in said[-1]
    for name in ("pairs.tsv", "counts.json", "teacher.json", "model/model.safetensors"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
    assert json.loads((whole / "counts.json").read_bytes()) == {"lines": 210, "kept": 200, "duplicate": 10}
    card = (broken / "model" / "README.md").read_text()
    assert card.count("## Distilled") == 1 and "teacher on test" in card and "200 kept" in card
    finish(asked, broken)
    assert (broken / "model" / "README.md").read_text() == card, "nothing is left to do"
    with pytest.raises(UsageError, match="holds a job with options"):
        stages.distil(stages.replace(asked, min_score=0.0), broken, load, (done, done), said.append)


def test_what_teaches_nothing_is_dropped(tmp_path: Path) -> None:
    answers = {
        "Il dort.": ("He\tsleeps.", -0.2, []),
        "": ("", 0, []),
        "Ah !": ("ha " * 9, -0.1, []),
        "un deux trois quatre": ("un deux trois quatre", -0.3, []),
        "Paris": ("Paris", -0.3, []),
        "Peut-être": ("Perhaps", -1.7, []),
        "Trop": ("too much", -0.2, ["repetition"]),
    }

    class Model:
        def translate(self, texts: list[str], details: bool) -> list[Translation]:
            return [self._translated(text) for text in texts]

        def _translated(self, text: str) -> Translation:
            written, score, flags = answers[text]
            best = Candidate(written, written, [], [], score, score, [score], "end")
            return Translation(text, written, [written], [Sentence(text, [best], flags)])

    (tmp_path / "teacher").mkdir()
    lines = [*answers, "Il dort."]
    (tmp_path / "x.fr").write_text("".join(f"{line}\n" for line in lines))
    judged = stages.JudgedTeacher(lambda folder: Model(), "folder").translate(lines, -1.5)
    (tmp_path / "teacher" / "x.fr").write_text("".join(f"{line}\n" for line in judged))
    stages._keep_pairs([tmp_path / "x.fr"], tmp_path, swapped=True)
    assert (tmp_path / "pairs.tsv").read_text() == "He sleeps.\tIl dort.\nParis\tParis\n"
    counts = json.loads((tmp_path / "counts.json").read_bytes())
    assert counts.pop("loop") == 2 and counts.pop("kept") == 2
    assert counts == {"lines": 8, "duplicate": 1, "empty": 1, "copy": 1, "low score": 1}


def test_the_command_makes_a_student(asked: stages.Distillation, tmp_path: Path) -> None:
    small = ["--set", "steps=2", "--set", "batch_tokens=300", "--set", "wrong_language=true", "--size", "tiny"]
    small += ["--set", "snapshots=0"]
    reverse = make_model_folder(tmp_path / "reverse", source_language="en", target_language="fr")
    (tmp_path / "c.en").write_text("the cat\nJane sleeps\n")
    command = ["distil", asked.teacher, "--text", asked.text[0], "-o", tmp_path / "run", "--min-score", "-99", *small]
    assert_one_sentence(run(*command, "--back-translate", tmp_path / "c.en"), 2)
    result = run(*command, "--back-translate", tmp_path / "c.en", "--reverse", reverse, "--set", "max_ratio=50")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "run" / "model" / "encoder.onnx").exists()
    counts = json.loads((tmp_path / "run" / "counts.json").read_bytes())
    assert counts["lines"] == 102, "the sources of the reverse teacher are translated too"
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "sources by `reverse`" in card and "c.en" in card
