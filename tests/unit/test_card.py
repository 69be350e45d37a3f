"""The card of a finished model, for readers."""

import pytest

from regard.config import ModelConfig
from regard.folder.manifest import Manifest, Task
from regard.train.finish import model_card


@pytest.mark.parametrize(
    "task, languages, purpose",
    [
        ("translate", ("", ""), "translation"),
        ("translate", ("fr", "en"), "fr to en"),
        ("chat", ("en", "en"), "conversation in en"),
        ("chat", ("", ""), "conversation"),
        ("search", ("fr", "en"), "search in fr and en"),
        ("write", ("", "en"), "going on from a text in en"),
    ],
)
def test_a_language_is_named_once(task: Task, languages: tuple[str, str], purpose: str) -> None:
    source, target = languages
    manifest = Manifest(
        task=task, source_language=source, target_language=target, model=ModelConfig()
    )
    card = model_card("mine", manifest, 7, {}, [])
    assert f"A Transformer (encoder-decoder) for {purpose}, trained with regard." in card
    assert all(card.count(f"- {language}\n") == 1 for language in {source, target} - {""})
