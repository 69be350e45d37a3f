"""Raw text becomes training files: what is kept, what is not and why, and in which form."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.main import app
from regard.corpora import dialogues, numbers, retold, stories, tales, translations
from regard.corpora.prepare import prepare
from regard.corpora.spelling import as_typed, english_quotes, plain, plain_french
from regard.corpora.translations import Cleaner, Kept
from regard.errors import DataError, UsageError
from regard.generate.one_line import MARK


def packed_lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


@pytest.mark.parametrize(
    ("french", "english", "are_equal"),
    [
        ("Il a 3 chats.", "He has three cats.", True),
        ("J'ai vingt ans.", "I am 20.", True),
        ("1 234,5 km", "1,234.5 km", True),
        ("12.000 euros", "12,000 euros", True),
        ("à 14 h 30", "at 2:30 p.m.", True),
        ("le XIXe siècle", "the 19th century", True),
        ("en 1999", "in 1998", False),
        ("5 ou 6", "5 or 6 or 7", False),
        ("2 fois", "once", False),
    ],
)
def test_numbers_agree(french: str, english: str, are_equal: bool) -> None:
    assert numbers.agree(french, english) is are_equal


def test_one_way_of_typing() -> None:
    assert plain_french("C\u2019est «vrai»? Oui\u00a0!") == 'C\'est "vrai" ? Oui !'
    assert plain_french("Il est 12:30, voir http://a.b") == "Il est 12:30, voir http://a.b"
    assert plain("\u201cIt\u2019s\u00a0so\u201d") == '"It\'s so"'
    assert english_quotes("the dogs' 'own' and 'don't'", '"x"') == 'the dogs\' "own" and "don\'t"'
    assert english_quotes("the 'own'", "x") == "the 'own'"


def test_typed_in_any_way_it_is_the_same_french() -> None:
    sentence = 'C\'est "vrai" {} ?'
    typed = [as_typed(sentence.format(number)) for number in range(200)]
    assert len({text.replace(str(number), "") for number, text in enumerate(typed)}) > 9
    for number, text in enumerate(typed):
        assert plain_french(text) == sentence.format(number)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("un\tone", translations.COLUMNS),
        ("Bonjour.\tHello.\tpoetry", translations.DOMAIN),
        ("Il\x01est\tHe is\ttatoeba", translations.CHARACTERS),
        ("lâ€™Ã©tÃ©\tsummer\ttatoeba", translations.CHARACTERS),
        ("12 34 56 a\t12 34 56 b\tdocs-x", translations.CHARACTERS),
        ("\tHello.\ttatoeba", translations.LENGTH),
        ("Oui.\tYes, and here is something else entirely.\ttatoeba", translations.RATIO),
        ("Il est parti ?\tHe has gone.\ttatoeba", translations.QUESTION),
        ("Il a 3 chats.\tHe has 4 cats.\ttatoeba", translations.NUMBERS),
        ("Noto Serif Thai Thin.\tNoto Serif Thai Thin\tdocs-x", translations.COPY),
        (
            "Das ist ein langer deutscher Satz über das schöne Wetter von heute.\t"
            "This is a long English sentence about the fine weather of today.\teuroparl",
            translations.LANGUAGE,
        ),
    ],
)
def test_why_a_pair_is_left_out(line: str, reason: str) -> None:
    assert Cleaner()(line) == reason


def test_pairs_are_sorted_by_domain() -> None:
    for label, file in [
        ("docs-debian", "docs"),
        ("games/andor", "games"),
        ("phrases_pivot/pivot", "pivot"),
        ("phrases/atmt", "everyday"),
        ("itweb/debweb", "it"),
        ("health/tico", "news"),
    ]:
        kept = Cleaner()(f"Bonjour à tous !\tHello, everyone!\t{label}")
        assert isinstance(kept, Kept) and kept.file == file
        assert (kept.source, kept.target) == ("Bonjour à tous !", "Hello, everyone!")


def test_held_out_sentences_are_not_trained_on() -> None:
    keys = {
        translations.key_of(text) for text in ("Merci.", "Thanks.", "Il y a un chat sur la table.")
    }
    cleaner = Cleaner(keys)
    assert cleaner("Merci !\tthanks\ttatoeba") == translations.HELD_OUT
    assert cleaner("il y a un chat sur la table\tA cat!\ttatoeba") == translations.HELD_OUT
    assert isinstance(cleaner("Merci.\tThank you.\ttatoeba"), Kept), "short ones are nobody's own"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_of_translations(tmp_path: Path, workers: int) -> None:
    raw = tmp_path / "raw.tsv"
    lines = [f"Le chat numéro {n} dort.\tCat number {n} sleeps.\ttatoeba" for n in range(3000)]
    lines += ["Le chat numéro 7 dort !\tcat number 7 sleeps\tphrases/x", "Oui.\tYes.\teuroparl"]
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = prepare("fr-en", [raw], tmp_path / "data", workers=workers)
    folder = tmp_path / "data" / "prepared" / "fr-en"
    everyday = packed_lines(folder / "everyday.tsv.gz")
    valid = (folder / "valid.fr").read_text("utf-8").splitlines()
    assert len(valid) == len((folder / "valid.en").read_text("utf-8").splitlines()) > 0
    capitals = [line for line in everyday if line.isupper()]
    assert len(everyday) - len(capitals) + len(valid) == 3000 and made.num_read == 3002
    assert 10 < len(capitals) < 60
    for line in capitals:
        assert everyday[everyday.index(line) - 1].upper() == line
    assert made.dropped == {translations.DUPLICATE: 1}
    assert packed_lines(folder / "europarl.tsv.gz") == ["Oui.\tYes."]
    assert everyday[0] == "Le chat numéro 0 dort.\tCat number 0 sleeps."
    assert not list(folder.glob("*.unfinished"))


def test_a_file_of_two_columns_is_of_the_domain_in_its_name(tmp_path: Path) -> None:
    raw = tmp_path / "ntrex.tsv"
    raw.write_text("Oui, bien sûr.\tYes, of course.\nSeul.\n", encoding="utf-8")
    made = prepare("fr-en", [raw], tmp_path)
    news = tmp_path / "prepared" / "fr-en" / "news.tsv.gz"
    assert packed_lines(news) == ["Oui, bien sûr.\tYes, of course."]
    assert made.dropped == {translations.COLUMNS: 1}


def test_conversations_as_a_model_reads_them() -> None:
    cleaner = dialogues.DialogueCleaner()
    found = list(cleaner("hi  there\ti am ok .\twhats new??\tnot much, dont know"))
    assert [each.reply for each in found] == ["I am ok.", "What's new?", "Not much, don't know."]
    assert found[0].context == "hi there"
    assert found[1].context == f"Hi there. {MARK} i am ok ."
    assert found[2].context == f"hi there {MARK} I am ok. {MARK} whats new??"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Hello.\tHi.", dialogues.LENGTH),
        ("Hello.\tSee www.example.org for more.", dialogues.CHARACTERS),
        ("I like tea\tyes we do yes we do yes we do yes we do", dialogues.LOOP),
        ("I like green tea.\ti like green TEA", dialogues.ECHO),
        ("Hello.\tWhat the fuck.", dialogues.COARSE),
    ],
)
def test_why_a_reply_is_left_out(line: str, reason: str) -> None:
    cleaner = dialogues.DialogueCleaner()
    assert list(cleaner(line)) == [] and cleaner.dropped == {reason: 1}


def test_what_is_said_too_often_is_left_out() -> None:
    cleaner = dialogues.DialogueCleaner()
    found = [reply for n in range(100) for reply in cleaner(f"Film {n}.\tMe too!")]
    assert 0 < len(found) < 100 and cleaner.dropped == {dialogues.OFTEN: 100 - len(found)}


def test_stories_are_prose() -> None:
    dropped: Counter[str] = Counter()
    lines = ["# I", "It rained.", "CHAPTER", "* * * 1234", '"Yes," he said.', "", "# II"]
    lines += ["Thou hast thy crown.", "", "He slept."]
    assert list(stories.prose(lines, dropped)) == [["It rained.", '"Yes," he said.'], ["He slept."]]
    assert dropped == {stories.NOT_PROSE: 2, stories.ARCHAIC: 1}


def run(*words: object) -> tuple[int, str, str]:
    ran = CliRunner().invoke(app, ["data", *map(str, words)])
    return ran.exit_code, ran.stdout, ran.stderr


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tales, "PLOT_NUM_TOLD", 5)  # for the time it takes
    monkeypatch.setattr(retold, "PLOT_NUM_TOLD", 1)
    monkeypatch.setattr(retold, "NUM_TOLD", 1)
    raw = tmp_path / "raw.txt"
    raw.write_text("It rained.\n\nHe slept.\n")
    code, shown, _ = run("prepare", "stories", raw, "--data", tmp_path, "--json")
    path = tmp_path / "prepared" / "stories" / "prose.txt.gz"
    made = {Path(name).name: count for name, count in json.loads(shown)["kept"].items()}
    assert code == 0 and made["prose.txt.gz"] == 4
    assert made["tales.txt.gz"] > 20 * made["valid.txt"] > 0
    assert made["plots.txt.gz"] > 5 * made["valid-plots.txt"] > 0
    assert made["retold.txt.gz"] > 20_000
    assert packed_lines(path) == ["It rained.", "", "He slept.", ""]
    code, _, said = run("prepare", "stories", raw, "--data", tmp_path)
    assert code == 0 and "prose.txt.gz: 4 lines" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["prepare", "story", "x"], "did you mean 'stories'?"),
        (["prepare", "fr-en"], "is made from files: got none"),
        (["prepare", "chat", "--vary"], "are for fr-en"),
        (["prepare", "stories", "no-such-file"], "must be a readable file"),
        (["prepare"], "write  regard data get multi30k"),
    ],
)
def test_what_cannot_be_meant(words: list[str], message: str) -> None:
    code, _, said = run(*words)
    assert code in (1, 2) and message in said and said.count("\n") == 1


def test_nothing_is_left_of_what_could_not_be_made(tmp_path: Path) -> None:
    raw = tmp_path / "raw.tsv"
    raw.write_text("one column\n")
    with pytest.raises(DataError, match="none kept \\(not two or three columns\\)"):
        prepare("fr-en", [raw], tmp_path, workers=1)
    assert list((tmp_path / "prepared" / "fr-en").iterdir()) == []
    with pytest.raises(UsageError, match="must be one of"):
        prepare("poems", [raw], tmp_path)
