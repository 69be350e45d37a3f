"""Models by name, and text in, text out: what holds for every model, shown on one with random weights."""

import dataclasses
import types
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.api import Model, export, load
from regard.config import DecodeConfig
from regard.decode import search
from regard.errors import DataError, RegardWarning, UsageError
from regard.folder import catalogue
from regard.folder.manifest import read_manifest
from regard.translate import search as batched

TEXTS = ["Le chat dort.", "", "Jane visite l'Afrique en septembre.", "  ", "Bonjour", "Je vais bien"]


def test_neighbours_do_not_matter_and_a_text_is_its_sentences(model: Model) -> None:
    assert model.translate(TEXTS) == [model.translate(text) for text in TEXTS]
    assert model.translate(TEXTS[::-1]) == model.translate(TEXTS)[::-1]
    assert model.translate([]) == []
    assert model.translate("\u00a0\n") == "\u00a0\n"
    first, second, third = "Le chat dort.", "Il fait beau !", "Bonjour"
    out = model.translate(f" {first}  {second}\n\n{third}\n")
    assert out == " {}  {}\n\n{}\n".format(*model.translate([first, second, third]))
    text = f"{first} {second}"
    details = model.translate(text, split=False, details=True)
    assert [sentence.source for sentence in details.sentences] == [text]


