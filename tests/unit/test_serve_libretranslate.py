"""LibreTranslate's interface as its clients use it: shapes, defaults, errors."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fixtures import make_model_folder
from serve_fixtures import Running, load, running

import regard
from regard.errors import UsageError

SENTENCE = "Le chat dort, il fait beau."


def translate(server: Running, **fields: Any) -> Any:
    answer = server.post("/translate", {"source": "fr", "target": "en", **fields})
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json


def test_a_list_gives_lists_and_a_form_may_hold_letters_as_they_are(server: Running, model: regard.Model) -> None:
    texts = [SENTENCE, "", "12 : 30 !", "Bonjour. Je vais bien.\n\nJane dort.", SENTENCE]
    answer = translate(server, q=texts, alternatives=2, source="auto")
    expected = [model.translate(text) for text in texts]
    expected[2] = texts[2]  # without letters it has no language, and stays
    assert answer["translatedText"] == expected
    assert [len(each) for each in (answer["alternatives"], answer["detectedLanguage"])] == [5, 5]
    assert answer["alternatives"][1:3] == [[], []]
    details = model.translate(SENTENCE, n_best=3, details=True)
    assert [answer["translatedText"][0], *answer["alternatives"][0]] == details.alternatives
    assert model.manifest.decode.beam < 11  # as many as may be asked for are more than the beam is wide
    answer = translate(server, q=SENTENCE, alternatives=10)
    expected = model.translate(SENTENCE, n_best=11, beam=11, details=True).alternatives
    assert [answer["translatedText"], *answer["alternatives"]] == expected
    # As `curl -d` sends them; what is no UTF-8, or has no end of fields, is refused in words.
    text = "Où est l'été ? 😀"
    fields = f"q={text}&source=en&target=en"
    assert server.form("/translate", fields).json["translatedText"] == text
    for wrong in (fields.encode("utf-16"), "&".join(f"a{i}=1" for i in range(500)).encode()):
        answer = server.ask("POST", "/translate", wrong, {"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status == 400 and "form" in answer.json["error"]
    assert translate(server, q="a" * 9000)["translatedText"] == "a" * 9000


def test_languages_are_told_and_matched(server: Running) -> None:
    answer = translate(server, q="Où est le chat ?", source="auto")
    assert answer["detectedLanguage"]["language"] == "fr"
    assert 0 < answer["detectedLanguage"]["confidence"] <= 100
    first = server.post("/detect", {"q": "Où est le chat ?"}).json[0]
    assert first["language"] == "fr" and 50 < first["confidence"] <= 100
    assert server.form("/detect", "q=%3F").json == [{"confidence": 0.0, "language": "en"}]
    for code in ("FR", "fr_CA", " fr "):
        assert translate(server, q=SENTENCE, source=code) == translate(server, q=SENTENCE)
    english = "The weather is fine today, and the cat is sleeping in the garden."
    assert translate(server, q=english, source="auto")["translatedText"] == english
    german = "Das Wetter ist heute schön, und die Katze schläft den ganzen Tag im Garten."
    answer = server.post("/translate", {"q": german, "source": "auto", "target": "en"})
    assert answer.status == 400 and "German" in answer.json["error"]
    assert (
        server.upload("a.html", b"<html lang=de><p>Le chat dort dans la maison.", source="auto", target="en").status
        == 400
    )
    short = translate(server, q="Guten Morgen", source="auto")["detectedLanguage"]
    assert short["language"] == "fr" and short["confidence"] < 50
    assert short["warning"] == "the language of the text is not sure: it is read as French"


def test_a_file_comes_back_translated_in_its_encoding(server: Running, model: regard.Model) -> None:
    answer = server.upload("ma lettre.txt", b"Bonjour.\n\nLe chat dort.\n", source="fr", target="en")
    assert answer.status == 200, answer.body
    parts = urlsplit(answer.json["translatedFileUrl"])
    assert f"{parts.scheme}://{parts.netloc}" == server.url
    fetched = server.get(parts.path)
    # Such a model knows no full stops; in a document they come back all the same.
    hello, cat = model.translate(["Bonjour.", "Le chat dort."])
    assert fetched.body.decode().splitlines() == [f"{hello}.", "", f"{cat}."]
    assert fetched.headers["Content-Disposition"] == 'attachment; filename="ma_lettre_en.txt"'
    page = "<p title='x y z'>Où est le chat de la maison ?</p>".encode("cp1252")
    for source in ("fr", "auto"):
        answer = server.upload("a.html", page, source=source, target="en")
        assert answer.status == 400 and "name its encoding" in answer.json["error"]
        assert "--" not in answer.json["error"]
        answer = server.upload("a.html", page, source=source, target="en", encoding="cp1252")
        fetched = server.get(urlsplit(answer.json["translatedFileUrl"]).path).body.decode("cp1252")
        assert model.translate("Où est le chat de la maison ?") in fetched
    assert answer.json["detectedLanguage"]["language"] == "fr"
    for data, encoding in ((b"Oui", "punycode"), (b"Oui", "nonsense"), (b"\x1f\x8b\x08\xff", "")):
        answer = server.upload("a.txt", data, source="fr", target="en", encoding=encoding)
        assert answer.status == 400 and (encoding or "must be text: got binary data") in answer.json["error"]


def test_a_pair_by_way_of_english(model: regard.Model, folders: list[Path], tmp_path: Path) -> None:
    """Sentence by sentence through both models, in texts and files; links go through the word between."""
    german = make_model_folder(tmp_path / "en-de", source_language="en", target_language="de")
    into_german = regard.load(german, threads=1)
    with running([folders[0], german], pivot="EN") as server:
        told = {each["code"]: each["targets"] for each in server.get("/languages").json}
        assert told == {"de": ["de"], "en": ["de", "en"], "fr": ["de", "en", "fr"]}
        text = "Bonjour. Je vais bien.\n\nJane dort."
        sentences = ["Bonjour.", "Je vais bien.", "Jane dort."]
        expected = [into_german.translate(model.translate(each)) for each in sentences]
        whole = f"{expected[0]} {expected[1]}\n\n{expected[2]}"
        for source in ("fr", "auto"):
            answer = translate(server, q=text, source=source, target="de", alternatives=2)
            assert answer["translatedText"] == whole and len(answer["alternatives"]) == 2
        page = server.post("/page/translate", {"text": text, "source": "fr", "target": "de"}).json
        assert [each["source"] for each in page["sentences"]] == sentences
        for number, sentence in enumerate(page["sentences"]):
            assert sentence["targets"][0]["text"] == expected[number]
            between = model.translate(sentence["source"], details=True, alignment=True)
            after = into_german.translate(between.text, details=True, alignment=True)
            for *_, start, end in sentence["targets"][0]["links"]:
                assert (start, end) in {link.target for link in after.alignment or ()}
        answer = server.upload("a.md", text.encode(), source="fr", target="de")
        assert server.get(urlsplit(answer.json["translatedFileUrl"]).path).body.decode().startswith(expected[0])
        assert server.post("/translate", {"q": "a", "source": "de", "target": "fr"}).status == 400
    with pytest.raises(UsageError, match="--pivot must be a language that models here translate from and into: got en"):
        load(folders[:1], pivot="en")


def test_what_is_wrong_is_said(server: Running) -> None:
    for fields, message in (
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "auto"}, "auto is not supported"),
        ({"q": ["a", 7]}, "q must be UTF-8 text"),
        ({"q": "\ud800"}, "q must be UTF-8"),
        ({"source": ["fr"]}, "source must be UTF-8 text"),
        ({"format": "pdf"}, "pdf format"),
        ({"q": "a" * 20_001}, "(20001) exceeds text limit (20000)"),
        ({"q": ["a"] * 129}, "(129) exceeds batch limit (128)"),
        *(({"alternatives": value}, "alternatives") for value in (-1, 11, 0.5, True)),
    ):
        answer = server.post("/translate", {"q": "a", "source": "fr", "target": "en", **fields})
        assert answer.status == 400, fields
        assert set(answer.json) == {"error"} and message in answer.json["error"]
    assert "missing file" in server.post("/translate_file", {"source": "fr"}).json["error"]
    answer = server.upload("virus.exe", b"x", source="fr", target="en")
    assert answer.status == 400 and "not supported" in answer.json["error"]
    assert server.get("/download_file/unknown.txt").status == 404
