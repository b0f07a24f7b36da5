from __future__ import annotations

import json

import numpy as np
import pytest
from PyQt6.QtCore import QPointF
from PyQt6.QtGui import QColor, QPalette

from gazelab.core.gaze import GazeView, empty_events, empty_gaze
from gazelab.core.geometry import PatchGrid, Placement
from gazelab.core.picture import Picture
from gazelab.ui.canvas import ChartCanvas, Heat, rgb_image
from gazelab.ui.colours import GAZE_MAP, MODEL_MAP, NEUTRAL_RGB

WHITE = (255, 255, 255)


def picture(width: int, height: int, colour: tuple[int, int, int] = WHITE) -> Picture:
    return Picture.from_rgb(np.full((height, width, 3), colour, np.uint8))


def blob_centre(image: np.ndarray, colour: tuple[int, int, int]) -> tuple[float, float]:
    rows, cols = np.nonzero((np.abs(image.astype(int) - colour) < 30).all(-1))
    return float(cols.mean() + 0.5), float(rows.mean() + 0.5)


@pytest.mark.parametrize("width", range(850, 858))
def test_I8_a_column_stays_straight_at_every_width(width):
    rgb = np.zeros((40, width, 3), np.uint8)
    rgb[:, 421] = WHITE
    image = rgb_image(rgb)
    bright = [[x for x in range(width) if QColor(image.pixel(x, y)).red() > 200] for y in (0, 19, 39)]
    assert bright == [[421]] * 3


def test_U3_one_hot_cell_lands_at_the_top_right(grab):
    canvas = ChartCanvas()
    canvas.resize(700, 300)
    canvas.set_picture(picture(700, 300))
    values = np.zeros((3, 7))
    values[1, 5] = 1.0
    for grid in (None, PatchGrid.stretched(3, 7, 700, 300)):
        canvas.set_heat(Heat(values, grid, MODEL_MAP, smooth=False))
        image = grab(canvas)
        hot = np.nonzero(image[..., 2] < 200)
        assert hot[1].min() == pytest.approx(500, abs=2)
        assert hot[1].max() == pytest.approx(599, abs=2)
        assert hot[0].min() == pytest.approx(100, abs=2)
        assert hot[0].max() == pytest.approx(199, abs=2)


def test_U3_the_chart_itself_is_neither_turned_nor_flipped(grab):
    rgb = np.full((300, 700, 3), 255, np.uint8)
    rgb[20:60, 600:680] = (255, 0, 0)
    canvas = ChartCanvas()
    canvas.resize(700, 300)
    canvas.set_picture(Picture.from_rgb(rgb))
    assert blob_centre(grab(canvas), (255, 0, 0)) == pytest.approx((640, 40), abs=1)


def test_V12_a_weak_blob_shows_beside_a_sink(grab):
    values = np.full((24, 24), 0.01 / 576)
    values[0, 0] = 0.9
    values[11:14, 11:14] += 0.01
    canvas = ChartCanvas()
    canvas.resize(480, 480)
    canvas.set_picture(picture(480, 480))
    canvas.set_heat(Heat(values, None, MODEL_MAP, smooth=False))
    image = grab(canvas)
    assert image[250, 250, 2] < 215


def test_G23_gaze_is_drawn_through_the_rectangle_the_chart_had(grab):
    """A chart that lay letterboxed on a 1920 x 1080 screen, drawn in a canvas of another shape."""
    chart = picture(850, 600)
    placement = Placement.fit(850, 600, (0, 0, 1920, 1080))
    canvas = ChartCanvas()
    canvas.resize(500, 700)
    canvas.set_picture(chart)
    sample = empty_gaze(1)
    sample["x_px"], sample["y_px"] = placement.to_screen(212.5, 450.0)
    sample["valid"] = True
    canvas.set_view(GazeView(0, sample, empty_events(), placement))
    plain = ChartCanvas()
    plain.resize(500, 700)
    plain.set_picture(chart)
    changed = np.nonzero((grab(canvas) != grab(plain)).any(-1))
    shown = canvas.shown()
    assert shown is not None
    expect = shown.to_screen(212.5, 450.0)
    assert changed[1].mean() + 0.5 == pytest.approx(float(expect[0]), abs=1)
    assert changed[0].mean() + 0.5 == pytest.approx(float(expect[1]), abs=1)


def test_lost_samples_and_gaze_off_the_chart_are_not_clamped_onto_it(grab):
    placement = Placement.fit(850, 600, (0, 0, 1920, 1080))
    samples = empty_gaze(3)
    samples["x_px"][1:], samples["y_px"][1:] = (-900, 5000), (500, 500)
    canvas = ChartCanvas()
    canvas.resize(850, 600)
    canvas.set_picture(picture(850, 600))
    before = grab(canvas)
    canvas.set_view(GazeView(0, samples, empty_events(), placement))
    assert (grab(canvas) == before).all()


