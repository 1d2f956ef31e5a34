"""The door of the command line: nothing but what makes Ctrl-C while the rest is being imported a clean end too."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        from wordmint.cli import main as run

        run()
    except KeyboardInterrupt:  # later on, `run` sees to it itself
        sys.exit(130)


if __name__ == "__main__":
    main()
