"""Additive attention in Triton: each tanh is computed where it is used, and again in the backward pass.

As on a CPU (see `attention`) the exponentials are those of queries and keys, so a triple costs one division. Tiles run
over words (T), versions of keys (V) and units (U). What is summed is gathered element by element in registers and
reduced once, so there are no atomic additions and results are the same every time.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordmint.shapes import Float

WORDS, VERSIONS, UNITS = 4, 8, 32  # of a tile
WARPS = 2
VALUES = 2048  # of which a program takes exponentials


def exponentials(values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """e^2x, in float32."""
    result = torch.empty_like(values, dtype=torch.float32, memory_format=torch.contiguous_format)
    grid = (triton.cdiv(values.numel(), VALUES),)
    _exponentials[grid](values.contiguous(), result, values.numel(), VALUES)
    return result


def scores(
    exp_queries: Float[Tensor, "streams words units"],
    exp_keys: Float[Tensor, "streams versions units"],
    score: Float[Tensor, " units"],
) -> Float[Tensor, "streams words versions"]:
    """score · tanh(query + key), for every query and key of a stream, from their exponentials."""
    (streams, words, units), versions = exp_queries.shape, exp_keys.shape[1]
    result = exp_queries.new_empty(streams, words, versions)
    grid = (streams, triton.cdiv(words, WORDS), triton.cdiv(versions, VERSIONS))
    _scores[grid](exp_queries, exp_keys, score, result, words, versions, units, WORDS, VERSIONS, UNITS, num_warps=WARPS)
    return result


def gradients(
    exp_queries: Float[Tensor, "streams words units"],
    exp_keys: Float[Tensor, "streams versions units"],
    score: Float[Tensor, " units"],
    grad_scores: Float[Tensor, "streams words versions"],
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    """Of queries and keys, in the given precision, and of score."""
    grad_scores = grad_scores.contiguous()
    (streams, words, units), versions = exp_queries.shape, exp_keys.shape[1]
    shapes = (words, versions, units, WORDS, VERSIONS, UNITS)
    word_blocks, unit_blocks = triton.cdiv(words, WORDS), triton.cdiv(units, UNITS)
    grad_queries, grad_keys = (torch.empty_like(one, dtype=dtype) for one in (exp_queries, exp_keys))
    grad_score = exp_queries.new_empty(streams * word_blocks, units)
    _grad_queries[(streams, word_blocks, unit_blocks)](
        exp_queries, exp_keys, score, grad_scores, grad_queries, grad_score, *shapes, num_warps=WARPS
    )
    _grad_keys[(streams, triton.cdiv(versions, VERSIONS), unit_blocks)](
        exp_queries, exp_keys, score, grad_scores, grad_keys, *shapes, num_warps=WARPS
    )
    return grad_queries, grad_keys, grad_score.sum(0)


@triton.jit
def _exponentials(values, result, number, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values + at, at < number, other=0.0).to(tl.float32)
    tl.store(result + at, tl.exp(2.0 * value), at < number)


@triton.jit
def _rows(pointer, stream, rows, num_rows, u, units):
    """Some rows of a stream's matrix, zeros outside of it."""
    mask = (rows < num_rows)[:, None] & (u < units)[None, :]
    return tl.load(pointer + (stream * num_rows + rows[:, None]) * units + u[None, :], mask, other=0.0)


@triton.jit
def _tile(pointer, stream, t, words, v, versions):
    mask = (t < words)[:, None] & (v < versions)[None, :]
    return tl.load(pointer + (stream * words + t[:, None]) * versions + v[None, :], mask, other=0.0)


@triton.jit
def _scores(
    exp_queries, exp_keys, score, result, words, versions, units: tl.constexpr,
    T: tl.constexpr, V: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    stream = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * T + tl.arange(0, T)
    v = tl.program_id(2) * V + tl.arange(0, V)
    total = tl.zeros((T, V, U), tl.float32)
    ones = tl.zeros((U,), tl.float32)
    for begin in range(0, units, U):
        u = begin + tl.arange(0, U)
        query = _rows(exp_queries, stream, t, words, u, units)
        key = _rows(exp_keys, stream, v, versions, u, units)
        weight = tl.load(score + u, u < units, other=0.0)
        ones += weight
        total += weight[None, None, :] * (1.0 / (1.0 + query[:, None, :] * key[None, :, :]))
    mask = (t < words)[:, None] & (v < versions)[None, :]
    values = tl.sum(ones, 0) - 2.0 * tl.sum(total, 2)
    tl.store(result + (stream * words + t[:, None]) * versions + v[None, :], values, mask)


@triton.jit
def _grad_queries(
    exp_queries, exp_keys, score, grad_scores, grad_queries, grad_score, words, versions, units: tl.constexpr,
    T: tl.constexpr, V: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    stream = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * T + tl.arange(0, T)
    u = tl.program_id(2) * U + tl.arange(0, U)
    query = _rows(exp_queries, stream, t, words, u, units)
    slopes = tl.zeros((T, V, U), tl.float32)
    values = tl.zeros((T, V, U), tl.float32)
    for begin in range(0, versions, V):
        v = begin + tl.arange(0, V)
        z = 1.0 / (1.0 + query[:, None, :] * _rows(exp_keys, stream, v, versions, u, units)[None, :, :])
        grad = _tile(grad_scores, stream, t, words, v, versions)[:, :, None]
        part = grad * z
        slopes += part - part * z
        values += grad - 2.0 * part
    weight = 4.0 * tl.load(score + u, u < units, other=0.0)
    mask = (t < words)[:, None] & (u < units)[None, :]
    into = grad_queries + (stream * words + t[:, None]) * units + u[None, :]
    tl.store(into, tl.sum(slopes, 1) * weight[None, :], mask)
    block = stream * tl.num_programs(1) + tl.program_id(1)
    tl.store(grad_score + block * units + u, tl.sum(tl.sum(values, 1), 0), u < units)


@triton.jit
def _grad_keys(
    exp_queries, exp_keys, score, grad_scores, grad_keys, words, versions, units: tl.constexpr,
    T: tl.constexpr, V: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    stream = tl.program_id(0).to(tl.int64)
    v = tl.program_id(1) * V + tl.arange(0, V)
    u = tl.program_id(2) * U + tl.arange(0, U)
    key = _rows(exp_keys, stream, v, versions, u, units)
    slopes = tl.zeros((T, V, U), tl.float32)
    for begin in range(0, words, T):
        t = begin + tl.arange(0, T)
        z = 1.0 / (1.0 + _rows(exp_queries, stream, t, words, u, units)[:, None, :] * key[None, :, :])
        part = _tile(grad_scores, stream, t, words, v, versions)[:, :, None] * z
        slopes += part - part * z
    weight = 4.0 * tl.load(score + u, u < units, other=0.0)
    mask = (v < versions)[:, None] & (u < units)[None, :]
    into = grad_keys + (stream * versions + v[:, None]) * units + u[None, :]
    tl.store(into, tl.sum(slopes, 0) * weight[None, :], mask)
