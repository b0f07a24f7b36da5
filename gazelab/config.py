"""Settings from gazelab.toml, and where the data lie: read by cli, app and ui; the rest gets values."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import platformdirs

from gazelab.core.errors import ConfigError
from gazelab.core.geometry import DISTANCE_RANGE_MM, WIDTH_RANGE_MM
from gazelab.pipeline.drift_plan import DriftLimits
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.processing.detectors import DEFAULT, DETECTORS
from gazelab.sources.base import CameraAsk

FILE_NAME = "gazelab.toml"
MAX_BYTES = 1_000_000
NAN = float("nan")
LIMITS = QualityLimits()
DRIFT = DriftLimits()
SOURCE_NAMES = ("webcam", "video", "synthetic", "recorded", "pointer")


def _setting(
    default: Any, *, low: float | None = None, high: float | None = None, one_of: tuple[Any, ...] = ()
) -> Any:
    """Declare a setting with its default and what it may be; NaN stands for "not set"."""
    return field(default=default, metadata={"low": low, "high": high, "one_of": one_of})


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Where gaze comes from.

    Attributes
    ----------
    name : str
        As for `--source`.
    camera : str
        A camera's name or number; "" for the first.
    width_px, height_px : int
        Asked of the camera.
    rate_hz : float
        Asked of the camera; what arrives is measured.
    latency_ms : float
        Exposure-to-arrival lag of the camera, taken off each stamp.
    """

    name: str = _setting("webcam", one_of=SOURCE_NAMES)
    camera: str = _setting("")
    width_px: int = _setting(1280, low=160, high=7680)
    height_px: int = _setting(720, low=120, high=4320)
    rate_hz: float = _setting(30.0, low=1, high=2000)
    latency_ms: float = _setting(0.0, low=0, high=1000)

    @property
    def ask(self) -> CameraAsk:
        """What to ask of a camera, as the sources take it."""
        return CameraAsk((self.width_px, self.height_px), self.rate_hz, round(self.latency_ms * 1e6))


@dataclass(frozen=True, slots=True)
class ScreenSettings:
    """The screen on which charts are shown.

    Attributes
    ----------
    name : str
        The monitor's name; "" for the primary one.
    width_mm, height_mm : float
        Of the lit area; NaN until measured.
    distance_mm : float
        From the eyes to the screen; NaN until measured.
    """

    name: str = _setting("")
    width_mm: float = _setting(NAN, low=WIDTH_RANGE_MM[0], high=WIDTH_RANGE_MM[1])
    height_mm: float = _setting(NAN, low=50, high=3000)
    distance_mm: float = _setting(NAN, low=DISTANCE_RANGE_MM[0], high=DISTANCE_RANGE_MM[1])


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """How to calibrate.

    Attributes
    ----------
    points : int
        Targets: 5, 9, 13 or 16.
    style : str
        "points", or "pursuit": one target that moves over the screen.
    head_phase : bool
        After the targets the participant moves the head, for about 15 s.
    advance : str
        What brings the next target: "auto", the gaze that rests, or "space", the space bar alone.
    target : str
        What is shown: "dot", or "child", an animated one.
    beep : bool
        The system beeps at each target.
    """

    points: int = _setting(9, one_of=(5, 9, 13, 16))
    style: str = _setting("points", one_of=("points", "pursuit"))
    head_phase: bool = _setting(False)
    advance: str = _setting("auto", one_of=("auto", "space"))
    target: str = _setting("dot", one_of=("dot", "child"))
    beep: bool = _setting(False)


