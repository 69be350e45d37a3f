"""What `import regard` offers: `regard.load("fr-en").translate("Bonjour.")`.

A model is loaded by its name, folder or languages; `Model` takes and gives text, whatever its task.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from regard.config import DecodeConfig, to_dict
from regard.decode import StepModel
from regard.engine import EngineKind, Precision, open_engine
from regard.errors import ModelError, UsageError, needs_extra
from regard.exchange import formats
from regard.exchange.formats import import_model as import_model
from regard.folder.catalogue import available as available
from regard.folder.catalogue import find, find_model, shown
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import read_manifest
from regard.generate import STORY_WORDS
from regard.text import check_pairs, check_text, check_texts, check_words
from regard.translate.evaluate import Score, evaluate, require_metrics
from regard.translate.glossary import Glossary
from regard.translate.pipeline import Translator
from regard.translate.search import TranslateOptions
from regard.translate.translation import Translation as Translation

# What only one task needs is read by its own method: a translation starts in two thirds of the time.
if TYPE_CHECKING:
    from regard.generate.chat import Conversation
    from regard.generate.continuation import Choice
    from regard.look.view import Look
    from regard.search.encoder import TextEncoder
    from regard.search.results import SearchResult
    from regard.trace import Trace


class Model:
    """A loaded model."""

    def __init__(self, folder: Path, engine: StepModel, target_language: str | None = None, **options: Any) -> None:
        """options: how the engine was opened; search opens its encoder the same way."""
        self.folder, self._options = folder, options
        self.manifest = read_manifest(folder).toward(target_language)
        source, target = open_tokenizers(folder, self.manifest.tokenizer)
        self._translator = Translator(engine, self.manifest, source, target)

    def __repr__(self) -> str:
        does = " to ".join(self.manifest.languages) if self.manifest.task == "translate" else self.manifest.task
        return f"<regard.Model {self.folder.name}: {does}>"

    @property
    def translator(self) -> Translator:
        self._check_task("translate", "translates")
        return self._translator

    @overload
    def translate(self, text: str, *, details: Literal[False] = ..., **options: Any) -> str: ...
    @overload
    def translate(self, text: Sequence[str], *, details: Literal[False] = ..., **options: Any) -> list[str]: ...
    @overload
    def translate(self, text: str, *, details: Literal[True], **options: Any) -> Translation: ...
    @overload
    def translate(self, text: Sequence[str], *, details: Literal[True], **options: Any) -> list[Translation]: ...

    def translate(
        self,
        text: str | Sequence[str],
        *,
        details: bool = False,
        where: Callable[[int], str] | None = None,
        **options: Any,
    ) -> str | list[str] | Translation | list[Translation]:
        """Translate a text, or a list of texts into a list.

        details: return `Translation` objects instead of texts. where: a text's name in warnings, from its index.
        The options are
        split=False: take each text as one sentence, instead of keeping the white space between sentences;
        prefix="", required=(), banned=(): how every output begins, and words that it holds or does not, spelt
        exactly so; with a prefix or a required word a text must be one sentence;
        glossary: words and their translations, or a file of them;
        alignment=True: add word links to the details;
        plain=True: give the text to the model as it is, without normalisation and protected spans;
        mbr="chrf" or "bleu", samples=32: sample, and choose what agrees best with all samples (minimum Bayes risk);
        number: sentences translated in earlier calls, which decides with the seed what is sampled;
        and the fields of DecodeConfig: beam=8, n_best=3, method="sample", seed=1.
        """
        texts = check_texts([text] if isinstance(text, str) else text)
        results = self.translator.translate(texts, *self._configs(options), where=where)
        answers = results if details else [each.text for each in results]
        return answers[0] if isinstance(text, str) else answers

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[float]]:
        """The log-probability of each token of each target, the end token last."""
        return self.translator.score(*check_pairs("sources and targets", sources, targets))

    def evaluate(self, sources: Sequence[str], references: Sequence[str], **options: Any) -> Score:
        """Translate the sources as `translate` does, with the same options, and score them against the references."""
        require_metrics()
        sources, references = check_pairs("sources and references", sources, references)
        return evaluate(self.translate(sources, **options), references)

    def trace(
        self,
        source: str,
        target: str | None = None,
        *,
        edits: Mapping[str, Callable[[Any], Any]] | None = None,
        sentence: int = 0,
        **options: Any,
    ) -> Trace:
        """Every intermediate value of translating a text, by name; needs torch.

        The text is translated as by `translate` with the same options. The metadata hold it at every stage of the
        pipeline; the arrays are those of one sentence.
        target: the translation to trace; without it, the one that the search finds.
        edits: functions by name, each of which changes the value [batch, ...] there, in the search as well.
        A language model reads the sentence as the beginning of its target; a fill-in model has no target.
        """
        check_text(source, "the sentence to trace")
        check_text(target or "", "its translation")
        with needs_extra("torch", "tracing a model"):
            from regard.translate.trace import trace_text
        decode, pipeline = self._configs(options)
        asked: dict[str, Any] = {"options": pipeline, "sentence": sentence, "edits": edits}
        searched = decode if target is None and self.manifest.model.has_decoder else None
        return trace_text(self._translator, self.module, source, target, decode=searched, **asked)

    def look(self, text: str, *, compare: str | Path | None = None, sentence: int = 0, **options: Any) -> Look:
        """A page with every number of translating one sentence, displayed in a notebook; needs torch.

        Elsewhere `.show()` opens it and `.save("look.html")` writes it. compare: a second model beside it.
        sentence: which sentence of the text to show, from 0. The options are those of `translate`.
        """
        with needs_extra("torch", "looking into a model"):
            from regard.look.view import look_at
        decode, pipeline = self._configs(options)
        opened: Any = {"network": self.module, "engine": self._translator.engine, **to_dict(decode)}
        opened |= {"compare": find(compare) if compare else None, "target_language": self.manifest.target_language}
        return look_at(self.folder, text, sentence=sentence, options=pipeline, **opened)

    def chat(self, turns: Sequence[str] = (), **decode: Any) -> Conversation:
        """A conversation: `say(text)` returns the reply and remembers both. turns: what was said before.

        A turn that asks for a translation is answered by a translator, named in `translated_by`. Everything else is a
        field of DecodeConfig or GenerateConfig; a temperature above 0 samples.
        """
        from regard.generate.chat import Conversation

        self._check_task("chat", "chats")
        configs = self.manifest.generate_with(decode, unsampled="beam")
        opening = {"engine" if name == "kind" else name: value for name, value in self._options.items()}
        open_translator = functools.partial(_load_kept, **opening)
        return Conversation(self._translator, *configs, [check_text(turn, "a turn") for turn in turns], open_translator)

    def reply(self, text: str | Sequence[str], **decode: Any) -> str:
        """The reply to a text, or to the last of several turns."""
        turns = [text] if isinstance(text, str) else check_texts(text)
        if not turns:
            raise UsageError("a reply must be to a turn: got none; give a text")
        return self.chat(turns[:-1], **decode).say(check_text(turns[-1]))

    def write(self, text: str = "", **options: Any) -> str:
        """The text and what `writing` adds to it."""
        return text + "".join(self.writing(text, **options))

    def writing(self, text: str = "", *, length: int = STORY_WORDS, number: int = 0, **decode: Any) -> Iterator[str]:
        """At most `length` more words, one by one, sampled; number and seed decide what is drawn.

        Everything else is a field of DecodeConfig or GenerateConfig; temperature=0 takes the most probable tokens.
        """
        from regard.generate.continuation import write

        self._check_task("write", "writes on from a text")
        return write(self._translator, check_text(text), decode, length, number)

    def write_all(self, texts: Sequence[str], **options: Any) -> list[str]:
        """What `writing` adds to each text, with its options; all are searched together, text i with `number` + i."""
        from regard.generate.continuation import write_all

        self._check_task("write", "writes on from a text")
        return write_all(self._translator, check_texts(texts), **options)

    def fill(self, text: str, *, n_best: int = 5) -> list[list[Choice]]:
        """For each blank of a text, such as BERT's [MASK], the most probable words."""
        from regard.generate.continuation import fill

        self._check_task("fill", "fills in blanks")
        return fill(self._translator, check_text(text), n_best)

    def search(
        self,
        query: str,
        files: str | Path | Sequence[str | Path] = (),
        *,
        index: str | Path | None = None,
        top: int = 10,
        encoding: str | None = None,
    ) -> SearchResult:
        """The passages of text files and folders nearest to a query by the encoder's vectors, best first.

        index: a folder that keeps the vectors, so that only changed files are read again; without files it
        is searched as it is. In a notebook the result shows which words matched.
        """
        from regard.search.query import find as find_passages

        where: Any = {"folder": None if index is None else Path(index), "top": top, "encoding": encoding}
        return find_passages(self._text_encoder, query, [files] if isinstance(files, str | Path) else files, **where)

    @functools.cached_property
    def _text_encoder(self) -> TextEncoder:
        from regard.search.encoder import TextEncoder

        engine: Any = self._translator.engine
        reads = hasattr(engine, "vectors")
        return TextEncoder(self.folder, engine) if reads else TextEncoder.open(self.folder, **self._options)

    def _check_task(self, task: str, does: str) -> None:
        # A chat model without an encoder goes on from any text.
        writes = task == "write" and self.manifest.task == "chat" and not self.manifest.model.has_encoder
        if self.manifest.task != task and not writes:
            raise ModelError(
                f"{shown(self.folder)} must be a model that {does}: got one to {self.manifest.task}; name another"
            )

    @functools.cached_property
    def module(self) -> Any:
        """The torch module with these weights, on the CPU in float32; changing it changes no translation."""
        with needs_extra("torch", "the module of a model"):
            from regard.engine.torch import load_model
        return load_model(self.folder)[0]

    def _configs(self, options: dict[str, Any]) -> tuple[DecodeConfig, TranslateOptions]:
        """The model's own search settings and those of the pipeline, from the options of a call."""
        names = {field.name for field in dataclasses.fields(TranslateOptions)}
        own = {name: options.pop(name) for name in names & options.keys()}
        own["prefix"] = check_text(own.get("prefix", ""), "prefix")
        own |= {name: check_words(name, own.get(name, ())) for name in ("banned", "required")}
        own["glossary"] = Glossary.of(own.get("glossary"))
        return self.manifest.decode_with(options), TranslateOptions(**own)


