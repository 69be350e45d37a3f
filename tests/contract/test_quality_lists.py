"""The lists that bundled models are judged by are whole."""

import everyday
import pytest


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
    lists = [everyday.read_list(kind + languages) for kind in ("", "kinds_") for languages in ("fr-en", "en-fr")]
    known = {row[1] for rows in lists for row in rows}
    assert len(known) == 2 * 200 + 2 * 300
    judged = everyday.judging.read_judged(everyday.JUDGED, (everyday.RIGHT, everyday.FLAW, everyday.WRONG))
    assert judged and {sentence for sentence, _ in judged} <= known
