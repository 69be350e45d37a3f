"""`regard.load("fr-en").translate("Bonjour.")`: a model folder as an object that takes and gives text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from regard.catalogue import ModelInfo, available, find, find_by_languages
from regard.chatting import Conversation
from regard.checkpoint import open_tokenizers
from regard.config import DecodeConfig, from_dict, to_dict
from regard.engine import Engine, EngineKind, Precision, open_engine
from regard.engine.vectors import TorchEncoder
from regard.errors import DataError, MissingExtra, ModelError, UsageError
from regard.evaluate import Score, evaluate, require_metrics
from regard.exchange import formats
from regard.filling import Choice, Reader, fill, with_blanks
from regard.manifest import read_manifest
from regard.search.finding import Found, Hit
from regard.search.finding import find as find_passages
from regard.search.reading import Reader as PassageReader
from regard.text.given import check_text
from regard.text.glossary import Glossary
from regard.translation import Candidate, Sentence, Translation
from regard.translator import Translator
from regard.wishes import Wishes
from regard.writing import STORY_WORDS, write

if TYPE_CHECKING:
    from regard.look.view import Look
    from regard.trace import Trace

__all__ = [
    "Candidate",
    "Choice",
    "Found",
    "Hit",
    "Conversation",
    "Model",
    "ModelInfo",
    "Sentence",
    "Translation",
    "available",
    "export",
    "import_model",
    "load",
    "translate",
]


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
        **decode: Any,
    ) -> str | list[str] | Translation | list[Translation]:
        """Translate a text, or a list of texts into a list.

        A text of several sentences is cut at their ends and put together again with its own white space;
        split=False takes it as one sentence. Each output begins with `prefix`, holds none of the `banned`
        words and all of the `required` ones, spelt exactly so; with a prefix or a required word a text is
        one sentence. `glossary` maps words to their translations, or is a file of them; `alignment` adds to
        the details which word became which.
        `number` counts the sentences that came before in other calls: it and the seed decide what is sampled.
        Everything else is a field of DecodeConfig: beam=8, n_best=3, method="sample", seed=1.
        """
        texts = _checked_texts([text] if isinstance(text, str) else text)
        wishes = Wishes(
            check_text(prefix, "prefix"),
            _words("banned", banned),
            _words("required", required),
            _glossary(glossary),
        )
        results = self.translator.translate(
            texts,
            self._decode_config(decode),
            wishes,
            sentences=split,
            number=number,
            alignment=alignment,
        )
        answers = results if details else [each.text for each in results]
        return answers[0] if isinstance(text, str) else answers

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[float]]:
        """The log-probability of each piece of each target, its end last; their sum is the target's."""
        sources, targets = _checked_texts(sources), _checked_texts(targets)
        _check_counts("sources and targets", sources, targets)
        return self.translator.score(sources, targets)

    def evaluate(self, sources: Sequence[str], references: Sequence[str], **decode: Any) -> Score:
        """Translate the sources, each as one sentence, and score them against the references."""
        require_metrics()
        sources, references = _checked_texts(sources), _checked_texts(references)
        _check_counts("sources and references", sources, references)
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
            from regard import tracing
        except ModuleNotFoundError as error:
            raise MissingExtra(error.name or "torch", "torch", "tracing a model") from error
        own, config = self._translator, self.manifest.model
        ids = with_blanks(self.manifest, own.source, source) if config.has_encoder else []
        given = [] if config.has_encoder else own.target.encode(source)
        if target is None and config.has_decoder:
            search = self._decode_config(decode)
            trace = tracing.trace_search(self._network, ids, search, edits, given)
        else:
            written = [*own.target.beginning, *given, *own.target.encode(target or "")]
            trace = tracing.trace_pair(self._network, ids, written, edits)
            trace.check_names(edits or ())
        read, written = (
            trace[f"{side}.tokens"].tolist() if f"{side}.tokens" in trace else []
            for side in ("source", "target")
        )
        trace.metadata |= {
            "source": source,
            "target": own.target.decode(written),
            "source_pieces": own.source.pieces(read),
            "target_pieces": own.target.pieces(written),
            "source_language": self.manifest.source_language,
            "target_language": self.manifest.target_language,
        }
        return trace

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
        turns = [text] if isinstance(text, str) else _checked_texts(text)
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
                f"{self.folder} must be a model that {does}: got one to {self.manifest.task}; "
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


