from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtWidgets import QApplication

from gazelab.core.gaze import EventKind, empty_events, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.ui import theme
from gazelab.ui.colours import contrast
from gazelab.ui.gaze_plot import GazePlot, gaze_axes
from gazelab.ui.theme import Theme

SCREEN = Screen("s", 1920, 1080, 345.0, 194.0, 600.0)
MS = 1_000_000


def samples():
    """Ten samples 100 ms apart: the centre, then up and right of it, one lost."""
    rows = empty_gaze(10)
    rows["time_ns"] = 5_000 * MS + np.arange(10) * 100 * MS
    rows["x_px"], rows["y_px"], rows["valid"] = 960, 540, True
    rows["x_px"][5:], rows["y_px"][5:] = 1100, 400
    rows["x_px"][3], rows["y_px"][3], rows["valid"][3] = np.nan, np.nan, False
    return rows


def test_G21_the_centre_is_zero_and_up_is_positive():
    x, y = gaze_axes(samples(), SCREEN)
    assert (x[0], y[0]) == (0, 0)
    assert x[9] == pytest.approx(float(SCREEN.to_deg(1100, 540)[0]))
    assert y[9] > 0


def test_lost_gaze_is_a_gap_and_never_a_line_to_zero():
    x, y = gaze_axes(samples(), SCREEN)
    assert np.isnan(x).tolist() == [False] * 3 + [True] + [False] * 6
    assert np.isnan(y[3])


def test_G18_without_millimetres_the_axes_are_px():
    x, y = gaze_axes(samples(), Screen("s", 1920, 1080))
    assert (x[9], y[9]) == (140, 140)


def test_it_shows_the_trial_from_its_onset_and_moves_its_line(qtbot):
    plot = GazePlot()
    qtbot.addWidget(plot)
    events = empty_events(1)
    events["kind"], events["onset_ns"], events["offset_ns"] = EventKind.FIXATION, 0, 250 * MS
    plot.set_trial(samples(), events, 5_000 * MS, 1_000 * MS, SCREEN)
    times, _ = plot._x.getOriginalDataset()
    assert times[0] == 0
    assert times[-1] == pytest.approx(0.9)
    assert [span.getRegion() for span in plot._spans] == [(0.0, 0.25)]
    plot.set_now(400 * MS)
    assert plot.now_s == pytest.approx(0.4)
    plot.set_trial(samples(), events[:0], 5_000 * MS, 1_000 * MS, SCREEN)
    assert plot._spans == []
    assert plot.now_s == 0


def test_a_click_tells_the_moment(qtbot):
    from PyQt6.QtCore import QPointF, Qt

    plot = GazePlot()
    qtbot.addWidget(plot)
    plot.resize(600, 128)
    with qtbot.waitExposed(plot):
        plot.show()
    plot.set_trial(samples(), empty_events(), 5_000 * MS, 1_000 * MS, SCREEN)
    told: list[int] = []
    plot.moved.connect(told.append)
    at = plot.mapFromScene(plot.getPlotItem().vb.mapViewToScene(QPointF(0.5, 0)))
    qtbot.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert told == [pytest.approx(500 * MS, abs=5 * MS)]


def test_U4_the_plot_follows_a_change_of_theme(qtbot, grab):
    app = QApplication.instance()
    theme.apply(app, Theme.LIGHT)
    plot = GazePlot()
    light = grab(plot)
    try:
        theme.apply(app, Theme.DARK)
        dark = grab(plot)
    finally:
        theme.apply(app, Theme.LIGHT)
    assert light.mean() > 200
    assert dark.mean() < 80


def _places(image):
    """Give the columns of a place without and one with a fixation."""
    return image.shape[1] // 4, 4 * image.shape[1] // 5


@pytest.mark.parametrize("chosen", [Theme.LIGHT, Theme.DARK])
def test_U4_the_traces_stand_out_from_the_ground_and_from_a_fixation(qtbot, grab, chosen):
    """Three to one, as WCAG 2.2 asks of graphics (1.4.11)."""
    app = QApplication.instance()
    theme.apply(app, chosen)
    try:
        plot = GazePlot()
        qtbot.addWidget(plot)
        one = empty_events(1)
        one["kind"], one["onset_ns"], one["offset_ns"] = EventKind.FIXATION, 600 * MS, 900 * MS
        plot.set_trial(samples(), one, 5_000 * MS, 1_000 * MS, SCREEN)
        image = grab(plot)
        grounds = {tuple(int(v) for v in image[image.shape[0] // 2, x]) for x in _places(image)}
        assert len(grounds) == 2
        traces = [trace.opts["pen"].color().getRgb()[:3] for trace in (plot._x, plot._y)]
        assert all(contrast(ground, trace) >= 3 for ground in grounds for trace in traces)
    finally:
        theme.apply(app, Theme.LIGHT)
