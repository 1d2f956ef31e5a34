"""`wordmint complete`: the most probable words for the one that a text ends in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from wordmint.errors import UserError

if TYPE_CHECKING:
    from wordmint.use.completion import Completions
    from wordmint.use.model import Model
    from wordmint.use.state import TextState

app = App(name="complete", help="The most probable words that begin so.", default_parameter=Parameter(negative=()))


@app.default
def complete(
    model: str,
    text: Annotated[str, Parameter(allow_leading_hyphen=True)] = "",
    number: Annotated[int, Parameter(name=["--number", "-n"])] = 5,
    interactive: bool = False,
    state: Path | None = None,
    save_state: Path | None = None,
    slots: int | None = None,
    json: bool = False,
) -> None:
    """The most probable whole words for the one that a text ends in, or for the next one if it ends in white space.

    Parameters
    ----------
    model
        A model's folder, a run's folder, or OWNER/NAME on the Hub.
    text
        The text so far; "-" reads standard input.
    number
        How many words to show.
    interactive
        Write in the terminal: a line is read, completions are shown, a number accepts one; the model learns each word.
    state
        Go on from a state that was saved.
    save_state
        Where to save the state after the text.
    slots
        Size of the cache, 0 to 10,000; without it, as in training.
    json
        Print JSON instead of a table.
    """
    from wordmint.commands.inputs import model_and_state, text_of_input

    if number < 1:
        raise UserError(f"--number {number}: it must be at least 1")
    lm, before = model_and_state(model, state=state, slots=slots)
    if interactive:
        after = _converse(lm, before, number)
    else:
        text = text_of_input() if text == "-" else text
        _, after = lm.read(text, before)
        _show(lm.complete(text, before, number), json)
    if save_state:
        after.save(save_state)


def _show(completions: Completions, as_json: bool) -> None:
    import json

    if as_json:
        found = [one._asdict() for one in completions]
        about = {"exact": completions.is_exact, "bound": completions.bound}
        print(json.dumps({"completions": found, **about}, ensure_ascii=False))
        return
    for place, one in enumerate(completions, start=1):
        shown = one.word.replace("\n", "⏎")
        print(f"{place}  {shown:24} {one.p:8.2%}  {'copied' if one.p_copied > 0.5 else 'coined'}")
    if not completions.is_exact:
        print(f"(not searched to the end: another word may have up to {completions.bound:.2%})")


def _converse(lm: Model, state: TextState, number: int) -> TextState:
    """A line goes on right where the last one stopped; a number takes a completion; an empty line or Ctrl-D ends."""
    print(
        "Write; a line goes on where the last one stopped, a number accepts a word, an empty line ends.",
        file=sys.stderr,
    )
    offered: list[str] = []
    while line := _line():
        is_choice = line.isdecimal() and 0 < int(line) <= len(offered)
        text = offered[int(line) - 1][len(state.pending) :] + " " if is_choice else line
        _, state = lm.read(text, state)
        completions, offered_before = lm.complete("", state, number), offered
        offered = [one.word for one in completions]
        if is_choice:
            print(f"… {offered_before[int(line) - 1].strip() or '⏎'}")
        _show(completions, as_json=False)
    return state


def _line() -> str:
    try:
        return input("> ")
    except EOFError:
        return ""
