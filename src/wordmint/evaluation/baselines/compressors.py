"""Compressors primed with the train text: what a text costs behind it. They go on learning while they read."""

from __future__ import annotations

import lzma
from collections.abc import Callable

PPMD_ORDERS = (6, 8, 10, 12, 16)
PPMD_MEMORY_BYTES = 1 << 29  # taken as it is needed; PPMd forgets everything when it is full
ZSTD_LEVEL = 22
XZ_DICTIONARY_BYTES = (1 << 12, 3 << 29)  # the least and the most that xz can have
ZSTD_WINDOW_LOG = (10, 31)

Compress = Callable[[bytes, int], bytes]  # a text, and how many bytes it may look back


def primed_bits(compress: Compress, train: bytes, text: bytes) -> float:
    """How many bits the compressed train text gains when the text is put behind it."""
    window_bytes = len(train) + len(text)
    return 8.0 * (len(compress(train + text, window_bytes)) - len(compress(train, window_bytes)))


def xz(text: bytes, window_bytes: int) -> bytes:
    """`xz -9e` without its container."""
    least, most = XZ_DICTIONARY_BYTES
    dictionary_bytes = min(max(window_bytes, least), most)
    preset = 9 | lzma.PRESET_EXTREME
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": dictionary_bytes}]
    return lzma.compress(text, lzma.FORMAT_RAW, filters=filters)


def zstd(text: bytes, window_bytes: int) -> bytes:
    """`zstd --ultra -22` with a window as long as it takes."""
    import zstandard

    least, most = ZSTD_WINDOW_LOG
    parameters = zstandard.ZstdCompressionParameters.from_level(
        ZSTD_LEVEL, source_size=window_bytes, window_log=min(max(window_bytes.bit_length(), least), most)
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compress(text)


def ppmd(order: int) -> Compress:
    """PPMd, variant I, with contexts of up to `order` bytes; it looks back as far as its memory goes."""
    import pyppmd

    def compress(text: bytes, _window_bytes: int) -> bytes:
        encoder = pyppmd.Ppmd8Encoder(order, PPMD_MEMORY_BYTES)
        return encoder.encode(text) + encoder.flush()

    return compress


def best_ppmd_order(train: bytes, held_out: bytes) -> int:
    """The order at which a held-out text is shortest behind the train text."""
    import pyppmd

    def num_bytes(order: int) -> int:  # but for the few that the coder still held back after train: one pass, not two
        encoder = pyppmd.Ppmd8Encoder(order, PPMD_MEMORY_BYTES)
        encoder.encode(train)
        return len(encoder.encode(held_out)) + len(encoder.flush())

    return min(PPMD_ORDERS, key=num_bytes)
