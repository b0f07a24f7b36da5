"""Face, place, light, distance and rate in plain words, before anybody is calibrated.

Each hint says how it is or what to do about it. Hints advise: nothing here forbids to go on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from PyQt6.QtCore import QCoreApplication

from gazelab.core.gaze import Frame
from gazelab.ui.face_light import FaceLight, face_light

DARK_GREY, BRIGHT_GREY = 55.0, 215.0
SIDE_RATIO = 1.8
BACK_RATIO, BACK_GREY = 2.0, 110.0
SHINING_SHARE = 0.06
NEAR_MM, FAR_MM = 400.0, 800.0
IDEAL_MM = 600.0
OFF_X, OFF_Y = 0.15, 0.2
"""Of the picture's width and height: how far the eyes may be from `EYES_AT`."""
EYES_AT = (0.5, 0.45)
"""Where the eyes should be, as shares of the picture: its middle, with room for the chin."""
SMALL_EYE_PX = 22.0
"""Below this width an eye is only about as wide as the patch that is learnt from (20 columns)."""
WANTED_PX = 1280
SLOW_HZ = 20.0
HOLD_NS = 400_000_000


class About(StrEnum):
    """What a hint is about."""

    PICTURE = "picture"
    FACE = "face"
    PLACE = "place"
    LIGHT = "light"
    DISTANCE = "distance"
    EYES = "eyes"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class Hint:
    """One sentence.

    Attributes
    ----------
    text : str
    role : {"good", "warn", "bad"}
    about : About
    """

    text: str
    role: str
    about: About = About.PICTURE


def hints(
    frame: Frame | None, features: np.void | None, distance_mm: float, rate_hz: float = math.nan
) -> list[Hint]:
    """Say what is well and what is to be changed.

    Parameters
    ----------
    frame : Frame or None
    features : numpy.void, FEATURE_DTYPE, or None
        Of that frame.
    distance_mm : float
        From the camera; NaN if unknown.
    rate_hz : float
        Measured; NaN if unknown, and then nothing is said of it.
    """
    tr = QCoreApplication.translate
    if frame is None:
        return [Hint(tr("Hints", "No picture from the camera yet"), "warn", About.PICTURE)]
    if features is None or not features["valid"]:
        return [_no_face(frame, features)]
    found = [
        _face(features),
        _place(frame, features),
        _light(face_light(frame, features)),
        _distance(distance_mm),
        _eyes(frame, features),
    ]
    if math.isfinite(rate_hz):
        found.append(_rate(rate_hz))
    return found


def ready(said: list[Hint]) -> bool:
    """Whether nothing needs to be changed."""
    return bool(said) and all(hint.role == "good" for hint in said)


class SteadyHints:
    """Keeps hints from flickering: what they say changes once it has held for a while, numbers now and then.

    Parameters
    ----------
    hold_ns : int
        How long another set of roles must hold, and how often numbers change.
    """

    def __init__(self, hold_ns: int = HOLD_NS) -> None:
        self._hold_ns = hold_ns
        self._shown: list[Hint] = []
        self._shown_ns = 0
        self._roles: tuple[tuple[About, str], ...] = ()
        self._since_ns = 0

    def take(self, said: list[Hint], time_ns: int) -> list[Hint]:
        """Give what to show at a moment."""
        roles = tuple((h.about, h.role) for h in said)
        if roles != self._roles:
            self._roles, self._since_ns = roles, time_ns
        due = time_ns - max(self._since_ns, self._shown_ns) >= self._hold_ns
        if not self._shown or due:
            self._shown, self._shown_ns = said, time_ns
        return self._shown


def _no_face(frame: Frame, features: np.void | None) -> Hint:
    tr = QCoreApplication.translate
    if features is not None and features["n_faces"] > 1:
        text = tr("Hints", "Two faces: only the participant should be in the picture")
        return Hint(text, "bad", About.FACE)
    if float(frame.rgb[::8, ::8].mean()) < DARK_GREY / 2:
        return Hint(tr("Hints", "The picture is dark: is the camera covered?"), "bad", About.FACE)
    return Hint(tr("Hints", "No face in the picture"), "bad", About.FACE)


