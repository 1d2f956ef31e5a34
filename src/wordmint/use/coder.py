"""An arithmetic coder in integers: a sequence of choices, each with its probabilities, as few bytes.

The interval [low, low + range) shrinks with every choice to the part that the choice's probability gives it; its top
byte is written once it is settled. A carry may still run through bytes of 255, which are held back for it.
"""

from __future__ import annotations

import numpy as np

from wordmint.shapes import Array, Float, Int

WIDTH = 64  # bits of the interval
TOTAL_BITS = 40  # of the sum of frequencies
TOP = 1 << (WIDTH - 8)
MASK = (1 << WIDTH) - 1


def frequencies(p: Float[Array, " choices"]) -> Int[Array, " choices_and_end"]:
    """Probabilities as whole numbers, none of them 0, summed up from the left."""
    counts = (p * ((1 << TOTAL_BITS) - len(p))).astype(np.int64) + 1
    return np.concatenate([[0], np.cumsum(counts)])


class Encoder:
    """Choices in, bytes out."""

    def __init__(self) -> None:
        self.low, self.range = 0, MASK
        self.settled = bytearray()
        self.held: list[int] = []  # a byte that a carry may still change, and the 255s behind it

    def encode(self, begin: int, end: int) -> None:
        """The choice that stands between two sums of frequencies."""
        part = self.range >> TOTAL_BITS
        self.low += begin * part
        self.range = (end - begin) * part
        while self.range < TOP:
            self._shift()
            self.range <<= 8

    def finish(self) -> bytes:
        """All bytes; zeros at the end need not be written."""
        self.low = (self.low + TOP - 1) // TOP * TOP  # the shortest number in the interval
        for _ in range(WIDTH // 8 + 1):
            self._shift()
        self.settled += bytes(self.held)
        return bytes(self.settled).rstrip(b"\0")

    def _shift(self) -> None:
        carry, byte = self.low >> WIDTH, self.low >> (WIDTH - 8) & 255
        if carry:
            self.held = [byte_ + 1 & 255 for byte_ in self.held]
        if byte != 255:
            self.settled += bytes(self.held)
            self.held = []
        self.held.append(byte)
        self.low = self.low << 8 & MASK


class Decoder:
    """Bytes in, choices out."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place, self.range, self.code = data, 0, MASK, 0
        for _ in range(WIDTH // 8):
            self._take_byte()

    def decode(self, sums: Int[Array, " choices_and_end"]) -> int:
        """Which of some choices comes next, given their frequencies summed up."""
        part = self.range >> TOTAL_BITS
        choice = int(np.searchsorted(sums, min(self.code // part, int(sums[-1]) - 1), side="right")) - 1
        begin, end = int(sums[choice]), int(sums[choice + 1])
        self._narrow(begin, end, part)
        return choice

    def decode_uniform(self, number: int) -> int:
        """One of so many equally probable choices."""
        part, share = self.range >> TOTAL_BITS, (1 << TOTAL_BITS) // number
        choice = min(self.code // part // share, number - 1)
        self._narrow(choice * share, (choice + 1) * share, part)
        return choice

    def _narrow(self, begin: int, end: int, part: int) -> None:
        self.code -= begin * part
        self.range = (end - begin) * part
        while self.range < TOP:
            self._take_byte()
            self.range <<= 8

    def _take_byte(self) -> None:
        byte = self.data[self.place] if self.place < len(self.data) else 0
        self.code = self.code << 8 | byte
        self.place += 1
