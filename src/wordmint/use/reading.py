"""Reading: texts, each from a state of its own, side by side; scores of every word, and the states after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from wordmint.dynamic import Learner
from wordmint.errors import UserError
from wordmint.evaluation.score import TextScores, reading_mode
from wordmint.evaluation.text import LONGEST_WORD
from wordmint.model.cache_plan import Slots
from wordmint.model.language_model import LanguageModel
from wordmint.model.packing import Spellings
from wordmint.model.state import State
from wordmint.model.window import Reader, lay_out, to_device
from wordmint.text import streams
from wordmint.text.streams import NO_WORD
from wordmint.text.words import Word, words
from wordmint.use.scores import NO_SLOT, Scores
from wordmint.use.state import TextState, check_belongs

WORDS_AT_ONCE = {"cpu": 512, "cuda": 8192}  # of all texts: the decoder's batch
MOST_WORDS_PER_WINDOW = 256  # as each is a version of a key for all the others, dead or alive


def read(
    model: LanguageModel, text: str, state: TextState, end: bool = False, learner: Learner | None = None
) -> tuple[Scores, TextState]:
    """Scores of the words that end in a text, and the state after it; the last word may go on in the next text."""
    ((scores, after),) = read_many(model, [text], [state], end, learner)
    return scores, after


def read_many(
    model: LanguageModel,
    texts: Sequence[str],
    states: Sequence[TextState],
    end: bool = False,
    learner: Learner | None = None,
) -> list[tuple[Scores, TextState]]:
    """Several texts as a batch, each from its own state; a learner, if there is one, learns from them."""
    check_belongs(states, model)
    if not texts:
        return []
    parted = [part_words(model, text, state, end) for text, state in zip(texts, states, strict=True)]
    spelled = [spelled_words(model, found) for found, _ in parted]
    scores, slots, after = read_words(model, spelled, states, learner)
    return [
        (Scores.of(found, score, slot), replace(new, pending=pending, position=old.position + len(text)))
        for (found, pending), score, slot, new, old, text in zip(
            parted, scores, slots, after, states, texts, strict=True
        )
    ]


def ended(model: LanguageModel, state: TextState) -> TextState:
    """A state in which no word is pending: one that was has ended."""
    return read(model, "", state, end=True)[1] if state.pending else state


def part_words(model: LanguageModel, text: str, state: TextState, end: bool) -> tuple[list[Word], str]:
    """The words that end in a text, with their places since the start of the reading; and the beginning of another."""
    whole, first = state.pending + text, state.position - len(state.pending)
    is_open = bool(whole) and not end and not whole[-1].isspace()
    pending = whole.rsplit(None, 1)[-1] if is_open and whole.strip() else ""
    closed = whole[: len(whole) - len(pending)]
    found = list(words([closed], model.rules.segmentation))
    longest = max((word.end - word.start for word in found), default=0)
    check_length(max(longest, len(pending)), f"before character {first + len(whole):,}")
    if found and found[-1].start == found[-1].end:  # the line end that a last line without one is given
        found.pop()
    return [Word(word.text, first + word.start, first + word.end) for word in found], pending


def check_length(num_characters: int, where: str) -> None:
    """All characters of a word are read at once."""
    if num_characters > LONGEST_WORD:
        raise UserError(
            f"a word of at least {num_characters:,} characters {where}; a word may have {LONGEST_WORD:,}, so put "
            "white space into it or leave it out"
        )


def spelled_words(model: LanguageModel, found: Sequence[Word]) -> list[str]:
    """The words as the model knows them: respelled, and with dummies for the characters that it lacks."""
    respell, known = model.rules.respell, {}
    for text in {word.text for word in found}:
        known[text] = model.alphabet.read(*model.alphabet.spell([respell.get(text, text)]))
    return [known[word.text] for word in found]


def read_words(
    model: LanguageModel,
    texts: Sequence[Sequence[str]],
    states: Sequence[TextState],
    learner: Learner | None = None,
) -> tuple[list[TextScores], list[list[int]], list[TextState]]:
    """For each text its scores, the slots its words stood in, and the state after it."""
    numbers = _numbered(texts, states)
    caches = [state.slots(numbers) for state in states]
    numbered = [[numbers[word] for word in text] for text in texts]
    slots = [_slots_of(text, state.slots(numbers)) for text, state in zip(numbered, states, strict=True)]
    reader = Reader(len(texts), 0, 0)
    reader.last_words = np.array([numbers[state.last_word] for state in states])
    reader.slots = caches
    scores, neural = _score(model, numbered, reader, _spellings(model, numbers), stacked(states, model), learner)
    word_of = list(numbers)
    after = [
        replace(
            old,
            neural=one,
            last_word=text[-1] if text else old.last_word,
            cached=tuple((word_of[word], slot) for word, slot in cache.slot_of.items()),
        )
        for old, one, text, cache in zip(states, neural, texts, caches, strict=True)
    ]
    return scores, slots, after


def stacked(states: Sequence[TextState], model: LanguageModel) -> State:
    """The states of several texts as those of one batch, on the model's device."""
    device = next(model.network.parameters()).device
    hidden, cell = (torch.cat([getattr(one.neural, name) for one in states], 1) for name in ("hidden", "cell"))
    return State(hidden, cell, torch.cat([one.neural.keys for one in states], 0)).to(device)


