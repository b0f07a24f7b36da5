"""The offline detector on a scripted scanpath, whole and damaged."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.gaze import EventKind, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.processing.degrees import NominalGeometry
from gazelab.processing.events import (
    detect_events,
    detect_fixations,
    fixation_events,
    impossible,
    uses_ivt,
)
from gazelab.processing.events_samples import spikes, stamp_order, usable_samples

SCREEN = Screen("laptop", 1920, 1080, 527.0, 296.0, 600.0)
TRUE_S = 0.76


def well_formed(events):
    """Sorted, apart, long enough."""
    onset, offset = np.asarray(events).T if len(events) else (np.empty(0), np.empty(0))
    assert (offset - onset >= 60_000_000).all()
    assert (onset[1:] > offset[:-1]).all()


def read_case(path):
    rows = np.genfromtxt(path, delimiter=",", skip_header=1)
    return np.round(rows[:, 0] * 1e9).astype(np.int64), rows[:, 1], rows[:, 2]


@pytest.mark.parametrize("rate", [15, 30, 60, 120, 500])
def test_E3_the_same_script_at_every_rate_gives_the_same_fixations(scanpath, rate):
    path = scanpath(rate)
    found = detect_fixations(*path.columns, path.screen)
    well_formed(found)
    assert len(found) == 6
    durations_s = np.diff(found, axis=1)[1:-1, 0] / 1e9
    # I-VT, from 100 Hz up, looks 10 ms ahead and back: that much may go at either end.
    assert np.abs(durations_s - TRUE_S).max() <= max(1.5 / rate, 0.020)


def test_E3_below_120_hz_there_are_no_saccades(scanpath):
    for rate, expect in ((30, 0), (60, 0), (110, 0), (250, 5), (500, 5)):
        events = detect_events(gaze_of(scanpath(rate, noise_px=0.5)), SCREEN)
        assert (events["kind"] == EventKind.SACCADE).sum() == expect, rate


def test_E1_loss_coded_as_zeros_is_no_fixation_in_the_corner(scanpath):
    path = scanpath(60)
    lost = path.lost(1.1, 1.35)
    zero_x, zero_y = np.nan_to_num(lost.x_px), np.nan_to_num(lost.y_px)
    with_zeros = fixation_events(path.time_ns, zero_x, zero_y, path.screen)
    assert with_zeros.tobytes() == fixation_events(*lost.columns, path.screen).tobytes()
    assert len(with_zeros) == 7  # the second place is seen before and after the loss
    assert np.hypot(with_zeros["x_px"], with_zeros["y_px"]).min() > 300


def test_E1_a_fixation_that_lasts_to_the_end_is_closed_there(scanpath):
    path = scanpath(60)
    found = detect_fixations(*path.columns, path.screen)
    assert found[-1, 1] == path.time_ns[-1]


def test_E1_the_case_with_zeros_equals_the_case_with_nan(cases):
    zeros = fixation_events(*read_case(cases / "gaze_60hz_blink_as_zeros.csv"), SCREEN)
    nans = fixation_events(*read_case(cases / "gaze_60hz_nan_burst_250ms.csv"), SCREEN)
    assert len(zeros) == 6
    assert zeros.tobytes() == nans.tobytes()


def test_E2_a_short_loss_is_bridged_and_a_long_one_splits(scanpath):
    path = scanpath(60)
    short = path.lost(1.1, 1.16)  # 4 samples: 67 ms without gaze
    assert len(detect_fixations(*short.columns, path.screen)) == 6
    long = path.lost(1.1, 1.35)
    found = detect_fixations(*long.columns, path.screen)
    assert len(found) == 7
    well_formed(found)
    assert not ((found[:, 0] < 1.35e9) & (found[:, 1] > 1.1e9)).any()


def test_E2_both_ends_are_inclusive_and_midway_to_the_neighbours():
    t = np.arange(10) * 100_000_000 // 3  # 30 Hz
    x = np.where(np.arange(10) < 5, 400.0, 1400.0)
    found = detect_fixations(t, x, np.full(10, 500.0), SCREEN)
    # Samples 0 to 4, then 6 to 9: sample 5 was reached by the saccade.
    half = 100_000_000 // 6
    assert found[0].tolist() == pytest.approx([t[0], t[4] + half], abs=2)
    assert found[1].tolist() == pytest.approx([t[6] - half, t[9]], abs=2)


@pytest.mark.parametrize("n", [0, 1, 2, 240])
def test_E2_a_recording_without_gaze_has_no_events(n):
    t = np.arange(n, dtype=np.int64) * 16_666_667
    lost = np.full(n, np.nan)
    assert detect_fixations(t, lost, lost, SCREEN).shape == (0, 2)
    assert detect_fixations(t, lost, lost, SCREEN).dtype == np.int64
    assert len(fixation_events(t, lost, lost, SCREEN)) == 0


def test_E2_the_all_nan_case_has_no_events(cases):
    assert len(detect_fixations(*read_case(cases / "gaze_60hz_all_nan.csv"), SCREEN)) == 0


def test_E4_durations_come_from_the_stamps_not_from_counts(scanpath):
    rng = np.random.default_rng(3)
    steps = rng.choice([1 / 60, 1 / 30, 1 / 20, 1 / 10], 400)
    times = np.cumsum(steps)
    path = scanpath(times_s=times[times < 4.8])
    found = detect_fixations(*path.columns, path.screen)
    assert len(found) == 6
    assert np.abs(np.diff(found, axis=1)[1:-1, 0] / 1e9 - TRUE_S).max() <= 1.5 * 0.1


def test_E4_stamps_rounded_to_whole_milliseconds_change_nothing(scanpath):
    path = scanpath(60)
    rounded = np.round(path.time_ns / 1e6).astype(np.int64) * 1_000_000  # steps of 16 and 17 ms
    exact = detect_fixations(*path.columns, path.screen)
    found = detect_fixations(rounded, path.x_px, path.y_px, path.screen)
    assert np.abs(found - exact).max() < 1_500_000


def test_E4_the_irregular_case_has_its_five_fixations(cases):
    found = detect_fixations(*read_case(cases / "gaze_irregular_10_to_60hz.csv"), SCREEN)
    assert len(found) == 5
    assert (np.diff(found, axis=1) / 1e9 > 1.9).all()


@given(
    st.lists(
        st.tuples(st.integers(1, 120), st.floats(-200, 2200), st.floats(-200, 1300), st.booleans()),
        max_size=120,
    )
)
def test_E5_events_are_sorted_apart_and_long_enough_on_any_path(rows):
    t = np.cumsum([ms * 1_000_000 for ms, *_ in rows], dtype=np.int64)
    x = np.array([np.nan if gone else x for _, x, _, gone in rows])
    y = np.array([np.nan if gone else y for _, _, y, gone in rows])
    found = detect_fixations(t, x, y, SCREEN)
    well_formed(found)
    if len(found):
        assert found.min() >= t[0]
        assert found.max() <= t[-1]


def test_E7_a_trial_that_ends_in_a_loss_has_finite_events(scanpath):
    path = scanpath(60).lost(4.3, 9.0)
    events = detect_events(gaze_of(path), SCREEN)
    durations = events["offset_ns"] - events["onset_ns"]
    assert (durations > 0).all()
    fixations = events[events["kind"] == EventKind.FIXATION]
    assert len(fixations) == 6
    assert np.isfinite([fixations["x_px"], fixations["y_px"]]).all()
    assert events[events["kind"] == EventKind.GAP]["offset_ns"].tolist() == [path.time_ns[-1]]


@pytest.mark.parametrize("code", [1e8, -32768.0, 0.0, np.inf])
def test_E7_codes_of_loss_are_no_positions(scanpath, code):
    path = scanpath(60).lost(1.1, 1.35)
    x, y = (np.where(np.isnan(v), code, v) for v in (path.x_px, path.y_px))
    coded = fixation_events(path.time_ns, x, y, path.screen)
    assert coded.tobytes() == fixation_events(*path.columns, path.screen).tobytes()


def test_E8_a_one_sample_spike_is_flagged_and_the_fixations_stay(scanpath):
    path = scanpath(30)
    x = path.x_px.copy()
    x[40] += 2000
    clean = fixation_events(*path.columns, path.screen)
    spiked = fixation_events(path.time_ns, x, path.y_px, path.screen)
    assert len(spiked) == len(clean) == 6
    np.testing.assert_allclose(spiked["x_px"], clean["x_px"], atol=1.0)
    x_deg, y_deg = path.screen.to_deg(x, path.y_px)
    assert np.flatnonzero(spikes(path.time_ns, x_deg, y_deg)).tolist() == [40]


def test_E8_a_fixation_of_one_place_and_back_is_no_spike():
    t = np.arange(9, dtype=np.int64) * 100_000_000
    x_deg = np.array([0, 0, 0, 8, 8, 0, 0, 0, 0], float)
    assert not spikes(t, x_deg, np.zeros(9)).any()
    slow = np.array([0, 0, 0, 8, 0, 0, 0, 0, 0], float)
    assert not spikes(t, slow, np.zeros(9)).any()  # 200 ms there and back: an eye can do that


def test_E8_saccades_faster_than_an_eye_are_flagged_not_deleted(scanpath):
    path = scanpath(500, noise_px=0.5)
    x = np.where(path.time_ns > 2.0e9, path.x_px + 600, path.x_px)  # a jump within 2 ms
    events = detect_events(gaze_of(path, x), SCREEN)
    saccades = events[events["kind"] == EventKind.SACCADE]
    assert len(saccades) == 6
    assert impossible(saccades).sum() == 0  # over the window of 20 ms the jump of 17 degrees is 850 a second
    x = np.where(path.time_ns > 2.0e9, path.x_px + 900, path.x_px)
    assert impossible(detect_events(gaze_of(path, x), SCREEN)).sum() == 1


def test_R1_duplicate_and_backward_stamps_raise_nothing_and_lose_no_fixation(scanpath):
    path = scanpath(60)
    t = path.time_ns.copy()
    t[70], t[71] = t[69], t[68]
    found = detect_fixations(t, path.x_px, path.y_px, path.screen)
    assert len(found) == 6
    well_formed(found)
    in_order, clock = stamp_order(t)
    assert np.flatnonzero(~in_order).tolist() == [70, 71]
    assert clock.max() == 0


def test_R1_the_case_with_bad_stamps_has_its_five_fixations(cases):
    t, x, y = read_case(cases / "gaze_duplicate_and_backward_stamp.csv")
    assert (np.diff(t) <= 0).any()
    assert len(detect_fixations(t, x, y, SCREEN)) == 5


def test_T11_a_clock_reset_splits_and_no_duration_is_negative(scanpath):
    path = scanpath(60)
    t = path.time_ns + 74_701_000_000
    t[120:] += 34_000_000 - t[120]  # in the middle of the third fixation
    found = detect_fixations(t, path.x_px, path.y_px, path.screen)
    assert len(found) == 7
    assert (np.diff(found, axis=1) >= 60_000_000).all()
    assert (np.diff(found[:, 0]) < 0).sum() == 1  # in the order of the recording
    assert stamp_order(t)[1].tolist() == [0] * 120 + [1] * (len(t) - 120)


def test_T11_a_forward_leap_splits(scanpath):
    path = scanpath(60)
    t = path.time_ns.copy()
    t[130:] += 3_600_000_000_000
    assert len(detect_fixations(t, path.x_px, path.y_px, path.screen)) == 7


def test_G25_gaze_past_the_edge_is_gaze():
    t = np.arange(60, dtype=np.int64) * 33_333_333
    x = np.where(np.arange(60) < 30, -120.0, 1920.0)
    events = fixation_events(t, x, np.full(60, 1080.0), SCREEN)
    assert events["x_px"].tolist() == [-120.0, 1920.0]


def test_G25_the_case_with_exact_edges_raises_nothing(cases):
    found = fixation_events(*read_case(cases / "gaze_off_screen_and_exact_edges.csv"), SCREEN)
    assert len(found) == 6  # the excursion past the edge cuts the first in two
    assert found["x_px"].min() > 300


def test_a_screen_may_be_a_mapping_with_more_keys(scanpath):
    path = scanpath(30)
    mapping = SCREEN.to_mapping() | {"rate_hz": 30.0}
    np.testing.assert_array_equal(
        detect_fixations(*path.columns, mapping), detect_fixations(*path.columns, SCREEN)
    )


@pytest.mark.parametrize("mm", [math.nan, 0.0])
def test_G18_a_screen_without_size_says_so_and_gives_no_angles(scanpath, mm):
    path = scanpath(500, noise_px=0.5)
    unknown = Screen("projector", 1920, 1080, mm, mm, 600.0)
    with pytest.warns(NominalGeometry, match="projector"):
        events = detect_events(gaze_of(path), unknown)
    assert (events["kind"] == EventKind.FIXATION).sum() == 6
    saccades = events[events["kind"] == EventKind.SACCADE]
    assert len(saccades) == 5
    assert np.isnan(saccades["amplitude_deg"]).all()


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="shapes"):
        detect_fixations(np.arange(3), np.zeros(2), np.zeros(3), SCREEN)


def test_places_are_the_means_of_the_raw_samples(scanpath):
    path = scanpath(60, noise_px=6.0)
    for event in fixation_events(*path.columns, path.screen):
        on = (path.time_ns >= event["onset_ns"]) & (path.time_ns <= event["offset_ns"])
        assert event["n_samples"] == on.sum()
        assert event["x_px"] == pytest.approx(path.x_px[on].mean(), abs=1e-3)
        assert event["y_px"] == pytest.approx(path.y_px[on].mean(), abs=1e-3)


def test_the_method_follows_rate_and_noise(scanpath):
    assert uses_ivt(1 / 500, 0.02)
    assert uses_ivt(1 / 120, 0.1)
    assert not uses_ivt(1 / 500, 0.3)  # noisy
    assert not uses_ivt(1 / 60, 0.02)  # coarse
    assert not uses_ivt(math.nan, math.nan)
    samples = usable_samples(*scanpath(250, noise_px=8.0).columns, SCREEN)
    assert samples.noise_deg == pytest.approx(8.0 / SCREEN.px_per_deg(), rel=0.1)
    assert samples.interval_s == pytest.approx(1 / 250)


@pytest.mark.parametrize("rate", [30, 250])
def test_noisy_data_of_any_rate_have_their_six_fixations(scanpath, rate):
    noisy = scanpath(rate, noise_px=0.5 * SCREEN.px_per_deg())
    found = detect_fixations(*noisy.columns, SCREEN)
    assert len(found) == 6
    assert np.abs(np.diff(found, axis=1)[1:-1, 0] / 1e9 - TRUE_S).max() < 0.1


def gaze_of(path, x_px=None):
    rows = empty_gaze(len(path.time_ns))
    rows["time_ns"], rows["y_px"] = path.time_ns, path.y_px
    rows["x_px"] = path.x_px if x_px is None else x_px
    rows["valid"] = np.isfinite(rows["x_px"])
    return rows


def test_E6_gaze_beside_a_blink_is_left_out_by_time_and_stays_stored(scanpath):
    path = scanpath(60)
    rows = gaze_of(path)
    shut = (path.time_ns >= 1.20e9) & (path.time_ns <= 1.35e9)
    rows["blink"] = shut
    beside = (path.time_ns >= 1.12e9) & (path.time_ns <= 1.43e9)
    rows["y_px"][beside] += np.linspace(0, 300, beside.sum())  # the lid drags the gaze down
    stored = rows.copy()
    events = detect_events(rows, SCREEN)
    assert rows.tobytes() == stored.tobytes()
    blinks = events[events["kind"] == EventKind.BLINK]
    assert len(blinks) == 1
    first, last = path.time_ns[shut][[0, -1]]
    assert (blinks["onset_ns"][0], blinks["offset_ns"][0]) == (first, last)
    others = events[events["kind"] != EventKind.BLINK]
    pad = 100_000_000
    assert not ((others["onset_ns"] < last + pad) & (others["offset_ns"] > first - pad)).any()
    fixations = events[events["kind"] == EventKind.FIXATION]
    assert len(fixations) == 7
    assert np.abs(fixations["y_px"][1:3] - 320).max() < 10


def test_losses_are_gaps_unless_the_lids_were_shut(scanpath):
    path = scanpath(60).lost(1.1, 1.35).lost(3.3, 3.5)
    rows = gaze_of(path)
    rows["blink"] = (path.time_ns >= 3.3e9) & (path.time_ns <= 3.5e9)
    events = detect_events(rows, SCREEN)
    gaps = events[events["kind"] == EventKind.GAP]
    assert len(gaps) == 1
    lost = path.time_ns[(path.time_ns >= 1.1e9) & (path.time_ns <= 1.35e9)]
    assert (gaps["onset_ns"][0], gaps["offset_ns"][0]) == (lost[0], lost[-1])


def test_samples_that_never_came_are_a_gap_too(scanpath):
    rows = gaze_of(scanpath(60))
    rows = np.delete(rows, slice(70, 90))
    gaps = [e for e in detect_events(rows, SCREEN) if e["kind"] == EventKind.GAP]
    assert len(gaps) == 1
    assert rows["time_ns"][69] < gaps[0]["onset_ns"] < gaps[0]["offset_ns"] < rows["time_ns"][70]


def test_no_gaze_at_all_gives_no_events():
    assert len(detect_events(empty_gaze(0), SCREEN)) == 0
    rows = empty_gaze(5)
    rows["time_ns"] = np.arange(5) * 33_000_000
    events = detect_events(rows, SCREEN)
    assert [int(k) for k in events["kind"]] == [EventKind.GAP]


def test_saccade_amplitudes_and_landing_places(scanpath):
    path = scanpath(500, noise_px=0.2)
    events = detect_events(gaze_of(path), SCREEN)
    saccades = events[events["kind"] == EventKind.SACCADE]
    true_deg = float(SCREEN.angle_deg(400, 300, 1200, 320))
    assert saccades["amplitude_deg"][0] == pytest.approx(true_deg, rel=0.06)
    assert saccades["x_px"][0] == pytest.approx(1200, abs=15)
    assert 400 < saccades["peak_velocity_deg_s"][0] < 1000
