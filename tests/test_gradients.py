"""Gradients: against finite differences in float64, and where they may flow and where not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.nn.utils.rnn import PackedSequence

from tests.models import CONFIGS, laid_out, made_model, made_text
from wordmint.model import attention
from wordmint.model.attention import additive_scores
from wordmint.model.cache_plan import CachePlan, Slots, plan_cache
from wordmint.model.lstm import LSTM
from wordmint.model.mixture import Gate, mix
from wordmint.model.window import Window
from wordmint.model.word_cache import WordCache, written_keys

UNITS = 3


def random_values(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


def full_cache_plan(num_slots: int = 3) -> CachePlan:
    """A window with hits on carried and on written keys, misses, evictions, and a cache that was full before."""
    slots = [Slots(num_slots), Slots(num_slots)]
    plan_cache(np.array([[5, 6, 7], [6, 7, 8]]), slots)
    return plan_cache(np.array([[6, 1, 6, 1, 5, 6], [1, 1, 1, 8, 2, 6]]), slots)


def test_additive_scores() -> None:
    assert gradcheck(
        additive_scores, (random_values(2, 4, UNITS), random_values(2, 5, UNITS, seed=1), random_values(3))
    )


@pytest.mark.parametrize("values_per_block", [1, 40, 10**6])
def test_blocks_change_nothing(values_per_block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(attention.VALUES_PER_BLOCK, "cpu", values_per_block)
    queries, keys, score = random_values(3, 4, UNITS), random_values(3, 5, UNITS, seed=1), random_values(UNITS, seed=2)
    whole = torch.tanh(queries[:, :, None] + keys[:, None]) @ score
    blocked = additive_scores(queries, keys, score)
    torch.testing.assert_close(blocked, whole)
    weights = torch.randn_like(whole)
    expected = torch.autograd.grad((whole * weights).sum(), (queries, keys, score))
    torch.testing.assert_close(torch.autograd.grad((blocked * weights).sum(), (queries, keys, score)), expected)


def test_extreme_keys_have_the_limits_of_a_tanh() -> None:
    keys = torch.tensor([[[1e4], [100.0], [-100.0], [-1e4]]], requires_grad=True)
    queries = torch.tensor([[[0.5], [-1.0]]], requires_grad=True)
    scores = additive_scores(queries, keys, torch.ones(1))
    torch.testing.assert_close(scores, torch.tensor([1.0, 1.0, -1.0, -1.0]).expand(1, 2, 4))
    for gradient in torch.autograd.grad(scores.sum(), (queries, keys)):
        assert (gradient == 0).all()


def test_written_keys() -> None:
    plan = full_cache_plan()
    assert gradcheck(
        lambda h, keys: written_keys(h, keys, plan), (random_values(2, 6, UNITS), random_values(2, 3, UNITS))
    )


def test_the_cache() -> None:
    cache, plan = WordCache(UNITS).double(), full_cache_plan()
    with torch.no_grad():
        for parameter in cache.parameters():
            parameter.uniform_(-1, 1)
    hit = plan.hit >= 0
    assert 0 < hit.sum() < hit.numel()

    def log_p_copy_and_keys(context: Tensor, carried: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        copying = cache(context, carried, plan)
        return copying.log_p_copy[hit], copying.keys

    inputs = (random_values(2, 6, UNITS), random_values(2, 3, UNITS, seed=1), *cache.parameters())
    assert gradcheck(log_p_copy_and_keys, inputs)


def test_the_mixture() -> None:
    log_p_copy = torch.tensor([[-0.5, -3.0], [-1.0, -torch.inf]], dtype=torch.float64)
    cache_is_empty = torch.tensor([[True, False], [False, False]])
    assert gradcheck(
        lambda log_p_spell, gamma: mix(log_p_spell, log_p_copy, gamma, cache_is_empty).log_p,
        (random_values(2, 2), random_values(2, 2, seed=1)),
    )


def test_the_gate() -> None:
    gate = Gate(UNITS).double()
    assert gradcheck(lambda h, *_: gate(h), (random_values(2, 4, UNITS), *gate.parameters()))


def test_words_not_in_the_cache_leave_no_trace_in_the_gradients() -> None:
    """−∞ must not become NaN on the way back."""
    model, text = made_model(CONFIGS["hclm-cache"], 1), made_text(20, seed=1)
    for window in laid_out(model, text, 1, 20):
        scores, _ = model(window, model.start(1))
        assert torch.isneginf(scores.log_p_copy).any()
        scores.log_p.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters() if parameter.grad is not None)


def test_keys_written_in_the_window_carry_gradients() -> None:
    plan = plan_cache(np.array([[1, 2, 1]]), [Slots(2)])
    cache = WordCache(UNITS).double()
    torch.nn.init.uniform_(cache.score, -1, 1)
    context = random_values(1, 3, UNITS)
    copying = cache(context, torch.zeros(1, 2, UNITS, dtype=torch.float64), plan)
    (gradient,) = torch.autograd.grad(copying.log_p_copy[0, 2], context)
    assert (gradient[0, :2] != 0).any(1).all(), "h_1 and h_2 are the keys that are compared when w_3 is copied"


def test_keys_carried_in_are_constants() -> None:
    model, text = made_model(CONFIGS["hclm-cache"], 2), made_text(40, seed=2)
    first, second = list(laid_out(model, text, 1, 20))
    assert isinstance(second, Window) and second.plan is not None
    assert (second.plan.hit[second.plan.hit >= 0] < second.plan.slots).any(), (
        "no carried key is used: nothing is tested"
    )
    _, state = model(first, model.start(1))
    assert state.keys.requires_grad
    constants = state.detached()
    assert not any(tensor.requires_grad for tensor in constants.tensors().values())
    model(second, constants)[0].log_p.sum().backward()
    alone = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    model(second, state)[0].log_p.sum().backward()
    carried = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert not torch.allclose(alone["context.lstm.weight_hh_l0"], carried["context.lstm.weight_hh_l0"])


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("with_state", [False, True])
def test_the_written_out_lstm_is_pytorchs(layers: int, with_state: bool) -> None:
    torch.manual_seed(0)
    lstm, sizes = LSTM(4, layers, 0.0, 0.0).double(), torch.tensor([5, 5, 3, 1, 1])
    inputs = random_values(int(sizes.sum()), 4)
    before = (random_values(layers, 5, 4, seed=1), random_values(layers, 5, 4, seed=2)) if with_state else None
    inputs_and_weights = (inputs, *(before or ()), *lstm.parameters())
    mine, (h, c) = lstm.read(inputs, sizes, before)
    packed, (their_h, their_c) = lstm(PackedSequence(inputs, sizes), before)
    for one, other in ((mine, packed.data), (h, their_h), (c, their_c)):
        torch.testing.assert_close(one, other)
    weights = [torch.randn_like(part) for part in (mine, h, c)]
    totals = [
        torch.stack([(part * weight).sum() for part, weight in zip(parts, weights, strict=True)]).sum()
        for parts in ((mine, h, c), (packed.data, their_h, their_c))
    ]
    my_gradients, theirs = (torch.autograd.grad(total, inputs_and_weights) for total in totals)
    torch.testing.assert_close(my_gradients, theirs)
