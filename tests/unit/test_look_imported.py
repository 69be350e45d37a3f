"""Looking into models with one stack: what the page is told of a text that goes on, and of one with a blank."""

from pathlib import Path

import numpy as np
from huggingface_fixtures import MAKERS

from regard.api import import_model
from regard.look.view import look_at


def test_a_blank_is_looked_into(tmp_path: Path) -> None:
    MAKERS["bert"](tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    look = look_at(tmp_path / "ours", "Jane [MASK] l'Afrique.")
    told = look.document()
    assert told["target"] is None and told["steps"] == [] and told["hypotheses"] == []
    strings = told["source"]["token_strings"]
    assert strings[0] == "[CLS]" and strings[-1] == "[SEP]" and strings.count("[MASK]") == 1
    place = strings.index("[MASK]")
    best = int(np.argmax(look.trace["probabilities"][place]))
    assert told["output"][place]["token"] == best
    assert [each["token"] for each in told["output"]][:place] == told["source"]["tokens"][:place]
    assert "[MASK]" not in look.text
    look.save(tmp_path / "look.html")
    assert (tmp_path / "look.html").stat().st_size > 50_000
