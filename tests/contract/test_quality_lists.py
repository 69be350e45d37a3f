"""The lists that bundled models are judged by are whole, and the scripts that read them work."""

from __future__ import annotations

import sys
from pathlib import Path

import chat_openings as openings
import everyday
import pytest
import story_quality as quality
from fixtures import make_model_folder
from serve_fixtures import make_story_folder

import regard
from regard.config import DecodeConfig


@pytest.mark.parametrize("languages", ["fr-en", "en-fr"])
def test_everyday_sentences(languages: str) -> None:
    rows = everyday.read_list(languages)
    assert len(rows) == len({sentence for _, sentence, _ in rows}) == 200
    for kind, sentence, right in rows:
        assert kind and right and len(set(right)) == len(right), sentence
        assert all(each == each.strip() and each[-1] in ".?!" for each in (sentence, *right))
        ends = {text[-1].replace("!", ".") for text in (sentence, *right)}
        assert len(ends) == 1, f"a question is translated by a question: {sentence}"
    judged = everyday.judge(languages, [right[-1] for _, _, right in rows])
    assert {row["verdict"] for row in judged} == {"right"}
    assert not any(row["verdict"] == "right" for row in everyday.judge(languages, ["x"] * 200))


def test_what_makes_no_difference_to_a_verdict() -> None:
    normal = everyday.normal
    assert normal("Don't you come?", "en") == normal("Do you not come?", "en")
    assert normal("He's just left!", "en") == normal("He has just left.", "en")
    assert normal("Ma s\u0153ur\u00a0!", "fr") == normal("Ma soeur !", "fr")
    assert normal("a-t-elle paye ?", "fr") != normal("a-t-elle payé ?", "fr")
    known = {row[1] for name in ("fr-en", "en-fr") for row in everyday.read_list(name)}
    judged = everyday.judging.read_judged(everyday.JUDGED, (everyday.RIGHT, everyday.WRONG))
    assert judged and {sentence for sentence, _ in judged} <= known


def test_openings(tmp_path: Path) -> None:
    lines = openings.OPENINGS.read_text("utf-8").splitlines()
    fresh, second = (path.read_text("utf-8").splitlines() for path in openings.FRESH)
    assert len(lines) == len(fresh) == len(second) == 100 and len({*lines, *fresh, *second}) >= 298
    fresh += second
    assert all(line == line.strip() for line in (*lines, *fresh))
    folder = make_model_folder(tmp_path / "chat", task="chat", decode=DecodeConfig(method="sample", max_length=7))
    model = regard.load(folder, engine="onnxruntime", threads=1)
    rows = openings.answer(model, lines[:3])
    assert rows == openings.answer(model, lines[:3]), "nothing is left to chance"
    assert all(row["reply"] for row in rows) and openings.num_known(rows) <= 3
    replies = openings.ten_turns(model, "Hello!")
    assert len(replies) == 10 and openings.repeated(replies) == []
    judged = tmp_path / "judged.tsv"
    judged.write_text("Hi\tHello.\tfits\n")
    verdicts = (openings.FITS, openings.UNSURE, openings.NOT)
    read = openings.judging.read_judged
    assert read(judged, verdicts) == {("Hi", "Hello."): "fits"}
    assert {opening for opening, _ in read(openings.JUDGED, verdicts)} <= {*lines, *fresh}


def test_stories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    beginnings = quality.read_beginnings()
    assert len(beginnings) >= 10 and sum(len(names) for _, names in beginnings) >= 7
    assert all(name in beginning for beginning, names in beginnings for name in names)
    assert quality.repetition("a b c d a b c d".split()) == pytest.approx(0.2)
    folder = make_story_folder(tmp_path / "story")
    text = tmp_path / "held-out.txt"
    text.write_text("# I\nJane visits Africa.\n\nHello, how are you?\n")
    words = ["story_quality", "--model", str(folder), "--text", str(text), "--length", "9"]
    monkeypatch.setattr(sys, "argv", [*words, "--endings", "1"])
    quality.main()
    shown = capsys.readouterr().out
    assert shown.count("\n# ") == 10 and "# held_out_words: 7.000" in shown
