"""Lists of hypotheses from recognisers and translators, read and written in their own formats.

| format | where | a hypothesis |
|---|---|---|
| jsonl | a file | a line an utterance: {"id", "hypotheses": [{"text", "score"}, …], "reference"} |
| kaldi | a file | `utterance-N score words…`, N from 1 |
| espnet | a folder | `Nbest_recog/text` and `Nbest_recog/score`, a line an utterance |
| nemo | a TSV file | `words<TAB>score`, so many lines for each utterance as its beam is wide |
| srilm | a folder | a file an utterance, `(score) words…` or `acoustic language number words…` |
| moses | a file | `number ||| words ||| features ||| score` |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from wordmint.errors import UserError

FORMATS = ("jsonl", "kaldi", "espnet", "nemo", "srilm", "moses")
BEAM = 10  # of NeMo's lists, if nothing else is said


@dataclass(frozen=True)
class Hypothesis:
    """What may have been said; a higher score is better."""

    text: str
    score: float
    rest: Any = None  # what else its row says, to be written back


@dataclass(frozen=True)
class Utterance:
    """One utterance and what it may have been."""

    name: str
    hypotheses: tuple[Hypothesis, ...]
    reference: str | None = None
    rest: Any = None  # what else is said of it


def read_nbest(path: Path, format: str | None = None, beam: int = BEAM) -> list[Utterance]:
    """All utterances of a list, in its order."""
    format = format or guess_format(path)
    if not path.exists():
        raise UserError(f"{path}: no such list of hypotheses")
    match format:
        case "espnet":
            found = list(_read_espnet(path))
        case "srilm":
            found = list(_read_srilm(path))
        case "jsonl":
            found = [_json_utterance(row, where) for where, row in _rows(path)]
        case "kaldi":
            found = _grouped(_kaldi_hypothesis(row, where) for where, row in _rows(path))
        case "moses":
            found = _grouped(_moses_hypothesis(row, where) for where, row in _rows(path))
        case _:
            found = list(_read_nemo(path, beam))
    if not found:
        raise UserError(f"{path}: no utterances in it ({format})")
    names = sorted(utterance.name for utterance in found)
    twice = next((name for name, again in pairwise(names) if name == again), None)
    if twice:
        raise UserError(f"{path}: utterance {twice} comes twice; give each a name of its own")
    return found


def write_nbest(path: Path, utterances: Iterable[Utterance], format: str) -> None:
    """The list in a format; hypotheses in the order in which they come."""
    utterances = list(utterances)
    match format:
        case "espnet":
            _write_espnet(path, utterances)
        case "srilm":
            path.mkdir(parents=True, exist_ok=True)
            for one in utterances:
                rows = [f"({hypothesis.score:.6g}) {hypothesis.text}".rstrip() for hypothesis in one.hypotheses]
                _write(path / one.name, ["NBestList1.0", *rows])
        case _:
            _write(path, [row for one in utterances for row in _WRITTEN[format](one)])


def guess_format(path: Path) -> str:
    """From a folder's content or a file's first row."""
    if path.is_dir():
        return "espnet" if (path / "1best_recog").is_dir() else "srilm"
    first = next((row for _, row in _rows(path)), "") if path.exists() else ""
    if first.startswith("{"):
        return "jsonl"
    if " ||| " in first:
        return "moses"
    return "nemo" if "\t" in first else "kaldi"


def read_references(path: Path, utterances: list[Utterance]) -> dict[str, str]:
    """What was said: `utterance words…` a line, or, where no line begins with a known name, a line an utterance."""
    rows = [row for _, row in _rows(path, keep_empty=True)]
    names = [utterance.name for utterance in utterances]
    by_name = dict([*row.split(maxsplit=1), "", ""][:2] for row in rows)
    if any(name in by_name for name in names):
        missing = [name for name in names if name not in by_name]
        if missing:
            raise UserError(f"{path}: no reference for {missing[0]}, nor for {len(missing) - 1} others")
        return {name: by_name[name] for name in names}
    if len(rows) != len(names):
        raise UserError(f"{path}: {len(rows)} references for {len(names)} utterances; give one a line, in their order")
    return dict(zip(names, rows, strict=True))


# ---- reading ------------------------------------------------------------------------------------------------------


def _rows(path: Path, keep_empty: bool = False) -> Iterator[tuple[str, str]]:
    """Each row that is not empty, and where it stands."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path}:{line}: not UTF-8; re-encode the list") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    for number, row in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if row.strip() or keep_empty:
            yield f"{path}:{number}", row


