"""The page's own engine in a real browser: the same numbers, tokens, searches and texts as Python's."""

import base64
import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from browser.conftest import Window
from browser.find_tools import find_node, find_typescript, find_wabt
from browser.reading import script, shown_in, traced
from browser.test_use import turn_to
from fixtures import TEXT
from huggingface_fixtures import MAKERS
from look_fixtures import SEARCH, SENTENCE, make_subject, save_subject
from playwright.sync_api import Error, Page, expect
from unit.test_one_path import texts
from web_fixtures import serving

import regard
from regard.api import import_model
from regard.config import DecodeConfig, to_dict
from regard.engine.torch import TorchEngine
from regard.exchange.gguf_file import _BEFORE_MERGING
from regard.folder.catalogue import BUNDLED
from regard.folder.tensors import WeightForm
from regard.look import single_file
from regard.look.effects import head_effects
from regard.look.page_engine import hindrance
from regard.look.rules import rules
from regard.look.single_file import link, read_page, style_of
from regard.look.subject import Subject
from regard.look.whatif import attentions
from regard.text.imported_tokenizers import JsonTokenizer
from regard.text.protected import find_protected
from regard.text.tokenizer import Tokenizer
from regard.translate.protect import mask
from regard.translate.trace import search_recorded, trace_pair

ENGINE = Path(regard.__file__).parent / "look" / "page" / "engine"
TINY = dict(num_encoder_layers=2, num_decoder_layers=2)
RECURRENT: dict[str, Any] = dict(position="none", d_state=22)
VARIANTS: dict[str, tuple[WeightForm, dict[str, Any]]] = {
    "the paper's": ("fp32", {}),
    "pre-norm, learned, gelu": ("fp16", dict(norm_placement="pre", position="learned", feed_forward="gelu", embedding_norm=True)),
    "relative, rms, gated": ("int8", dict(position="relative", num_buckets=8, max_distance=11, norm="rms", feed_forward="gated-silu", tied="none")),
    "rotary decoder": ("int8", dict(architecture="decoder-only", d_model=40, position="rotary", norm_placement="pre", norm="rms")),
    "llama": ("int8", dict(architecture="decoder-only", d_model=64, d_k=8, num_heads=8, num_key_value_heads=2, position="rotary", rotary_base=500.0, rotary_factor=8.0, rotary_length=40, norm_placement="pre", norm="rms", feed_forward="gated-silu", biases="none")),
    "mistral and qwen": ("fp16", dict(architecture="decoder-only", num_key_value_heads=1, query_key_norm=True, window=3, position="rotary", norm_placement="pre", norm="rms", feed_forward="gated-silu", biases="query-key-value", tied="none")),
    "rnn": ("fp32", dict(**RECURRENT, architecture="rnn", attention="none")),
    "gru, additive": ("int8", dict(**RECURRENT, architecture="gru", attention="additive")),
    "lstm, general": ("fp16", dict(**RECURRENT, architecture="lstm", attention="general")),
    "gru, dot": ("fp32", dict(**RECURRENT, architecture="gru", attention="dot", num_decoder_layers=1)),
    "bert": ("fp32", dict(architecture="encoder-only", position="learned", scaled_embedding=False, output_bias=True, output_transform=True, feed_forward="gelu-tanh")),
    "alibi": ("int8", dict(position="alibi", d_model=48, num_heads=6, norm_placement="pre")),
    "rejected ideas": ("fp32", dict(position="scaled", norm="batch", d_k=7)),
}  # fmt: skip
SENTENCES = ["Le chat dort sur le lit.", "Écrivez à jean@uni.fr avant midi !", "IL PLEUT. Où vas-tu ?"]

