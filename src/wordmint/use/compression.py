"""Compressing any bytes with a model: words by their exact character probabilities, and what words leave out.

The model sees words. What stands between two words is one space, or nothing beside a line end; every other gap, and
every word that the model respells, is kept in a list of exceptions. A character that the model does not know is named
by the code that `evaluate --exact` pays for. Bytes that are no UTF-8 become lone surrogates: such characters too.

The file: magic, version, the model's fingerprint, checksums of the rest and of the text, numbers of words and of bytes,
the exceptions, the coded words. Computed on one thread, so that the same machine gives the same numbers.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from wordmint.errors import UserError
from wordmint.model.language_model import LanguageModel
from wordmint.text.alphabet import DUMMY_ID, END_OF_WORD_ID, NUM_CODE_POINTS, Alphabet
from wordmint.text.words import LINE_END, Word, words
from wordmint.use.characters import Prefix, begin
from wordmint.use.coder import TOTAL_BITS, Decoder, Encoder, frequencies
from wordmint.use.prediction import predict
from wordmint.use.reading import check_length
from wordmint.use.state import TextState, fingerprint, start

MAGIC, VERSION = b"WMINT", 1
DIGEST = 8  # bytes of a checksum

Report = Callable[[int], None]


def compress(model: LanguageModel, data: bytes, slots: int | None = None, report: Report = lambda _: None) -> bytes:
    """The same bytes, shorter."""
    text = data.decode("utf-8", "surrogateescape")
    found = list(words([text], model.rules.segmentation))
    if found and found[-1].start == found[-1].end:  # the line end that a last line without one is given
        found.pop()
    check_length(max((word.end - word.start for word in found), default=0), "in the file")
    state, encoder, unknown = start(model, slots), Encoder(), _Unknown(model.alphabet)
    with _one_thread():
        for word in found:
            state = _encode(model, encoder, unknown, state, model.rules.respell.get(word.text, word.text))
            report(1)
    exceptions = zlib.compress(json.dumps(_exceptions(model, text, found), separators=(",", ":")).encode(), 9)
    head = b"".join(map(_number, (len(found), len(data), state.num_slots, len(exceptions))))
    body = _digest(data) + head + exceptions + encoder.finish()
    return MAGIC + bytes([VERSION]) + bytes.fromhex(fingerprint(model)) + _digest(body) + body


def decompress(model: LanguageModel, packed: bytes, name: str = "the file", report: Report = lambda _: None) -> bytes:
    """The bytes that were compressed; a file that is damaged, or of another model, gives one sentence and no bytes."""
    digest, (num_words, num_bytes, slots, size), rest = _opened(model, packed, name)
    given, decoder, unknown = json.loads(zlib.decompress(rest[:size])), Decoder(rest[size:]), _Unknown(model.alphabet)
    state, found = start(model, slots), list[str]()
    with _one_thread():
        for _ in range(num_words):
            word, state = _decode(model, decoder, unknown, state, num_bytes, name)
            found.append(word)
            report(1)
    data = _put_together(model, found, given).encode("utf-8", "surrogateescape")
    if _digest(data) != digest:
        raise UserError(
            f"{name}: what came out is not what went in; this machine computes other numbers than the one that "
            "compressed it, so decompress it there"
        )
    return data


def num_words_inside(packed: bytes) -> int:
    """How many words a compressed file holds, for progress; 0 if it is none."""
    first = len(MAGIC) + 1 + 16 + 2 * DIGEST
    return _take_number(packed, first)[0] if len(packed) > first else 0


# ---- one word -----------------------------------------------------------------------------------------------------


def _encode(model: LanguageModel, encoder: Encoder, unknown: _Unknown, state: TextState, word: str) -> TextState:
    prediction, spelling = predict(model, [state]), model.alphabet.spell([word])[0]
    prefix = begin(prediction)
    for character in spelling.tolist():
        sums = _sums(prefix)
        encoder.encode(int(sums[character]), int(sums[character + 1]))
        if character != END_OF_WORD_ID:
            prefix = prefix.go_on(character)
    for place in np.flatnonzero(spelling == DUMMY_ID).tolist():
        unknown.encode(encoder, ord(word[place]))
    return prediction.after([model.alphabet.read(spelling)])[0]


def _decode(
    model: LanguageModel, decoder: Decoder, unknown: _Unknown, state: TextState, most: int, name: str
) -> tuple[str, TextState]:
    prediction, spelling = predict(model, [state]), list[int]()
    prefix = begin(prediction)
    while (character := decoder.decode(_sums(prefix))) != END_OF_WORD_ID:
        spelling.append(character)
        if len(spelling) > most:
            raise UserError(f"{name}: damaged (a word does not end); fetch it again")
        prefix = prefix.go_on(character)
    known = model.alphabet.read(np.array(spelling, dtype=np.int64))
    characters = zip(spelling, known, strict=True)
    word = "".join(chr(unknown.decode(decoder)) if id_ == DUMMY_ID else one for id_, one in characters)
    return word, prediction.after([known])[0]


def _sums(prefix: Prefix) -> Any:
    return frequencies(np.exp(prefix.log_next_character()))


class _Unknown:
    """The adaptive code of `evaluation.escapes`, over all code points that an alphabet lacks, surrogates included."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.named = sorted(map(ord, alphabet.characters))  # and every one that was met
        self.seen: Counter[int] = Counter()
        self.order: list[int] = []

    def encode(self, encoder: Encoder, point: int) -> None:
        sums = self._sums()
        place = self.order.index(point) if point in self.seen else len(self.order)
        encoder.encode(int(sums[place]), int(sums[place + 1]))
        if point not in self.seen:
            number = NUM_CODE_POINTS - len(self.named)
            share, rank = (1 << TOTAL_BITS) // number, point - bisect_left(self.named, point)
            encoder.encode(rank * share, (rank + 1) * share)
        self._meet(point)

    def decode(self, decoder: Decoder) -> int:
        place = decoder.decode(self._sums())
        point = self.order[place] if place < len(self.order) else self._new(decoder)
        self._meet(point)
        return point

    def _sums(self) -> Any:
        counts = np.array([*(self.seen[point] for point in self.order), 1], dtype=np.float64)
        return frequencies(counts / counts.sum())

    def _new(self, decoder: Decoder) -> int:
        point = decoder.decode_uniform(NUM_CODE_POINTS - len(self.named))
        for named in self.named:  # in order: those up to the point push it on
            if named > point:
                break
            point += 1
        return point

    def _meet(self, point: int) -> None:
        if point not in self.seen:
            self.order.append(point)
            insort(self.named, point)
        self.seen[point] += 1


