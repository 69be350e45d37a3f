"""Which language a text is in."""

import pytest

from regard.errors import UsageError
from regard.text import language

ENGLISH = "Where is the cat today, my friend?"


def test_short_sentences_are_recognised() -> None:
    combining = "Ça marche, c\u2019était l\u2019été".replace("é", "e\u0301")
    french = {text: "fr" for text in ("Où est\n\n le\tchat ?", "LE CHAT EST NOIR", combining)}
    for text, code in {**french, "Where is the cat?": "en", "猫在哪里？": "zh"}.items():
        ranked = language.rank(text)
        assert ranked[0][0] == code
        probabilities = [probability for _, probability in ranked]
        assert probabilities == sorted(probabilities, reverse=True) and all(0 <= each <= 1 for each in probabilities)


def test_a_text_without_letters_is_in_no_language_and_without_the_package_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert language.rank(" \n") == language.rank("!!! 🙂 12:30") == []
    monkeypatch.setattr(language, "_model", lambda: None)
    assert language.detector() is None
    assert language.sure_language(ENGLISH) == ""
    with pytest.raises(UsageError, match="pip install fasttext-predict"):
        language.rank("Bonjour")


def test_a_language_is_sure_where_there_are_letters_enough_and_one_of_two_much_likelier() -> None:
    assert language.sure_language(ENGLISH) == language.sure_language("Where is it?") == "en"
    assert language.sure_language("Is it?") == language.sure_language("1 2 3 " * 200 + ENGLISH) == ""
    assert language.sure_language("Good morning everyone", ("fr", "en")) == "en"
    assert language.sure_language("L'an neuf, yes!", ("en", "fr")) == "fr"
    assert language.sure_language("Quel but incroyable !", ("fr", "en")) == ""
    assert [language.main_language(code) for code in ("pt-BR", "zh_Hant")] == ["pt", "zh"]


def test_all_of_a_text_has_a_language_where_most_of_it_is_sure() -> None:
    english = [ENGLISH], [f"{ENGLISH}\nOK"] * 9 + ["Le chat dort ici."]
    mixed = ENGLISH * 40 + "\n" + "Le chat dort sur la table rouge. " * 40
    neither = [ENGLISH, "Où est le chat, mon ami ?"], [mixed], []
    found = [
        language.language_of_all(texts, ("fr", "en")) for texts in (*english, *neither, ["Merci beaucoup, mon ami"])
    ]
    assert found == ["en", "en", "", "", "", "fr"]
