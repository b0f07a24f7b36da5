"""Settings from gazelab.toml, and where the data lie: read by cli, app and ui; the rest gets values."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import platformdirs

from gazelab.core.errors import ConfigError
from gazelab.settings import Settings

FILE_NAME = "gazelab.toml"
MAX_BYTES = 1_000_000

_TABLES: Mapping[str, type] = MappingProxyType(
    {f.name: type(getattr(Settings(), f.name)) for f in fields(Settings)}
)
_KINDS = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}


def find_data_root(given: Path | str | None = None) -> Path:
    """Find the data root: `<root>/calibration`, `<root>/sessions`, `<root>/gazelab.toml`.

    Parameters
    ----------
    given : path, optional
        What `--data` says; without it the checkout that gazelab runs from, or else the system's folder for a
        user's data.

    Returns
    -------
    Path
        Absolute; it need not exist.

    Raises
    ------
    ConfigError
        `given` is a file.
    """
    if given is None:
        return _checkout() or Path(platformdirs.user_data_dir("gazelab", appauthor=False))
    root = Path(given).expanduser().absolute()
    if root.exists() and not root.is_dir():
        raise ConfigError("the data folder is a file.", where=root, todo="Give a folder to --data.")
    return root


def load_settings(path: Path | str) -> Settings:
    """Read a gazelab.toml.

    Parameters
    ----------
    path : path
        The file, or the data root in which it lies; a root without one has the defaults.

    Raises
    ------
    ConfigError
        No such file, no TOML, an unknown table or key (with the nearest match), a wrong type or range.
    """
    file = Path(path)
    if file.is_dir() or (not file.exists() and file.suffix != ".toml"):
        file = file / FILE_NAME
        if not file.exists():
            return Settings()
    return parse_settings(_read(file), str(file))


def parse_settings(text: str, where: str = FILE_NAME) -> Settings:
    """Make settings of a TOML text.

    Raises
    ------
    ConfigError
        As `load_settings`.
    """
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise ConfigError(f"not a TOML file ({fault}).", where=where, todo="Mend that line.") from fault
    tables = {}
    for name, table in content.items():
        if name not in _TABLES:
            raise _unknown(name, _all_names(), where)
        if not isinstance(table, dict):
            raise ConfigError(
                f"{name} is a table.", where=where, todo=f"Write [{name}] on a line of its own."
            )
        tables[name] = _table(name, table, where)
    return Settings(**tables)


def _table(name: str, table: Mapping[str, Any], where: str) -> Any:
    kind = _TABLES[name]
    known = {f.name: f for f in fields(kind)}
    for key in table:
        if key not in known:
            raise _unknown(f"{name}.{key}", _all_names(), where)
    return kind(
        **{
            key: _value(f"{name}.{key}", value, str(known[key].type), known[key].metadata, where)
            for key, value in table.items()
        }
    )


def _value(key: str, value: Any, kind: str, rule: Mapping[str, Any], where: str) -> Any:
    """Check one value; a whole number may stand for a number, true and false for nothing else."""
    if kind == "float" and type(value) is int:
        value = float(value)
    if type(value).__name__ != kind:
        raise ConfigError(
            f"{key} = {value!r}: expected {_KINDS[kind]}.", where=where, todo="Mend that value."
        )
    if rule["one_of"] and value not in rule["one_of"]:
        options = ", ".join(map(str, rule["one_of"]))
        raise ConfigError(f"{key} = {value!r} cannot be.", where=where, todo=f"Use one of {options}.")
    low, high = rule["low"], rule["high"]
    if low is not None and not low <= value <= high:
        raise ConfigError(f"{key} = {value!r} cannot be.", where=where, todo=f"Use {low:g} to {high:g}.")
    return value


def _all_names() -> list[str]:
    return [*_TABLES, *(f"{name}.{f.name}" for name, kind in _TABLES.items() for f in fields(kind))]


def _unknown(name: str, known: list[str], where: str) -> ConfigError:
    """Name the setting that was probably meant: a near spelling, or the same key in another table."""
    key = name.rpartition(".")[2]
    same_key = [other for other in known if other.rpartition(".")[2] == key]
    near = same_key or difflib.get_close_matches(name, known, 1) or _near_keys(key, known)
    todo = f"Did you mean {near[0]}?" if near else f"There are the tables {', '.join(_TABLES)}."
    return ConfigError(f"there is no setting {name}.", where=where, todo=todo)


def _near_keys(key: str, known: list[str]) -> list[str]:
    keys = {other.rpartition(".")[2]: other for other in known}
    return [keys[match] for match in difflib.get_close_matches(key, keys, 1)]


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ConfigError("far too large for a settings file.", where=file)
        return file.read_text("utf-8-sig")
    except FileNotFoundError as fault:
        raise ConfigError("there is no such settings file.", where=file, todo="Check the path.") from fault
    except UnicodeDecodeError as fault:
        raise ConfigError("not UTF-8 text.", where=file, todo="Save it as UTF-8.") from fault
    except OSError as fault:
        raise ConfigError(f"cannot be read ({fault.strerror}).", where=file) from fault


def _checkout() -> Path | None:
    """Find the checkout that this package lies in; None if it is installed elsewhere."""
    folder = Path(__file__).resolve().parents[1]
    return folder if (folder / "run_gazelab.py").is_file() and (folder / "pyproject.toml").is_file() else None
