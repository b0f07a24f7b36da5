"""The settings: tables of gazelab.toml with their defaults and what each may be."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.core.geometry import DISTANCE_RANGE_MM, WIDTH_RANGE_MM
from gazelab.pipeline.drift_plan import DriftLimits
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.processing.detectors import DEFAULT, DETECTORS
from gazelab.sources.base import CameraAsk

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
        After the targets the participant moves the head, for about 18 s.
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
    device : str
        Where checkpoints run: "cpu", "cuda", "cuda:1", "mps".
    dtype : str
        Their number type; "auto": as each says itself.
    quant : str
        Quantisation: "4bit", "8bit", or "" for none.
    process_above_mb : int
        Size of a checkpoint's weights above which the app runs it in a process of its own.
    """

    name: str = _setting("chartreader")
    device: str = _setting("cpu")
    dtype: str = _setting("auto", one_of=("auto", "bfloat16", "float16", "float32"))
    quant: str = _setting("", one_of=("", "4bit", "8bit"))
    process_above_mb: int = _setting(200, low=0, high=1_000_000)

    @property
    def options(self) -> ModelOptions:
        """How a checkpoint is opened, as `open_model` takes it."""
        return ModelOptions(self.device, self.dtype, quant=self.quant or None)


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
