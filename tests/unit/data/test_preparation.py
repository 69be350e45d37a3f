"""Raw text becomes training files: what is kept, what is not and why, and in which form."""

from pathlib import Path

import fr_en
import pytest
from fr_en import CleanPair, PairCleaner
from prepare import prepare

from regard.data.lines import read_lines


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
    everyday = read_lines(folder / "everyday.tsv.gz")
    valid = (folder / "valid.fr").read_text("utf-8").splitlines()
    assert len(valid) == len((folder / "valid.en").read_text("utf-8").splitlines()) > 0
    capitals = [line for line in everyday if line.isupper()]
    assert len(everyday) - len(capitals) + len(valid) == 3000 and made.num_read == 3002
    assert 10 < len(capitals) < 60
    for line in capitals:
        assert everyday[everyday.index(line) - 1].upper() == line
    assert made.dropped == {fr_en.DUPLICATE: 1}
    assert read_lines(folder / "europarl.tsv.gz") == ["Oui.\tYes."]
    assert everyday[0] == "Le chat numéro 0 dort.\tCat number 0 sleeps."
    assert not list(folder.glob("*.unfinished"))
