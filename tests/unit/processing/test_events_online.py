"""The online detector: the same every time, never late, never growing, and close to the offline one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.core.gaze import EVENT_DTYPE, EventKind
from gazelab.core.geometry import Screen
from gazelab.processing.degrees import NominalGeometry
from gazelab.processing.events import OnlineFixations, detect_fixations

SCREEN = Screen("laptop", 1920, 1080, 527.0, 296.0, 600.0)


def run(columns, screen=SCREEN):
    """All intervals, all events, and for each how long after its end it came."""
    detector = OnlineFixations(screen)
    intervals, events, delays = [], [], []
    now = 0
    for now, x, y in zip(*columns, strict=True):
        got = detector.push(int(now), float(x), float(y))
        intervals += got
        events.append(detector.last_events)
        delays += [int(now) - offset for _, offset in got]
    got = detector.close()
    delays += [int(now) - offset for _, offset in got]
    return intervals + got, np.concatenate([*events, detector.last_events]), delays


def overlap(a, b):
    return (min(a[1], b[1]) - max(a[0], b[0])) / (max(a[1], b[1]) - min(a[0], b[0]))


@pytest.mark.parametrize("rate", [15, 30, 60, 120, 500])
def test_E3_online_finds_the_script_at_every_rate(scanpath, rate):
    path = scanpath(rate)
    found, events, delays = run(path.columns)
    offline = detect_fixations(*path.columns, SCREEN)
    assert len(found) == len(offline) == 6
    assert min(overlap(a, b) for a, b in zip(found, offline, strict=True)) > 0.9
    assert [(e["onset_ns"], e["offset_ns"]) for e in events] == found
    assert max(delays) <= 150_000_000


def test_replaying_gives_exactly_what_live_gave(scanpath):
    path = scanpath(30, noise_px=25.0).lost(1.1, 1.35)
    first, second = run(path.columns), run(path.columns)
    assert first[0] == second[0]
    assert first[1].tobytes() == second[1].tobytes()


def test_a_fixation_given_out_does_not_depend_on_what_comes_later(scanpath):
    path = scanpath(30, noise_px=25.0)
    whole = OnlineFixations(SCREEN)
    sooner = [whole.push(int(t), x, y) for t, x, y in zip(*path.columns, strict=True)]
    part = OnlineFixations(SCREEN)
    assert [part.push(int(t), x, y) for t, x, y in list(zip(*path.columns, strict=True))[:80]] == sooner[:80]


@pytest.mark.parametrize("noise_deg", [0.1, 0.5, 1.0])
def test_delay_stays_below_150_ms_whatever_the_noise(scanpath, noise_deg):
    delays = []
    for seed in range(8):
        delays += run(scanpath(30, noise_px=noise_deg * SCREEN.px_per_deg(), seed=seed).columns)[2]
    assert len(delays) >= 40
    assert np.percentile(delays, 95) <= 150e6


def test_events_carry_place_and_count(scanpath):
    _, events, _ = run(scanpath(60).columns)
    assert events.dtype == EVENT_DTYPE
    assert set(events["kind"]) == {EventKind.FIXATION}
    np.testing.assert_allclose(events["x_px"][:5], [400, 1200, 1000, 500, 960], atol=4)
    np.testing.assert_allclose(events["y_px"][:5], [300, 320, 800, 820, 540], atol=4)
    assert events["n_samples"].min() >= 40


def test_last_events_is_empty_when_nothing_was_given_out(scanpath):
    detector = OnlineFixations(SCREEN)
    assert detector.push(0, 400.0, 300.0) == []
    assert len(detector.last_events) == 0
    assert detector.close() == []


def test_E1_closing_gives_the_fixation_that_is_still_open(scanpath):
    path = scanpath(30)
    found, _, _ = run(path.columns)
    assert found[-1][1] == path.time_ns[-1]


def test_E2_nothing_but_loss_gives_nothing():
    t = np.arange(100) * 33_333_333
    assert run((t, np.full(100, np.nan), np.full(100, np.nan)))[0] == []
    assert run((t, np.zeros(100), np.zeros(100)))[0] == []
    assert OnlineFixations(SCREEN).close() == []


def test_E2_a_long_loss_ends_a_fixation_soon_and_none_spans_it(scanpath):
    path = scanpath(30).lost(1.1, 1.6)
    found, _, delays = run(path.columns)
    assert not [f for f in found if f[0] < 1.1e9 and f[1] > 1.5e9]
    before = next(i for i, f in enumerate(found) if 1.0e9 < f[1] < 1.1e9)
    assert delays[before] <= 150_000_000


def test_E2_a_short_loss_is_bridged(scanpath):
    assert len(run(scanpath(30).lost(1.1, 1.15).columns)[0]) == 6


def test_E8_a_spike_neither_splits_nor_moves_a_fixation(scanpath):
    path = scanpath(30)
    x = path.x_px.copy()
    x[40] += 2000
    clean, spiked = run(path.columns), run((path.time_ns, x, path.y_px))
    assert len(spiked[0]) == len(clean[0]) == 6
    np.testing.assert_allclose(spiked[1]["x_px"], clean[1]["x_px"], atol=2)


def test_R1_bad_stamps_are_passed_over(scanpath):
    path = scanpath(60)
    t = path.time_ns.copy()
    t[70], t[71] = t[69], t[68]
    assert len(run((t, path.x_px, path.y_px))[0]) == 6


def test_T11_a_clock_reset_starts_a_new_segment(scanpath):
    path = scanpath(60)
    t = path.time_ns + 74_701_000_000
    t[120:] += 34_000_000 - t[120]
    found, _, _ = run((t, path.x_px, path.y_px))
    assert len(found) == 7
    assert all(offset > onset for onset, offset in found)


def test_memory_does_not_grow_while_the_eye_stares():
    rng = np.random.default_rng(1)
    detector = OnlineFixations(SCREEN)
    for i in range(5000):
        detector.push(i * 16_666_667, 900 + rng.normal(0, 4), 500 + rng.normal(0, 4))
        assert len(detector._window) < 20
    found = detector.close()
    assert len(found) == 1
    assert found[0][0] == 0
    assert detector.last_events["n_samples"][0] == 5000


def test_a_screen_without_size_is_said_so_once(scanpath):
    with pytest.warns(NominalGeometry) as caught:
        found, _, _ = run(scanpath(30).columns, Screen("unknown", 1920, 1080))
    assert len(caught) == 1
    assert len(found) == 6


@given(
    st.lists(
        st.tuples(st.integers(-5, 120), st.floats(-200, 2200), st.floats(-200, 1300), st.booleans()),
        max_size=80,
    )
)
@settings(max_examples=60)
def test_E5_events_are_sorted_apart_and_long_enough_on_any_path(rows):
    t = np.cumsum([ms * 1_000_000 for ms, *_ in rows], dtype=np.int64)
    x = np.array([np.nan if gone else x for _, x, _, gone in rows])
    found, _, _ = run((t, x, np.array([y for _, _, y, _ in rows])))
    for onset, offset in found:
        assert offset - onset >= 60_000_000
    for (_, offset), (onset, _) in itertools.pairwise(found):
        assert onset > offset


@pytest.mark.parametrize(("rate", "most_ms"), [(30, 150), (60, 100), (120, 100), (500, 100), (1000, 100)])
@pytest.mark.parametrize("noise_deg", [0.05, 0.5])
def test_every_fixation_is_out_in_time_at_every_rate(scanpath, rate, most_ms, noise_deg):
    delays = []
    for seed in range(4):
        delays += run(scanpath(rate, noise_px=noise_deg * SCREEN.px_per_deg(), seed=seed).columns)[2]
    assert len(delays) >= 20
    assert max(delays) <= most_ms * 1_000_000 + 1  # stamps are rounded


def test_E6_a_blink_blanks_what_is_not_given_out_and_what_follows(scanpath):
    path = scanpath(60, noise_px=1.0)
    shut = (path.time_ns >= 1.2e9) & (path.time_ns < 1.3e9)
    edge = (path.time_ns >= 1.1e9) & (path.time_ns < 1.4e9)
    y = np.where(edge, path.y_px + 80, path.y_px)  # the lid drags the gaze down
    detector = OnlineFixations(SCREEN)
    found = []
    for now, x_now, y_now, blink in zip(path.time_ns.tolist(), path.x_px, y, shut.tolist(), strict=True):
        found += detector.push(now, float(x_now), float(y_now), blink)
        assert all(abs(e["y_px"] - 320) < 3 for e in detector.last_events if 0.9e9 < e["onset_ns"] < 1.5e9)
    found += detector.close()
    assert len(found) == 7
    first_shut, last_shut = path.time_ns[shut][[0, -1]]
    for onset, offset in found:
        assert offset < first_shut - 100_000_000 or onset > last_shut + 100_000_000


def test_E6_a_fixation_as_short_as_the_padding_is_taken_back_whole():
    detector = OnlineFixations(SCREEN)
    x = [400.0] * 20 + [1200.0] * 3
    got = [event for k, now in enumerate(x) for event in detector.push(k * 33_333_333, now, 500.0)]
    got += detector.push(23 * 33_333_333, np.nan, np.nan, blink=True)
    assert len(got) == 1
    assert detector.close() == []
