"""What it costs to say which character a dummy stands for, so that any text has an honest cost (decision 0014).

An adaptive code over all characters that an alphabet lacks: after n dummies, a character that came up k times before
has probability k / (n + 1), and 1 / (n + 1) is shared by all that have not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from wordmint.text.alphabet import NUM_CODE_POINTS, Alphabet

NUM_SURROGATES = 2048  # are no characters


def escape_bits(unknown: Iterable[str], alphabet: Alphabet) -> list[float]:
    """The bits that name each of these characters, none of which the alphabet has."""
    num_unseen = NUM_CODE_POINTS - NUM_SURROGATES - len(alphabet.characters)
    seen: Counter[str] = Counter()
    bits: list[float] = []
    for num_before, character in enumerate(unknown):
        if seen[character]:
            bits.append(math.log2((num_before + 1) / seen[character]))
        else:
            bits.append(math.log2((num_before + 1) * num_unseen))
            num_unseen -= 1
        seen[character] += 1
    return bits