def apart(state: State) -> list[State]:
    """The state of each text of a batch, in memory of its own."""
    return [
        State(state.hidden[:, i : i + 1].clone(), state.cell[:, i : i + 1].clone(), state.keys[i : i + 1].clone())
        for i in range(state.hidden.shape[1])
    ]


def _numbered(texts: Sequence[Sequence[str]], states: Sequence[TextState]) -> dict[str, int]:
    """All words that are read or remembered, numbered."""
    numbers: dict[str, int] = {}
    for state in states:
        for word in (state.last_word, *(word for word, _ in state.cached)):
            numbers.setdefault(word, len(numbers))
    for text in texts:
        for word in text:
            numbers.setdefault(word, len(numbers))
    return numbers


def _spellings(model: LanguageModel, numbers: dict[str, int]) -> Spellings:
    spelled = model.alphabet.spell(numbers)
    return Spellings(np.concatenate(spelled), np.concatenate([[0], np.cumsum([len(one) for one in spelled])]))


def _slots_of(text: Sequence[int], cache: Slots) -> list[int]:
    """Where each word stands in the cache before it is read."""
    slots = []
    if not cache.num_slots:
        return [NO_SLOT] * len(text)
    for word in text:
        slots.append(cache.slot_of.get(word, NO_SLOT))
        cache.use(word)
    return slots


def _score(
    model: LanguageModel,
    texts: Sequence[Sequence[int]],
    reader: Reader,
    spellings: Spellings,
    state: State,
    learner: Learner | None,
) -> tuple[list[TextScores], list[State]]:
    network, device = learner.network if learner else model.network, state.hidden.device
    per_window = max(1, min(MOST_WORDS_PER_WINDOW, WORDS_AT_ONCE[device.type] // len(texts)))
    if learner:
        per_window = learner.dynamic.words
    lengths, columns = np.array([len(text) for text in texts]), list[np.ndarray]()
    cut = list(_windows(texts, per_window))
    with reading_mode(learner):
        for window in lay_out(network.config, cut, spellings, network.alphabet_size, reader):
            scores, state = network(to_device(window, device), state)
            columns.append(torch.stack(scores).detach().double().cpu().numpy())
            if learner:
                learner.learn(scores, int(window.present.sum()))
                state = state.detached()
    whole = np.concatenate(columns, axis=2) if columns else np.zeros((4, len(texts), 0))
    each = [TextScores(*whole[:, row, :length]) for row, length in enumerate(lengths)]
    return each, apart(State(*(part.cpu() for part in state.tensors().values())))


def _windows(texts: Sequence[Sequence[int]], per_window: int) -> list[streams.Window]:
    longest = max(map(len, texts), default=0)
    result = []
    for begin in range(0, longest, per_window):
        parts = [text[begin : begin + per_window] for text in texts]
        window = np.full((len(texts), max(map(len, parts))), NO_WORD, dtype=np.int32)
        for row, part in enumerate(parts):
            window[row, : len(part)] = part
        result.append(streams.Window(window))
    return result
