"""A loaded model: a folder as an object that takes and gives text, whatever its task."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from regard.config import DecodeConfig, from_dict, to_dict
from regard.engine import Engine
from regard.engine.vectors import TorchEncoder
from regard.errors import MissingExtra, ModelError, UsageError
from regard.folder.catalogue import find, shown
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import read_manifest
from regard.generate.chatting import Conversation
from regard.generate.filling import Choice, Reader, fill
from regard.generate.writing import STORY_WORDS, write
from regard.search.finding import Found
from regard.search.finding import find as find_passages
from regard.search.reading import Reader as PassageReader
from regard.text.given import check_counts, check_text, check_texts, check_words
from regard.translate.evaluate import Score, evaluate, require_metrics
from regard.translate.glossary import Glossary
from regard.translate.translation import Translation
from regard.translate.translator import Translator
from regard.translate.wishes import Wishes

if TYPE_CHECKING:
    from regard.look.view import Look
    from regard.trace import Trace


class Model:
    """A loaded model."""

    def __init__(self, folder: Path, engine: Engine, **options: Any) -> None:
        """`options` are those the engine was opened with; its encoder alone is opened with the same."""
        self.folder, self._options = folder, options
        self.manifest = read_manifest(folder)
        source, target = open_tokenizers(folder, self.manifest.tokenizer)
        self._translator = Translator(engine, self.manifest, source, target)

    def __repr__(self) -> str:
        manifest = self.manifest
        languages = f"{manifest.source_language} to {manifest.target_language}"
        does = languages if manifest.task == "translate" else manifest.task
        return f"<regard.Model {self.folder.name}: {does}>"

    @property
    def translator(self) -> Translator:
        self._check_task("translate", "translates")
        return self._translator

    @overload
    def translate(self, text: str, *, details: Literal[False] = ..., **options: Any) -> str: ...
    @overload
    def translate(
        self, text: Sequence[str], *, details: Literal[False] = ..., **options: Any
    ) -> list[str]: ...
    @overload
    def translate(self, text: str, *, details: Literal[True], **options: Any) -> Translation: ...
    @overload
    def translate(
        self, text: Sequence[str], *, details: Literal[True], **options: Any
    ) -> list[Translation]: ...

    def translate(
        self,
        text: str | Sequence[str],
        *,
        details: bool = False,
        split: bool = True,
        number: int = 0,
        prefix: str = "",
        banned: Sequence[str] = (),
        required: Sequence[str] = (),
        glossary: Glossary | Mapping[str, str] | str | Path | None = None,
        alignment: bool = False,
        where: Callable[[int], str] | None = None,
        **decode: Any,
    ) -> str | list[str] | Translation | list[Translation]:
        """Translate a text, or a list of texts into a list.

        A text of several sentences is cut at their ends and put together again with its own white space;
        split=False takes it as one sentence. Each output begins with `prefix`, holds none of the `banned`
        words and all of the `required` ones, spelt exactly so; with a prefix or a required word a text is
        one sentence. `glossary` maps words to their translations, or is a file of them; `alignment` adds to
        the details which word became which.
        `number` counts the sentences that came before in other calls: it and the seed decide what is sampled.
        `where` tells what a warning is to call a text, given its place in the list.
        Everything else is a field of DecodeConfig: beam=8, n_best=3, method="sample", seed=1.
        """
        texts = check_texts([text] if isinstance(text, str) else text)
        wishes = Wishes(
            check_text(prefix, "prefix"),
            check_words("banned", banned),
            check_words("required", required),
            Glossary.of(glossary),
        )
        results = self.translator.translate(
            texts,
            self._decode_config(decode),
            wishes,
            sentences=split,
            number=number,
            alignment=alignment,
            where=where,
        )
        answers = results if details else [each.text for each in results]
        return answers[0] if isinstance(text, str) else answers

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[float]]:
        """The log-probability of each piece of each target, its end last; their sum is the target's."""
        sources, targets = check_texts(sources), check_texts(targets)
        check_counts("sources and targets", sources, targets)
        return self.translator.score(sources, targets)

    def evaluate(self, sources: Sequence[str], references: Sequence[str], **decode: Any) -> Score:
        """Translate the sources, each as one sentence, and score them against the references."""
        require_metrics()
        sources, references = check_texts(sources), check_texts(references)
        check_counts("sources and references", sources, references)
        return evaluate(self.translate(sources, split=False, **decode), references)

    def trace(
        self,
        source: str,
        target: str | None = None,
        *,
        edits: Mapping[str, Callable[[Any], Any]] | None = None,
        **decode: Any,
    ) -> Trace:
        """Every intermediate value of translating one sentence, by name; needs torch.

        With a target, of that translation; without, of the one the search finds. `edits` maps names to
        functions that change the value there, [batch, ...], in the search as well. A model that goes on from a
        text reads it as the beginning of its target, and one that fills in blanks has no target.
        """
        check_text(source, "the sentence to trace")
        if target is not None:
            check_text(target, "its translation")
        try:
            from regard.translate import tracing
        except ModuleNotFoundError as error:
            raise MissingExtra(error.name or "torch", "torch", "tracing a model") from error
        searched = target is None and self.manifest.model.has_decoder
        search = self._decode_config(decode) if searched else None
        return tracing.trace_text(
            self._translator, self._network, source, target, search=search, edits=edits
        )

    def look(self, text: str, *, compare: str | Path | None = None, **decode: Any) -> Look:
        """One sentence with every number on a page, which shows itself in a notebook; needs torch.

        Elsewhere `.show()` opens it and `.save("look.html")` keeps it. `compare` names a second model to
        stand beside it; everything else is a field of DecodeConfig.
        """
        try:
            from regard.look.view import look_at
        except ModuleNotFoundError as error:
            raise MissingExtra(error.name or "torch", "torch", "looking into a model") from error
        second = None if compare is None else find(compare)
        return look_at(self.folder, text, compare=second, network=self._network, **decode)

    def chat(self, turns: Sequence[str] = (), **decode: Any) -> Conversation:
        """A conversation, whose `say(text)` gives the reply and keeps both; `turns` were said before.

        Everything else is a field of DecodeConfig; a temperature draws at random, 0 does not.
        """
        self._check_task("chat", "chats")
        turns = [check_text(turn, "a turn") for turn in turns]
        return Conversation(self._translator, self._decode_config(_drawn(decode, "beam")), turns)

    def reply(self, text: str | Sequence[str], **decode: Any) -> str:
        """The reply to a text, or to the last of several turns that two have said."""
        turns = [text] if isinstance(text, str) else check_texts(text)
        if not turns:
            raise UsageError("a reply must be to a turn: got none; give a text")
        return self.chat(turns[:-1], **decode).say(check_text(turns[-1]))

    def write(
        self, text: str = "", *, length: int = STORY_WORDS, number: int = 0, **decode: Any
    ) -> str:
        """The text and what follows it: at most `length` more words, drawn at random unless a seed is given.

        `number` and the seed decide what is drawn: another number, another ending. Everything else is a field of
        DecodeConfig; temperature=0 takes the most probable piece each time.
        """
        return text + "".join(self.writing(text, length=length, number=number, **decode))

    def writing(
        self, text: str = "", *, length: int = STORY_WORDS, number: int = 0, **decode: Any
    ) -> Iterator[str]:
        """What `write` adds to the text, word by word as it is found."""
        self._check_task("write", "writes on from a text")
        check_text(text)
        config = self._decode_config(_drawn({"method": "sample", **decode}, "greedy"))
        return write(self._translator, text, config, length, number)

    def fill(self, text: str, *, n_best: int = 5) -> list[list[Choice]]:
        """For each blank of a text, such as BERT's [MASK], the most probable words."""
        self._check_task("fill", "fills in blanks")
        if n_best < 1:
            raise UsageError(f"n_best must be at least 1: got {n_best}; give a larger one")
        own = self._translator
        engine = cast(Reader, own.engine)
        return fill(engine, self.manifest, own.source, check_text(text), n_best)

    def search(
        self,
        query: str,
        files: str | Path | Sequence[str | Path] = (),
        *,
        index: str | Path | None = None,
        top: int = 10,
        encoding: str | None = None,
    ) -> Found:
        """The passages of text files and folders nearest to a query, by the encoder's vectors; best first.

        `index` is a folder where what was read is kept: only files that have changed are read again, and without
        files it is searched as it is. In a notebook the result shows which words matched.
        """
        named = [files] if isinstance(files, str | Path) else files
        folder = None if index is None else Path(index)
        return find_passages(self._reader, query, named, folder=folder, top=top, encoding=encoding)

    @functools.cached_property
    def _reader(self) -> PassageReader:
        engine = self._translator.engine
        if hasattr(engine, "memory"):
            return PassageReader(self.folder, TorchEncoder(engine))
        return PassageReader.open(self.folder, **self._options)

    def _check_task(self, task: str, does: str) -> None:
        if self.manifest.task != task:
            raise ModelError(
                f"{shown(self.folder)} must be a model that {does}: got one to {self.manifest.task}; "
                "name another"
            )

    @functools.cached_property
    def _network(self) -> Any:
        from regard.engine.torch import load_model

        return load_model(self.folder)[0]

    def _decode_config(self, changes: dict[str, Any]) -> DecodeConfig:
        """The model's own search settings with changes; the beam widens to hold the n best."""
        values = {**to_dict(self.manifest.decode), **changes}
        if "beam" not in changes and isinstance(values["n_best"], int):
            values["beam"] = max(values["beam"], values["n_best"])
        return from_dict(DecodeConfig, values, "translate")


def _drawn(changes: dict[str, Any], otherwise: str) -> dict[str, Any]:
    """A temperature asks for draws, and one of 0 for none of them."""
    temperature = changes.get("temperature")
    if isinstance(temperature, int | float) and temperature < 0:
        raise UsageError(
            f"temperature must not be negative: got {temperature}; give 0, or one up to 2"
        )
    if temperature == 0:
        return {**changes, "method": otherwise, "temperature": 1.0}
    return changes if temperature is None else {"method": "sample", **changes}
