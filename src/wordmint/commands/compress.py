"""`wordmint compress` and `wordmint decompress`: any bytes, by a model's exact probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from wordmint.errors import UserError

SUFFIX = ".wmint"
MOST_BYTES = 1 << 31

app = App(name="compress", help="Compress a file with a model.", default_parameter=Parameter(negative=()))
decompress_app = App(name="decompress", help="Give a compressed file back.", default_parameter=Parameter(negative=()))


@app.default
def compress(
    model: str,
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    slots: int | None = None,
) -> None:
    """Compress a file, losing nothing of it; text like the training text becomes shortest.

    Parameters
    ----------
    model
        A model's folder, a run's folder, or OWNER/NAME on the Hub. The same model is needed to decompress.
    file
        What to compress; "-" is standard input.
    out
        Where to write; without it, the file's name with .wmint behind it, or standard output for standard input.
    slots
        Size of the cache, 0 to 10,000; without it, as in training.
    """
    from wordmint.commands.inputs import model_and_state
    from wordmint.progress import scoring_progress
    from wordmint.use.compression import compress as compressed
    from wordmint.use.writers import written_whole

    data = _bytes_of(file)
    lm, _ = model_and_state(model, slots=slots)
    target = out or (None if str(file) == "-" else file.with_name(file.name + SUFFIX))
    with scoring_progress(str(file), None, "compressing") as report:
        packed = compressed(lm.language_model, data, slots, report)
    with written_whole(target) as place:
        place.write(packed)
    if target:
        print(f"{target}: {len(packed):,} bytes of {len(data):,} ({len(packed) / max(1, len(data)):.2%})")


@decompress_app.default
def decompress(
    model: str,
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
) -> None:
    """Give back what was compressed, on a machine that computes as the one that compressed it.

    Parameters
    ----------
    model
        The model that compressed it.
    file
        What to decompress; "-" is standard input.
    out
        Where to write; without it, the file's name without .wmint, or standard output for standard input.
    """
    from wordmint.commands.inputs import model_and_state
    from wordmint.progress import scoring_progress
    from wordmint.use.compression import decompress as decompressed
    from wordmint.use.compression import num_words_inside
    from wordmint.use.writers import written_whole

    packed = _bytes_of(file)
    if out is None and str(file) != "-" and file.suffix != SUFFIX:
        raise UserError(f"{file}: the name does not end in {SUFFIX}, so say with --out where the text shall go")
    lm, _ = model_and_state(model)
    target = out or (None if str(file) == "-" else file.with_suffix(""))
    with scoring_progress(str(file), num_words_inside(packed) or None, "decompressing") as report:
        data = decompressed(lm.language_model, packed, str(file), report)
    with written_whole(target) as place:
        place.write(data)


def _bytes_of(file: Path) -> bytes:
    from wordmint.text.documents import standard_input

    try:
        if str(file) == "-":
            return standard_input().read()
        if file.stat().st_size > MOST_BYTES:
            raise UserError(f"{file}: larger than 2 GB; cut it into parts")
        return file.read_bytes()
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror or error})") from None
