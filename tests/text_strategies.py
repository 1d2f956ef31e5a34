"""Text of every kind, as hypothesis draws it for the tests."""

from __future__ import annotations

import sys

from hypothesis import strategies as st

WHITE_SPACE = "".join(chr(point) for point in range(sys.maxunicode + 1) if chr(point).isspace())

# What has broken text tools before, by name; none of it is white space.
ODD_WORDS = {
    "combining marks": "e\u0301\u0323o\u0308",
    "only a combining mark": "\u0301",
    "right to left": "שלום\u200fمرحبا",
    "a family joined by ZWJ": "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "a flag and a skin tone": "\U0001f1eb\U0001f1f7\U0001f44d\U0001f3fd",
    "zero-width space and joiner": "a\u200bb\u200cc\u2060d",
    "NUL and control characters": "\x00\x01\x07\x1b[0m\x7f\x80",
    "BOM inside": "a\ufeffb",
    "noncharacters and private use": "\ufdd0\ufffe\uffff\ue000\U0010ffff",
    "the dummy": "\ufffd",
    "no spaces": "日本語のテキスト",
    "soft hyphen and variation selector": "co\u00adop\ufe0f",
}

characters = st.one_of(
    st.sampled_from("ab"),
    st.sampled_from(WHITE_SPACE),
    st.sampled_from(sorted(set("".join(ODD_WORDS.values())))),
    st.characters(exclude_categories=["Cs"]),
)
texts = st.text(characters, max_size=40)
simple_texts = st.text(st.sampled_from("abcdeé日 \n"), max_size=60)
words = st.text(characters.filter(lambda character: not character.isspace()), min_size=1, max_size=8)


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[str]:
    """The same text in pieces, some of them empty."""
    ends = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