def _face(features: np.void) -> Hint:
    tr = QCoreApplication.translate
    if features["n_faces"] > 1:
        return Hint(tr("Hints", "A second face: the other person should step aside"), "warn", About.FACE)
    return Hint(tr("Hints", "Face found"), "good", About.FACE)


def _place(frame: Frame, features: np.void) -> Hint:
    """Directions are the participant's own: who is at the picture's left sits too far to his or her right."""
    tr = QCoreApplication.translate
    height, width, _ = frame.rgb.shape
    x, y = (float(v) for v in np.nanmean(features["eye_centre_px"], axis=0))
    off_x, off_y = x / width - EYES_AT[0], y / height - EYES_AT[1]
    if off_x < -OFF_X:
        return Hint(tr("Hints", "Move a little to your left"), "warn", About.PLACE)
    if off_x > OFF_X:
        return Hint(tr("Hints", "Move a little to your right"), "warn", About.PLACE)
    if off_y < -OFF_Y:
        return Hint(tr("Hints", "Sit lower, or tilt the screen back"), "warn", About.PLACE)
    if off_y > OFF_Y:
        return Hint(tr("Hints", "Sit higher, or tilt the screen forward"), "warn", About.PLACE)
    return Hint(tr("Hints", "In the middle"), "good", About.PLACE)


def _light(seen: FaceLight) -> Hint:
    tr = QCoreApplication.translate
    halves = [v for v in (seen.left, seen.right) if math.isfinite(v)]
    mean, low = sum(halves) / max(len(halves), 1), max(min(halves, default=0.0), 1.0)
    if mean < BACK_GREY and seen.behind > BACK_RATIO * mean:
        return Hint(tr("Hints", "Light from behind: turn away from the window"), "warn", About.LIGHT)
    if mean < DARK_GREY:
        return Hint(tr("Hints", "Too dark: put a light in front of the face"), "warn", About.LIGHT)
    if mean > BRIGHT_GREY:
        return Hint(tr("Hints", "Too bright: turn the lamp away"), "warn", About.LIGHT)
    if max(halves) / low > SIDE_RATIO:
        return Hint(tr("Hints", "Light from one side: turn toward it"), "warn", About.LIGHT)
    if seen.shining > SHINING_SHARE:
        text = tr("Hints", "Reflections at the eyes: tip the glasses, or move the lamp")
        return Hint(text, "warn", About.LIGHT)
    return Hint(tr("Hints", "Light is even"), "good", About.LIGHT)


def _distance(distance_mm: float) -> Hint:
    tr = QCoreApplication.translate
    if not math.isfinite(distance_mm):
        return Hint(tr("Hints", "Distance unknown"), "warn", About.DISTANCE)
    cm = distance_mm / 10
    if distance_mm < NEAR_MM:
        return Hint(
            tr("Hints", "About {cm:.0f} cm: move back a little").format(cm=cm), "warn", About.DISTANCE
        )
    if distance_mm > FAR_MM:
        return Hint(tr("Hints", "About {cm:.0f} cm: come closer").format(cm=cm), "warn", About.DISTANCE)
    return Hint(tr("Hints", "About {cm:.0f} cm away").format(cm=cm), "good", About.DISTANCE)


def _eyes(frame: Frame, features: np.void) -> Hint:
    tr = QCoreApplication.translate
    px = float(np.nanmean(features["eye_width_px"]))
    if px >= SMALL_EYE_PX:
        return Hint(tr("Hints", "Eyes are {px:.0f} px wide").format(px=px), "good", About.EYES)
    if frame.rgb.shape[1] < WANTED_PX:
        text = tr("Hints", "Eyes only {px:.0f} px wide: come closer, or ask for 1280\u00a0x\u00a0720")
    else:
        text = tr("Hints", "Eyes only {px:.0f} px wide: come closer")
    return Hint(text.format(px=px), "warn", About.EYES)


def _rate(rate_hz: float) -> Hint:
    tr = QCoreApplication.translate
    if rate_hz < SLOW_HZ:
        text = tr("Hints", "Only {hz:.0f} pictures a second: add light, close programs")
        return Hint(text.format(hz=rate_hz), "warn", About.RATE)
    return Hint(tr("Hints", "{hz:.0f} pictures a second").format(hz=rate_hz), "good", About.RATE)
