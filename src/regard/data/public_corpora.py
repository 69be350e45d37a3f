"""The public corpora of public_corpora.toml, and where the files that a recipe names lie on this machine."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from regard.errors import DataError, UsageError, suggest

DATA = "data"
"""the folder in the file names of recipes, and where `regard data get` puts files unless told otherwise"""
_PACKED = ("", ".gz", ".xz")


@dataclass(frozen=True)
class Source:
    """Where lines come from: a file of the web, a member of an archive, or a column of either."""

    url: str
    member: str = ""
    column: int | None = None
    checksum: str = ""
    """of the file as it comes, such as md5:0a1b…"""


@dataclass(frozen=True)
class DataFile:
    """A file of the data folder: one source as it is, or two side by side with a TAB between them."""

    path: str
    sources: tuple[Source, ...]
    text_sha256: str = ""
    """of the text inside, however it is packed"""
    elsewhere: tuple[str, ...] = ()
    """lines of mixed files, as PATTERN#LABEL, that may take its place"""


@dataclass(frozen=True)
class PublicCorpus:
    name: str
    what: str
    used_for: str
    licence: str
    home: str
    megabytes: float | None = None
    """about the size of the download"""
    files: tuple[DataFile, ...] = ()
    """empty: the corpus has to be put together by hand from its home"""


def _read_corpora() -> tuple[PublicCorpus, ...]:
    found = []
    for corpus in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["corpus"]:
        files = []
        for file in corpus.pop("files", ()):
            sources = tuple(Source(**source) for source in file.pop("sources"))
            elsewhere = tuple(file.pop("elsewhere", ()))
            files.append(DataFile(**file, sources=sources, elsewhere=elsewhere))
        found.append(PublicCorpus(**corpus, files=tuple(files)))
    return tuple(found)


CORPORA = _read_corpora()


def find_corpus(name: str) -> PublicCorpus:
    names = [corpus.name for corpus in CORPORA]
    if name not in names:
        raise UsageError(
            f"a corpus must be one of {', '.join(names)}: got {name!r}{suggest(name, names)}"
        )
    return CORPORA[names.index(name)]


def corpus_of(path: str) -> tuple[PublicCorpus, DataFile] | None:
    """The corpus that a file of a data folder belongs to, and the file."""
    for corpus in CORPORA:
        for file in corpus.files:
            if file.path == path:
                return corpus, file
    return None


def find_files(name: str, folder: Path) -> list[str]:
    """The file `data/…` of a recipe below a folder: under its name, packed in another way, or within mixed files."""
    path, _, label = name.removeprefix(f"{DATA}/").partition("#")
    if found := _packed_in_any_way(folder, path):
        return [f"{found}#{label}" if label else str(found)]
    known = corpus_of(path)
    for pattern in known[1].elsewhere if known else ():
        pattern, _, label = pattern.partition("#")
        found_mixed = sorted({each for ending in _PACKED for each in folder.glob(pattern + ending)})
        if found_mixed:
            return [f"{each}#{label}" for each in found_mixed]
    advice = "put it there, or"
    if known:
        advice = f"run  regard data get {known[0].name}, or"
    elif path.startswith("prepared/fr-en/"):
        advice = "make it with  python recipes/text/prepare.py FILES, or"
    raise DataError(
        f"the recipe reads {folder / path}, which must be there: it is not; "
        f"{advice} name the folder that holds {path} with --data"
    )


def _packed_in_any_way(folder: Path, path: str) -> Path | None:
    plain = path.removesuffix(".gz").removesuffix(".xz")
    for each in (path, *(plain + ending for ending in _PACKED)):
        if (folder / each).is_file():
            return folder / each
    return None