@dataclass(frozen=True, slots=True)
class DriftSettings:
    """The one-point check of the gaze between trials.

    Attributes
    ----------
    check_every : int
        Trials from one check to the next; 1 before each, 0 only when asked for; -1: every 5 where the source
        is calibrated here, else only when asked for.
    accept_deg, recalibrate_deg : float
        As `gazelab.pipeline.drift_plan.DriftLimits` says, with its defaults and their reasons.
    """

    check_every: int = _setting(-1, low=-1, high=1000)
    accept_deg: float = _setting(DRIFT.accept_deg, low=0.1, high=20)
    recalibrate_deg: float = _setting(DRIFT.recalibrate_deg, low=0.5, high=45)

    @property
    def limits(self) -> DriftLimits:
        """The limits, as the pipeline takes them."""
        return DriftLimits(self.accept_deg, max(self.accept_deg, self.recalibrate_deg))


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model whose attention is shown.

    Attributes
    ----------
    name : str
        "chartreader", a folder with a checkpoint, or a checkpoint's id.
    """

    name: str = _setting("chartreader")


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """How things are drawn; nothing here touches what is stored.

    Attributes
    ----------
    smooth : bool
        Smooth the live gaze point.
    language : str
        Of the windows, such as "de"; "" for the system's.
    """

    smooth: bool = _setting(True)
    language: str = _setting("")


@dataclass(frozen=True, slots=True)
class QualitySettings:
    """Beyond which figures a trial is to be looked at, or left out of means.

    Attributes
    ----------
    review_loss, exclude_loss, …
        As `gazelab.pipeline.quality_limits.QualityLimits` says, with its defaults and their reasons.
    """

    review_loss: float = _setting(LIMITS.review_loss, low=0, high=1)
    exclude_loss: float = _setting(LIMITS.exclude_loss, low=0, high=1)
    review_gap_s: float = _setting(LIMITS.review_gap_s, low=0, high=3600)
    review_rate_hz: float = _setting(LIMITS.review_rate_hz, low=0, high=2000)
    exclude_rate_hz: float = _setting(LIMITS.exclude_rate_hz, low=0, high=2000)
    review_uneven: float = _setting(LIMITS.review_uneven, low=0, high=1)
    review_off_screen: float = _setting(LIMITS.review_off_screen, low=0, high=1)
    exclude_off_screen: float = _setting(LIMITS.exclude_off_screen, low=0, high=1)
    review_rms_s2s_deg: float = _setting(LIMITS.review_rms_s2s_deg, low=0, high=90)
    review_drift_deg: float = _setting(LIMITS.review_drift_deg, low=0, high=90)
    exclude_drift_deg: float = _setting(LIMITS.exclude_drift_deg, low=0, high=90)
    review_outside_box: float = _setting(LIMITS.review_outside_box, low=0, high=1)
    exclude_outside_box: float = _setting(LIMITS.exclude_outside_box, low=0, high=1)
    low_confidence: float = _setting(LIMITS.low_confidence, low=0, high=1)
    review_low_confidence: float = _setting(LIMITS.review_low_confidence, low=0, high=1)
    review_two_faces: float = _setting(LIMITS.review_two_faces, low=0, high=1)
    review_impossible: float = _setting(LIMITS.review_impossible, low=0, high=1)
    review_repeated: float = _setting(LIMITS.review_repeated, low=0, high=1)
    exclude_repeated: float = _setting(LIMITS.exclude_repeated, low=0, high=1)
    review_bad_stamps: float = _setting(LIMITS.review_bad_stamps, low=0, high=1)
    exclude_duration_s: float = _setting(LIMITS.exclude_duration_s, low=0, high=3600)
    exclude_fixations: int = _setting(LIMITS.exclude_fixations, low=0, high=1000)
    review_fixations: int = _setting(LIMITS.review_fixations, low=0, high=1000)
    review_accuracy_deg: float = _setting(LIMITS.review_accuracy_deg, low=0, high=90)

    @property
    def limits(self) -> QualityLimits:
        """The limits, as the pipeline takes them."""
        return QualityLimits(**{f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, slots=True)
class EventSettings:
    """How fixations are found after a recording.

    Attributes
    ----------
    detector : str
        As for `--detector`.
    """

    detector: str = _setting(DEFAULT, one_of=tuple(DETECTORS))


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; each attribute is a table of gazelab.toml."""

    source: SourceSettings = field(default_factory=SourceSettings)
    screen: ScreenSettings = field(default_factory=ScreenSettings)
    calibration: CalibrationSettings = field(default_factory=CalibrationSettings)
    drift: DriftSettings = field(default_factory=DriftSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    quality: QualitySettings = field(default_factory=QualitySettings)
    events: EventSettings = field(default_factory=EventSettings)
    view: ViewSettings = field(default_factory=ViewSettings)


_TABLES: Mapping[str, type] = MappingProxyType(
    {
        "source": SourceSettings,
        "screen": ScreenSettings,
        "calibration": CalibrationSettings,
        "drift": DriftSettings,
        "model": ModelSettings,
        "quality": QualitySettings,
        "events": EventSettings,
        "view": ViewSettings,
    }
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
