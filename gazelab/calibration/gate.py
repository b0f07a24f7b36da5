"""Which calibration is in force: the one place that a recording asks."""

from __future__ import annotations

from typing import Any

from gazelab.calibration.profile import Profile, SourceBinding, check_fits
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen


class CalibrationGate:
    """Holds at most one profile, or a written reason to record without one.

    A new calibration empties it at its start, so that one that fails or is cancelled never leaves an older
    one, perhaps another person's, in force.
    """

    def __init__(self) -> None:
        self._profile: Profile | None = None
        self._note = ""

    @property
    def profile(self) -> Profile | None:
        """What is in force."""
        return self._profile

    def drop(self) -> None:
        """Put nothing in force: at the start of a calibration, for another participant or screen."""
        self._profile, self._note = None, ""

    def put(self, profile: Profile) -> None:
        """Put a profile in force in place of anything before."""
        self._profile, self._note = profile, ""

    def override(self, note: str) -> None:
        """Let a recording begin uncalibrated; the note goes into its header.

        Raises
        ------
        CalibrationError
            The note is empty.
        """
        if not note.strip():
            raise CalibrationError("recording without a calibration needs a note.", todo="Say why.")
        self._profile, self._note = None, note.strip()

    def check(self, participant: str, screen: Screen, source: SourceBinding) -> None:
        """Let a recording begin, or say why not.

        Raises
        ------
        CalibrationError
            Nothing is in force and nobody has overridden that, or what is in force was made for something
            else.
        """
        if self._profile is not None:
            check_fits(self._profile, participant, screen, source)
        elif not self._note:
            raise CalibrationError(
                f"participant {participant} isn't calibrated.", todo="Calibrate, or override it in writing."
            )

    def header(self) -> dict[str, Any]:
        """Give what a recording writes of this: calibrated or not, which profile, and the note."""
        if self._profile is None:
            return {"calibrated": False, "profile_utc": None, "participant": None, "note": self._note}
        return {
            "calibrated": True,
            "profile_utc": self._profile.created_utc,
            "participant": self._profile.participant,
            "note": str(self._profile.record.get("note", "")),
        }
