"""What only a GPU has: the fused attention, and the step as one graph. Each is compared with the ordinary way."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.models import CONFIGS, NO_DROPOUT, laid_out, made_text
from wordmint.model import lstm
from wordmint.model.attention import additive_scores, gradients_in_blocks, scores_in_blocks
from wordmint.model.cache_plan import Slots, plan_cache
from wordmint.model.config import CharLSTMConfig, Dropout, HCLMConfig
from wordmint.model.kernels import recurrence
from wordmint.model.language_model import Network, build
from wordmint.model.lookup import lookup
from wordmint.model.lstm import _Steps, _StepsWithKernels
from wordmint.model.window import AnyWindow, Window, fitting_profile, to_device
from wordmint.model.word_cache import chosen
from wordmint.text.streams import NO_WORD
from wordmint.training.config import TrainingConfig
from wordmint.training.graph_step import WARM_UP_STEPS, GraphStep
from wordmint.training.step import Step

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
GPU = torch.device("cuda")
ALL_STEPS = recurrence._all_steps
SHAPES = [(1, 1, 1, 1), (2, 5, 3, 7), (3, 35, 135, 600), (2, 17, 33, 65)]  # streams, words, versions, units


@pytest.mark.parametrize("shape", SHAPES)
def test_fused_attention_computes_the_same(shape: tuple[int, ...]) -> None:
    streams, words, versions, units = shape
    torch.manual_seed(0)
    queries, keys = torch.randn(streams, words, units, device=GPU), torch.randn(streams, versions, units, device=GPU)
    score, grad = torch.randn(units, device=GPU), torch.randn(streams, words, versions, device=GPU)
    exact = scores_in_blocks(queries.double(), keys.double(), score.double())
    inputs = [queries.requires_grad_(), keys.requires_grad_(), score.requires_grad_()]
    fused = additive_scores(*inputs)
    torch.testing.assert_close(fused.double(), exact, rtol=1e-4, atol=1e-4)
    expected = gradients_in_blocks(
        queries.detach().double(), keys.detach().double(), score.detach().double(), grad.double()
    )
    for mine, theirs in zip(torch.autograd.grad(fused, inputs, grad), expected, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=1e-3, atol=1e-3)


def test_fused_attention_writes_every_place() -> None:
    """Memory that was NaN before must not shine through."""
    poison = torch.full((64, 1 << 20), torch.nan, device=GPU)
    del poison
    queries, keys = torch.randn(3, 19, 70, device=GPU), torch.randn(3, 21, 70, device=GPU)
    score = torch.randn(70, device=GPU)
    inputs = [part.requires_grad_() for part in (queries, keys, score)]
    scores = additive_scores(*inputs)
    assert torch.isfinite(scores).all()
    assert all(torch.isfinite(part).all() for part in torch.autograd.grad(scores.sum(), inputs))


@pytest.mark.parametrize("num_slots", [1, 5, 300])
def test_choosing_among_living_keys(num_slots: int) -> None:
    random, caches = np.random.default_rng(0), [Slots(num_slots) for _ in range(3)]
    for _ in range(4):
        words = random.integers(0, 2 * num_slots, (3, 9))
        words[2, 7:] = NO_WORD
        plan = to_device(plan_cache(words, caches), GPU)
        scores = torch.randn(3, 9, num_slots + 9, device=GPU, requires_grad=True)
        log_p, is_empty = chosen(scores, plan)
        expected, expected_empty = chosen(scores.double(), plan)
        assert torch.equal(is_empty, expected_empty)
        torch.testing.assert_close(log_p.double(), expected, rtol=1e-5, atol=1e-5)
        is_hit, weights = plan.hit >= 0, torch.randn(3, 9, device=GPU)
        gradients = [
            torch.autograd.grad((torch.where(is_hit, one, 0.0) * weights).sum(), scores)[0] for one in (log_p, expected)
        ]
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_a_lookup() -> None:
    torch.manual_seed(0)
    table, numbers = torch.randn(51, 24, device=GPU, requires_grad=True), torch.randint(51, (7, 90), device=GPU)
    weights = torch.randn(7, 90, 24, device=GPU)
    gradients = [
        torch.autograd.grad((rows * weights).sum(), table)[0] for rows in (lookup(table, numbers), table[numbers])
    ]
    torch.testing.assert_close(*gradients, rtol=2e-3, atol=2e-3)


# ---- the steps of an LSTM with kernels of our own ------------------------------------------------------------------

PACKED = [(5, 5, 3, 1, 1), (25,) * 35, (1, 1, 1), (150,), (875, 870, 700, 420, 300, 130, 40, 9, 1), (70, 40, 40, 2)]


def lstm_inputs(sizes: tuple[int, ...], units: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """Gates' inputs, recurrent weights, and the states before."""
    torch.manual_seed(sum(sizes))
    shapes = [(sum(sizes), 4 * units), (4 * units, units), (sizes[0], units), (sizes[0], units)]
    scales = [1.0, 0.08, 0.5, 1.0]
    return [
        (torch.randn(shape, device=GPU) * scale).to(dtype).requires_grad_()
        for shape, scale in zip(shapes, scales, strict=True)
    ]


