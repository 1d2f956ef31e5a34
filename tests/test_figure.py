"""The figure of new words: real pictures, the same each time, and a sentence where none can be drawn."""

from __future__ import annotations

import os
import resource
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.made_corpora import made_corpus
from wordmint.corpora import figure
from wordmint.corpora.corpus import Corpus
from wordmint.corpora.figure import draw_new_words, new_word_frequencies
from wordmint.errors import UserError

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    new_words = " ".join(f"w{number} " * (1 + 40 // (number + 1)) for number in range(60))
    return made_corpus(tmp_path / "corpus", train="a b c\n", valid="a " + new_words, test=new_words + " w1 once\n")


def drawn(corpora: list[Corpus], path: Path) -> bytes:
    draw_new_words(corpora, path)
    return path.read_bytes()


def texts_of(svg: bytes) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_what_is_drawn_is_counted_by_hand(corpus: Corpus) -> None:
    counts = [2 * (1 + 40 // (number + 1)) for number in range(60)]
    counts[1] += 1
    assert new_word_frequencies(corpus).tolist() == [*counts, 1]


@pytest.mark.parametrize(
    ("suffix", "begins", "ends"),
    [
        (".svg", b"<?xml", b"</svg>"),
        (".pdf", b"%PDF-", b"%%EOF"),
        (".png", b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
    ],
)
def test_a_picture_is_what_its_name_says(
    corpus: Corpus, tmp_path: Path, suffix: str, begins: bytes, ends: bytes
) -> None:
    picture = drawn([corpus], tmp_path / "new folder" / f"words{suffix}")
    assert picture.startswith(begins)
    assert picture.rstrip().endswith(ends)
    assert len(picture) > 5000


def test_an_svg_is_one_that_is_labelled(corpus: Corpus, tmp_path: Path) -> None:
    texts = texts_of(drawn([corpus], tmp_path / "words.svg"))
    assert "made: 61 words not in train" in texts
    assert {"occurrences in valid + test", "word types"} <= set(texts)


def test_the_same_corpora_give_the_same_bytes(corpus: Corpus, tmp_path: Path) -> None:
    assert drawn([corpus], tmp_path / "one.svg") == drawn([corpus], tmp_path / "two.svg")


@pytest.mark.parametrize("num_corpora", [2, 4, 7, 12, 13, 16, 35])
def test_every_corpus_has_a_panel_and_the_page_its_width(corpus: Corpus, tmp_path: Path, num_corpora: int) -> None:
    svg = drawn([corpus] * num_corpora, tmp_path / "words.svg")
    assert sum("words not in train" in text for text in texts_of(svg)) == num_corpora
    width, height = (float(ET.fromstring(svg).attrib[side].removesuffix("pt")) / 72 for side in ("width", "height"))
    assert width == pytest.approx(figure.PAGE_WIDTH)
    assert height <= figure.PAGE_HEIGHT


@pytest.mark.parametrize(("num_panels", "grid"), [(1, (1, 1)), (2, (1, 2)), (7, (3, 3)), (12, (4, 3)), (13, (4, 4))])
def test_the_grid(num_panels: int, grid: tuple[int, int]) -> None:
    assert figure._grid(num_panels) == grid


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("en", "en: 1,234 words not in train"),
        ("wikipedia", "wikipedia\n1,234 words not in train"),
        ("a" * 50 + "b" * 50, "a" * 14 + "…" + "b" * 13 + "\n1,234 words not in train"),
    ],
)
def test_a_title_is_no_wider_than_its_panel(name: str, title: str) -> None:
    assert figure._title(name, 1234, num_letters=28) == title


def test_a_suffix_in_capitals(corpus: Corpus, tmp_path: Path) -> None:
    assert drawn([corpus], tmp_path / "WORDS.PNG").startswith(b"\x89PNG")


def test_a_corpus_without_new_words_says_so(tmp_path: Path) -> None:
    closed = made_corpus(tmp_path / "corpus", train="a b\n", test="b a\n")
    assert len(new_word_frequencies(closed)) == 0
    texts = texts_of(drawn([closed], tmp_path / "words.svg"))
    assert "every word is in train" in texts
    assert "made: 0 words not in train" in texts


def test_new_words_that_all_come_once_are_drawn_without_a_law(tmp_path: Path) -> None:
    once = made_corpus(tmp_path / "corpus", train="a\n", test="b c d\n")
    assert not any("∝" in text for text in texts_of(drawn([once], tmp_path / "words.svg")))


@pytest.mark.parametrize("exponent", [1.5, 2.0, 3.0])
def test_the_exponent_of_a_known_law_is_found(exponent: float) -> None:
    support = np.arange(1, 100_001)
    chances = support**-exponent
    counts = np.random.default_rng(0).choice(support, 20_000, p=chances / chances.sum())
    assert figure._power_law(counts) == pytest.approx(exponent, rel=0.03)


@pytest.mark.parametrize("name", ["a$b$_^", "$\\frac$", "data[en]", "<&>", "_x_"])
def test_a_name_is_drawn_as_it_is(tmp_path: Path, corpus: Corpus, name: str) -> None:
    named = Corpus(name, *(getattr(corpus, field) for field in list(Corpus.__dataclass_fields__)[1:]))
    assert f"{name}: 61 words not in train" in texts_of(drawn([named], tmp_path / "words.svg"))


def test_a_name_that_is_too_long_leaves_the_page_its_width(tmp_path: Path, corpus: Corpus) -> None:
    named = replace(corpus, name="name" * 50)
    texts = texts_of(drawn([named] * 3, tmp_path / "words.svg"))
    shortened = [text for text in texts if "…" in text]
    assert len(shortened) == 3
    assert all(text.startswith("namename") and text.endswith("name") and len(text) <= 28 for text in shortened)


# Where none can be drawn.


@pytest.mark.parametrize("name", ["words.jpeg", "words", "words.svg.txt", ".svg"])
def test_an_unknown_kind_of_picture(corpus: Corpus, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"a picture's name ends in \.svg, \.pdf, \.png$"):
        draw_new_words([corpus], tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("texts", [{"train": "a"}, {"valid": "a", "test": "a"}], ids="+".join)
def test_a_corpus_without_the_splits_it_needs(tmp_path: Path, texts: dict[str, str]) -> None:
    corpus = made_corpus(tmp_path / "corpus", 1, **texts)
    with pytest.raises(UserError, match=r"^made: new words are told by a train split and a valid or test split"):
        draw_new_words([corpus], tmp_path / "words.svg")
    assert not (tmp_path / "words.svg").exists()


def test_a_folder_is_in_the_way(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "words.svg").mkdir()
    with pytest.raises(UserError, match=r"words\.svg: cannot be written \(Is a directory\)"):
        draw_new_words([corpus], tmp_path / "words.svg")


def test_a_file_is_where_the_folder_should_be(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"words\.svg: cannot be written \((File exists|Not a directory)\)"):
        draw_new_words([corpus], tmp_path / "file" / "words.svg")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(corpus: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(UserError, match=r"cannot be written \(Permission denied\)"):
        draw_new_words([corpus], folder / "words.svg")


@pytest.mark.parametrize("suffix", figure.SUFFIXES)
def test_a_picture_that_cannot_be_written_whole_is_not_written(corpus: Corpus, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"words{suffix}"
    path.write_text("the old picture")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # to the writer, no other than a full disk
    try:
        with pytest.raises(UserError, match=r"cannot be written \(File too large\)"):
            draw_new_words([corpus], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "the old picture"
    assert sorted(tmp_path.glob(".*")) == []
