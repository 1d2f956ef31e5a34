"""`wordmint generate`: text that goes on from a prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from wordmint.errors import UserError

if TYPE_CHECKING:
    from wordmint.use.generation import Sample

app = App(name="generate", help="Sample text that goes on from a prompt.", default_parameter=Parameter(negative=()))


@app.default
def generate(
    model: str,
    prompt: Annotated[str, Parameter(allow_leading_hyphen=True)] = "",
    words: Annotated[int, Parameter(name=["--words", "-w"])] = 50,
    samples: Annotated[int, Parameter(name=["--samples", "-n"])] = 1,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    stop: tuple[str, ...] = (),
    mark: bool = False,
    state: Path | None = None,
    save_state: Path | None = None,
    slots: int | None = None,
    device: Literal["auto", "cpu", "cuda"] = "cpu",
    json: bool = False,
) -> None:
    """Text sampled from a model, after a prompt. The same seed gives the same text, on a given machine.

    Parameters
    ----------
    model
        A model's folder, a run's folder, or OWNER/NAME on the Hub.
    prompt
        What stands before; its last word is gone on with, unless white space ends it. "-" reads standard input.
    words
        How many words, line ends included.
    samples
        How many texts; they are sampled side by side.
    temperature
        Below 1 chooses what is probable more often, 0 always.
    top_k
        Choose among so many only; 0: among all.
    top_p
        Choose among the most probable that make up this share.
    seed
        Of the random numbers.
    stop
        A word to stop after; may be given several times. "\\n" is the line end.
    mark
        Show which words were copied: in colour on a terminal, else between brackets.
    state
        Go on from a state that was saved.
    save_state
        Where to save the state after the text.
    slots
        Size of the cache, 0 to 10,000; without it, as in training.
    device
        Where to compute. auto: the GPU if there is one.
    json
        Print JSON instead of text.
    """
    from wordmint.commands.inputs import model_and_state, text_of_input

    if words < 1 or samples < 1:
        raise UserError("--words and --samples must be at least 1")
    if save_state and samples > 1:
        raise UserError("--save-state: several samples have several states; ask for one sample")
    lm, before = model_and_state(model, device, state, slots)
    prompt = text_of_input() if prompt == "-" else prompt
    _, before = lm.read(prompt, before)
    stops = tuple(one.replace("\\n", "\n") for one in stop)
    try:
        told = lm.sample_many([before] * samples, words, seed, temperature, top_k, top_p, stops)
    except ValueError as error:
        raise UserError(str(error)) from None
    if json:
        _print_json(told)
    else:
        kept = prompt[: max(0, len(prompt) - len(before.pending))]
        for one in told:
            _print(one, kept, mark)
    if save_state:
        told[0].state.save(save_state)


def _print_json(samples: list[Sample]) -> None:
    import json

    rows = [{"text": one.text, "words": [word._asdict() for word in one.words]} for one in samples]
    print(json.dumps(rows, ensure_ascii=False))


def _print(sample: Sample, prompt: str, mark: bool) -> None:
    from rich.text import Text

    from wordmint.console import Output
    from wordmint.text.words import LINE_END

    console, text, previous = Output(), Text(prompt), LINE_END
    for word in sample.words:
        text.append("" if LINE_END in (previous, word.text) else " ")
        if mark and word.copied and word.text != LINE_END:
            text.append(word.text, "bold cyan") if console.is_terminal else text.append(f"[{word.text}]")
        else:
            text.append(word.text)
        previous = word.text
    console.print(text, soft_wrap=True)
