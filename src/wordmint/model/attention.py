"""Additive attention, v · tanh(key + query), without ever holding all its (query, key, unit) triples in memory.

There are far more triples than queries and keys. So nothing costly is computed for a triple: with z the logistic
function of −2 (key + query), which is 1 / (1 + e^2key · e^2query), tanh is 1 − 2z and its slope is 4 (z − z²). Where
e^2key overflows z is 0 and tanh is 1, as it should be; queries lie between −1 and 1.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from wordmint.shapes import Float

VALUES_PER_BLOCK = {"cpu": 1 << 18, "cuda": 1 << 28}  # a block stays in the cache of a core, or fills a GPU
HAS_TRITON = find_spec("triton") is not None


def additive_scores(
    queries: Float[Tensor, "streams words units"],
    keys: Float[Tensor, "streams versions units"],
    score: Float[Tensor, " units"],
) -> Float[Tensor, "streams words versions"]:
    """Score every key for every query of its stream, in the precision of the parameters even under autocast."""
    with torch.autocast(queries.device.type, enabled=False):
        return _AdditiveScores.apply(queries.to(score.dtype), keys.to(score.dtype), score)  # pyright: ignore


class _AdditiveScores(torch.autograd.Function):
    """The backward pass computes the hyperbolic tangents again."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, score: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, score)
        if _fits_kernel(queries):
            from wordmint.model.kernels import additive

            return additive.scores(queries, keys, score)
        return scores_in_blocks(queries, keys, score)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore
        queries, keys, score = ctx.saved_tensors
        if _fits_kernel(queries):
            from wordmint.model.kernels import additive

            return additive.gradients(queries, keys, score, *grads)
        return gradients_in_blocks(queries, keys, score, *grads)


def _fits_kernel(queries: Tensor) -> bool:
    return HAS_TRITON and queries.is_cuda and queries.dtype == torch.float32


def scores_in_blocks(queries: Tensor, keys: Tensor, score: Tensor) -> Float[Tensor, "streams words versions"]:
    """A block of words at a time."""
    exp_queries, exp_keys = (2 * queries).exp(), (2 * keys).exp()
    sums = queries.new_empty(*queries.shape[:2], keys.shape[1])
    for streams, words in _blocks(queries, keys):
        sums[streams, words] = _logistic(exp_queries[streams, words], exp_keys[streams]) @ score
    return score.sum() - 2 * sums


def gradients_in_blocks(
    queries: Tensor, keys: Tensor, score: Tensor, grad_scores: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Of queries, keys and score."""
    exp_queries, exp_keys = (2 * queries).exp(), (2 * keys).exp()
    grad_queries, grad_keys = torch.empty_like(queries), torch.zeros_like(keys)
    sums = torch.zeros_like(score)
    for streams, words in _blocks(queries, keys):
        grad = grad_scores[streams, words]
        z = _logistic(exp_queries[streams, words], exp_keys[streams])
        sums.addmv_(z.flatten(0, 2).T, grad.flatten())
        slope = z.addcmul_(z, z, value=-1).mul_(grad[..., None])
        grad_queries[streams, words] = slope.sum(2)
        grad_keys[streams] += slope.sum(1)
    return grad_queries * (4 * score), grad_keys * (4 * score), grad_scores.sum() - 2 * sums


def _logistic(exp_queries: Tensor, exp_keys: Tensor) -> Float[Tensor, "streams words versions units"]:
    return (exp_queries[:, :, None] * exp_keys[:, None]).add_(1).reciprocal_()


def _blocks(queries: Tensor, keys: Tensor) -> list[tuple[slice, slice]]:
    """Streams and words, as many at a time as a block holds, at least one of each."""
    num_streams, num_words, units = queries.shape
    budget = max(1, VALUES_PER_BLOCK[queries.device.type] // (keys.shape[1] * units))
    streams_at_once = max(1, budget // num_words)
    words_at_once = min(budget, num_words)
    return [
        (slice(stream, stream + streams_at_once), slice(word, word + words_at_once))
        for stream in range(0, num_streams, streams_at_once)
        for word in range(0, num_words, words_at_once)
    ]
