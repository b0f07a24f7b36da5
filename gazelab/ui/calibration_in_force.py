"""The calibration in force, as the window needs it: saved, loaded, checked against who and what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gazelab.calibration.gate import CalibrationGate
from gazelab.calibration.profile import Profile, check_fits, list_profiles, load_profile, save_profile
from gazelab.calibration.result import CalibrationResult
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen
from gazelab.pipeline.calibrate import binding_of, profile_facts
from gazelab.sources.base import GazeSource


class CalibrationInForce:
    """At most one profile with its folder, or a written reason to record without.

    Parameters
    ----------
    root : Path
        The data root.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._gate = CalibrationGate()
        self.path: Path | None = None

    @property
    def profile(self) -> Profile | None:
        """What is in force."""
        return self._gate.profile

    @property
    def overridden(self) -> bool:
        """Whether a recording without a calibration has been allowed."""
        return self.profile is None and bool(self._gate.header()["note"])

    def put(self, profile: Profile | None, path: Path | None) -> None:
        """Put a profile in force in place of anything before, or nothing."""
        self.path = path
        if profile is None:
            self._gate.drop()
        else:
            self._gate.put(profile)

    def override(self, note: str) -> None:
        """Allow a recording without a calibration; "" takes it back."""
        if note:
            self._gate.override(note)
        else:
            self._gate.drop()

    def save(
        self, result: CalibrationResult, participant: str, screen: Screen | None, source: GazeSource | None
    ) -> tuple[Profile, Path]:
        """Save a valid calibration as a profile.

        Raises
        ------
        CalibrationError
            It is not valid, cannot be saved, or there is no screen or source.
        """
        shown, seen = _both(screen, source)
        profile = Profile.of(result, participant, shown, binding_of(seen))
        return profile, save_profile(self._root, profile)

    def load(self, path: Path, participant: str, screen: Screen | None, source: GazeSource | None) -> Profile:
        """Read a saved calibration that fits who and what is there.

        Raises
        ------
        CalibrationError
            It is broken, or of another participant, screen, source or version.
        """
        shown, seen = _both(screen, source)
        profile = load_profile(path)
        check_fits(profile, participant, shown, binding_of(seen))
        return profile

    def saved(self, participant: str) -> list[Path]:
        """Give a participant's saved calibrations, newest first."""
        return list_profiles(self._root, participant) if participant else []

    def check(self, participant: str, screen: Screen, source: GazeSource) -> None:
        """Let a recording begin.

        Raises
        ------
        CalibrationError
            Nothing is in force and nobody has overridden that, or it was made for something else.
        """
        self._gate.check(participant, screen, binding_of(source))

    def drop_misfit(self, participant: str, screen: Screen | None, source: GazeSource | None) -> str:
        """Take out of force what belongs to another person, screen or source; say why, "" if it fits."""
        profile = self.profile
        if profile is None:
            self._gate.drop()
        elif screen is not None and source is not None:
            try:
                check_fits(profile, participant, screen, binding_of(source))
            except CalibrationError as fault:
                self.put(None, None)
                return str(fault)
        return ""

    def header(self) -> dict[str, Any]:
        """Give what a session's header says of it: `calibrated`, `profile` and `note`."""
        said = self._gate.header()
        profile, path = self.profile, self.path
        facts = profile_facts(profile, path.name) if profile is not None and path is not None else {}
        return {"calibrated": bool(said["calibrated"]), "profile": facts, "note": str(said["note"])}


def _both(screen: Screen | None, source: GazeSource | None) -> tuple[Screen, GazeSource]:
    if screen is None or source is None:
        raise CalibrationError("there is no source or no monitor.", todo="Choose both on Setup.")
    return screen, source
