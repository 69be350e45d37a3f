"""The lists that bundled models are judged by are whole."""

import chat_openings as openings
import everyday
import pytest
import story_quality as quality


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


def test_openings() -> None:
    lines = openings.OPENINGS.read_text("utf-8").splitlines()
    fresh, second = (path.read_text("utf-8").splitlines() for path in openings.FRESH)
    assert len(lines) == len(fresh) == len(second) == 100 and len({*lines, *fresh, *second}) >= 298
    fresh += second
    assert all(line == line.strip() for line in (*lines, *fresh))
    judged = openings.judging.read_judged(openings.JUDGED, (openings.FITS, openings.UNSURE, openings.NOT))
    assert judged and {opening for opening, _ in judged} <= {*lines, *fresh}


def test_stories() -> None:
    beginnings = quality.read_beginnings()
    assert len(beginnings) >= 10 and sum(len(names) for _, names in beginnings) >= 7
    assert all(name in beginning for beginning, names in beginnings for name in names)
    assert quality.repetition("a b c d a b c d".split()) == pytest.approx(0.2)
