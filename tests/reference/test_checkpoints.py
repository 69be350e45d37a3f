"""Real checkpoints that a user has, compared with transformers: REGARD_CHECKPOINTS names the folder they are in.

Without it there is nothing to compare, and these tests are not there at all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

from regard.config import DecodeConfig
from regard.decode import Constraints, search
from regard.engine.torch import TorchEngine, load_model
from regard.exchange.huggingface import FAMILIES, ImportOptions, import_folder
from regard.exchange.huggingface_files import read_json
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import read_manifest
from regard.model.layout import Layout

TEXT = "The old house at the end of the street was empty."
NUM_WRITTEN = 30
KINDS = {"write": AutoModelForCausalLM, "fill": AutoModelForMaskedLM}


def checkpoints() -> list[Path]:
    home = os.environ.get("REGARD_CHECKPOINTS", "")
    found = sorted(Path(home).expanduser().glob("*/config.json")) if home else []
    kinds = {path.parent: read_json(path.parent, path.name).get("model_type") for path in found}
    return [folder for folder, kind in kinds.items() if kind in FAMILIES]


def assert_goes_on_alike(model: Any, theirs: Any, given: list[int]) -> None:
    """A decoder alone writes the same after a text; a text begins with the piece that stands for none."""
    config = model.config
    prompt = given[1:] if given[0] == config.bos_id else given
    decode = DecodeConfig(method="greedy", max_length=NUM_WRITTEN + len(prompt))
    before = [Constraints(prefix=prompt)]
    [[found]] = search(TorchEngine(model), [[]], decode, constraints=before)
    ours = found.tokens[len(prompt) :]
    tokens = torch.tensor([[config.bos_id, *prompt]])
    written = theirs.generate(tokens, num_beams=1, do_sample=False, max_new_tokens=NUM_WRITTEN)
    assert written[0, tokens.shape[1] :][: len(ours)].tolist() == ours


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folders = checkpoints()
    metafunc.parametrize("checkpoint", folders, ids=[each.name for each in folders])


if checkpoints():

    @torch.no_grad()
    def test_a_real_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
        import_folder(checkpoint, tmp_path / "ours", ImportOptions(convert_pickle=True), None)
        manifest = read_manifest(tmp_path / "ours")
        source, _ = open_tokenizers(tmp_path / "ours", manifest.tokenizer)
        model, _ = load_model(tmp_path / "ours")
        theirs = KINDS.get(manifest.task, AutoModelForSeq2SeqLM).from_pretrained(checkpoint).eval()
        config = model.config
        ids = [*source.beginning, *source.encode(TEXT), config.eos_id]
        tokens = torch.tensor([ids])
        read = (tokens, Layout.padded(torch.tensor([len(ids)]), len(ids)))
        if manifest.task != "translate":
            expected = theirs(input_ids=tokens).logits
            torch.testing.assert_close(model(*read), expected, atol=1e-3, rtol=1e-4)
            if manifest.task == "write":
                assert_goes_on_alike(model, theirs, ids[:-1])
            return
        decode = DecodeConfig(method="greedy", max_length=NUM_WRITTEN)
        [[found]] = search(TorchEngine(model), [ids], decode)
        target = torch.tensor([[config.bos_id, *found.tokens]])
        length = target.shape[1]
        ours = model(*read, target, Layout.padded(torch.tensor([length]), length))
        expected = theirs(input_ids=tokens, decoder_input_ids=target).logits
        torch.testing.assert_close(ours, expected, atol=1e-3, rtol=1e-4)
        written = theirs.generate(tokens, num_beams=1, do_sample=False, max_new_tokens=NUM_WRITTEN)
        assert written[0, 1 : 1 + len(found.tokens)].tolist() == found.tokens
