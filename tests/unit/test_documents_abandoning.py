"""A document that nobody waits for any more is given up."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, cast

import pytest
from document_fixtures import HTML, MARKDOWN, PO, SRT, TMX, XLIFF, same, translator

from regard.documents import translate_document
from regard.documents.abandoning import Abandoned, check
from regard.serve.libretranslate import _Documents

DOCUMENTS = [
    (".txt", "Bonjour\nle monde\n"),
    (".md", MARKDOWN),
    (".html", HTML),
    (".srt", SRT),
    (".po", PO),
    (".xliff", XLIFF),
    (".tmx", TMX),
]


def abandoned_after(times: int) -> Callable[[], bool]:
    asked = count()
    return lambda: next(asked) >= times


@pytest.mark.parametrize("suffix, text", DOCUMENTS, ids=[suffix for suffix, _ in DOCUMENTS])
def test_it_is_given_up_in_reading_and_in_writing(suffix: str, text: str) -> None:
    asked = count()
    languages = ("fr", "en")
    data = text.encode()
    whole = translate_document(
        data,
        suffix,
        translator(str.upper),
        languages=languages,
        is_abandoned=lambda: next(asked) < 0,
    )
    assert whole == translate_document(data, suffix, translator(str.upper), languages=languages)
    num_times = next(asked)
    for times in {0, num_times // 2, num_times - 1}:
        with pytest.raises(Abandoned):
            translate_document(
                data,
                suffix,
                translator(str.upper),
                languages=languages,
                is_abandoned=abandoned_after(times),
            )
    check()


@pytest.mark.parametrize(
    "suffix, piece",
    [(".md", "["), (".md", "*a "), (".md", "<a="), (".html", "<b>")],
)
def test_even_one_paragraph_is_given_up_midway(suffix: str, piece: str) -> None:
    asked = count()
    data = (piece * 1009).encode()
    translate_document(data, suffix, same, is_abandoned=lambda: next(asked) < 0)
    assert next(asked) > 1000


def test_the_server_gives_up_a_file_when_its_client_has_gone() -> None:
    documents, asked_of_the_model = _Documents(), []

    class Model:
        def __getattr__(self, name: str) -> object:
            asked_of_the_model.append(name)
            raise AttributeError(name)

    async def begin_and_leave() -> None:
        data, languages = b"mot *a " * 10_007, ("fr", "en")
        task = asyncio.create_task(documents.translate(cast(Any, Model()), data, ".md", languages))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_leave())
    documents._threads.shutdown(wait=True)
    assert asked_of_the_model == []
