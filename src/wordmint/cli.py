"""The command line: `wordmint …`. Mistakes end in one sentence and exit code 2, Ctrl-C in 130, SIGTERM in 143."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from cyclopts import App, CycloptsError
from rich.console import Console

from wordmint import __version__
from wordmint.commands import complete, compress, corpus, demo, evaluate, generate, reproduce, rescore, score, train
from wordmint.errors import UserError

USER_MISTAKE = 2
INTERRUPTED = 130
TERMINATED = 143

app = App(
    name="wordmint",
    help="Language models that coin words character by character and reuse the ones they have seen.",
    version=__version__,
    console=Console(highlight=False),
    suppress_keyboard_interrupt=False,  # main says what became of the work
)
app.command(corpus.app)
app.command(demo.app)
app.command(train.app)
app.command(evaluate.app)
app.command(score.app)
app.command(complete.app)
app.command(generate.app)
app.command(rescore.app)
app.command(compress.app)
app.command(compress.decompress_app)
app.command(reproduce.app)


def main() -> NoReturn:
    """Run the command line and exit."""
    _open_closed_streams()
    signal.signal(signal.SIGTERM, _terminate)
    if isinstance(sys.stdout, io.TextIOWrapper):  # an old terminal's encoding must not cost a user the table
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (UserError, CycloptsError) as error:
        sys.exit(_explain(error))
    except KeyboardInterrupt:
        print("\nwordmint: interrupted; nothing half-written was kept", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader, `| head`, has seen enough
        _give_up_output()
    except OSError as error:  # a full disk behind `> FILE`, a folder that may not be listed
        if error.filename is None:
            _give_up_output()
        sys.exit(_explain(UserError(f"{error.filename or 'the output'}: {error.strerror or error}")))
    sys.exit(0)


def _open_closed_streams() -> None:
    """What is printed into `>&-` goes nowhere; with Python's None in its place it would break, or go to the other."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (open to the end)


def _terminate(*_: object) -> NoReturn:
    """SIGTERM leaves as Ctrl-C does: what is half-written is removed on the way out."""
    sys.exit(TERMINATED)


def _give_up_output() -> None:
    """What is still buffered goes nowhere, or Python would try, and fail, to write it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Exception) -> int:
    sentence = " ".join(str(error).split())
    print(f"wordmint: {sentence}", file=sys.stderr)
    return USER_MISTAKE
