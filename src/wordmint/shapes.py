"""Axes in signatures, `Int[Array, "streams words"]`, checked in the tests and free of cost everywhere else.

`jaxtyping` is a development dependency only; without it the subscript is the array type itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

Array = NDArray[Any]

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:

        class _Unchecked:
            def __class_getitem__(cls, array_and_axes):
                return array_and_axes[0]

        Bool = Float = Int = _Unchecked

__all__ = ["Array", "Bool", "Float", "Int"]
