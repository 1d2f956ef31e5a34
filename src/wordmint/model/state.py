"""What a model remembers of the text so far: a value, never changed in place."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from wordmint.shapes import Float


@dataclass(frozen=True, eq=False)
class State:
    """The recurrent state of every stream, and the keys in its cache (of no slots, where there is no cache)."""

    hidden: Float[Tensor, "layers streams units"]
    cell: Float[Tensor, "layers streams units"]
    keys: Float[Tensor, "streams slots units"]

    @classmethod
    def zeros(cls, layers: int, streams: int, units: int, slots: int, like: Tensor) -> State:
        """The state before the first word."""
        recurrent = like.new_zeros(layers, streams, units)
        return cls(recurrent, recurrent, like.new_zeros(streams, slots, units))

    def detached(self) -> State:
        """The same values as constants: gradients end at the border of a window."""
        return self._map(Tensor.detach)

    def to(self, device: torch.device | str) -> State:
        """The same state on another device."""
        return self._map(lambda tensor: tensor.to(device))

    def tensors(self) -> dict[str, Tensor]:
        """The parts by name, to be saved."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return all(torch.equal(mine, theirs) for mine, theirs in zip(self._parts(), other._parts(), strict=True))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _parts(self) -> tuple[Tensor, ...]:
        return tuple(self.tensors().values())

    def _map(self, change) -> State:
        return type(self)(*map(change, self._parts()))