TOKENS = """const [ts, fs] = [require(process.argv[1]), require("fs")];
const tokens = (node) => node.getChildCount() ? node.getChildren().flatMap(tokens) : [node.getText()];
const scripts = JSON.parse(fs.readFileSync(process.argv[2]));
console.log(JSON.stringify(scripts.map((text) => tokens(ts.createSourceFile("", text, 99, true, 1)))));"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder on a server, with the engine's modules in it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ENGINE, folder / "engine")
    for name in ("fr-en", "en-fr", "chat", "story", "search"):
        (folder / name).symlink_to(BUNDLED / name)
    (folder / "rules.json").write_text(json.dumps(rules()))
    (folder / "index.html").write_text("<!doctype html><title>engine</title><link rel=icon href=data:>")
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))) as server:
        yield folder, f"http://127.0.0.1:{server.server_address[1]}/"


Opens = Callable[[str, Subject], Page]


@pytest.fixture
def opens(window: Window, site: tuple[Path, str]) -> Opens:
    """Opens a model of the site in the engine."""

    def open_(name: str, subject: Subject) -> Page:
        window.page.goto(site[1])
        window.page.evaluate(script("open"), [f"/{name}", to_dict(subject.manifest)])
        return window.page

    return open_


def tiny(folder: Path, form: WeightForm, **changes: Any) -> Subject:
    """A random model on the site; what is read back holds the rounding of its form."""
    subject = make_subject(**{**TINY, **changes})
    shutil.rmtree(folder, ignore_errors=True)
    task = "fill" if not subject.config.has_decoder else "translate" if subject.config.has_encoder else "write"
    save_subject(replace(subject, manifest=replace(subject.manifest, weights=form)), folder, task)
    return Subject.open(folder)


def assert_traced_alike(page: Page, site: tuple[Path, str], subject: Subject) -> None:
    config = subject.config
    source = [*subject.source.encode(SENTENCE), config.eos_id] if config.has_encoder else []
    target = subject.target.encode("Jane visite") if config.has_decoder else []
    trace_pair(subject.network, source, target).save(site[0] / "trace.safetensors")
    assert page.evaluate(script("trace"), [source, target, "/trace.safetensors"]) == {}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_traced_value_is_torchs(opens: Opens, site: tuple[Path, str], variant: str) -> None:
    form, changes = VARIANTS[variant]
    subject = tiny(site[0] / "tiny", form, **changes)
    assert_traced_alike(opens("tiny", subject), site, subject)


@pytest.mark.parametrize("field", ["position", "norm", "feed_forward"])
def test_a_kind_that_the_engine_does_not_know_is_refused(opens: Opens, site: tuple[Path, str], field: str) -> None:
    subject = tiny(site[0] / "tiny", "fp32")
    object.__setattr__(subject.config, field, "spiral")
    with pytest.raises(Error, match=f"{field} must be one .*got spiral"):
        opens("tiny", subject).evaluate("() => window.subject.model.step([5], window.subject.model.start([5, 3]))")


@pytest.mark.parametrize("name", ["fr-en", "en-fr", "chat", "story", "search"])
def test_every_traced_value_of_the_bundled_models_is_torchs(opens: Opens, site: tuple[Path, str], name: str) -> None:
    subject = Subject.open(BUNDLED / name)
    assert_traced_alike(opens(name, subject), site, subject)


def made_up(words: list[str], count: int) -> list[str]:
    """Sentences of words, numbers, and signs that no vocabulary has."""
    draw = random.Random(3)
    rare = ["42", "x²", "naïve", "дом", "😀", "▁", "\t", "  ", "\U000f2581", "e\u0301", "ﬁn", "日本"]
    return [
        " ".join(draw.choice(words if draw.random() < 0.9 else rare) for _ in range(draw.randint(1, 14)))
        for _ in range(count)
    ]


def test_two_thousand_sentences_have_the_same_tokens(opens: Opens, site: tuple[Path, str]) -> None:
    subject = tiny(site[0] / "tiny", "fp32")
    files = [f"{name}/tokenizer.model" for name in ("fr-en", "en-fr", "search")]
    tokenizers = {file: Tokenizer.load(BUNDLED / file) for file in files}
    tokenizers["unigram.model"] = Tokenizer.train(TEXT, vocabulary=400, exact=False, kind="unigram")
    (site[0] / "unigram.model").write_bytes(tokenizers["unigram.model"].proto)
    page = opens("tiny", subject)
    sentences = made_up(sorted({word for text in [*TEXT, *texts("fr"), *texts("en")] for word in text.split()}), 500)
    for name, tokenizer in tokenizers.items():
        found = page.evaluate(script("encode"), [f"/{name}", False, sentences])
        wanted = tokenizer.encode_batch(sentences)
        assert found == [[ids, tokenizer.decode(ids), tokenizer.token_strings(ids)] for ids in wanted], name


IMPORTED: dict[str, Callable[[Path], Any]] = {name: MAKERS[name] for name in ("gpt2", "bert", "bart", "qwen3")}


@pytest.mark.parametrize("kind", IMPORTED)
def test_an_imported_model_has_the_same_tokens_and_values(opens, site, kind, tmp_path):
    IMPORTED[kind](tmp_path / kind)
    shutil.rmtree(site[0] / "imported", ignore_errors=True)
    import_model(tmp_path / kind, site[0] / "imported")
    subject = Subject.open(site[0] / "imported")
    assert hindrance(subject) == ""
    assert_traced_alike(opens("imported", subject), site, subject)


def json_tokenizers() -> Iterator[tuple[str, str]]:
    """A tokenizer.json of every form that the page's engine knows, trained on a few lines."""
    for name, parts in _BEFORE_MERGING.items():
        trained = tokenizers.ByteLevelBPETokenizer()
        trained.train_from_iterator(TEXT, vocab_size=330, show_progress=False, min_frequency=1)
        described = json.loads(trained.to_str())
        added = {"id": 330, "content": "chat d", "special": False, "normalized": name != "qwen2"}
        added |= dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        described |= {"pre_tokenizer": {"type": "Sequence", "pretokenizers": parts}, "added_tokens": [added]}
        described["model"]["ignore_merges"] = name == "llama-bpe"
        yield name, json.dumps(described | {"normalizer": {"type": "NFC"} if name == "qwen2" else None})
    for lowercase in (True, False):
        words = tokenizers.BertWordPieceTokenizer(lowercase=lowercase)
        words.train_from_iterator(TEXT, vocab_size=200, show_progress=False, min_frequency=1)
        yield f"bert, {lowercase}", words.to_str()
    merged = tokenizers.SentencePieceBPETokenizer(fuse_unk=True)
    bytes_ = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    merged.train_from_iterator(TEXT, vocab_size=400, show_progress=False, min_frequency=1, special_tokens=bytes_)
    described = json.loads(merged.to_str())
    described["added_tokens"] = described["added_tokens"][:1]
    yield "metaspace", json.dumps(described)
    yield "metaspace of old", json.dumps(described).replace('"prepend_scheme": "always", ', "")
    described["model"]["byte_fallback"] = True
    space = {"pattern": {"String": " "}, "content": "\u2581"}
    normalizers = [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", **space}]
    back = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    decoders = [back, {"type": "ByteFallback"}, {"type": "Fuse"}]
    decoders += [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    described |= {"pre_tokenizer": None, "normalizer": {"type": "Sequence", "normalizers": normalizers}}
    yield "llama", json.dumps(described | {"decoder": {"type": "Sequence", "decoders": decoders}})


def test_a_tokenizer_json_gives_the_same_tokens(window: Window, site: tuple[Path, str]) -> None:
    words = sorted({*" ".join(TEXT).split(), "don't", "I'LL", "(a.b)", "\r\n\n", "  x", "ÉTÉ"})
    sentences = [*made_up(words, 400), "", " ", "chat du", "\n\nle", "été 12345 l'été"]
    window.page.goto(site[1])
    for name, content in json_tokenizers():
        (site[0] / "made.json").write_text(content)
        tokenizer = JsonTokenizer(content.encode(), name=name)
        found = window.page.evaluate(script("encode"), ["/made.json", True, sentences])
        for sentence, own in zip(sentences, found, strict=True):
            ids = tokenizer.encode(sentence)
            assert own == [ids, tokenizer.decode(ids), tokenizer.token_strings(ids)], (name, sentence)


@pytest.mark.parametrize("method", ["beam", "greedy", "sample", "recurrent"])
def test_a_hundred_searches_find_the_same(opens: Opens, site: tuple[Path, str], method: str) -> None:
    changes = {"position": "sinusoidal"}
    if method == "recurrent":
        method, changes = "beam", {**RECURRENT, "architecture": "gru", "attention": "additive"}
    subject = tiny(site[0] / "tiny", "int8", **changes)
    page = opens("tiny", subject)
    engine, draw = TorchEngine(subject.network), random.Random(5)
    drawn = dict(seed=2**33 + 7, temperature=1.4, top_k=300, top_p=0.9, frequency_penalty=0.3)
    own = drawn if method == "sample" else {"n_best": 3} if method == "beam" else {}
    config = DecodeConfig(**SEARCH, method=method, coverage_penalty=0.1, **own)
    count = 100 if method == "beam" else 40
    sources = [[*draw.choices(range(300, 390), k=draw.randint(1, 12)), subject.config.eos_id] for _ in range(count)]
    prefixes = [draw.choices(range(300, 390), k=draw.choice([0, 0, 2])) for _ in sources]
    theirs = page.evaluate(script("searches"), [sources, to_dict(config), prefixes])
    for source, prefix, (tokens, scores, beams) in zip(sources, prefixes, theirs, strict=True):
        found = search_recorded(engine, source, config, prefix)
        assert tokens == [each.tokens for each in found.hypotheses]
        assert scores == pytest.approx([each.score for each in found.hypotheses], rel=1e-4)
        assert beams == [each.beams for each in found.history]


@pytest.mark.parametrize("name", ["fr-en", "en-fr"])
def test_the_stages_of_a_text_are_those_of_translate(opens: Opens, name: str) -> None:
    model = regard.load(name)
    translator, given = model._translator, texts(name[:2])[:600]
    theirs = opens(name, Subject.open(BUNDLED / name)).evaluate(script("stages"), [given])
    for text, (sentences, separators, stages) in zip(given, theirs, strict=True):
        parts = translator.split(text)
        assert (sentences, separators) == (parts.sentences, parts.separators), text
        for sentence, (read, masked, found) in zip(sentences, stages, strict=True):
            spans = find_protected(sentence, translator.normaliser.knows)
            normalised = translator.normaliser.normalise(sentence, [each.span for each in spans])
            assert found == [[each.text, each.kind] for each in spans]
            assert (read, masked) == (normalised.text, mask(sentence, normalised, spans).text)


def test_the_kernels_are_what_their_source_gives(tmp_path: Path) -> None:
    node, assembler = find_node(), find_wabt()
    assert node and assembler, "run ./check once, or python tests/browser/find_tools.py"
    made = tmp_path / "kernels.wasm"
    subprocess.run([node, str(assembler), str(ENGINE / "kernels.wat"), "-o", str(made)], check=True)
    [held] = re.findall(r'"([\w+/=]+)"', (ENGINE / "kernels_bytes.js").read_text())
    assert base64.b64decode(held) == made.read_bytes()


def test_the_scripts_of_a_file_have_the_tokens_of_their_modules(tmp_path: Path, monkeypatch) -> None:
    entries = ("main.js", "engine/worker.js")
    scripts = [link(entry, read_page) for entry in entries]
    monkeypatch.setattr(single_file, "tight", str)
    scripts += [link(entry, read_page) for entry in entries]
    (tmp_path / "scripts.json").write_text(json.dumps(scripts))
    node, compiler = find_node(), find_typescript()
    assert node and compiler, "run ./check once, or python tests/browser/find_tools.py"
    library = compiler.parents[1] / "lib" / "typescript.js"
    found = subprocess.run([node, "-e", TOKENS, str(library), str(tmp_path / "scripts.json")], capture_output=True)
    [*tokens] = json.loads(found.stdout)
    assert tokens[:2] == tokens[2:] and min(map(len, tokens)) > 30_000


def test_the_scripts_of_a_file_are_small() -> None:
    scripts = [link(entry, read_page) for entry in ("main.js", "engine/worker.js")]
    assert 100_000 < sum(len(each.encode()) for each in [*scripts, style_of("style.css")]) <= 320_000


def test_a_file_without_a_network_translates_what_is_typed(windows, saved, look):
    assert os.path.getsize(saved) < 36_000_000
    page = windows(offline=True).goto(saved.as_uri())
    expect(page.locator("#engine")).to_have_text("JavaScript engine")
    model = regard.load("fr-en")
    for sentence in SENTENCES:
        page.fill("#ask-text", sentence)
        page.keyboard.press("Enter")
        expect(page.locator("#sentence .to")).to_have_text(model.translate(sentence))
        expect(page.locator("#sentence .from")).to_have_text(sentence)
    # Its numbers are those that Python has for this text.
    run = look.session.text(SENTENCES[0])
    page.fill("#ask-text", SENTENCES[0])
    page.keyboard.press("Enter")
    expect(page.locator("#sentence .from")).to_have_text(SENTENCES[0])
    turn_to(page, "attention")
    cells = shown_in(page.locator("#panel"), "[data-name][data-value][data-index]")
    assert len(cells) > 3
    for each in cells:
        assert each.value == pytest.approx(traced(run, each.name, each.index), rel=1e-4, abs=1e-5), each
    page.locator("figure[data-title=scaled] canvas").press("Enter")
    here, there = (page.locator(f"#explanation [data-role={role}]").first for role in ("computed", "traced"))
    numbers = [float(each.get_attribute("data-value") or "") for each in (here, there)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-4)
    turn_to(page, "what-if")
    expect(page.locator("#ranking-state")).to_contain_text("All 60 heads")
    effects = [sum(each) for path in attentions(run.subject.config) for each in head_effects(run, path)["effects"]]
    ranked = [each.value for each in shown_in(page.locator("#ranking"), "td[data-value]")]
    assert ranked == pytest.approx(sorted(effects, key=lambda each: -abs(each)), rel=1e-3, abs=1e-4)
    silent = {"kind": "head-off", "attention": "encoder.layers.0.self_attention", "head": 0}
    wanted = look.session.whatif([silent], run.number)
    page.select_option("#off-attention", silent["attention"])
    page.select_option("#off-head", "0")
    page.click("#do-head-off")
    expect(page.locator("#text-after")).to_have_text(wanted.stage("restored"))
    expect(page.locator("#banner")).to_contain_text("head 1 off")
