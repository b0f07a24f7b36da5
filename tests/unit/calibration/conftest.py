"""A small eye model, drawn straight into features, and a participant who works through a procedure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from gazelab.calibration.procedure import RUNNING, CalibrationProcedure
from gazelab.calibration.result import CalibrationResult
from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS, empty_features
from gazelab.core.geometry import Screen

MS = 1_000_000

# (right-looking eye in the picture's frame is the same sign for both eyes)
_COLS, _ROWS = np.meshgrid(np.arange(PATCH_COLS), np.arange(PATCH_ROWS))

_MIDDLE = (PATCH_COLS - 1) / 2, (PATCH_ROWS - 1) / 2


@dataclass
class EyeModel:
    """Eyes whose picture follows the direction of gaze: sclera, a dark iris, an upper lid that goes along.

    `noise` is in units of the default camera noise; `swing` scales how much the eyes turn.
    """

    noise: float = 1.0
    seed: int = 0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def row(
        self,
        x_deg: float,
        y_deg: float,
        time_ns: int = 0,
        shut: tuple[bool, bool] = (False, False),
        yaw_deg: float = 0.0,
        grey: float = 180.0,
    ) -> np.void:
        """One record of eyes that look at (x, y), + right and + up; `yaw_deg` turns the head alone."""
        row = empty_features(1)[0]
        row["time_ns"], row["valid"], row["n_faces"] = time_ns, True, 1
        turn = x_deg - yaw_deg
        noise = self.rng.normal(0, self.noise, 40)
        for eye in range(2):
            iris_x = 0.0075 * turn + 0.002 * noise[4 * eye]
            iris_y = -0.0025 * y_deg + 0.002 * noise[4 * eye + 1]
            row["iris"][eye] = iris_x, iris_y
            row["openness"][eye] = 0.02 if shut[eye] else 0.3 + 0.004 * y_deg + 0.004 * noise[4 * eye + 2]
            row["blink_score"][eye] = 0.9 if shut[eye] else 0.05
            row["patches"][eye] = self._patch(turn, y_deg, grey)
            row["eye_width_px"][eye], row["iris_px"][eye] = 45.0, 17.0
            row["eye_centre_px"][eye] = (360.0, 240.0) if eye == 0 else (280.0, 240.0)
        row["look"] = 0.3 + 0.02 * np.array([-y_deg, -y_deg, turn, -turn, -turn, turn, y_deg, y_deg])
        row["look"] += 0.01 * noise[10:18]
        row["yaw_deg"], row["pitch_deg"], row["roll_deg"] = yaw_deg + 0.2 * noise[20], 0.2 * noise[21], 0.0
        row["head_mm"] = 0.0, 0.0, 550.0
        return row

    def _patch(self, x_deg: float, y_deg: float, grey: float) -> np.ndarray:
        across = _COLS - (_MIDDLE[0] + 0.15 * x_deg)
        down = _ROWS - (_MIDDLE[1] - 0.15 * y_deg)
        picture = grey * (1 - 0.7 * np.exp(-(across**2 + down**2) / 23))
        lid = _MIDDLE[1] - 3.6 - 0.1 * y_deg
        picture *= 1 - 0.4 / (1 + np.exp(2 * (_ROWS - lid)))
        picture += self.rng.normal(0, 2 * self.noise, picture.shape)
        return np.clip(picture, 0, 255).astype(np.uint8)


@dataclass
class Participant:
    """Looks at whatever target is shown, 200 ms after it came, at 30 samples a second."""

    screen: Screen
    eyes: EyeModel = field(default_factory=EyeModel)
    rate_hz: float = 30.0
    time_ns: int = 10_000 * MS
    sees: Callable[[int], bool] = lambda index: True
    """By calibration target: whether there are samples at all."""
    looks: Callable[[float, float], tuple[float, float]] = lambda x, y: (x, y)
    """Where the eyes go (degrees) for a target (degrees)."""
    share: float = 1.0
    """Of samples in which there is a face."""

    def frames(self, procedure: CalibrationProcedure) -> Iterator[tuple[int, np.void]]:
        """Give samples while the procedure runs."""
        target, since = None, 0
        place = (0.0, 0.0)
        while procedure.state in RUNNING:
            self.time_ns += round(1e9 / self.rate_hz)
            if procedure.current_target != target:
                target, since = procedure.current_target, self.time_ns
            assert target is not None
            if self.time_ns - since > 200 * MS:
                x, y = self.screen.to_deg(target.x_px, target.y_px)
                place = self.looks(float(x), float(y))
            row = self.eyes.row(*place, time_ns=self.time_ns)
            blind = target.kind == "calibration" and not self.sees(target.index)
            if blind or self.eyes.rng.random() >= self.share:
                row["valid"] = False
            yield self.time_ns, row

    def work(self, procedure: CalibrationProcedure) -> CalibrationProcedure:
        """Go through the whole procedure, starting it if need be."""
        if procedure.state not in RUNNING:
            procedure.start(self.time_ns)
        for time_ns, row in self.frames(procedure):
            procedure.add(row, time_ns)
        return procedure


@pytest.fixture(scope="session")
def screen() -> Screen:
    """A laptop's screen, 38 px a degree."""
    return Screen("laptop", 1920, 1080, 531.0, 299.0, 600.0, "user")


@pytest.fixture
def eyes() -> EyeModel:
    return EyeModel()


@pytest.fixture(scope="session")
def good_result(screen: Screen) -> CalibrationResult:
    """A valid calibration; results are frozen, so all tests may share it."""
    return Participant(screen).work(CalibrationProcedure(screen, 13)).result()


@pytest.fixture
def participant(screen: Screen) -> Participant:
    return Participant(screen)
