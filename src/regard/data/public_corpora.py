"""Which public corpora there are, who publishes them, under what licence, and what they become in a data folder.

A checksum stands here only where somebody else vouches for it: that of an archive as sacreBLEU lists it, or that of
the text inside a file as measurements here were made with it. Every other is recorded when a file is first fetched,
and must be the same from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regard.errors import DataError, UsageError, suggest


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
    megabytes: float | None
    """to be fetched, about; none where its publisher does not say"""
    files: tuple[DataFile, ...]
    """none: it has to be put together by hand from its home"""


_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_MULTI30K_TEXTS = {
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "test_2017_flickr.de": "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081",
    "test_2017_flickr.en": "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98",
    "test_2017_flickr.fr": "6f3764e31dac41e9455e612958bcfd4e877c5e15cd66df2c2b2be6d9bd83e5b6",
    "test_2017_mscoco.de": "58277df3c75f92f7145a11b910b553d1cf82c439249d4dc237c899609eafac22",
    "test_2017_mscoco.en": "43051fdfa86fd5395182e718a94ca67b1b227b9f7c79596ff0f6b813216981d2",
    "test_2017_mscoco.fr": "39cde3f43f32b0a6bf29ce4917a46329ff32e53070c2fac87506695a740ae0a0",
}

_EUROPARL = "https://www.statmt.org/europarl/v7/fr-en.tgz"
_TATOEBA = "https://object.pouta.csc.fi/OPUS-Tatoeba/v2023-04-12/moses/en-fr.txt.zip"
_NEWS_COMMENTARY = (
    "https://data.statmt.org/news-commentary/v14/training/news-commentary-v14.en-fr.tsv.gz"
)
_NTREX = (
    "https://raw.githubusercontent.com/MicrosoftTranslator/NTREX/"
    "c9f006f2c132c932b83ccd7aaa6a35930dd9c370/NTREX-128"
)


def _newstest(
    year: int, url: str, checksum: str, members: dict[str, str]
) -> tuple[DataFile, DataFile]:
    french, english = (
        DataFile(
            f"fr-en/newstest{year}.{language}", (Source(url, members[language], None, checksum),)
        )
        for language in ("fr", "en")
    )
    return french, english


CORPORA = (
    PublicCorpus(
        name="multi30k",
        what="captions of pictures in English, German and French: 29,000 to train, three test sets",
        used_for="recipes multi30k-*",
        licence="non-commercial research",
        home="https://github.com/multi30k/dataset",
        megabytes=3,
        files=tuple(
            DataFile(f"multi30k/{name}.gz", (Source(f"{_MULTI30K}/{name}.gz"),), sha256)
            for name, sha256 in _MULTI30K_TEXTS.items()
        ),
    ),
    PublicCorpus(
        name="europarl",
        what="French-English proceedings of the European Parliament, version 7, two million pairs",
        used_for="recipes fr-en-base, en-fr-base",
        licence="free to reuse",
        home="https://www.statmt.org/europarl/",
        megabytes=194,
        files=(
            DataFile(
                "fr-en/europarl.tsv.gz",
                (
                    Source(_EUROPARL, "europarl-v7.fr-en.fr"),
                    Source(_EUROPARL, "europarl-v7.fr-en.en"),
                ),
                elsewhere=("fr-en/train.*.tsv#europarl",),
            ),
        ),
    ),
    PublicCorpus(
        name="tatoeba",
        what="French-English everyday sentences of Tatoeba, as OPUS aligned them in April 2023",
        used_for="recipes fr-en-base, en-fr-base",
        licence="CC-BY 2.0 FR",
        home="https://opus.nlpl.eu/Tatoeba/corpus/version/Tatoeba",
        megabytes=None,
        files=(
            DataFile(
                "fr-en/tatoeba.tsv.gz",
                (Source(_TATOEBA, "Tatoeba.en-fr.fr"), Source(_TATOEBA, "Tatoeba.en-fr.en")),
                elsewhere=("fr-en/train.*.tsv#tatoeba",),
            ),
        ),
    ),
    PublicCorpus(
        name="ntrex",
        what="1,997 sentences of English news of 2019, translated into French",
        used_for="recipes fr-en-base, en-fr-base",
        licence="CC-BY-SA 4.0",
        home="https://github.com/MicrosoftTranslator/NTREX",
        megabytes=0.6,
        files=(
            DataFile(
                "fr-en/ntrex.tsv.gz",
                (
                    Source(f"{_NTREX}/newstest2019-ref.fra.txt"),
                    Source(f"{_NTREX}/newstest2019-src.eng.txt"),
                ),
                elsewhere=("fr-en/extra-free.tsv#news/ntrex",),
            ),
        ),
    ),
    PublicCorpus(
        name="news-commentary",
        what="French-English newspaper commentaries, version 14",
        used_for="better news than the recipes' own text; they were measured without it",
        licence="not stated; released for research by WMT",
        home="https://data.statmt.org/news-commentary/",
        megabytes=None,
        files=(
            DataFile(
                "fr-en/news-commentary.tsv.gz",
                (Source(_NEWS_COMMENTARY, column=1), Source(_NEWS_COMMENTARY, column=0)),
            ),
        ),
    ),
    PublicCorpus(
        name="newstest",
        what="WMT's news test sets of 2012, 2013 and 2014 in French and English",
        used_for="validation and test of recipes fr-en-base, en-fr-base",
        licence="not stated; released for research by WMT",
        home="https://www.statmt.org/wmt14/",
        megabytes=None,
        files=(
            *_newstest(
                2012,
                "https://statmt.org/wmt12/test.tgz",
                "md5:608232d34ebc4ba2ff70fead45674e47",
                {code: f"test/newstest2012-src.{code}.sgm" for code in ("fr", "en")},
            ),
            *_newstest(
                2013,
                "https://statmt.org/wmt13/test.tgz",
                "md5:48eca5d02f637af44e85186847141f67",
                {code: f"test/newstest2013-src.{code}.sgm" for code in ("fr", "en")},
            ),
            *_newstest(
                2014,
                "https://statmt.org/wmt14/test-full.tgz",
                "md5:a8cd784e006feb32ac6f3d9ec7eb389a",
                {
                    "fr": "test-full/newstest2014-fren-ref.fr.sgm",
                    "en": "test-full/newstest2014-fren-src.en.sgm",
                },
            ),
        ),
    ),
    PublicCorpus(
        name="selfdialogue",
        what="24,000 dialogues in English whose two sides one writer wrote",
        used_for="chat",
        licence="BSD-3-Clause",
        home="https://github.com/jfainberg/self_dialogue_corpus",
        megabytes=None,
        files=(),
    ),
    PublicCorpus(
        name="topical-chat",
        what="conversations in English about eight subjects",
        used_for="chat",
        licence="CDLA-Sharing 1.0",
        home="https://github.com/alexa/Topical-Chat",
        megabytes=None,
        files=(),
    ),
    PublicCorpus(
        name="stories",
        what="novels and short stories in English, as Standard Ebooks edits them",
        used_for="writing",
        licence="CC0, public domain in the US",
        home="https://standardebooks.org/",
        megabytes=None,
        files=(),
    ),
)


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


DATA = "data"
"""the folder that recipes speak of, and where `regard data get` puts files unless told otherwise"""
PREPARED = "prepared"
"""below it: what `regard data prepare` makes, apart from raw files of the same names"""
_PACKED = ("", ".gz", ".xz")


def find_files(name: str, folder: Path) -> list[str]:
    """The file `data/…` of a recipe below a folder: under its name, packed in another way, or within mixed files."""
    inside = name.removeprefix(f"{DATA}/")
    path, _, label = inside.partition("#")
    if found := _packed_in_any_way(folder, path):
        return [f"{found}#{label}" if label else str(found)]
    known = corpus_of(path)
    for pattern in known[1].elsewhere if known else ():
        pattern, _, label = pattern.partition("#")
        found_mixed = sorted({each for ending in _PACKED for each in folder.glob(pattern + ending)})
        if found_mixed:
            return [f"{each}#{label}" for each in found_mixed]
    top, *below = Path(path).parts
    if known:
        advice = f"run  regard data get {known[0].name}, or"
    elif top == PREPARED and below:
        advice = f"make it with  regard data prepare {below[0]} FILES, or"
    else:
        advice = "put it there, or"
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
