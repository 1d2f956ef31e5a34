"""Word types while a corpus is prepared: numbering them, then spelling them with the alphabet of the whole corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from wordmint.corpora.corpus import LINE_END_ID, map_array
from wordmint.shapes import Array, Int
from wordmint.text.alphabet import DUMMY_ID, END_OF_WORD_ID, NUM_CODE_POINTS, Alphabet, code_points
from wordmint.text.words import LINE_END

TYPES_PER_BATCH = 1 << 17
WORDS_PER_BLOCK = 1 << 22


class _IdOf(dict[str, int]):
    """Word → type id; a new word gets the next number. A dictionary, as it is asked for every word of a corpus."""

    def __init__(self, respell: Mapping[str, str]) -> None:
        super().__init__({LINE_END: LINE_END_ID})
        self.respell = respell
        self.types = [LINE_END]

    def __missing__(self, word: str) -> int:
        respelled = self.respell.get(word)
        if respelled is not None:
            id_ = self[respelled]
        else:
            id_ = len(self.types)
            self.types.append(word)
        self[word] = id_
        return id_


class Vocabulary:
    """The word types of a corpus; `finish` writes their spellings and brings the texts in line with them."""

    def __init__(self, respell: Mapping[str, str]) -> None:
        self.id_of = _IdOf(respell)

    @property
    def types(self) -> list[str]:
        """The types, in the order of their ids."""
        return self.id_of.types

    def finish(self, folder: Path, splits: tuple[str, ...], min_character_count: int) -> dict[str, Any]:
        """Write the spellings; merge the types that rare characters made alike; return what meta.json says of it."""
        texts = {split: folder / f"{split}.words.i32" for split in splits}
        counts = sum(count_words(map_array(path), len(self.types)) for path in texts.values())
        alphabet = Alphabet.from_counts(self._count_characters(np.asarray(counts)), min_character_count)
        merged = self._write_spellings(folder, alphabet)
        if merged is not None:
            for path in texts.values():
                _renumber(path, merged)
        return {
            "alphabet": alphabet.characters,
            "splits": {split: _count_split(folder, map_array(path)) for split, path in texts.items()},
        }

    def _count_characters(self, counts: Int[Array, " types"]) -> dict[str, int]:
        total = np.zeros(NUM_CODE_POINTS, dtype=np.int64)
        for first, batch in self._batches():
            lengths = np.fromiter(map(len, batch), np.int64, len(batch))
            weights = np.repeat(counts[first : first + len(batch)], lengths)
            points, where = np.unique(code_points("".join(batch)), return_inverse=True)
            sums = np.zeros(len(points), dtype=np.int64)
            np.add.at(sums, where, weights)
            total[points] += sums
        return {chr(point): int(total[point]) for point in np.flatnonzero(total)}

    def _write_spellings(self, folder: Path, alphabet: Alphabet) -> Int[Array, " types"] | None:
        """Returns the new number of each type, or nothing if every type keeps its own."""
        new_ids = np.arange(len(self.types), dtype=np.int32)
        id_of_damaged: dict[bytes, int] = {}  # only types with a dummy can have become alike
        num_kept, num_ids = 0, 0
        ends = [np.zeros(1, np.int64)]
        with (folder / "spellings.i32").open("wb") as file:
            for first, batch in self._batches():
                ids, starts = _spell(batch, alphabet)
                keep = np.ones(len(batch), dtype=bool)
                damaged = np.flatnonzero(np.logical_or.reduceat(ids == DUMMY_ID, starts[:-1]))
                for index in damaged:
                    spelling = ids[starts[index] : starts[index + 1]].tobytes()
                    keep[index] = spelling not in id_of_damaged
                    id_of_damaged.setdefault(spelling, num_kept + int(keep[:index].sum()))
                new_ids[first : first + len(batch)] = num_kept + np.cumsum(keep) - 1
                for index in damaged:
                    new_ids[first + index] = id_of_damaged[ids[starts[index] : starts[index + 1]].tobytes()]
                lengths = np.diff(starts)
                file.write(ids[np.repeat(keep, lengths)].tobytes())
                ends.append(num_ids + np.cumsum(lengths[keep]))
                num_ids += int(lengths[keep].sum())
                num_kept += int(keep.sum())
        (folder / "spelling_starts.i64").write_bytes(np.concatenate(ends).tobytes())
        return None if num_kept == len(self.types) else new_ids

    def _batches(self) -> Iterator[tuple[int, list[str]]]:
        types = iter(self.types)
        first = 0
        while batch := list(islice(types, TYPES_PER_BATCH)):
            yield first, batch
            first += len(batch)


def count_words(words: Int[Array, " words"], num_types: int) -> Int[Array, " types"]:
    """How often each type occurs, a block at a time so that a mapped text is never loaded whole."""
    counts = np.zeros(num_types, dtype=np.int64)
    for begin in range(0, len(words), WORDS_PER_BLOCK):
        counts += np.bincount(words[begin : begin + WORDS_PER_BLOCK], minlength=num_types)
    return counts


def _spell(types: list[str], alphabet: Alphabet) -> tuple[Int[Array, " ids"], Int[Array, " types_and_end"]]:
    """The spellings of some types, one after the other, each with its end, and where each begins."""
    lengths = np.fromiter(map(len, types), np.int64, len(types)) + 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.full(starts[-1], END_OF_WORD_ID, dtype=np.int32)
    is_character = np.ones(len(ids), dtype=bool)
    is_character[starts[1:] - 1] = False
    ids[is_character] = alphabet.id_of_code_point[code_points("".join(types))]
    return ids, starts


def _renumber(path: Path, new_ids: Int[Array, " types"]) -> None:
    words = np.memmap(path, np.int32, mode="r+")
    for begin in range(0, len(words), WORDS_PER_BLOCK):
        words[begin : begin + WORDS_PER_BLOCK] = new_ids[words[begin : begin + WORDS_PER_BLOCK]]
    words.flush()


def _count_split(folder: Path, words: Int[Array, " words"]) -> dict[str, int]:
    """The paper's count of characters, and how many of them are dummies."""
    spellings, starts = map_array(folder / "spellings.i32"), map_array(folder / "spelling_starts.i64")
    counts = count_words(words, len(starts) - 1)
    dummies = np.add.reduceat(spellings == DUMMY_ID, starts[:-1], dtype=np.int64)
    spaces = sum(
        int(np.count_nonzero((block[:-1] != LINE_END_ID) & (block[1:] != LINE_END_ID)))
        for begin in range(0, len(words), WORDS_PER_BLOCK)
        for block in [words[begin : begin + WORDS_PER_BLOCK + 1]]
    )
    return {
        "characters": int(counts @ (np.diff(starts) - 1)) + spaces,
        "dummies": int(counts @ dummies),
    }
