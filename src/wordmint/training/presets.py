"""Presets: settings that belong together, as TOML in `wordmint/presets` or in a file of the user's."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from wordmint.config import overridden
from wordmint.errors import UserError
from wordmint.training.run import RunConfig, flat

LANGUAGE = "LANG"  # stands for a language in the names and settings of presets


def preset_names() -> list[str]:
    """The names there are; LANG stands for a language of the MWC."""
    names = (path.name for path in files("wordmint.presets").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def best_preset(name: str, as_printed: bool = False) -> str:
    """The preset that reaches the paper's number where the printed settings do not (decision 0018), else those."""
    tuned = f"{name}-tuned"
    try:
        _name_and_language(tuned)
    except UserError:
        return name
    return name if as_printed else tuned


def resolve(preset: str, overrides: Iterable[str] = (), corpus: str | None = None) -> RunConfig:
    """The settings of a preset, or of a TOML file, with what the command line lays over them."""
    table, where = _read(preset)
    options = ("--preset", "--data", "--out", "--resume", "--device", "--corpus", "--checkpoint-every", "--tensorboard")
    known = (*options, *(f"--{name}" for name, _ in flat(RunConfig.from_table(table, where).as_table())))
    laid_over = overridden(table, overrides, known)
    return RunConfig.from_table(laid_over | ({"corpus": corpus} if corpus else {}), where)


def _read(preset: str) -> tuple[dict[str, Any], str]:
    path = Path(preset)
    if path.suffix == ".toml":
        try:
            return _parsed(path.read_text("utf-8"), preset), preset
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{preset}: cannot be read ({error})") from None
    name, language = _name_and_language(preset)
    text = (files("wordmint.presets") / f"{name}.toml").read_text("utf-8")
    return _parsed(text.replace(LANGUAGE, language), f"preset {preset}"), f"preset {preset}"


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where}: not TOML ({error})") from None


def _name_and_language(preset: str) -> tuple[str, str]:
    names = preset_names()
    if preset in names and LANGUAGE not in preset:
        return preset, ""
    for name in names:
        before, language, after = name.partition(LANGUAGE)
        chosen = preset.removeprefix(before).removesuffix(after)
        if language and preset == before + chosen + after and chosen.isalpha() and chosen.islower():
            return name, chosen
    near = difflib.get_close_matches(preset, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UserError(f"there is no preset {preset}; {hint}There are {', '.join(names)}, or name a .toml file of yours")
