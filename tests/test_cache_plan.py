"""The cache as a schedule of integers, against a cache that is an ordered dictionary of words and their keys."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.word_cache import WordCacheTwin
from wordmint.model.cache_plan import CachePlan, Slots, plan_cache
from wordmint.model.packing import NOTHING
from wordmint.model.word_cache import written_keys
from wordmint.text.streams import NO_WORD

UNITS = 3
texts = st.lists(st.integers(0, 6), min_size=1, max_size=40)


def contexts_of(text: list[int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(len(text), UNITS))


def windows_of(text: list[int], words_per_window: int) -> list[slice]:
    return [slice(begin, begin + words_per_window) for begin in range(0, len(text), words_per_window)]


def all_keys(plan: CachePlan, h: np.ndarray, carried: torch.Tensor) -> torch.Tensor:
    """Carried keys and those the window writes, one stream."""
    return torch.cat([carried, written_keys(torch.from_numpy(h)[None], carried, plan)], dim=1)


@given(texts, st.integers(1, 8), st.integers(1, 12))
def test_keys_and_hits_are_those_of_a_dictionary(text: list[int], num_slots: int, words_per_window: int) -> None:
    h, twin = contexts_of(text), WordCacheTwin(num_slots)
    slots, carried = [Slots(num_slots)], torch.zeros(1, num_slots, UNITS, dtype=torch.float64)
    for part in windows_of(text, words_per_window):
        plan = plan_cache(np.array([text[part]]), slots)
        keys = all_keys(plan, h[part], carried)[0].numpy()
        written_at = np.concatenate([np.full(num_slots, -1), np.arange(len(text[part]))])
        for time, word in enumerate(text[part]):
            living = (written_at < time) & (time <= plan.last_time[0].numpy())
            hit = int(plan.hit[0, time])
            assert sorted(map(tuple, keys[living].round(9))) == sorted(tuple(k.round(9)) for k in twin.key_of.values())
            assert (hit != NOTHING) == (word in twin.key_of)
            if hit != NOTHING:
                assert living[hit]
                np.testing.assert_allclose(keys[hit], twin.key_of[word], rtol=1e-12)
            twin.add(word, h[part][time])
        carried = torch.from_numpy(keys)[plan.kept[0]][None]


@given(texts, st.integers(1, 8), st.integers(1, 40))
def test_where_a_text_is_cut_changes_nothing(text: list[int], num_slots: int, first: int) -> None:
    h = contexts_of(text)
    zeros = torch.zeros(1, num_slots, UNITS, dtype=torch.float64)
    whole = plan_cache(np.array([text]), [Slots(num_slots)])
    keys = all_keys(whole, h, zeros)[:, whole.kept[0]]
    slots, carried = [Slots(num_slots)], zeros
    for part in (slice(first), slice(first, None)):
        if text[part]:
            plan = plan_cache(np.array([text[part]]), slots)
            carried = all_keys(plan, h[part], carried)[:, plan.kept[0]]
    torch.testing.assert_close(carried, keys)


@given(texts, st.integers(1, 8), st.integers(0, 5))
def test_places_past_the_end_of_a_stream_do_nothing(text: list[int], num_slots: int, padding: int) -> None:
    h, carried = contexts_of([*text, *[0] * padding]), torch.zeros(1, num_slots, UNITS, dtype=torch.float64)
    padded = plan_cache(np.array([[*text, *[NO_WORD] * padding]]), [Slots(num_slots)])
    plain = plan_cache(np.array([text]), [Slots(num_slots)])
    torch.testing.assert_close(
        all_keys(padded, h, carried)[:, padded.kept[0]], all_keys(plain, h[: len(text)], carried)[:, plain.kept[0]]
    )
    assert (padded.hit[0, len(text) :] == NOTHING).all()


def test_streams_do_not_share_a_cache() -> None:
    plan = plan_cache(np.array([[1, 2, 1], [2, 1, 2]]), [Slots(2), Slots(2)])
    assert plan.hit.tolist() == [[NOTHING, NOTHING, 2], [NOTHING, NOTHING, 2]]


def test_the_least_recently_used_word_goes() -> None:
    plan = plan_cache(np.array([[1, 2, 1, 3, 1, 2]]), [Slots(2)])
    assert (plan.hit[0] != NOTHING).tolist() == [False, False, True, False, True, False]


def test_a_long_chain_of_hits_keeps_its_precision() -> None:
    text = [0] * 2000
    h = contexts_of(text)
    plan = plan_cache(np.array([text]), [Slots(1)])
    twin = WordCacheTwin(1)
    for vector in h:
        twin.add(0, vector)
    keys = all_keys(plan, h, torch.zeros(1, 1, UNITS, dtype=torch.float64))
    np.testing.assert_allclose(keys[0, plan.kept[0, 0]], twin.key_of[0], rtol=1e-12)