# ---- what the words leave out -------------------------------------------------------------------------------------


def _exceptions(model: LanguageModel, text: str, found: list[Word]) -> list[list[Any]]:
    """Gaps, by the word behind them, that are not as `_gap` says; and words that `_written` does not give back."""
    respell, gaps, end, previous = model.rules.respell, list[Any](), 0, LINE_END
    for place, word in enumerate(found):
        gap = text[end : word.start]
        if gap != _gap(previous, word.text):
            gaps += [place, gap]
        end, previous = word.end, word.text
    if text[end:]:
        gaps += [len(found), text[end:]]
    written = _written(respell)
    odd = list[Any]()
    for place, word in enumerate(found):
        told = respell.get(word.text, word.text)
        if written.get(told, told) != word.text:
            odd += [place, word.text]
    return [gaps, odd]


def _put_together(model: LanguageModel, found: list[str], exceptions: list[list[Any]]) -> str:
    gaps, odd = (dict(zip(flat[::2], flat[1::2], strict=True)) for flat in exceptions)
    written, parts, previous = _written(model.rules.respell), list[str](), LINE_END
    for place, told in enumerate(found):
        word = odd.get(place, written.get(told, told))
        parts += [gaps.get(place, _gap(previous, word)), word]
        previous = word
    return "".join([*parts, gaps.get(len(found), "")])


def _gap(before: str, word: str) -> str:
    return "" if LINE_END in (before, word) else " "


def _written(respell: dict[str, str]) -> dict[str, str]:
    """How a respelled word was most likely written."""
    return {told: word for word, told in respell.items()}


# ---- the file -----------------------------------------------------------------------------------------------------


def _opened(model: LanguageModel, packed: bytes, name: str) -> tuple[bytes, list[int], bytes]:
    """The text's checksum, the four numbers, and the rest; or what is wrong."""
    if not packed.startswith(MAGIC):
        raise UserError(f"{name}: not compressed by wordmint")
    place = len(MAGIC) + 1
    if packed[len(MAGIC) : place] != bytes([VERSION]):
        raise UserError(f"{name}: of another format version than {VERSION}; decompress it with another wordmint")
    mark, place = packed[place : place + 16], place + 16
    body = packed[place + DIGEST :]
    if packed[place : place + DIGEST] != _digest(body) or len(body) < DIGEST:
        raise UserError(f"{name}: damaged or cut short (its checksum is another); fetch it again")
    if mark != bytes.fromhex(fingerprint(model)):
        raise UserError(f"{name}: compressed with another model; name the one that compressed it")
    digest, rest, numbers = body[:DIGEST], body[DIGEST:], list[int]()
    for _ in range(4):
        number, used = _take_number(rest, 0)
        numbers.append(number)
        rest = rest[used:]
    return digest, numbers, rest


def _number(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the last byte is below 128."""
    result = bytearray()
    while value >= 128:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes([*result, value])


def _take_number(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    for used, byte in enumerate(data[place : place + 10], start=1):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, used
    return 0, 10


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST).digest()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums are added in the same order whatever the number of threads was."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