@pytest.mark.parametrize("scale", [1, 1.25, 1.5, 2])
def test_U1_G5_a_click_and_a_mark_agree_at_every_screen_scale(at_scale, scale):
    told = at_scale(
        scale,
        """
        import json
        import numpy as np
        from PyQt6.QtCore import QPointF
        from PyQt6.QtWidgets import QApplication
        from gazelab.core.picture import Picture
        from gazelab.ui.canvas import ChartCanvas
        app = QApplication([])
        rgb = np.full((300, 400, 3), 255, np.uint8)
        rgb[200:220, 300:320] = (255, 0, 0)
        canvas = ChartCanvas()
        canvas.resize(640, 360)
        canvas.move(0, 0)
        canvas.set_picture(Picture.from_rgb(rgb))
        canvas.show()
        app.processEvents()
        image = canvas.grab().toImage()
        red = [(x + .5, y + .5) for y in range(image.height()) for x in range(image.width())
               if image.pixelColor(x, y).green() < 60]
        device = np.mean(red, 0)
        dpr = canvas.devicePixelRatioF()
        placement = canvas.screen_placement()
        corner = canvas.mapToGlobal(QPointF(0, 0)) * dpr
        print(json.dumps({
            "dpr": dpr, "device": list(device), "size": [image.width(), image.height()],
            "picture": canvas.picture_at(QPointF(*(device / dpr))),
            "placed": [float(v) for v in placement.to_screen(310, 210)],
            "corner": [corner.x(), corner.y()],
        }))
        """,
    )
    out = json.loads(told)
    assert out["dpr"] == scale
    assert out["picture"] == pytest.approx((310, 210), abs=1)
    shown = np.subtract(out["placed"], out["corner"])
    assert out["device"] == pytest.approx(shown.tolist(), abs=1)


def test_U1_layers_are_rebuilt_when_the_size_changes(grab):
    rgb = np.full((300, 400, 3), 255, np.uint8)
    rgb[140:160, 190:210] = (255, 0, 0)
    canvas = ChartCanvas()
    canvas.set_picture(Picture.from_rgb(rgb))
    for size in ((400, 300), (900, 450)):
        canvas.resize(*size)
        assert blob_centre(grab(canvas), (255, 0, 0)) == pytest.approx((size[0] / 2, size[1] / 2), abs=1)


def test_U4_stimulus_pixels_are_the_same_in_every_theme(grab):
    shots = []
    for ground in (QColor(250, 250, 250), QColor(20, 20, 20)):
        canvas = ChartCanvas()
        palette = QPalette(ground)
        canvas.setPalette(palette)
        canvas.resize(600, 300)
        canvas.set_picture(picture(300, 300))
        shots.append(grab(canvas))
    assert (shots[0] == shots[1]).all()
    assert tuple(shots[0][10, 10]) == NEUTRAL_RGB


def test_a_click_outside_the_chart_is_outside_in_picture_px(qtbot):
    canvas = ChartCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(600, 300)
    assert canvas.picture_at(QPointF(5, 5)) is None
    canvas.set_picture(picture(300, 300))
    x, _ = canvas.picture_at(QPointF(100, 100))
    assert x == pytest.approx(-50)


def test_fixation_circles_grow_with_duration_and_are_numbered_in_order(grab):
    placement = Placement.fit(400, 300, (0, 0, 400, 300))
    events = empty_events(2)
    events["x_px"], events["y_px"] = (100, 300), (150, 150)
    events["onset_ns"], events["offset_ns"] = (0, 500_000_000), (100_000_000, 1_500_000_000)
    canvas = ChartCanvas()
    canvas.resize(400, 300)
    canvas.set_picture(picture(400, 300))
    before = grab(canvas)
    canvas.set_view(GazeView(2_000_000_000, empty_gaze(0), events, placement))
    changed = (grab(canvas) != before).any(-1)
    small, large = changed[:, 60:140].sum(), changed[:, 260:340].sum()
    assert small > 50
    assert large > 4 * small
    canvas.show_fixations = False
    assert (grab(canvas) == before).all()


def test_the_gaze_map_is_drawn_smooth_and_in_blue(grab):
    values = np.zeros((30, 40))
    values[15, 20] = 1.0
    canvas = ChartCanvas()
    canvas.resize(400, 300)
    canvas.set_picture(picture(400, 300))
    canvas.set_heat(Heat(values, None, GAZE_MAP))
    image = grab(canvas)
    assert image[155, 205, 2] > image[155, 205, 0] + 30
