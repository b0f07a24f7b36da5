"""A participant with ground truth: scripted gaze drives eyes that are painted into a real face picture.

The frames go through the real face landmarker, so pipeline, blinks, drift and head motion are tested as they
are in life. It is no evidence of the accuracy that a real person gets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import ConfigError
from gazelab.core.gaze import Frame, GazeArray, SourceState, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.sources.base import Clock, OpenInWith, SourceInfo
from gazelab.sources.synthetic_face import SyntheticFace
from gazelab.sources.synthetic_head import PIVOT_MM, HeadMotion, HeadPose
from gazelab.sources.synthetic_script import GazeScript, random_blinks

HORIZONTAL_FOV_DEG = 60.0
CAMERA_ABOVE_MM = 10.0
"""How far above the screen's upper edge the camera sits."""

BLINK_CHUNK_NS = 60_000_000_000


class SyntheticParticipant(OpenInWith):
    """A `FrameSource` whose eyes follow a script.

    Each eye turns by the target's direction minus the head's turn; lids follow the eyes and blink.

    Parameters
    ----------
    script : GazeScript
        May grow while it runs (`look_at`), as in a calibration.
    screen : Screen
        What is looked at; with millimetres and distance.
    frame_px : (int, int)
        Width and height of the camera's picture.
    rate_hz : float
        Frames a second.
    jitter_ms : float
        Standard deviation of each frame's time about the even beat.
    head : HeadMotion, optional
        A seated person's sway by default; `HeadMotion(STILL)` for none.
    blink_rate_per_min : float
        Blinks added to those of the script.
    noise_grey : float
        Standard deviation of the camera's noise, of 255. Without any, a still head is a frozen picture.
    fixation_jitter_deg : float
        Standard deviation of the eye's own unrest in a fixation.
    start_ns : int, optional
        Time of the first frame; by default the clock's at `open`.
    duration_ns : int, optional
        After this the source has ENDED; it goes on for ever by default.
    paced : bool
        Give each frame when its time has come, as a camera would; otherwise as soon as it is asked for.
    clock, wait : callable
        Session time in ns; a sleep of so many seconds.
    seed : int
        Everything random comes from it.

    Raises
    ------
    ConfigError
        The screen has no millimetres.
    """

    def __init__(
        self,
        script: GazeScript,
        screen: Screen,
        *,
        frame_px: tuple[int, int] = (640, 480),
        rate_hz: float = 30.0,
        jitter_ms: float = 0.0,
        head: HeadMotion | None = None,
        blink_rate_per_min: float = 0.0,
        noise_grey: float = 2.0,
        fixation_jitter_deg: float = 0.1,
        start_ns: int | None = None,
        duration_ns: int | None = None,
        paced: bool = False,
        clock: Clock = time.perf_counter_ns,
        wait: Callable[[float], None] = time.sleep,
        seed: int = 0,
    ) -> None:
        if not screen.has_degrees:
            raise ConfigError(
                "the synthetic participant needs the screen's size and distance in mm.", where=screen.name
            )
        self.script, self.screen = script, screen
        self.head = head or HeadMotion(seed=seed)
        self.focal_px = frame_px[0] / 2 / float(np.tan(np.radians(HORIZONTAL_FOV_DEG / 2)))
        self._frame_px, self._step_ns, self._jitter_ns = frame_px, round(1e9 / rate_hz), jitter_ms * 1e6
        self._blink_rate, self._jitter_deg = blink_rate_per_min, fixation_jitter_deg
        self._given_start_ns, self._duration_ns = start_ns, duration_ns
        self._paced, self._clock, self._wait, self._seed = paced, clock, wait, seed
        self._state = SourceState.IDLE
        self._face: SyntheticFace | None = None
        rng = np.random.default_rng(seed)
        shape = (frame_px[1] + 32, frame_px[0] + 32, 3)
        self._noise = np.clip(np.rint(rng.normal(0, noise_grey, shape)), -127, 127).astype(np.int8)
        self._has_noise = noise_grey > 0
        self._blinks_until_ns = 0
        self._truth: list[np.void] = []
        size = (("width_px", str(frame_px[0])), ("height_px", str(frame_px[1])), ("seed", str(seed)))
        self.info = SourceInfo("synthetic", "synthetic participant", rate_hz, detail=size)

    @property
    def state(self) -> SourceState:
        """OK from `open` until `duration_ns` is over."""
        return self._state

    @property
    def next_ns(self) -> int:
        """Time of the next frame."""
        return self._time_ns(self._index)

    def open(self) -> None:
        """Start at the first frame."""
        if self._face is None:
            self._face = SyntheticFace(self._frame_px, self.focal_px, self.screen.distance_mm)
        self._start_ns = self._clock() if self._given_start_ns is None else self._given_start_ns
        self._index = 0
        self._blinks_until_ns = self._start_ns
        self._truth = []
        self._state = SourceState.OK

    def read(self, timeout_s: float = 0.0) -> Frame | None:
        """Give the next frame; None when it isn't due yet (`paced`) or the time is over."""
        if self._state is not SourceState.OK:
            return None
        if self._paced:
            early_s = (self.next_ns - self._clock()) / 1e9
            if early_s > 0:
                self._wait(min(early_s, timeout_s))
            now = self._clock()
            if self.next_ns > now:
                return None
            while self._time_ns(self._index + 1) <= now:
                self._index += 1
        if self._duration_ns is not None and self.next_ns - self._start_ns >= self._duration_ns:
            self._state = SourceState.ENDED
            return None
        index, time_ns = self._index, self.next_ns
        self._index += 1
        return Frame(self._render(index, time_ns), time_ns, time_ns, index)

    def close(self) -> None:
        """Stop; may be called twice. The truth stays."""
        self._state = SourceState.IDLE

    def events_truth(self) -> NDArray[np.void]:
        """Give the fixations and blinks up to the last frame given, EVENT_DTYPE."""
        if not self._truth:
            return self.script.truth(0, 0)
        return self.script.truth(self._start_ns, int(self._truth[-1]["time_ns"]))

    def gaze_truth(self) -> GazeArray:
        """Give where the eyes were directed in each frame given, GAZE_DTYPE; `blink` while lids move."""
        rows = empty_gaze(len(self._truth))
        for k, row in enumerate(self._truth):
            rows[k] = row
        return rows

    def _time_ns(self, index: int) -> int:
        jitter = np.random.default_rng((self._seed, 1, index)).normal() if self._jitter_ns else 0.0
        limit = 0.45 * self._step_ns
        return self._start_ns + index * self._step_ns + int(np.clip(jitter * self._jitter_ns, -limit, limit))

    def _render(self, index: int, time_ns: int) -> NDArray[np.uint8]:
        from gazelab.core.opencv import cv2

        assert self._face is not None
        rng = np.random.default_rng((self._seed, 2, index))
        self._more_blinks(time_ns)
        x_px, y_px = self.script.position(time_ns)
        closure = self.script.lid_closure(time_ns)
        pose = self.head.at(time_ns)
        eyes_deg = self._eye_turns(x_px, y_px, pose) + rng.normal(0, self._jitter_deg, 2)
        picture = self._face.render(eyes_deg, (closure, closure), pose)
        if self._has_noise:
            top, left = rng.integers(0, 32, 2)
            height, width = picture.shape[:2]
            noise = np.ascontiguousarray(self._noise[top : top + height, left : left + width])
            picture = cv2.add(picture, noise, dtype=cv2.CV_8U)
        self._note(index, time_ns, x_px, y_px, closure, pose)
        return picture

    def _eye_turns(self, x_px: float, y_px: float, pose: HeadPose) -> NDArray[np.float64]:
        """Turn of each eye in the head (2, 2), degrees: + picture right, + down.

        In camera axes (x picture right, y down, z away) the screen is at z = 0 below the camera; its right
        side is on the picture's left.
        """
        assert self._face is not None
        screen = self.screen
        target = np.array(
            [
                (screen.width_px / 2 - x_px) * screen.width_mm / screen.width_px,
                CAMERA_ABOVE_MM + y_px * screen.height_mm / screen.height_px,
                0.0,
            ]
        )
        turn = pose.rotation()
        centre_px = np.array(self._frame_px) / 2
        middle = (self._face.origin_px - centre_px) / self._face.px_per_mm
        place = pose.as_array()[3:]
        pivot = np.array([*middle, screen.distance_mm + PIVOT_MM]) + place
        out = np.empty((2, 2))
        for eye, (dx, dy) in enumerate(self._face.eyes_mm):
            look = turn.T @ (target - pivot - turn @ np.array([dx, dy, -PIVOT_MM]))
            out[eye] = np.degrees(
                [np.arctan2(look[0], -look[2]), np.arctan2(look[1], np.hypot(look[0], look[2]))]
            )
        return out

    def _more_blinks(self, time_ns: int) -> None:
        if not self._blink_rate or time_ns < self._blinks_until_ns:
            return
        start, self._blinks_until_ns = self._blinks_until_ns, self._blinks_until_ns + BLINK_CHUNK_NS
        rng = np.random.default_rng((self._seed, 3, start % 2**63))
        for onset, offset in random_blinks(start, self._blinks_until_ns, self._blink_rate, rng):
            self.script.blink_at(onset, offset - onset)

    def _note(
        self, index: int, time_ns: int, x_px: float, y_px: float, closure: float, pose: HeadPose
    ) -> None:
        row: np.void = empty_gaze(1)[0]
        row["time_ns"] = row["device_ns"] = row["arrival_ns"] = time_ns
        row["frame_index"], row["x_px"], row["y_px"] = index, x_px, y_px
        row["blink"], row["valid"] = closure > 0, True
        row["yaw_deg"], row["pitch_deg"], row["roll_deg"] = pose.yaw_deg, pose.pitch_deg, pose.roll_deg
        row["distance_mm"], row["confidence"] = self.screen.distance_mm + pose.z_mm, 1.0
        self._truth.append(row)
