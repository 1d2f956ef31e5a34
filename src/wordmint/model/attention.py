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

VALUES_PER_BLOCK = {"cpu": 1 << 20, "cuda": 1 << 28}  # a block stays in a CPU's cache, or fills a GPU
HAS_TRITON = find_spec("triton") is not None


def additive_scores(
    queries: Float[Tensor, "streams words units"],
    keys: Float[Tensor, "streams versions units"],
    score: Float[Tensor, " units"],
) -> Float[Tensor, "streams words versions"]:
    """Score every key for every query of its stream, in the precision of the parameters even under autocast."""
    with torch.autocast(queries.device.type, enabled=False):
        if fits_kernels(score):
            return _WithKernels.apply(queries, keys, score)  # pyright: ignore
        return _InBlocks.apply(queries.to(score.dtype), keys.to(score.dtype), score)  # pyright: ignore


def fits_kernels(values: Tensor) -> bool:
    """True where Triton's kernels take values like these."""
    return HAS_TRITON and values.is_cuda and values.dtype == torch.float32


class _InBlocks(torch.autograd.Function):
    """The backward pass computes the hyperbolic tangents again."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, score: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, score)
        return scores_in_blocks(queries, keys, score)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore
        return gradients_in_blocks(*ctx.saved_tensors, *grads)


class _WithKernels(torch.autograd.Function):
    """The same on a GPU; queries and keys may come in lower precision than they are used in."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, score: Tensor) -> Tensor:
        from wordmint.model.kernels import additive

        exp_queries, exp_keys = additive.exponentials(queries), additive.exponentials(keys)
        ctx.save_for_backward(exp_queries, exp_keys, score)
        ctx.dtype = keys.dtype
        return additive.scores(exp_queries, exp_keys, score)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore
        from wordmint.model.kernels import additive

        exp_queries, exp_keys, score = ctx.saved_tensors
        return additive.gradients(exp_queries, exp_keys, score, grads[0], ctx.dtype)


def scores_in_blocks(queries: Tensor, keys: Tensor, score: Tensor) -> Float[Tensor, "streams words versions"]:
    """A block of words and keys at a time."""
    exp_queries, exp_keys = (2 * queries).exp(), (2 * keys).exp()
    sums, logistic = queries.new_empty(*queries.shape[:2], keys.shape[1]), _Logistic(queries)
    for streams, words, versions in _blocks(queries, keys):
        z = logistic(exp_queries[streams, words], exp_keys[streams, versions])
        sums[streams, words, versions] = z @ score
    return score.sum() - 2 * sums


def gradients_in_blocks(
    queries: Tensor, keys: Tensor, score: Tensor, grad_scores: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Of queries, keys and score."""
    exp_queries, exp_keys = (2 * queries).exp(), (2 * keys).exp()
    grad_queries, grad_keys, sums = torch.zeros_like(queries), torch.zeros_like(keys), torch.zeros_like(score)
    logistic = _Logistic(queries)
    for streams, words, versions in _blocks(queries, keys):
        grad = grad_scores[streams, words, versions]
        z = logistic(exp_queries[streams, words], exp_keys[streams, versions])
        sums.addmv_(z.flatten(0, 2).T, grad.flatten())
        slope = z.addcmul_(z, z, value=-1).mul_(grad[..., None])
        grad_queries[streams, words] += slope.sum(2)
        grad_keys[streams, versions] += slope.sum(1)
    return grad_queries * (4 * score), grad_keys * (4 * score), grad_scores.sum() - 2 * sums


class _Logistic:
    """Computes z of block after block in the same memory."""

    def __init__(self, like: Tensor) -> None:
        self.one, self.block = like.new_ones(()), like.new_empty(0)

    def __call__(self, exp_queries: Tensor, exp_keys: Tensor) -> Float[Tensor, "streams words versions units"]:
        shape = (*exp_queries.shape[:2], *exp_keys.shape[1:])
        if self.block.shape != shape:
            self.block = exp_queries.new_empty(shape)
        return torch.addcmul(self.one, exp_queries[:, :, None], exp_keys[:, None], out=self.block).reciprocal_()


def _blocks(queries: Tensor, keys: Tensor) -> list[tuple[slice, slice, slice]]:
    """Streams, words and versions, as many at a time as a block holds, at least one of each."""
    (num_streams, num_words, units), num_versions = queries.shape, keys.shape[1]
    budget = max(1, VALUES_PER_BLOCK[queries.device.type] // units)
    versions_at_once = min(budget, num_versions)
    words_at_once = min(max(1, budget // versions_at_once), num_words)
    streams_at_once = min(max(1, budget // (versions_at_once * words_at_once)), num_streams)
    return [
        (
            slice(stream, stream + streams_at_once),
            slice(word, word + words_at_once),
            slice(first, first + versions_at_once),
        )
        for stream in range(0, num_streams, streams_at_once)
        for word in range(0, num_words, words_at_once)
        for first in range(0, num_versions, versions_at_once)
    ]
