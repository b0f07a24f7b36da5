import numpy as np
import pytest

from gazelab.core.gaze import EventKind, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.processing.blinks import blink_events, blink_mask, gap_events
from gazelab.processing.degrees import NominalGeometry, screen_in_degrees

MS = 1_000_000


@pytest.mark.parametrize("step_ms", [8, 33])
def test_E6_the_padding_is_time_not_samples(step_ms):
    t = np.arange(0, 1000, step_ms) * MS
    shut = (t >= 400 * MS) & (t <= 550 * MS)
    first, last = t[shut][[0, -1]]
    expect = (t >= first - 100 * MS) & (t <= last + 100 * MS)
    assert blink_mask(t, shut).tolist() == expect.tolist()
    assert blink_mask(t, shut, pad_s=0.0).tolist() == shut.tolist()


def test_E6_no_blink_no_mask():
    assert not blink_mask(np.arange(5), np.zeros(5, bool)).any()
    assert blink_mask([], []).tolist() == []


def gaze(step_ms=20, n=40):
    rows = empty_gaze(n)
    rows["time_ns"] = np.arange(n) * step_ms * MS
    rows["x_px"] = rows["y_px"] = 5.0
    rows["valid"] = True
    return rows


def test_two_blinks_are_two_events():
    rows = gaze()
    rows["blink"][5:9] = rows["blink"][30] = True
    found = blink_events(rows)
    assert found["kind"].tolist() == [EventKind.BLINK] * 2
    assert found["onset_ns"].tolist() == [100 * MS, 600 * MS]
    assert found["offset_ns"].tolist() == [160 * MS, 600 * MS]
    assert found["n_samples"].tolist() == [4, 1]
    assert np.isnan(found["x_px"]).all()


def test_gaps_at_both_ends_and_in_the_middle():
    rows = gaze()
    rows["valid"][:6] = rows["valid"][15:21] = rows["valid"][34:] = False
    rows["valid"][28] = False  # 20 ms: bridged
    found = gap_events(rows)
    assert found["onset_ns"].tolist() == [0, 300 * MS, 680 * MS]
    assert found["offset_ns"].tolist() == [100 * MS, 400 * MS, 780 * MS]
    assert found["n_samples"].tolist() == [6, 6, 6]


def test_nan_counts_as_lost_even_if_marked_valid():
    rows = gaze()
    rows["x_px"][10:20] = np.nan
    assert len(gap_events(rows)) == 1


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_samples_have_no_gap(n):
    assert len(gap_events(gaze(n=n))) == 0


def test_a_measured_screen_stays_as_it_is():
    known = Screen("s", 1920, 1080, 344.0, 193.5, 600.0)
    assert screen_in_degrees(known) is known


def test_G18_an_unknown_size_is_assumed_and_said():
    with pytest.warns(NominalGeometry, match="32 degrees"):
        used = screen_in_degrees({"width_px": 1000, "height_px": 500})
    x, _ = used.to_deg([0.0, 1000.0], [0.0, 500.0])
    assert x.tolist() == pytest.approx([-16, 16])
    assert used.height_mm == pytest.approx(used.width_mm / 2)
    assert used.size_source == "nominal"