def test_what_is_too_long_is_cut_and_a_word_without_end_copied(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "le chat dort " * 500
    with pytest.warns(RegardWarning, match="1 sentence.* more than 256 tokens.* translated in parts") as said:
        details = model.translate(text, details=True)
    assert said[0].filename == __file__
    assert "".join(s.source for s in details.sentences).replace(" ", "") == text.replace(" ", "")
    encode = model.translator.source.encode
    assert max(len(encode(sentence.source)) for sentence in details.sentences) <= 256
    monkeypatch.setattr(batched, "search", None)
    with pytest.warns(RegardWarning, match="1 word.* more than 256 tokens were copied") as said:
        details = model.translate("a" * 20_000, details=True)
    assert details.text == "a" * 20_000 and len(said) == 1
    assert [sentence.flags for sentence in details.sentences] == [["copied"]]


def test_details_and_alignment(model: Model) -> None:
    details = model.translate("Le chat dort. Bonjour", n_best=3, beam=5, details=True)
    assert details.text == details.alternatives[0]
    assert len(details.alternatives) == 3
    for sentence in details.sentences:
        scores = [candidate.score for candidate in sentence.candidates]
        assert scores == sorted(scores, reverse=True)
        for candidate in sentence.candidates:
            values = candidate.token_log_probabilities
            assert candidate.log_probability == pytest.approx(sum(values))
            assert len(values) == len(candidate.tokens) + (candidate.stop == "end")
            assert candidate.stop in ("end", "length")
            assert "".join(candidate.tokens).replace("\u2581", " ").strip() == candidate.text.strip()
    assert details.to_dict()["sentences"][0]["source"] == "Le chat dort."
    text = " Le chat dort.  Bonjour !"
    assert model.translate(text, details=True).alignment is None
    details = model.translate(text, details=True, alignment=True)
    assert details.alignment
    for link in details.alignment:
        assert text[slice(*link.source)].strip() and details.text[slice(*link.target)].strip()
    for sentence in details.sentences:
        assert text[sentence.source_start :].startswith(sentence.source)
        assert details.text[sentence.start :].startswith(sentence.candidates[0].text)
    assert details.text == model.translate(text)


def test_the_n_best_are_different_texts(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several spellings of one text the best stays, and the search goes on for others."""
    tokenizer = model.translator.target

    def decode(ids: list[int]) -> str:
        return ("odd", "even")[sum(ids) % 2] + str(ids[0] % 5)

    widths: list[int] = []

    def searching(engine: object, sources: list, config: DecodeConfig, **options: object) -> list:
        widths.append(config.beam)
        return search(engine, sources, config, **options)

    monkeypatch.setattr(tokenizer, "decode_batch", lambda batch: list(map(decode, batch)))
    monkeypatch.setattr(batched, "search", searching)
    for sentence in model.translate(["Bonjour", "Le chat"], n_best=4, beam=4, details=True):
        candidates = sentence.sentences[0].candidates
        assert len({candidate.text for candidate in candidates}) == len(candidates) == 4
        assert candidates == sorted(candidates, key=lambda each: (each.stop, -each.score))
    assert widths[0] == 4 and max(widths) in (8, 16)


def test_an_output_that_repeats_itself_is_searched_again(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = model.translate(["Le chat", "Bonjour"], no_repeat_ngram=3)
    loop = model.translator.target.encode("the cat " * 9)
    configs: list[tuple[int, int]] = []

    def searching(engine: object, sources: list, config: DecodeConfig, **options: object) -> list:
        configs.append((config.no_repeat_ngram, len(sources)))
        found = search(engine, sources, config, **options)
        if not config.no_repeat_ngram:
            [worst] = found[0]
            found[0] = [dataclasses.replace(worst, tokens=loop)]
        return found

    monkeypatch.setattr(batched, "search", searching)
    with pytest.warns(RegardWarning, match=r"1 translation\(s\) repeated themselves .*: '(Le chat|Bonjour)'"):
        answers = model.translate(["Le chat", "Bonjour"], details=True)
    assert configs == [(0, 2), (3, 1)]
    flagged = [each for each in answers if each.sentences[0].flags]
    assert [each.sentences[0].flags for each in flagged] == [["repetition"]]
    assert flagged[0].text == plain[answers.index(flagged[0])]
    circles = " ".join(["chat dort"] * 9)
    monkeypatch.setattr(batched, "search", search)
    assert model.translate(circles, details=True).sentences[0].flags == []


def test_an_output_without_end_stops_and_is_said(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that never ends its sentence is stopped in proportion to what it read."""
    step = model.translator.engine.step

    def endless(tokens: object, state: object) -> tuple:
        logits, after = step(tokens, state)
        logits = logits.copy()
        logits[:, model.translator.config.eos_id] = -1e9
        return logits, after

    own = model.translator.engine
    engine = types.SimpleNamespace(start=own.start, step=endless, device=None, config=own.config)
    monkeypatch.setattr(model.translator, "engine", engine)
    with pytest.warns(RegardWarning) as said:
        details = model.translate("Le chat dort.", details=True, max_length=0, no_repeat_ngram=2)
    best = details.sentences[0].candidates[0]
    ids = model.translator.source_ids("Le chat dort.")
    assert best.stop == "length" and len(best.tokens) <= 2 * len(ids) + 50
    assert "length" in details.sentences[0].flags
    assert any("cut at the limit of their length" in str(each.message) for each in said)


def test_only_texts_are_translated_with_options_that_can_be_meant(model: Model) -> None:
    for options, message in (
        ({"bem": 3}, r"unknown key 'bem' \(did you mean 'beam'\?\)"),
        ({"beam": 2, "n_best": 3}, "n_best must be at most beam"),
        ({"beam": 100_000}, "beam must be at most 256: got 100000; give"),
        ({"banned": ["cat"], "required": ["cat"]}, "'cat' is banned and stands in 'cat'; drop"),
        ({"banned": "cat"}, r"banned must be a list of words: got a str; write  banned=\['cat'\]"),
        ({"required": [" "]}, "a banned or required word must have letters: got an empty one"),
        ({"prefix": "A\udcff"}, r"got '\\udcff', which is not a character, at position 2; convert"),
    ):
        with pytest.raises(UsageError, match=message):
            model.translate("Bonjour", **options)
    with pytest.raises(UsageError, match="must be one sentence of at most 256 tokens"):
        model.translate("le chat dort " * 500, prefix="The")
    with pytest.raises(UsageError, match="a str or a list of them: got bytes; convert it"):
        model.translate(b"Bonjour")
    with pytest.raises(UsageError, match="a text must be a str: got bytes"):
        model.translate([b"Bonjour"])
    with pytest.raises(UsageError, match=r"must be UTF-8 text: got '\\udcff', which is not a char"):
        model.translate("A\udcffB")


def test_scores_are_those_of_a_full_pass_whatever_the_neighbours(model: Model) -> None:
    source, target = "Le chat dort.", "The cat sleeps."
    [values] = model.score([source], [target])
    trace = model.trace(source, target)
    written = [*trace["target.tokens"].tolist()[1:], model.manifest.model.eos_id]
    expected = np.log(trace["probabilities"][range(len(written)), written])
    assert values == pytest.approx(expected.tolist(), abs=1e-4)
    sources, targets = ["Le chat", "Bonjour", "oui"], ["The cat sleeps", "", "Hello"]
    alone = [model.score([s], [t])[0] for s, t in zip(sources, targets, strict=True)]
    together = model.score(sources, targets)
    assert [len(values) for values in together] == [len(values) for values in alone]
    assert np.concatenate(together) == pytest.approx(np.concatenate(alone), abs=1e-4)
    with pytest.raises(DataError, match="got 3 and 2"):
        model.score(sources, targets[:2])
    assert model.evaluate(sources, model.translate(sources)).chrf == pytest.approx(100)


def test_loading_by_name_and_languages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_MODELS", str(folder.parent))
    monkeypatch.setattr(catalogue, "BUNDLED", folder / "none")
    assert repr(regard.load("fr-en")) == "<regard.Model fr-en: fr to en>"
    assert regard.load(source_language="fr").folder == folder
    assert [info.name for info in regard.available()] == ["fr-en"]
    assert regard.translate("Bonjour", model="fr-en") == regard.load().translate("Bonjour")
    with pytest.raises(UsageError, match="the source language of fr-en is fr: got de"):
        regard.load("fr-en", source_language="de")


def test_exporting(folder: Path, tmp_path: Path) -> None:
    for _ in range(2):  # the second time the folder is a model's
        export(folder, tmp_path / "out", weights="fp16")
    assert read_manifest(tmp_path / "out").weights == "fp16"
    assert isinstance(load(tmp_path / "out").translate("Bonjour"), str)
    assert (tmp_path / "out" / "README.md").read_text() == "# A random model\n"
    with pytest.raises(UsageError, match="weights must be one of int8, fp16, fp32 .*: got 'int4'"):
        export(folder, tmp_path / "other", weights="int4")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="holds other files; name another"):
        export(folder, tmp_path)
