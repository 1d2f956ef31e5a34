"""`wordmint evaluate`: what a text costs, beside other models and simple baselines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from wordmint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wordmint.evaluation.baselines import Baseline
    from wordmint.evaluation.text import ModelText
    from wordmint.text.documents import Document, Encoding

app = App(name="evaluate", help="What a text costs a model, in bits.", default_parameter=Parameter(negative=()))


@app.default
def evaluate(
    *models_and_file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    corpus: str | None = None,
    data: Path | None = None,
    split: Literal["train", "valid", "test"] = "test",
    baselines: bool = False,
    exact: bool = False,
    slots: int | None = None,
    streams: int = 1,
    reset_documents: bool = False,
    dynamic: float | None = None,
    dynamic_decay: float = 0.01,
    dynamic_words: int = 20,
    int8: bool = False,
    encoding: str = "utf-8",
    errors: Literal["strict", "replace"] = "strict",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    json: bool = False,
) -> None:
    """Bits of a text, in all and per character, byte and word; of two models also whether one is truly better.

    Parameters
    ----------
    models_and_file
        One or more models (a folder, a run's folder or OWNER/NAME on the Hub), then a file, a folder of documents or
        "-" for standard input. With --corpus there is no file.
    corpus
        Evaluate on a split of this corpus instead of a file; a name or a folder, as for `wordmint corpus stats`.
    data
        Folder with the files of a named corpus.
    split
        Which split of the corpus.
    baselines
        Also show what compressors and n-grams make of the split, given the corpus's train.
    exact
        Also pay for which character each dummy is.
    slots
        Size of the cache, 0 to 10,000; without it, as in training.
    streams
        Read the text as this many texts side by side: quicker, but each begins without knowing the one before.
    reset_documents
        Begin each document without knowing those before it.
    dynamic
        Go on learning while reading, at this rate (dynamic evaluation); 0.1 is a good one to begin with.
    dynamic_decay
        The share of the way back to the trained weights at each of its steps.
    dynamic_words
        Words of each step.
    int8
        Read in 8-bit integers, on a CPU: several times as fast, and nearly the same.
    encoding
        Encoding of the files.
    errors
        What to do with bytes that are not in that encoding: stop, or read them as the dummy character.
    device
        Where to compute. auto: the GPU if there is one.
    json
        Print JSON instead of a table.
    """
    from wordmint.commands.inputs import torch_device
    from wordmint.dynamic import Dynamic
    from wordmint.evaluation import tables
    from wordmint.evaluation.compare import compare
    from wordmint.evaluation.evaluate import Reading
    from wordmint.evaluation.evaluate import evaluate as evaluate_model
    from wordmint.evaluation.text import read_text
    from wordmint.model.config import MAX_SLOTS
    from wordmint.model.int8 import read_in_int8
    from wordmint.model.language_model import LanguageModel, has_cache
    from wordmint.progress import scoring_progress
    from wordmint.text.documents import Encoding

    if slots is not None and not 0 <= slots <= MAX_SLOTS:
        raise UserError(f"--slots {slots}: it must lie between 0 and {MAX_SLOTS:,}")
    if streams < 1:
        raise UserError(f"--streams {streams}: it must be at least 1")
    if baselines and corpus is None:
        raise UserError("--baselines learn from a corpus's train: name it with --corpus instead of a file")
    if reset_documents and streams > 1:
        raise UserError("--reset-documents and --streams: each document would be cut too; give one of the two")
    if dynamic is not None and int8:
        raise UserError("--dynamic learns, which --int8 cannot; give one of the two")
    names, file = _parted(models_and_file, corpus)
    learning = None if dynamic is None else Dynamic(dynamic, dynamic_decay, dynamic_words)
    reading = Reading(streams, slots, reset_documents, exact, learning)
    documents = _documents(file, corpus, data, split, Encoding(encoding, errors))
    evaluations, texts = [], []
    for name in names:
        model = LanguageModel.load(name)
        if slots and not has_cache(model.network):
            raise UserError(f"--slots {slots}: {name} has no cache; leave the option away")
        model.network.to(torch_device("cpu" if int8 and device == "auto" else device))
        if int8:
            read_in_int8(model.network)
        text = read_text(documents, model)
        texts.append(text)
        with scoring_progress(name, len(text.words)) as report:
            evaluations.append(evaluate_model(model, text, reading, name, report))
    if any(one.counts != evaluations[0].counts for one in evaluations):
        raise UserError("the models respell or cut the text in different ways, so they cannot stand in one table")
    comparison = compare(evaluations[0], evaluations[1]) if len(evaluations) == 2 else None
    rows = _baselines(corpus, data, split, texts[0], reading.exact, Encoding(encoding, errors)) if baselines else []
    if json:
        print(tables.as_json(evaluations, comparison, rows))
    else:
        tables.show(evaluations, comparison, rows)


def _parted(models_and_file: tuple[str, ...], corpus: str | None) -> tuple[tuple[str, ...], str | None]:
    names, file = (models_and_file, None) if corpus else (models_and_file[:-1], next(iter(models_and_file[-1:]), None))
    if not names:
        raise UserError("name a model and a file: wordmint evaluate MODEL FILE, or MODEL --corpus NAME")
    return names, file


def _documents(
    file: str | None, corpus: str | None, data: Path | None, split: str, encoding: Encoding
) -> Iterable[Document]:
    from wordmint.corpora.catalogue import find_sources
    from wordmint.text.documents import Document, find_documents

    if corpus is None:
        if (Path(file or "-") / "config.json").exists() or (Path(file or "-") / "model" / "config.json").exists():
            raise UserError(f"{file}: a model, where the text was to stand: wordmint evaluate MODEL … FILE")
        found = find_documents(Path(file or "-"), encoding)
        return [Document(one.name, (one.text,)) for one in found] if file == "-" else found  # read once, used often
    sources = find_sources(corpus, data, encoding)
    if len(sources) > 1:
        raise UserError(f"{corpus}: several corpora ({', '.join(one.name for one in sources)}); name one of them")
    if split not in sources[0].splits:
        raise UserError(f"{corpus}: it has no {split} split; it has {' and '.join(sources[0].splits)}")
    return sources[0].splits[split]


def _baselines(
    corpus: str | None, data: Path | None, split: str, text: ModelText, exact: bool, encoding: Encoding
) -> list[Baseline]:
    from wordmint.corpora.catalogue import find_sources
    from wordmint.corpora.prepare import prepare
    from wordmint.evaluation.baselines import baselines
    from wordmint.evaluation.escapes import escape_bits
    from wordmint.progress import line_progress

    assert corpus is not None
    (source,) = find_sources(corpus, data, encoding)
    prepared = prepare(source, encoding)
    if prepared.splits[split].num_characters != text.num_characters:
        raise UserError(
            f"--baselines: to the model {corpus} is another text (it was trained on words spelled otherwise)"
        )
    paid = sum(escape_bits(text.unknown_characters(prepared.alphabet)[0], prepared.alphabet)) if exact else 0.0
    return [replace(row, bits=row.bits + paid) for row in baselines(prepared, split, line_progress)]
