"""The softmax over the keys that are in the cache, in Triton: one program for each word of a window.

What PyTorch does with two dozen small kernels, each started after the one before, is two: see `word_cache.chosen`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordmint.shapes import Bool, Float, Int


def choose(
    scores: Float[Tensor, "streams words versions"],
    hit: Int[Tensor, "streams words"],
    last_time: Int[Tensor, "streams versions"],
    num_slots: int,
) -> tuple[Tensor, Bool[Tensor, "streams words"], Tensor]:
    """Log-probability of the version that is hit, −∞ where none is; where nothing lives; the log of the sum."""
    (streams, words, versions), shape = scores.shape, hit.shape
    log_p, is_empty = scores.new_empty(shape), torch.empty(shape, dtype=torch.bool, device=scores.device)
    log_sum = scores.new_empty(shape)
    block = triton.next_power_of_2(versions)
    _choose[(streams * words,)](
        scores.contiguous(), hit, last_time, log_p, is_empty, log_sum, words, versions, num_slots, block,
        num_warps=_warps(block),
    )  # fmt: skip
    return log_p, is_empty, log_sum


def gradient(
    scores: Float[Tensor, "streams words versions"],
    hit: Int[Tensor, "streams words"],
    last_time: Int[Tensor, "streams versions"],
    num_slots: int,
    log_sum: Float[Tensor, "streams words"],
    grad_log_p: Float[Tensor, "streams words"],
) -> Float[Tensor, "streams words versions"]:
    """Of the scores."""
    streams, words, versions = scores.shape
    result, block = torch.empty_like(scores, memory_format=torch.contiguous_format), triton.next_power_of_2(versions)
    _gradient[(streams * words,)](
        scores.contiguous(), hit, last_time, log_sum, grad_log_p.contiguous(), result,
        words, versions, num_slots, block, num_warps=_warps(block),
    )  # fmt: skip
    return result


def _warps(block: int) -> int:
    return max(1, min(8, block // 256))


@triton.jit
def _lives(last_time, stream, word, v, versions, num_slots):
    """Written before the word, and not yet replaced."""
    last = tl.load(last_time + stream * versions + v, v < versions, other=-1)
    return (v - num_slots < word) & (word <= last)


@triton.jit
def _choose(
    scores, hit, last_time, log_p, is_empty, log_sum, words, versions, num_slots, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    stream, word = row // words, row % words
    v = tl.arange(0, BLOCK)
    alive = _lives(last_time, stream, word, v, versions, num_slots)
    score = tl.load(scores + row * versions + v, alive, other=-float("inf"))
    empty = tl.sum(alive.to(tl.int32), 0) == 0
    largest = tl.where(empty, 0.0, tl.max(score, 0))
    total = tl.log(tl.where(empty, 1.0, tl.sum(tl.exp(score - largest), 0))) + largest
    one = tl.load(hit + row)
    chosen = tl.load(scores + row * versions + one, one >= 0, other=-float("inf"))
    tl.store(log_p + row, chosen - total)
    tl.store(is_empty + row, empty)
    tl.store(log_sum + row, total)


@triton.jit
def _gradient(
    scores, hit, last_time, log_sum, grad_log_p, result, words, versions, num_slots, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    stream, word = row // words, row % words
    v = tl.arange(0, BLOCK)
    alive = _lives(last_time, stream, word, v, versions, num_slots)
    score = tl.load(scores + row * versions + v, alive, other=-float("inf"))
    one = tl.load(hit + row)
    share = tl.where(v == one, 1.0, 0.0) - tl.exp(score - tl.load(log_sum + row))
    grad = tl.where(one >= 0, tl.load(grad_log_p + row), 0.0)
    tl.store(result + row * versions + v, tl.where(alive, grad * share, 0.0), v < versions)
