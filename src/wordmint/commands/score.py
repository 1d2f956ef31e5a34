"""`wordmint score`: the surprisal of every word of a text, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from wordmint.errors import UserError

app = App(name="score", help="A row for every word of a text.", default_parameter=Parameter(negative=()))


@app.default
def score(
    model: str,
    *files: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    format: Literal["tsv", "jsonl", "parquet"] = "tsv",
    base: Literal["2", "e", "10"] = "2",
    characters: bool = False,
    line_ends: Annotated[bool, Parameter(negative="--no-line-ends")] = True,
    reset_documents: bool = False,
    state: Path | None = None,
    save_state: Path | None = None,
    slots: int | None = None,
    dynamic: float | None = None,
    int8: bool = False,
    encoding: str = "utf-8",
    errors: Literal["strict", "replace"] = "strict",
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Surprisal of every word, where it stands, and whether it was spelled or copied.

    A row holds the document, the line, the characters it was read from (start, end; counted from 0), the word, its
    surprisal, its bits per character (its end counts as one), the probability that it was copied, the gate (the
    probability of spelling), its slot in the cache (-1: none), and whether it is new to the reading. R reads the table
    with read.delim(file, na.strings = ""), pandas with read_csv(file, sep="\\t", keep_default_na=False).

    Parameters
    ----------
    model
        A model's folder, a run's folder, or OWNER/NAME on the Hub.
    files
        Files, folders of documents, JSON lines with a "text" each, or "-" for standard input.
    out
        Where to write; without it, standard output.
    format
        tsv, jsonl or parquet.
    base
        Of the logarithm that surprisal is: 2 (bits), e (nats) or 10.
    characters
        A row for every character instead; slower.
    line_ends
        Leave the rows of line ends out with --no-line-ends; they are read all the same.
    reset_documents
        Begin each document without knowing those before it; many short ones are read side by side.
    state
        Go on from a state that was saved.
    save_state
        Where to save the state after the text.
    slots
        Size of the cache, 0 to 10,000; without it, as in training.
    dynamic
        Go on learning while reading, at this rate (dynamic evaluation); 0.1 is a good one to begin with.
    int8
        Read in 8-bit integers, on a CPU: several times as fast, and nearly the same.
    encoding
        Encoding of the files.
    errors
        What to do with bytes that are not in that encoding: stop, or read them as the dummy character.
    device
        Where to compute. auto: the GPU if there is one.
    """
    from wordmint.commands.inputs import documents_of, model_and_state
    from wordmint.progress import scoring_progress
    from wordmint.text.documents import Encoding
    from wordmint.text.words import LINE_END
    from wordmint.use.rows import CharacterRow, WordRow, character_rows, word_rows
    from wordmint.use.writers import row_writer, written_whole

    if not files:
        raise UserError('name a file after the model, or "-" for standard input: wordmint score MODEL FILE')
    documents = documents_of(files, Encoding(encoding, errors))
    lm, before = model_and_state(model, "cpu" if int8 and device == "auto" else device, state, slots, int8)
    if dynamic is not None and int8:
        raise UserError("--dynamic learns, which --int8 cannot; give one of the two")
    if dynamic is not None and (characters or reset_documents):
        raise UserError("--dynamic learns along one text: leave --characters and --reset-documents away")
    unit, row_type = _nats_of(base), CharacterRow if characters else WordRow
    if characters:
        parts = character_rows(lm.language_model, documents, before, reset_documents, unit)
    else:
        learner = None if dynamic is None else lm.learner(dynamic)
        parts = word_rows(lm.language_model, documents, before, reset_documents, unit, learner)
    progress = scoring_progress(model, None, unit="characters" if characters else "words")
    with written_whole(out) as file, row_writer(format, file, row_type) as write, progress as report:
        for rows, after in parts:
            write([row for row in rows if line_ends or row.word != LINE_END])
            report(len(rows))
            before = after
    if save_state:
        before.save(save_state)


def _nats_of(base: str) -> float:
    import math

    return {"2": math.log(2), "e": 1.0, "10": math.log(10)}[base]
