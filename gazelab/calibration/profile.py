"""A calibration on disk: who, which screen, which source, which features, the mapping and how good it was.

One folder per profile, `<root>/calibration/<participant>_<UTC>/`, with `profile.json` and `mapping.npz`. The
JSON is written last and holds the NPZ's hash: a folder without it is an interrupted write and no profile.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gazelab.calibration.head_box import HeadBox
from gazelab.calibration.mapping import GazeMapping
from gazelab.calibration.overview import Overview
from gazelab.calibration.profile_files import claim, npz_bytes, read_npz, write
from gazelab.calibration.result import CalibrationResult
from gazelab.calibration.validation import Validation
from gazelab.core.errors import CalibrationError, ConfigError
from gazelab.core.geometry import Screen
from gazelab.core.participant import check_participant

SCHEMA_VERSION = 1
JSON_NAME, NPZ_NAME = "profile.json", "mapping.npz"

MM_TOLERANCE = 0.05
"""Relative difference of a screen's width above which it is another screen under the same name."""


@dataclass(frozen=True, slots=True)
class SourceBinding:
    """What the features came from.

    Attributes
    ----------
    name, device : str
        As in the source's own information.
    feature_version : str
        Of the code that turned landmarks into features.
    model_sha256 : str
        Of the face model's file.
    """

    name: str
    device: str
    feature_version: str
    model_sha256: str


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A valid calibration, bound to what it was made with.

    Attributes
    ----------
    participant : str
        Code of letters and digits.
    screen : Screen
    source : SourceBinding
    mapping : GazeMapping
    validation : Validation
    created_utc : str
        ISO 8601 with "Z".
    record : dict
        What the procedure saw: targets, counts, concerns and the note they were accepted with.
    head_box : HeadBox or None
        The head poses in which it holds; None in profiles made before there was one.
    """

    participant: str
    screen: Screen
    source: SourceBinding
    mapping: GazeMapping
    validation: Validation
    created_utc: str
    record: dict[str, Any] = field(default_factory=dict)
    head_box: HeadBox | None = None

    @classmethod
    def of(
        cls,
        result: CalibrationResult,
        participant: str,
        screen: Screen,
        source: SourceBinding,
        created: datetime | None = None,
    ) -> Profile:
        """Make a profile of a procedure's result.

        Raises
        ------
        CalibrationError
            The calibration isn't valid.
        ConfigError
            The participant's code cannot be.
        """
        if not result.calibrated or result.mapping is None or result.validation is None:
            raise CalibrationError(
                f"the calibration is {result.state.value}, not valid.", todo="Calibrate, or accept it first."
            )
        stamp = (created or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        code = check_participant(participant)
        record, box = result.to_mapping(), result.head_box
        return cls(code, screen, source, result.mapping, result.validation, stamp, record, box)


def save_profile(root: Path, profile: Profile) -> Path:
    """Write a profile into a new folder under `<root>/calibration/`.

    Parameters
    ----------
    root : Path
        The data root.

    Returns
    -------
    Path
        The profile's folder. An older one is never touched: a second profile within one second gets "-2".

    Raises
    ------
    CalibrationError
        The folder can't be written.
    ConfigError
        The participant's code cannot be.
    """
    code = check_participant(profile.participant)
    npz = npz_bytes(profile.mapping.to_arrays())
    text = json.dumps(_to_json(profile, npz), indent=2, ensure_ascii=False, allow_nan=False)
    folder = root / "calibration"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder = claim(folder / f"{code}_{profile.created_utc.replace(':', '-')}")
        write(folder / NPZ_NAME, npz)
        write(folder / JSON_NAME, text.encode())
    except OSError as fault:
        raise CalibrationError(
            f"the calibration can't be saved ({fault.strerror or fault}).",
            where=folder,
            todo="Choose another data folder with --data, or free some space.",
        ) from fault
    return folder


def load_profile(path: Path) -> Profile:
    """Read a profile.

    Parameters
    ----------
    path : Path
        The profile's folder, or its `profile.json`.

    Raises
    ------
    CalibrationError
        A file is missing, broken, of another version, or not the one that was saved.
    """
    folder = path.parent if path.name == JSON_NAME else path
    values = _read_json(folder / JSON_NAME)
    npz_path = folder / NPZ_NAME
    try:
        npz = npz_path.read_bytes()
    except OSError as fault:
        raise CalibrationError(f"can't be read ({fault.strerror}).", where=npz_path) from fault
    if hashlib.sha256(npz).hexdigest() != values.get("mapping_sha256"):
        raise CalibrationError(
            "this isn't the mapping that was saved with the profile.",
            where=npz_path,
            todo="Calibrate again, or restore both files.",
        )
    arrays = read_npz(npz, npz_path)
    try:
        return Profile(
            participant=check_participant(values["participant"]),
            screen=Screen.from_mapping(values["screen"]),
            source=SourceBinding(**values["source"]),
            mapping=GazeMapping.from_arrays(arrays),
            validation=Validation.from_mapping(values["validation"]),
            created_utc=str(values["created_utc"]),
            record=dict(values["record"]),
            head_box=HeadBox.from_mapping(box) if (box := values.get("head_box")) is not None else None,
        )
    except (CalibrationError, ConfigError) as fault:
        raise CalibrationError(fault.what, where=folder / JSON_NAME, todo=fault.todo) from fault
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise CalibrationError(f"the profile is broken ({fault!r}).", where=folder / JSON_NAME) from fault


def list_profiles(root: Path, participant: str | None = None) -> list[Path]:
    """Find the folders of complete profiles, newest first; of one participant if named."""
    found = [p.parent for p in (root / "calibration").glob(f"*/{JSON_NAME}")]
    mine = [p for p in found if participant is None or p.name.split("_")[0] == participant]
    return sorted(mine, key=lambda p: p.name.split("_")[-1], reverse=True)


def check_fits(profile: Profile, participant: str, screen: Screen, source: SourceBinding) -> None:
    """Refuse a profile that was made for something else.

    Raises
    ------
    CalibrationError
        Names every difference: participant, screen, source, feature version, face model.
    """
    faults = []
    if profile.participant != participant:
        faults.append(f"it is of participant {profile.participant}, not {participant}")
    faults += _screen_faults(profile.screen, screen)
    ours, theirs = asdict(profile.source), asdict(source)
    for key, words in _SOURCE_WORDS.items():
        if ours[key] != theirs[key]:
            faults.append(f"{words} was {_short(ours[key])}, now it is {_short(theirs[key])}")
    if faults:
        name = f"calibration of {profile.created_utc}"
        todo = "Calibrate again, or choose a profile that fits."
        raise CalibrationError("; ".join(faults) + ".", where=name, todo=todo)


_SOURCE_WORDS = {
    "name": "the source",
    "device": "the device",
    "feature_version": "the version of the features",
    "model_sha256": "the face model",
}


def _short(value: str) -> str:
    return f"{value[:12]}…" if len(value) == 64 else repr(value)


def _screen_faults(was: Screen, now: Screen) -> list[str]:
    old, new = (f"{s.name}, {s.width_px} x {s.height_px} px" for s in (was, now))
    if old != new:
        return [f"it was made on the screen {old}, not on {new}"]
    change = abs(now.width_mm / was.width_mm - 1)  # NaN where a width is unknown: no objection
    if change > MM_TOLERANCE:
        return [f"the screen was {was.width_mm:.0f} mm wide and now is {now.width_mm:.0f} mm"]
    return []


def _to_json(profile: Profile, npz: bytes) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "participant": profile.participant,
        "created_utc": profile.created_utc,
        "screen": profile.screen.to_mapping(),
        "source": asdict(profile.source),
        "mapping_sha256": hashlib.sha256(npz).hexdigest(),
        "validation": profile.validation.to_mapping(),
        "error_map": Overview.of_profile(profile).error_map().to_mapping(),
        "record": profile.record,
        "head_box": None if profile.head_box is None else profile.head_box.to_mapping(),
    }


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise CalibrationError(
            f"can't be read ({fault.strerror}).", where=path, todo="Choose a profile's folder."
        ) from fault
    except ValueError as fault:
        raise CalibrationError(f"isn't a profile ({fault}).", where=path, todo="Calibrate again.") from fault
    version = values.get("schema_version") if isinstance(values, dict) else None
    if version != SCHEMA_VERSION:
        raise CalibrationError(
            f"a profile of version {version}; this gazelab reads {SCHEMA_VERSION}.",
            where=path,
            todo="Calibrate again.",
        )
    return dict(values)