def _number(text: str, where: str, what: str = "score") -> float:
    found = re.fullmatch(r"(?:tensor\()?([-+0-9.einfa]+)(?:,.*)?\)?", text.strip(), re.IGNORECASE)
    try:
        value = float(found.group(1) if found else text)
    except ValueError:
        raise UserError(f"{where}: {text.strip()[:40]!r} is no {what}") from None
    if value != value:
        raise UserError(f"{where}: the {what} is not a number")
    return value


def _json_utterance(row: str, where: str) -> Utterance:
    try:
        fields = json.loads(row)
        hypotheses = tuple(
            Hypothesis(one["text"], float(one["score"]), {k: one[k] for k in one if k not in ("text", "score")})
            for one in fields["hypotheses"]
        )
        if not all(isinstance(one.text, str) and one.score == one.score for one in hypotheses):
            raise TypeError
        name, reference = str(fields["id"]), fields.get("reference")
        if not isinstance(reference, str | None):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        said = '{"id": …, "hypotheses": [{"text": …, "score": …}, …]}'
        raise UserError(f"{where}: no utterance; each line is an object like {said}") from None
    return _checked(Utterance(name, hypotheses, reference, fields), where)


def _checked(utterance: Utterance, where: str) -> Utterance:
    if not utterance.hypotheses:
        raise UserError(f"{where}: {utterance.name} has no hypotheses; leave it out or give it one, even an empty one")
    return utterance


def _kaldi_hypothesis(row: str, where: str) -> tuple[str, Hypothesis]:
    name, *rest = row.split(maxsplit=2)
    utterance, dash, number = name.rpartition("-")
    if not (dash and number.isdigit() and rest):
        raise UserError(f"{where}: not `utterance-N score words…`")
    return utterance, Hypothesis(rest[1].strip() if len(rest) > 1 else "", _number(rest[0], where))


def _moses_hypothesis(row: str, where: str) -> tuple[str, Hypothesis]:
    parts = [part.strip() for part in row.split("|||")]
    if len(parts) < 4:
        raise UserError(f"{where}: not `number ||| words ||| features ||| score`")
    return parts[0], Hypothesis(parts[1], _number(parts[3], where), (parts[2], parts[4:]))


def _grouped(hypotheses: Iterable[tuple[str, Hypothesis]]) -> list[Utterance]:
    found: dict[str, list[Hypothesis]] = {}
    for name, hypothesis in hypotheses:
        found.setdefault(name, []).append(hypothesis)
    return [Utterance(name, tuple(some)) for name, some in found.items()]


def _read_nemo(path: Path, beam: int) -> Iterator[Utterance]:
    hypotheses = []
    for where, row in _rows(path):
        text, tab, score = row.rpartition("\t")
        if not tab:
            raise UserError(f"{where}: not `words<TAB>score`")
        hypotheses.append(Hypothesis(text.strip(), _number(score, where)))
    if len(hypotheses) % beam:
        raise UserError(f"{path}: {len(hypotheses)} rows are no multiple of the beam, {beam}; say --beam as it was")
    for number, begin in enumerate(range(0, len(hypotheses), beam)):
        yield Utterance(str(number), tuple(hypotheses[begin : begin + beam]))


