"""Raw text becomes training files: what is kept, what is not and why, and in which form."""

import gzip
import sys
from pathlib import Path

import fr_en
import prepare as script
import pytest
from fr_en import CleanPair, PairCleaner, english_quotes, numbers_agree, plain, plain_french
from prepare import prepare


def packed_lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


@pytest.mark.parametrize(
    ("french", "english", "are_equal"),
    [
        ("Il a 3 chats.", "He has three cats.", True),
        ("1 234,5 km", "1,234.5 km", True),
        ("à 14 h 30", "at 2:30 p.m.", True),
        ("le XIXe siècle", "the 19th century", True),
        ("en 1999", "in 1998", False),
    ],
)
def test_numbers_agree(french: str, english: str, are_equal: bool) -> None:
    assert numbers_agree(french, english) is are_equal


def test_one_way_of_typing() -> None:
    assert plain_french("C\u2019est «vrai»? Oui\u00a0!") == 'C\'est "vrai" ? Oui !'
    assert plain_french("Il est 12:30, voir http://a.b") == "Il est 12:30, voir http://a.b"
    assert plain("\u201cIt\u2019s\u00a0so\u201d") == '"It\'s so"'
    assert english_quotes("the dogs' 'own' and 'don't'", '"x"') == 'the dogs\' "own" and "don\'t"'
    assert english_quotes("the 'own'", "x") == "the 'own'"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Bonjour.\tHello.\tpoetry", fr_en.DOMAIN),
        ("lâ€™Ã©tÃ©\tsummer\ttatoeba", fr_en.CHARACTERS),
        ("\tHello.\ttatoeba", fr_en.LENGTH),
        ("Oui.\tYes, and here is something else entirely.\ttatoeba", fr_en.RATIO),
        ("Il est parti ?\tHe has gone.\ttatoeba", fr_en.QUESTION),
        ("Il a 3 chats.\tHe has 4 cats.\ttatoeba", fr_en.NUMBERS),
        (
            "Das ist ein langer deutscher Satz über das schöne Wetter von heute.\t"
            "This is a long English sentence about the fine weather of today.\teuroparl",
            fr_en.LANGUAGE,
        ),
    ],
)
def test_why_a_pair_is_left_out(line: str, reason: str) -> None:
    assert PairCleaner()(line) == reason


def test_held_out_sentences_are_not_trained_on() -> None:
    keys = {fr_en.key_of(text) for text in ("Merci.", "Thanks.", "Il y a un chat sur la table.")}
    cleaner = PairCleaner(keys)
    assert cleaner("Merci !\tthanks\ttatoeba") == fr_en.HELD_OUT
    assert cleaner("il y a un chat sur la table\tA cat!\ttatoeba") == fr_en.HELD_OUT
    assert isinstance(cleaner("Merci.\tThank you.\ttatoeba"), CleanPair), "short ones are nobody's own"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_of_translations(tmp_path: Path, workers: int) -> None:
    raw = tmp_path / "raw.tsv"
    lines = [f"Le chat numéro {n} dort.\tCat number {n} sleeps.\ttatoeba" for n in range(3000)]
    lines += ["Le chat numéro 7 dort !\tcat number 7 sleeps\tphrases/x", "Oui.\tYes.\teuroparl"]
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = prepare([raw], tmp_path / "made", workers=workers)
    folder = tmp_path / "made"
    everyday = packed_lines(folder / "everyday.tsv.gz")
    valid = (folder / "valid.fr").read_text("utf-8").splitlines()
    assert len(valid) == len((folder / "valid.en").read_text("utf-8").splitlines()) > 0
    capitals = [line for line in everyday if line.isupper()]
    assert len(everyday) - len(capitals) + len(valid) == 3000 and made.num_read == 3002
    assert 10 < len(capitals) < 60
    for line in capitals:
        assert everyday[everyday.index(line) - 1].upper() == line
    assert made.dropped == {fr_en.DUPLICATE: 1}
    assert packed_lines(folder / "europarl.tsv.gz") == ["Oui.\tYes."]
    assert everyday[0] == "Le chat numéro 0 dort.\tCat number 0 sleeps."
    assert not list(folder.glob("*.unfinished"))


def test_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raw, made = tmp_path / "tatoeba.tsv", tmp_path / "made"
    raw.write_text("Oui, bien sûr.\tYes, of course.\nSeul.\n", encoding="utf-8")
    words = [str(raw), "--output", str(made), "--workers", "1"]
    monkeypatch.setattr(sys, "argv", ["prepare.py", *words])
    script.main()
    said = capsys.readouterr().err
    assert "everyday.tsv.gz: 1 lines" in said and "left out: not two or three columns 1" in said
    monkeypatch.setattr(sys, "argv", ["prepare.py", "no-such-file", *words[1:]])
    with pytest.raises(SystemExit, match="must be a readable file"):
        script.main()