def load(
    name_or_folder: str | Path | Sequence[str | Path] | None = None,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    engine: EngineKind = "auto",
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
) -> Model:
    """Load a model by name, folder or languages; French to English by default. Several make an ensemble.

    engine: onnxruntime (CPU, without torch), torch, or auto.
    """
    options: dict[str, Any] = {"device": device, "threads": threads, "precision": precision}
    if isinstance(name_or_folder, Sequence) and not isinstance(name_or_folder, str):
        languages: dict[str, Any] = {"source_language": source_language, "target_language": target_language}
        first, *others = (load(each, **languages, engine=engine, **options) for each in name_or_folder)
        first._translator = first._translator.joined([each._translator for each in others])
        return first
    folder = find_model(name_or_folder, source_language, target_language)
    return Model(folder, open_engine(folder, engine, **options), target_language, kind=engine, **options)


_load_kept = functools.lru_cache(maxsize=4)(load)


@overload
def translate(text: str, *, model: str | None = ..., **options: Any) -> str: ...
@overload
def translate(text: Sequence[str], *, model: str | None = ..., **options: Any) -> list[str]: ...


def translate(text: str | Sequence[str], *, model: str | None = None, **options: Any) -> str | list[str]:
    """Translate with a model that stays loaded: `regard.translate("Bonjour.")`."""
    return _load_kept(model).translate(text, **options)


def export(
    model: str | Path,
    output: str | Path,
    *,
    weights: str | None = None,
    to: str = "regard",
    mix: Sequence[tuple[str | Path, float]] = (),
) -> None:
    """Write a model in another format, or in regard's own with weights as int8, fp16 or fp32.

    to: regard (with the CPU engine's graphs), safetensors, huggingface, ctranslate2, onnx, or web: a translating site.
    mix: other models of the same shape with their share of the weights, `[("runs/first", 0.25)]`.
    """
    if to == "web":
        if weights or mix:
            raise UsageError("a site holds a model as it is: got weights or mix; export to regard first, then to web")
        with needs_extra("torch", "exporting a site"):
            from regard.serve.site import write_site
        return write_site(find(model), Path(output))
    formats.write(find(model), Path(output), to, weights, [(find(other), share) for other, share in mix])
