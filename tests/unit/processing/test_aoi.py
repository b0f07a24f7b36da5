import numpy as np
import pytest

from gazelab.processing.aoi import Aoi, Dwell, assign, dwells

CHART = Aoi("chart", 0, 0, 100, 50)
BAR = Aoi("bar", 10, 10, 20, 40)
AREAS = [CHART, BAR]
MS = 1_000_000


def test_the_smallest_area_wins_and_outside_is_minus_one():
    assert assign([15, 50, 100, np.nan, -1], [15, 20, 20, 5, 5], AREAS).tolist() == [1, 0, -1, -1, -1]
    assert assign([15], [15], AREAS[::-1]).tolist() == [0]
    assert assign([15], [15], []).tolist() == [-1]


def test_G25_edges_are_half_open():
    assert BAR.contains([10, 20, 19.999, 10], [10, 10, 39.999, 40]).tolist() == [True, False, True, False]


def test_padding_widens_every_side():
    assert BAR.padded(2.5) == Aoi("bar", 7.5, 7.5, 22.5, 42.5)


def test_an_empty_area_is_refused():
    with pytest.raises(ValueError, match="bar"):
        Aoi("bar", 5, 5, 5, 9)


def test_dwell_time_entries_and_first_look():
    onset = np.array([0, 200, 400, 600, 900]) * MS
    offset = onset + 100 * MS
    x, y = [50, 15, 16, 70, 15], [20, 20, 30, 20, 12]
    chart, bar = dwells(onset, offset, x, y, AREAS)
    assert chart == Dwell("chart", 2, 2, 200 * MS, 0)
    assert bar == Dwell("bar", 3, 2, 300 * MS, 200 * MS)


def test_an_area_never_looked_at():
    assert dwells([], [], [], [], [BAR]) == [Dwell("bar", 0, 0, 0, None)]
    assert dwells([0], [9], [500], [500], [BAR])[0].first_ns is None
