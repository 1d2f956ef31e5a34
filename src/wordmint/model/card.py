"""The card in a model's folder: what it is, what it was trained on, how to use it."""

from __future__ import annotations

from typing import Any

CARD = """---
library_name: wordmint
pipeline_tag: text-generation
tags: [open-vocabulary, character-level, word-cache]
---

# {kind} trained on {corpus}

A language model with an open vocabulary, made with Wordmint after Kawakami, Dyer & Blunsom (2017), *Learning to Create
and Reuse Words in Open-Vocabulary Neural Language Modeling*. It has {num_parameters:,} parameters and knows
{num_characters} characters; any other is read as a dummy.

{result}

    wordmint evaluate FOLDER FILE
"""


def card_text(
    architecture: dict[str, Any], trained_on: dict[str, Any], num_characters: int, num_parameters: int
) -> str:
    """The card as Markdown; what is not known of the training is left out."""
    kind = "A character LSTM" if architecture.get("kind") == "lstm" else "HCLM"
    slots = architecture.get("slots", 0)
    return CARD.format(
        kind=f"{kind} with a cache of {slots:,} words" if slots else kind,
        corpus=trained_on.get("corpus", "a text"),
        num_characters=num_characters,
        num_parameters=num_parameters,
        result=_result(trained_on),
    )


def _result(trained_on: dict[str, Any]) -> str:
    bits, characters = trained_on.get("valid_bits"), trained_on.get("valid_characters")
    if not bits or not characters:
        return "Nothing is recorded of how good it is."
    return (
        f"Trained on {trained_on.get('train_characters', 0):,} characters. On dev ({characters:,} characters of the "
        f"normalised text, read as several streams) it needs {bits:,.0f} bits, {bits / characters:.4f} a character."
    )
