"""`wordmint corpus`: fetch corpora, look at their statistics, draw their new words."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from wordmint.errors import UserError
from wordmint.text.words import Segmentation

if TYPE_CHECKING:
    from wordmint.corpora.corpus import Corpus

app = App(name="corpus", help="Fetch corpora, look at their statistics, draw their new words.")

DUMMIES_TOLD = 0.01  # of a split's characters: from here on they colour every number
NameOrPath = Annotated[str, Parameter(allow_leading_hyphen=True)]  # or "-" would be taken for an option


@Parameter(name="*")
@dataclass(frozen=True)
class TextOptions:
    """How files become text."""

    data: Path | None = None
    "Folder with the files of a named corpus."
    encoding: str = "utf-8"
    "Encoding of the files."
    errors: Literal["strict", "replace"] = "strict"
    "What to do with bytes that are not in that encoding: stop, or read them as the dummy character."
    segmentation: Segmentation = Segmentation.WHITESPACE
    "How text falls into words."


@app.command
def stats(
    *corpora: NameOrPath,
    options: TextOptions = TextOptions(),
    json: bool = False,
) -> None:
    """Character and word types, words out of vocabulary, tokens, characters; growth and burstiness of the vocabulary.

    Parameters
    ----------
    corpora
        demo, ptb, wikitext-2, mwc, mwc-LANG (with -large or -articles), or a folder with train, valid and test files
        or folders; a single file, a folder of files, or - for standard input, counts as train. Several give one table
        with a row each. Without any: demo.
    json
        Print JSON instead of a table: an object for one corpus, a list of objects for several.
    """
    from wordmint.corpora import tables
    from wordmint.corpora.statistics import corpus_statistics

    statistics = [corpus_statistics(corpus) for corpus in _prepared(corpora, options)]
    if json:
        print(tables.as_json(statistics))
    else:
        tables.show(statistics)


@app.command
def plot(
    *corpora: NameOrPath,
    options: TextOptions = TextOptions(),
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("new-words.svg"),
) -> None:
    """Draw how often the words of valid and test occur that train lacks: a panel a corpus.

    Parameters
    ----------
    corpora
        As for `wordmint corpus stats`.
    out
        The picture; its suffix decides: .svg, .pdf or .png.
    """
    from wordmint.corpora.figure import draw_new_words

    prepared = _prepared(corpora, options)
    draw_new_words(prepared, out)
    print(f"wrote {out}", file=sys.stderr)


@app.command
def fetch(
    corpus: str,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
) -> None:
    """Download a corpus from its public home, checked and resumable, and say under which terms it may be used.

    Parameters
    ----------
    corpus
        ptb, wikitext-2 or mwc; mwc-LANG stands for the whole mwc.
    out
        Folder to put it in. Without it, where the other commands look.
    """
    from wordmint.corpora.catalogue import name_of_download
    from wordmint.corpora.download import fetch_corpus
    from wordmint.home import downloads

    name = name_of_download(corpus)
    fetch_corpus(name, out or downloads(name))


def _prepared(names: tuple[str, ...], options: TextOptions) -> list[Corpus]:
    from wordmint.corpora.catalogue import find_sources
    from wordmint.corpora.prepare import prepare
    from wordmint.progress import reading_progress
    from wordmint.text.documents import Encoding

    encoding = Encoding(options.encoding, options.errors)
    with ExitStack() as until_prepared:
        kept = [_kept(name, until_prepared) for name in names or ("demo",)]
        sources = [source for name in kept for source in find_sources(name, options.data, encoding)]
        corpora = []
        for source in sources:
            with reading_progress(source.name) as report:
                corpora.append(prepare(source, encoding, options.segmentation, report))
            _warn(corpora[-1])
    return corpora


def _kept(name: str, until_prepared: ExitStack) -> str:
    """Standard input and pipes are put into a file first, as preparing reads its source twice."""
    from wordmint.text.documents import standard_input

    if name.startswith("-") and name != "-":
        raise UserError(f"unknown option {name}; --help shows those there are")
    if name != "-" and not Path(name).is_fifo():
        return name
    shown = "<stdin>" if name == "-" else name
    with nullcontext(standard_input()) if name == "-" else Path(name).open("rb") as text:
        try:
            folder = until_prepared.enter_context(TemporaryDirectory(prefix="wordmint-"))
            path = Path(folder, "stdin" if name == "-" else Path(name).name)
            with path.open("wb") as file:
                shutil.copyfileobj(text, file)
        except OSError as error:
            raise UserError(_no_room(shown, error)) from None
    until_prepared.enter_context(_said_of(str(path), shown))
    return str(path)


def _no_room(shown: str, error: OSError) -> str:
    return (
        f"{shown}: cannot be kept in {tempfile.tempdir or 'a folder for temporary files'} "
        f"({error.strerror or error}); free some space there or set TMPDIR to a folder on another disk"
    )


@contextmanager
def _said_of(path: str, shown: str) -> Iterator[None]:
    """What is wrong with the file that standard input was put into is wrong with standard input."""
    try:
        yield
    except UserError as error:
        raise UserError(str(error).replace(path, shown)) from None


def _warn(corpus: Corpus) -> None:
    from wordmint.corpora.source import SPLITS

    missing = [split for split in SPLITS if split not in corpus.splits]
    if missing:
        print(f"wordmint: warning: {corpus.name} has no {' and no '.join(missing)} split", file=sys.stderr)
    shares = {name: split.num_dummies / split.num_characters for name, split in corpus.splits.items()}
    if many := [f"{share:.1%} in {name}" for name, share in shares.items() if share > DUMMIES_TOLD]:
        print(
            f"wordmint: warning: {corpus.name}: the dummy stands for many characters ({' and '.join(many)}), "
            "which were too rare or could not be read",
            file=sys.stderr,
        )
    for one, other in corpus.shared_documents:
        print(f"wordmint: warning: {corpus.name}: {one} and {other} are the same text", file=sys.stderr)
