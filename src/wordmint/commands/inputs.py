"""What several commands take: a corpus to train on, a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wordmint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import torch

    from wordmint.corpora.corpus import Corpus
    from wordmint.model.language_model import TextRules
    from wordmint.text.documents import Document, Encoding
    from wordmint.use.model import Model
    from wordmint.use.state import TextState


def corpus_to_train_on(name_or_path: str, data: Path | None) -> tuple[Corpus, TextRules]:
    """A prepared corpus with the splits that training needs, and how its text becomes words."""
    from wordmint.corpora.catalogue import find_sources
    from wordmint.corpora.prepare import prepare
    from wordmint.model.language_model import TextRules
    from wordmint.progress import reading_progress
    from wordmint.text.documents import Encoding

    sources = find_sources(name_or_path, data, Encoding())
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise UserError(f"{name_or_path}: several corpora ({names}); name one of them")
    (source,) = sources
    with reading_progress(source.name) as report:
        corpus = prepare(source, report=report)
    missing = [split for split in ("train", "valid") if split not in corpus.splits]
    if missing:
        raise UserError(f"{name_or_path}: training needs train and valid; there is no {' and no '.join(missing)}")
    return corpus, TextRules(respell=dict(source.respell))


def torch_device(choice: str) -> torch.device:
    """The device a user asked for."""
    import torch

    if choice == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: PyTorch finds no GPU here; leave --device away, or install a GPU build")
    if choice == "auto":
        choice = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(choice)


def text_of_input() -> str:
    """What standard input says."""
    from wordmint.text.documents import standard_input

    try:
        return standard_input().read().decode()
    except UnicodeDecodeError as error:
        raise UserError(f"<stdin>: not UTF-8 at byte {error.start}; re-encode it") from None


def documents_of(paths: Sequence[Path], encoding: Encoding) -> Iterable[Document]:
    """The documents of files, folders and standard input, one after the other."""
    from wordmint.text.documents import find_documents

    for path in paths:
        if (path / "config.json").exists() or (path / "model" / "config.json").exists():
            raise UserError(f"{path}: a model, where a text was to stand")
    found = [find_documents(path, encoding) for path in paths]
    return (document for documents in found for document in documents)


def model_and_state(
    name: str, device: str = "cpu", state: Path | None = None, slots: int | None = None, int8: bool = False
) -> tuple[Model, TextState]:
    """A model, and the state to begin with: a saved one, or the one before any text."""
    from wordmint.use.model import Model
    from wordmint.use.state import TextState, check_belongs

    if state and slots is not None:
        raise UserError("--state and --slots: a saved state has its number of slots; give one of the two")
    before = TextState.load(state) if state else None
    lm = Model.load(name, torch_device(device).type, int8)
    if before is None:
        return lm, lm.start(slots)
    check_belongs([before], lm.language_model)
    return lm, before