def load(
    name_or_folder: str | Path | None = None,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    engine: EngineKind = "auto",
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
) -> Model:
    """Load a model by name, as a folder, or by its languages; without any of them French to English.

    engine: onnxruntime (the CPU, no torch needed), torch, or auto.
    """
    folder = find_model(name_or_folder, source_language, target_language)
    options: dict[str, Any] = {"device": device, "threads": threads, "precision": precision}
    return Model(folder, open_engine(folder, engine, **options), kind=engine, **options)


def find_model(
    name_or_folder: str | Path | None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Path:
    """The folder of a model by its name or path, or by its languages."""
    if name_or_folder is None:
        return find_by_languages(source_language, target_language)
    folder = find(name_or_folder)
    manifest = read_manifest(folder)
    for side, wanted in (("source", source_language), ("target", target_language)):
        got = getattr(manifest, f"{side}_language")
        if wanted and got and wanted != got:
            raise UsageError(
                f"the {side} language of {folder.name} is {got}: got {wanted}; name another model"
            )
    return folder


@overload
def translate(text: str, *, model: str | None = ..., **options: Any) -> str: ...
@overload
def translate(text: Sequence[str], *, model: str | None = ..., **options: Any) -> list[str]: ...


def translate(
    text: str | Sequence[str], *, model: str | None = None, **options: Any
) -> str | list[str]:
    """Translate with a model that is loaded once and kept: `regard.translate("Bonjour.")`."""
    return _kept(model).translate(text, **options)


@functools.lru_cache(maxsize=4)
def _kept(name: str | None) -> Model:
    return load(name)


def export(
    model: str | Path, output: str | Path, *, weights: str | None = None, to: str = "regard"
) -> None:
    """Write a model in another format, or in regard's own with its weights as int8, fp16 or fp32.

    to: regard (with the CPU engine's graphs), safetensors, huggingface, ctranslate2 or onnx.
    """
    formats.write(find(model), Path(output), to, weights)


def import_model(
    folder: str | Path,
    output: str | Path,
    *,
    weights: str = "fp32",
    source_language: str = "",
    target_language: str = "",
    prompt: str = "",
    convert_pickle: bool = False,
) -> None:
    """Read a Hugging Face folder of Marian, BART, Pegasus, T5, GPT-2 or BERT, and write a model folder.

    prompt: a text before every text that is read, such as T5's "translate English to German: ".
    convert_pickle: read weights from pytorch_model.bin too, in a process of its own.
    """
    from regard.exchange.huggingface import Wanted

    form = formats.check_format("regard", weights)
    prompt = check_text(prompt, "prompt")
    wanted = Wanted(form, source_language, target_language, prompt, convert_pickle)
    formats.read(Path(folder), Path(output), wanted)


def _drawn(changes: dict[str, Any], otherwise: str) -> dict[str, Any]:
    """A temperature asks for draws, and one of 0 for none of them."""
    temperature = changes.get("temperature")
    if temperature == 0:
        return {**changes, "method": otherwise, "temperature": 1.0}
    return changes if temperature is None else {"method": "sample", **changes}


def _checked_texts(texts: object) -> list[str]:
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        kind = type(texts).__name__
        raise UsageError(f"texts must be a str or a list of them: got {kind}; convert it first")
    return [check_text(text) for text in texts]


def _words(name: str, words: Sequence[str]) -> list[str]:
    if isinstance(words, str):
        raise UsageError(f"{name} must be a list of words: got a str; write  {name}=[{words!r}]")
    return _checked_texts(words)


def _glossary(given: Glossary | Mapping[str, str] | str | Path | None) -> Glossary | None:
    if given is None or isinstance(given, Glossary):
        return given
    return Glossary(given.items()) if isinstance(given, Mapping) else Glossary.load(given)


def _check_counts(what: str, left: Sequence[str], right: Sequence[str]) -> None:
    if len(left) != len(right):
        raise DataError(
            f"{what} must be as many lines: got {len(left)} and {len(right)}; "
            "line n of one must translate line n of the other"
        )