def results_and_gradients(steps: Any, inputs: list[torch.Tensor], sizes: tuple[int, ...]) -> list[torch.Tensor]:
    results = steps(inputs[0] * 1, *inputs[1:], list(sizes), None)
    torch.manual_seed(1)
    weights = [torch.randn(result.shape, device=GPU) for result in results]
    total = torch.stack(
        [(result.float() * weight).sum() for result, weight in zip(results, weights, strict=True)]
    ).sum()
    return [*results, *torch.autograd.grad(total, inputs)]


@pytest.mark.parametrize("sizes", PACKED, ids=len)
@pytest.mark.parametrize("units", [40, 600, 1000])
def test_steps_with_kernels_are_the_written_out_steps(sizes: tuple[int, ...], units: int) -> None:
    inputs = lstm_inputs(sizes, units, torch.bfloat16)
    exact = [part.detach().double().requires_grad_() for part in inputs]
    expected = results_and_gradients(_Steps.apply, exact, sizes)
    for _ in range(3):  # a race would not be the same each time
        mine = results_and_gradients(_StepsWithKernels.apply, inputs, sizes)
        for one, other in zip(mine, expected, strict=True):
            error = float((one.double() - other).norm() / other.norm())
            assert error < 2e-2


@pytest.mark.parametrize("few", [0, 32, 96, 1000])
def test_few_ranks_and_many_ranks_give_the_same(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = PACKED[4]
    inputs = lstm_inputs(sizes, 600, torch.bfloat16)
    expected = results_and_gradients(_StepsWithKernels.apply, inputs, sizes)
    monkeypatch.setattr(recurrence, "FEW_RANKS", few)
    recurrence.schedule.cache_clear()
    mine = results_and_gradients(_StepsWithKernels.apply, inputs, sizes)
    recurrence.schedule.cache_clear()
    for one, other in zip(mine, expected, strict=True):
        assert float((one.float() - other.float()).norm() / other.float().norm()) < 1e-2


def step_by_step(name: str, plan: Any, units: int, device: torch.device) -> Any:
    """Starts a kernel for one step at a time: then nobody waits for anybody."""
    launch, counters = ALL_STEPS(name, plan, units, device)

    def launch_each(arguments: list[Any]) -> None:
        begin = next(place for place, one in enumerate(arguments) if one is counters) + 1
        steps = range(arguments[begin], arguments[begin + 1])
        for step in steps if name == "forward_steps" else reversed(steps):
            launch([*arguments[:begin], step, step + 1, *arguments[begin + 2 :]])

    return launch_each, counters


@pytest.mark.parametrize("units", [600, 1000])
@pytest.mark.parametrize("sizes", PACKED, ids=len)
def test_waiting_changes_nothing(sizes: tuple[int, ...], units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One launch a step needs no waiting: bit for bit the same, or somebody did not wait."""
    gates, w_hh, hidden, cell = (part.detach() for part in lstm_inputs(sizes, units, torch.bfloat16))
    plan = recurrence.schedule(sizes, GPU)
    outputs, last_hidden = torch.randn_like(gates[:, :units]), torch.randn_like(hidden)
    last_cell = torch.randn(hidden.shape, device=GPU)
    results = []
    for all_steps in (step_by_step, *[ALL_STEPS] * 5):
        monkeypatch.setattr(recurrence, "_all_steps", all_steps)
        whole = recurrence.forward(gates.clone(), w_hh, hidden, cell, plan)
        back = recurrence.backward(outputs, last_hidden, last_cell, (w_hh, w_hh.T.contiguous()), *whole[1:], plan)
        results.append([*whole, *back])
    for mine in results[1:]:
        assert all(torch.equal(one, other) for one, other in zip(mine, results[0], strict=True))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_baseline_learns_the_same_in_one_shape(precision: str) -> None:
    """Places lent to all streams alike, recorded as a graph, against packed characters and the ordinary step."""
    torch.manual_seed(3)
    config = CONFIGS["lstm"]
    assert isinstance(config, CharLSTMConfig)
    start = build(replace(config, units=32, dropout=NO_DROPOUT), 9).to(GPU).train()
    training, text = replace(CONFIG, precision=precision), made_text(700, num_types=20, seed=1)
    profile = fitting_profile(list(laid_out(start, text, 2))) if precision == "bfloat16" else None
    losses = []
    for kind, lent in ((Step, None), (GraphStep, profile)):
        network = copy.deepcopy(start)
        step, state, seen = kind(network, training), network.start(2), []
        for window in laid_out(network, text, 2, profile=lent):
            state = step(to_device(window, GPU), state)
            seen.append(step.nats.clone())
        losses.append(torch.stack(seen))
        assert not isinstance(step, GraphStep) or (step.graph is not None) == (lent is not None)
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-2 if lent else 1e-4, atol=0)


def test_a_model_learns_the_same_with_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for with_kernels in (False, True):
        monkeypatch.setattr(lstm, "WITH_KERNELS", with_kernels)
        network, windows = network_and_windows()
        step, state, seen = GraphStep(network, replace(CONFIG, precision="bfloat16")), network.start(2), []
        for window in windows[:20]:
            state = step(window, state)
            seen.append(step.nats.clone())
        losses.append(torch.stack(seen))
    torch.testing.assert_close(losses[0], losses[1], rtol=5e-3, atol=0)


# ---- the step as one graph ---------------------------------------------------------------------------------------


def windows_of_one_shape(network: Network, num_words: int = 700) -> list[AnyWindow]:
    text = made_text(num_words, num_types=20, seed=1)
    windows = [window for window in laid_out(network, text, 2) if isinstance(window, Window)]
    laid = laid_out(network, text, 2, profile=fitting_profile(windows, share=1.0))
    return [to_device(window, GPU) for window in laid]


def network_and_windows(dropout: Dropout = NO_DROPOUT, num_words: int = 700) -> tuple[Network, list[AnyWindow]]:
    torch.manual_seed(3)
    config = CONFIGS["hclm-cache"]
    assert isinstance(config, HCLMConfig)
    network = build(replace(config, units=32, dropout=dropout), 9).to(GPU).train()
    return network, windows_of_one_shape(network, num_words)


CONFIG = TrainingConfig(streams=2, words_per_window=7, averaging=0.9, learning_rate=0.01)


@pytest.mark.parametrize("num_words", [700, 701, 702], ids=["whole", "one_stream_ends", "both_streams_end"])
def test_a_graph_learns_what_the_ordinary_step_learns(num_words: int) -> None:
    losses = []
    for kind in (Step, GraphStep):
        network, windows = network_and_windows(num_words=num_words)
        step, state, seen = kind(network, CONFIG), network.start(2), []
        for window in windows:
            state = step(window, state)
            seen.append(step.nats.clone())
        losses.append(torch.stack(seen))
        if isinstance(step, GraphStep):
            assert step.graph is not None
            assert step.num_eager == WARM_UP_STEPS
        assert step.average is not None and step.average.num_updates == len(windows)
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-5, atol=0)


def test_a_graph_drops_other_values_each_time() -> None:
    network, windows = network_and_windows(Dropout(0.5, 0.5, 0.5, 0.5, 0.5, 0.5))
    step, state = GraphStep(network, replace(CONFIG, learning_rate=1e-12)), network.start(2)
    for window in windows[: WARM_UP_STEPS + 1]:
        state = step(window, state)
    before, totals = network.start(2), []
    for _ in range(3):
        step.nats.zero_()
        step(windows[0], before)
        totals.append(float(step.nats))
    assert len(set(totals)) == 3


def test_a_graph_hears_of_a_new_learning_rate() -> None:
    network, windows = network_and_windows()
    step, state = GraphStep(network, CONFIG), network.start(2)
    for window in windows[: WARM_UP_STEPS + 2]:
        state = step(window, state)
    parameter = next(network.parameters())
    moved = []
    for rate in (1e-2, 0.0):
        step.set_learning_rate(rate)
        before = parameter.detach().clone()
        state = step(windows[5], state)
        moved.append(float((parameter.detach() - before).abs().max()))
    assert moved[0] > 0
    assert moved[1] == 0


def test_a_window_of_another_shape_takes_the_ordinary_step() -> None:
    network, windows = network_and_windows()
    odd = next(iter(laid_out(network, made_text(14, num_types=20, seed=1, longest=9), 2)))
    step, state = GraphStep(network, CONFIG), network.start(2)
    for window in [*windows[: WARM_UP_STEPS + 2], to_device(odd, GPU), windows[6]]:
        state = step(window, state)
        assert torch.isfinite(step.nats)
    assert step.average is not None and step.average.num_updates == WARM_UP_STEPS + 4