def _read_espnet(path: Path) -> Iterator[Utterance]:
    found: dict[str, list[Hypothesis]] = {}
    number = 1
    while (folder := path / f"{number}best_recog").is_dir():
        scores = dict(_named(folder / "score"))
        for name, (where, text) in _named(folder / "text"):
            if name not in scores:
                raise UserError(f"{folder / 'score'}: no score for {name}, which {where} has")
            found.setdefault(name, []).append(Hypothesis(text, _number(scores[name][1], scores[name][0])))
        number += 1
    if number == 1:
        raise UserError(f"{path}: no folder 1best_recog in it")
    yield from (Utterance(name, tuple(some)) for name, some in found.items())


def _named(path: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    for where, row in _rows(path):
        name, text = [*row.split(maxsplit=1), ""][:2]
        yield name, (where, text.strip())


def _read_srilm(path: Path) -> Iterator[Utterance]:
    for file in sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")):
        rows = [(where, row) for where, row in _rows(file) if not row.startswith("NBestList")]
        yield _checked(Utterance(file.name, tuple(_srilm_hypothesis(row, where) for where, row in rows)), str(file))


def _srilm_hypothesis(row: str, where: str) -> Hypothesis:
    if row.startswith("("):
        score, close, text = row[1:].partition(")")
        if not close:
            raise UserError(f"{where}: not `(score) words…`")
        return Hypothesis(text.strip(), _number(score, where))
    fields = row.split(maxsplit=3)
    if len(fields) < 3 or not fields[2].isdigit():
        raise UserError(f"{where}: neither `(score) words…` nor `acoustic language number words…`")
    words = fields[3] if len(fields) > 3 else ""
    kept = " ".join(word for word in words.split() if word not in ("<s>", "</s>"))
    return Hypothesis(kept, _number(fields[0], where))


# ---- writing ------------------------------------------------------------------------------------------------------


def _json_rows(one: Utterance) -> list[str]:
    hypotheses = [{"text": each.text, "score": each.score, **(each.rest or {})} for each in one.hypotheses]
    fields = {**(one.rest or {"id": one.name}), "hypotheses": hypotheses}
    if one.reference is not None:
        fields["reference"] = one.reference
    return [json.dumps(fields, ensure_ascii=False)]


def _kaldi_rows(one: Utterance) -> list[str]:
    return [f"{one.name}-{n} {each.score:.6g} {each.text}".rstrip() for n, each in enumerate(one.hypotheses, start=1)]


def _moses_rows(one: Utterance) -> list[str]:
    rows = []
    for each in one.hypotheses:
        features, more = each.rest or ("", [])
        rows.append(" ||| ".join([one.name, each.text, features, f"{each.score:.6g}", *more]))
    return rows


def _nemo_rows(one: Utterance) -> list[str]:
    return [f"{each.text}\t{each.score:.6g}" for each in one.hypotheses]


_WRITTEN: dict[str, Callable[[Utterance], list[str]]] = {
    "jsonl": _json_rows,
    "kaldi": _kaldi_rows,
    "moses": _moses_rows,
    "nemo": _nemo_rows,
}


def _write_espnet(path: Path, utterances: list[Utterance]) -> None:
    for number in range(max(len(one.hypotheses) for one in utterances)):
        folder = path / f"{number + 1}best_recog"
        having = [(one.name, one.hypotheses[number]) for one in utterances if number < len(one.hypotheses)]
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "text", [f"{name} {each.text}".rstrip() for name, each in having])
        _write(folder / "score", [f"{name} {each.score:.6g}" for name, each in having])


def _write(path: Path, rows: Iterable[str]) -> None:
    from wordmint.use.writers import written_whole

    with written_whole(path) as file:
        file.write("".join(row + "\n" for row in rows).encode())


def ranked(utterance: Utterance, scores: Iterable[float]) -> Utterance:
    """With other scores, the best first; of equal ones the one that came first."""
    rescored = [replace(each, score=score) for each, score in zip(utterance.hypotheses, scores, strict=True)]
    return replace(utterance, hypotheses=tuple(sorted(rescored, key=lambda each: -each.score)))
