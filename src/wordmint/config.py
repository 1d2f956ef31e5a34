"""Settings as typed values, read from tables (TOML, JSON) and from the command line, with mistakes named."""

from __future__ import annotations

import difflib
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from wordmint.errors import UserError

Settings = TypeVar("Settings")


def settings_from(kind: type[Settings], table: Mapping[str, Any], where: str, path: str = "") -> Settings:
    """A dataclass from a table; a key that does not exist, or a value of another type, is named with its remedy."""
    hints = _hints(kind)
    for key in table:
        if key not in hints:
            raise UserError(f"{where}: there is no setting {path}{key}{_nearest(key, hints)}")
    values = {key: _value(hints[key], value, where, f"{path}{key}") for key, value in table.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    except TypeError:
        missing = ", ".join(f"{path}{field.name}" for field in fields(kind) if field.name not in table)  # pyright: ignore
        raise UserError(f"{where}: incomplete; of {missing} some have no default") from None


def overridden(table: Mapping[str, Any], overrides: Iterable[str], known: Iterable[str] = ()) -> dict[str, Any]:
    """A nested table with `--part.name VALUE` or `--part.name=VALUE` laid over it."""
    result = {key: dict(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    known, rest = list(known), list(overrides)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--"):
            raise UserError(f"{name}: a setting is --part.name VALUE, such as --training.epochs 3")
        if name.count(".") < 1:
            raise UserError(f"there is no option {name}{_meant(name, known)}; settings are --part.name VALUE")
        if known and not any(one.startswith(f"{name.partition('.')[0]}.") for one in known):
            raise UserError(f"there is no setting {name}{_meant(name, known)}")
        if not equals:
            if not rest:
                raise UserError(f"{name}: a value is missing after it")
            value = rest.pop(0)
        _put(result, name.removeprefix("--").replace("-", "_").split("."), value)
    return result


def _put(table: dict[str, Any], keys: list[str], value: str) -> None:
    *parts, last = keys
    for part in parts:
        inner = table.get(part, {})
        table[part] = dict(inner) if isinstance(inner, Mapping) else {}
        table = table[part]
    table[last] = value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _meant(option: str, known: Iterable[str]) -> str:
    """The option or setting that may have been meant; `--epochs` means `--training.epochs`."""
    ends = [one for one in known if one.endswith(f".{option.removeprefix('--').replace('-', '_')}")]
    near = ends or difflib.get_close_matches(option, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _nearest(key: str, known: Iterable[str]) -> str:
    known = sorted(known)
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(known)}" if known else ""


def _value(kind: Any, value: Any, where: str, path: str) -> Any:
    """A value of the wanted type; text, as the command line gives it, is read as such."""
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise UserError(f"{where}: {path} is a table of settings, not {value!r}")
        return settings_from(kind, value, where, f"{path}.")  # pyright: ignore[reportArgumentType]
    choices = get_args(kind)
    if get_origin(kind) is Literal:
        if value not in choices:
            raise UserError(f"{where}: {path} is {value!r}; it can be {' or '.join(map(str, choices))}")
        return value
    if isinstance(kind, types.UnionType):
        return None if value in (None, "none") else _value(choices[0], value, where, path)
    return _scalar(kind, value, where, path)


def _scalar(kind: Any, value: Any, where: str, path: str) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[value.lower()] if isinstance(value, str) else _exactly(bool, value)
        if kind is int:
            return int(value) if isinstance(value, str) else _exactly(int, value)
        if kind is float:
            return _finite(float(value))
        return _exactly(kind, value) if isinstance(kind, type) else value
    except (ValueError, KeyError, TypeError):
        names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        raise UserError(f"{where}: {path} is {value!r}; it must be {names.get(kind, kind)}") from None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError
    return value


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value
