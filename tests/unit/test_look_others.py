"""Recurrent models on the page: the same look, what it shows of them, and what it refuses; and a text with a blank."""

from pathlib import Path

import numpy as np
import pytest
from huggingface_fixtures import MAKERS
from look_fixtures import SENTENCE, make_subject, save_subject

from regard.api import import_model
from regard.config import DecodeConfig
from regard.errors import UsageError
from regard.look.session import Session
from regard.look.subject import Subject
from regard.look.view import Look, look_at

SILENT = {"kind": "head-off", "attention": "decoder.attention", "head": 0}
DECODE = DecodeConfig(no_repeat_ngram=3, max_length=9, beam=3)


def recurrent(attention: str = "additive", cell: str = "gru") -> Subject:
    sizes = dict(num_encoder_layers=1, num_decoder_layers=1, d_state=34)
    return make_subject(architecture=cell, attention=attention, position="none", **sizes)


@pytest.mark.parametrize("attention", ["none", "general"])
def test_a_folder_becomes_a_page_a_picture_and_a_trace(attention: str, tmp_path: Path) -> None:
    folder = save_subject(recurrent(attention, "lstm"), tmp_path / "model")
    look = look_at(folder, SENTENCE, max_length=7)
    for name in ("page.html", "picture.svg", "trace.safetensors"):
        look.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 0
    drawn = (tmp_path / "picture.svg").read_text()
    assert ("decoder.attention, mean of its heads" in drawn) == (attention != "none")


def test_a_row_is_written_by_hand_and_a_head_silenced() -> None:
    look = Look(Session(recurrent(), SENTENCE, DECODE))
    row = [1.0] + [0.0] * (len(look.session.original.source) - 1)
    run = look.session.whatif([{**SILENT, "kind": "edit-row", "row": 1, "weights": row}])
    assert run.trace["decoder.attention.weights"][0, 1].tolist() == row
    np.testing.assert_allclose(run.trace["decoder.attention.context"][0, 1], run.trace["memory"][0])
    run = look.session.whatif([SILENT])
    assert not run.trace["decoder.attention.context"].any()


def test_what_a_recurrent_model_has_not() -> None:
    refused = {
        "no-mask needs a model with a mask": {"kind": "no-mask"},
        "a model with positions": {"kind": "no-positions"},
    }
    refused["head must be from 0 to 0: got 1"] = {**SILENT, "head": 1}
    look = Look(Session(recurrent(), SENTENCE, DECODE))
    for message, change in refused.items():
        with pytest.raises(UsageError, match=message):
            look.session.whatif([change])
    with pytest.raises(UsageError, match="it has one fixed vector; change words instead"):
        Look(Session(recurrent("none"), SENTENCE, DECODE)).session.whatif([SILENT])


def test_a_blank_is_looked_into(tmp_path: Path) -> None:
    MAKERS["bert"](tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    look = look_at(tmp_path / "ours", "Jane [MASK] l'Afrique.")
    told = look.document()
    assert told["target"] is None and told["steps"] == [] and told["hypotheses"] == []
    strings = told["source"]["token_strings"]
    assert strings[0] == "[CLS]" and strings[-1] == "[SEP]" and strings.count("[MASK]") == 1
    place = strings.index("[MASK]")
    assert told["output"][place]["token"] == int(np.argmax(look.trace["probabilities"][place]))
    assert [each["token"] for each in told["output"]][:place] == told["source"]["tokens"][:place]
    assert "[MASK]" not in look.text
    look.save(tmp_path / "look.html")
    assert (tmp_path / "look.html").stat().st_size > 50_000
