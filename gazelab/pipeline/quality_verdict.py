"""The verdict on a trial's data: its figures against the limits, in words with numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.trial_quality import TrialQuality


class Verdict(StrEnum):
    """What to do with a trial: use it, look at it first, or leave it out of means."""

    KEEP = "keep"
    REVIEW = "review"
    EXCLUDE = "exclude"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what it rests on.

    Attributes
    ----------
    verdict : Verdict
        The gravest of the reasons.
    reasons : tuple of (Verdict, str)
        The gravest first; empty for a trial to keep.
    """

    verdict: Verdict
    reasons: tuple[tuple[Verdict, str], ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The reasons as sentences without their verdicts."""
        return tuple(text for _, text in self.reasons)


_ORDER = (Verdict.EXCLUDE, Verdict.REVIEW, Verdict.KEEP)

Reason = tuple[Verdict, str]


def judge(quality: TrialQuality, limits: QualityLimits) -> Judgement:
    """Hold a trial's figures against the limits."""
    found = [*_nothing_there(quality, limits)]
    if not found:
        found = [*_loss(quality, limits), *_time(quality, limits), *_place(quality, limits)]
        found += [*_drift(quality, limits), *_signal(quality, limits), *_fixations(quality, limits)]
    found += _circumstances(quality)
    found.sort(key=lambda reason: _ORDER.index(reason[0]))
    return Judgement(found[0][0] if found else Verdict.KEEP, tuple(found))


def _nothing_there(q: TrialQuality, limits: QualityLimits) -> Iterator[Reason]:
    if not q.n_samples:
        yield Verdict.EXCLUDE, "no sample lies in the trial"
    elif q.duration_s < limits.exclude_duration_s:
        yield (
            Verdict.EXCLUDE,
            f"the trial lasted {q.duration_s:.2f} s (at least {limits.exclude_duration_s:g} s)",
        )
    elif q.data_loss == 1:
        yield Verdict.EXCLUDE, f"all {q.n_samples} samples are lost"


def _loss(q: TrialQuality, limits: QualityLimits) -> Iterator[Reason]:
    if q.data_loss >= q.time_loss:
        share, what = q.data_loss, "of the samples are lost"
    else:
        never_came = " (frames that never came count)" if q.time_loss > q.data_loss + 0.01 else ""
        share, what = q.time_loss, f"of the time has no gaze{never_came}"
    if q.blink_loss > 0:
        what += f", {percent(q.blink_loss)} in blinks"
    yield from _above(share, limits.review_loss, limits.exclude_loss, what)
    if hit := _beyond(q.longest_gap_s, limits.review_gap_s):
        yield hit[0], f"the longest time without gaze is {q.longest_gap_s:.2f} s (limit {hit[1]:g} s)"


def _time(q: TrialQuality, limits: QualityLimits) -> Iterator[Reason]:
    if hit := _beyond(q.rate_hz, limits.review_rate_hz, limits.exclude_rate_hz, least=True):
        yield hit[0], f"the rate is {q.rate_hz:.1f} Hz (at least {hit[1]:g} Hz)"
    what = "of the steps between samples are off by more than half an interval"
    yield from _above(q.uneven_share, limits.review_uneven, math.nan, what)
    if q.n_leaps:
        yield Verdict.EXCLUDE, f"the clock leapt {_times(q.n_leaps)} in the trial"
    what = f"of the samples have a stamp that does not go forward ({q.n_bad_stamps})"
    yield from _above(q.n_bad_stamps / q.n_samples, limits.review_bad_stamps, math.nan, what)


def _place(q: TrialQuality, limits: QualityLimits) -> Iterator[Reason]:
    what = "of the gaze lies off the screen"
    yield from _above(q.off_screen_share, limits.review_off_screen, limits.exclude_off_screen, what)
    what = "of the gaze was measured with the head outside the calibrated box"
    yield from _above(q.outside_box_share, limits.review_outside_box, limits.exclude_outside_box, what)


def _drift(q: TrialQuality, limits: QualityLimits) -> Iterator[Reason]:
    """Judge the checks round the trial; an offset that was corrected before it is none of the trial's.

    One that was found before the trial was recalibrated is to be looked at, whatever its size.
    """
    before, after = q.drift_before, q.drift_after
    asked = before is not None and before.decision in ("recalibrate", "overridden")
    if before is not None and asked and not before.superseded:
        yield Verdict.REVIEW, "the drift check before it asked for a new calibration"
    for when, check in (("before", before), ("after", after)):
        if check is None or (check is before and check.corrected):
            continue
        if hit := _beyond(check.offset_deg, limits.review_drift_deg, limits.exclude_drift_deg):
            said = f"the drift check {when} it found {check.offset_deg:.1f}° (limit {hit[1]:g}°)"
            old = ", of the gaze before it was recalibrated" if check.superseded else ""
            yield Verdict.REVIEW if check.superseded else hit[0], said + old


def _signal(q: TrialQuality, limits: QualityLimits) -> Iterator[Reason]:
    if hit := _beyond(q.rms_s2s_deg, limits.review_rms_s2s_deg):
        yield hit[0], f"the precision is {q.rms_s2s_deg:.2f}° RMS-S2S (limit {hit[1]:g}°)"
    what = f"of the gaze has a confidence below {limits.low_confidence:g}"
    yield from _above(q.low_confidence_share, limits.review_low_confidence, math.nan, what)
    what = f"of the gaze moves faster than an eye ({q.n_impossible} samples, over 1000°/s)"
    yield from _above(q.impossible_share, limits.review_impossible, math.nan, what)
    what = "of the steps end where they began, as from the same picture twice"
    yield from _above(q.repeated_share, limits.review_repeated, limits.exclude_repeated, what)
    what = "of the pictures show two faces"
    yield from _above(q.two_faces_share, limits.review_two_faces, math.nan, what)


def _fixations(q: TrialQuality, limits: QualityLimits) -> Iterator[Reason]:
    if hit := _beyond(q.n_on_chart, limits.review_fixations, limits.exclude_fixations, least=True):
        few = f"{q.n_on_chart or 'no'} fixation{'s' * (q.n_on_chart > 1)}"
        yield hit[0], f"{few} on the chart (at least {hit[1]:g})"


def _circumstances(q: TrialQuality) -> Iterator[Reason]:
    for count, what in (
        (q.n_focus_lost, "another window took the keyboard {times}"),
        (q.n_pauses, "the study was paused {times} in the trial"),
        (q.n_source_lost, "the source was lost {times}"),
        (q.n_dropped, "{n} samples could not be stored"),
    ):
        if count:
            yield Verdict.REVIEW, what.format(times=_times(count), n=count)
    if not q.complete:
        yield Verdict.REVIEW, "the recording was cut off in the trial"
    elif q.skipped:
        yield Verdict.REVIEW, "the chart was taken off without an answer"


def _above(share: float, review: float, exclude: float, what: str) -> Iterator[Reason]:
    if hit := _beyond(share, review, exclude):
        yield hit[0], f"{percent(share)} {what} (limit {percent(hit[1])})"


def _beyond(
    value: float, review: float, exclude: float = math.nan, *, least: bool = False
) -> tuple[Verdict, float] | None:
    """Give the graver of two limits that a value is beyond (or below, for `least`); NaN is beyond none."""
    for verdict, limit in ((Verdict.EXCLUDE, exclude), (Verdict.REVIEW, review)):
        if (value < limit) if least else (value > limit):
            return verdict, limit
    return None


def percent(share: float) -> str:
    """Write a share so that one just above a limit does not read like the limit."""
    value = share * 100
    return f"{value:.0f} %" if math.isclose(value, round(value), abs_tol=0.05) else f"{value:.1f} %"


def _times(n: int) -> str:
    return "once" if n == 1 else "twice" if n == 2 else f"{n} times"
