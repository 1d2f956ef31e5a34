"""The most probable words that begin as given: a best-first search that knows when nothing better can come.

The mass of all words that begin so bounds each of them. So beginnings are gone on with in the order of their masses,
some at a time; once as many words are found as were asked for, and each is as probable as every open beginning, the
answer is exact. A search that stops sooner says so, and how probable a word it has missed may be.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
import torch

from wordmint.model.language_model import LanguageModel
from wordmint.text.alphabet import END_OF_WORD_ID
from wordmint.use.characters import Copies, Prefix, after, begin
from wordmint.use.prediction import predict
from wordmint.use.reading import read
from wordmint.use.state import TextState
from wordmint.use.steps import Recurrent, speller

AT_ONCE = 16  # beginnings gone on with in one step
MOST_STEPS = 12
LONGEST = 200  # characters of a word that is proposed


class Completion(NamedTuple):
    """A whole word, how probable it is given its beginning, and how probable that it was copied."""

    word: str
    p: float
    p_copied: float


@dataclass(frozen=True)
class Completions:
    """The most probable words, the best first."""

    found: list[Completion]
    is_exact: bool  # nothing more probable is missing
    bound: float  # no word that is missing is more probable than this

    def __iter__(self):
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, place: int) -> Completion:
        return self.found[place]


@dataclass(frozen=True)
class _Beginning:
    """An open beginning: not yet gone on with."""

    spelling: tuple[int, ...]
    log_spelled: float
    copies: Copies
    source: Recurrent  # rows of states, of which this is one
    row: int


def complete(
    model: LanguageModel, text: str, state: TextState, number: int = 5, most_steps: int = MOST_STEPS
) -> Completions:
    """The most probable whole words for the one that a text ends in, or for the next one where it ends in none."""
    _, state = read(model, text, state)
    prefix = after(begin(predict(model, [state])), state.pending)
    return _search(prefix, state.pending, number, most_steps)


def _search(prefix: Prefix, typed: str, number: int, most_steps: int) -> Completions:
    model, order, whole = prefix.model, count(), prefix.log_p
    found = _copied(prefix, typed, number)  # however long they are: the search may stop before it comes to their ends
    known = {completion.word for _, completion in found}
    heap: list[tuple[float, int, _Beginning]] = []

    def worst() -> float:
        return found[number - 1][0] if len(found) >= number else -math.inf

    def offer(beginnings: list[tuple[_Beginning, np.ndarray, Recurrent, int]]) -> None:
        for beginning, log_next, source, row in beginnings:
            spelled = beginning.log_spelled + log_next
            mass, going = spelled.copy(), dict[int, list[tuple[tuple[int, ...], float]]]()
            for left, log_p in beginning.copies:
                mass[left[0]] = np.logaddexp(mass[left[0]], log_p)
                going.setdefault(left[0], []).append((left[1:], log_p))
            end = float(mass[END_OF_WORD_ID])
            if (beginning.spelling or typed) and end > worst():
                copied = max((log_p for _, log_p in going.get(END_OF_WORD_ID, [])), default=-math.inf)
                word = typed + model.alphabet.read(np.array(beginning.spelling, dtype=np.int64))
                if word not in known:
                    found.append((end, Completion(word, math.exp(end - whole), math.exp(copied - end))))
                    found.sort(key=lambda one: -one[0])
                    del found[number:]
            mass[END_OF_WORD_ID] = -math.inf
            if len(beginning.spelling) >= LONGEST:
                continue
            for character in np.flatnonzero(mass > worst()).tolist():
                child = _Beginning(
                    (*beginning.spelling, character),
                    float(spelled[character]),
                    tuple(going.get(character, ())),
                    source,
                    row,
                )
                heapq.heappush(heap, (-float(mass[character]), next(order), child))

    root = _Beginning((), prefix.log_spelled, prefix.copies, prefix.spelling, 0)
    offer([(root, prefix.log_next, prefix.spelling, 0)])
    for _ in range(most_steps):
        best = [heapq.heappop(heap) for _ in range(min(AT_ONCE, len(heap)))]
        best = [one for _, _, one in (entry for entry in best if -entry[0] > worst())]
        if not best:
            break
        offer(_gone_on(model, best))
    bound = math.exp(-heap[0][0] - whole) if heap and -heap[0][0] > worst() else 0.0
    completions = [completion for _, completion in found]
    return Completions(completions, bound == 0.0, bound or (completions[-1].p if completions else 0.0))


def _copied(prefix: Prefix, typed: str, number: int) -> list[tuple[float, Completion]]:
    """The words most probably copied, with what spelling adds to each; the best first."""
    best, whole, found = sorted(prefix.copies, key=lambda one: -one[1])[:number], prefix.log_p, []
    for (left, copied), spelled in zip(best, _spelled(prefix, [left for left, _ in best]), strict=True):
        if not typed and len(left) == 1:
            continue  # no word is empty
        end = float(np.logaddexp(copied, spelled))
        word = typed + prefix.model.alphabet.read(np.array(left[:-1], dtype=np.int64))
        found.append((end, Completion(word, math.exp(end - whole), math.exp(copied - end))))
    return sorted(found, key=lambda one: -one[0])


@torch.inference_mode()
def _spelled(prefix: Prefix, endings: list[tuple[int, ...]]) -> list[float]:
    """The log-probability of spelling each ending after a beginning, that of the beginning included."""
    log_p = [prefix.log_spelled + float(prefix.log_next[ending[0]]) for ending in endings]
    state = prefix.spelling.rows(torch.zeros(len(endings), dtype=torch.long))
    rows = list(range(len(endings)))
    for step in range(1, max(map(len, endings), default=0)):
        going = [i for i, row in enumerate(rows) if len(endings[row]) > step]
        rows = [rows[i] for i in going]
        read = torch.tensor([endings[row][step - 1] for row in rows])
        state, log_next = speller(prefix.model).go_on(read, state.rows(torch.tensor(going)))
        for i, row in enumerate(rows):
            log_p[row] += float(log_next[i, endings[row][step]])
    return log_p


@torch.inference_mode()
def _gone_on(model: LanguageModel, beginnings: list[_Beginning]) -> list[tuple[_Beginning, np.ndarray, Recurrent, int]]:
    """Each beginning with the log-probabilities of its next character, and where its state is."""
    before = Recurrent(
        torch.stack([one.source.hidden[:, one.row] for one in beginnings], 1),
        torch.stack([one.source.cell[:, one.row] for one in beginnings], 1),
    )
    characters = torch.tensor([one.spelling[-1] for one in beginnings], device=before.hidden.device)
    state, log_next = speller(model).go_on(characters, before)
    rows = log_next.double().cpu().numpy()
    return [(one, rows[row], state, row) for row, one in enumerate(beginnings)]
