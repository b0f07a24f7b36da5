"""What session.json says: who, on which screen, from which source, on which clock, and how it ended."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from importlib import metadata
from typing import Any, Protocol

from gazelab import __version__
from gazelab.core.errors import ConfigError, SessionError
from gazelab.core.geometry import Screen
from gazelab.core.participant import check_participant

SCHEMA_VERSION = 1
_MAX_INT64 = 2**63 - 1
_LIBRARIES = ("numpy", "scipy", "opencv-python", "mediapipe", "torch", "transformers", "pyqt6", "pylsl")


@dataclass(frozen=True, slots=True)
class Anchor:
    """One moment on the session's clock and on the wall (UTC, ns since 1970)."""

    clock_ns: int
    utc_ns: int

    @property
    def utc(self) -> datetime:
        """The moment in UTC, to the microsecond."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.utc_ns // 1000)


class SourceFacts(Protocol):
    """What a source says of itself (`gazelab.sources.base.SourceInfo`)."""

    @property
    def name(self) -> str:
        """The kind of source."""

    @property
    def device(self) -> str:
        """The device's or file's own name."""

    @property
    def nominal_rate_hz(self) -> float:
        """As promised; NaN if nothing is."""

    @property
    def latency_ns(self) -> int:
        """Lag already taken off the stamps."""

    @property
    def detail(self) -> tuple[tuple[str, str], ...]:
        """More facts."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Where the samples came from.

    Attributes
    ----------
    name, device : str
    nominal_rate_hz : float or None
        As promised, never used for timing.
    latency_ns : int
        Exposure-to-arrival lag already taken off `time_ns`.
    detail : mapping
        More facts as text.
    """

    name: str
    device: str = ""
    nominal_rate_hz: float | None = None
    latency_ns: int = 0
    detail: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, info: SourceFacts) -> SourceRecord:
        """Take over what a source says of itself."""
        rate = info.nominal_rate_hz if info.nominal_rate_hz == info.nominal_rate_hz else None
        return cls(info.name, info.device, rate, info.latency_ns, dict(info.detail))


@dataclass(frozen=True, slots=True)
class StreamTotals:
    """What became of a stream's rows: `n_in` = `n_out` + `n_dropped`.

    Attributes
    ----------
    n_in, n_out, n_dropped : int
        Handed over, written, and lost (each loss has its gap marker unless the disk was full).
    n_refused : int
        Calls with something that is no such record: never entered, each raised.
    n_bad_stamps : int
        Rows with a time equal to or before an earlier one: written as they are.
    """

    n_in: int = 0
    n_out: int = 0
    n_dropped: int = 0
    n_refused: int = 0
    n_bad_stamps: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """What a list of sessions shows, so that it need not read the samples."""

    n_trials: int = 0
    n_valid: int = 0
    first_ns: int | None = None
    last_ns: int | None = None


@dataclass(frozen=True)
class SessionHeader:
    """The content of session.json.

    Attributes
    ----------
    participant : str
        A code of letters and digits, never a name.
    screen : Screen
    source : SourceRecord
    calibrated : bool
        Whether a valid calibration of this participant was in force at the start.
    for_dataset : bool
        False if the participant could see the model's attention, or what they were doing was no study.
    profile : mapping
        The calibration profile in force: its id, accuracy, … as the caller has it.
    feature_version : str
        Of the eye features; "" without them.
    model_files : mapping
        sha256 of each model file in use, by name.
    software : mapping
        Versions, filled in by itself.
    settings : mapping
        Order seed, conditions, … as the caller has it.
    note : str
    clock : str
        What the time stamps count: "perf_counter_ns", or "virtual" where they run faster than life (a
        simulation, a file).
    session_id, started, ended, closed, fault, totals, summary
        Written by the writer: the id, the two clock anchors, whether it was closed in order, the fault that
        stopped it, rows in and out of each stream.
    """

    participant: str
    screen: Screen
    source: SourceRecord
    calibrated: bool = False
    for_dataset: bool = True
    profile: Mapping[str, Any] = field(default_factory=dict)
    feature_version: str = ""
    model_files: Mapping[str, str] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=lambda: software_versions())
    settings: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    clock: str = "perf_counter_ns"
    session_id: str = ""
    started: Anchor | None = None
    ended: Anchor | None = None
    closed: bool = False
    fault: str = ""
    totals: Mapping[str, StreamTotals] = field(default_factory=dict)
    summary: Summary | None = None
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> bytes:
        """Give session.json's bytes.

        Raises
        ------
        ConfigError
            The participant's code cannot be.
        SessionError
            A value that JSON cannot hold.
        """
        check_participant(self.participant)
        content = {"schema_version": self.schema_version, "session_id": self.session_id}
        content |= {f.name: getattr(self, f.name) for f in fields(self)}
        content["screen"] = self.screen.to_mapping()
        content["source"] = asdict(self.source)
        for name in ("started", "ended"):
            anchor = getattr(self, name)
            content[name] = anchor and {**asdict(anchor), "utc": anchor.utc.isoformat()}
        content["totals"] = {name: asdict(totals) for name, totals in self.totals.items()}
        content["summary"] = self.summary and asdict(self.summary)
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2, default=_mapping)
        except (TypeError, ValueError) as fault:
            raise SessionError(
                f"the session's header cannot be stored ({fault}).", todo="Use text, numbers, null and lists."
            ) from fault
        return text.encode("utf-8", "backslashreplace") + b"\n"


def header_from_json(data: bytes, where: str) -> SessionHeader:
    """Read and check session.json.

    Parameters
    ----------
    data : bytes
        The file's content.
    where : str
        The file, for errors.

    Raises
    ------
    SessionError
        No JSON, a field of the wrong type or missing, or a newer schema.
    """
    try:
        m = json.loads(data.decode("utf-8-sig"))
        if not isinstance(m, dict):
            raise TypeError(f"it holds a {type(m).__name__}")
        if _typed(m, "schema_version", int) > SCHEMA_VERSION:
            raise SessionError(
                f"made by a newer gazelab (schema {m['schema_version']}, this one knows {SCHEMA_VERSION}).",
                where=where,
                todo="Update gazelab.",
            )
        if m["schema_version"] < 1:
            raise ValueError(f"there never was a schema {m['schema_version']}")
        return _header(m)
    except SessionError as fault:
        raise fault if fault.where else SessionError(fault.what, where=where, todo=fault.todo) from fault
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError, ConfigError) as fault:
        raise SessionError(
            f"the session's header is broken ({fault}).",
            where=where,
            todo="Restore it from a copy; the samples beside it are untouched.",
        ) from fault


def software_versions() -> dict[str, str]:
    """Give the versions of Python, gazelab and what it stands on, without importing any of it."""
    versions = {"gazelab": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _header(m: dict[str, Any]) -> SessionHeader:
    source = _typed(m, "source", dict)
    rate = source.get("nominal_rate_hz")
    summary = m.get("summary")
    return SessionHeader(
        participant=check_participant(_typed(m, "participant", str)),
        screen=Screen.from_mapping(_typed(m, "screen", dict)),
        source=SourceRecord(
            _typed(source, "name", str),
            _typed(source, "device", str, ""),
            None if rate is None else float(rate),
            _typed(source, "latency_ns", int, 0),
            _typed(source, "detail", dict, {}),
        ),
        calibrated=_typed(m, "calibrated", bool, False),
        for_dataset=_typed(m, "for_dataset", bool, True),
        **{name: _typed(m, name, dict, {}) for name in ("profile", "model_files", "software", "settings")},
        **{name: _typed(m, name, str, "") for name in ("feature_version", "note", "clock", "session_id")},
        started=_anchor(m, "started"),
        ended=_anchor(m, "ended"),
        closed=_typed(m, "closed", bool, False),
        fault=_typed(m, "fault", str, ""),
        totals={name: _counts(StreamTotals, t) for name, t in _typed(m, "totals", dict, {}).items()},
        summary=None if summary is None else _counts(Summary, summary),
        schema_version=m["schema_version"],
    )


def _typed(m: Mapping[str, Any], key: str, kind: type, *default: Any) -> Any:
    value = m.get(key, *default) if default else m[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{key} is {value!r}, not a {kind.__name__}")
    return value


def _anchor(m: Mapping[str, Any], key: str) -> Anchor | None:
    if m.get(key) is None:
        return None
    both = _typed(m, key, dict)
    anchor = Anchor(_typed(both, "clock_ns", int), _typed(both, "utc_ns", int))
    anchor.utc  # noqa: B018  a date that cannot be is found at the door
    return anchor


def _counts(kind: type, m: Any) -> Any:
    if not isinstance(m, dict):
        raise TypeError(f"{kind.__name__} is {m!r}")
    known = {f.name: f.default for f in fields(kind)}
    kept = {key: value for key, value in m.items() if key in known}
    for key, value in kept.items():
        is_time = known[key] is None  # a count is 0 where there is nothing, a time is null
        if value is None and is_time:
            continue
        if type(value) is not int or not (-_MAX_INT64 if is_time else 0) <= value <= _MAX_INT64:
            raise TypeError(f"{key} is {value!r}, which cannot be")
    return kind(**kept)


def _mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} in it")
