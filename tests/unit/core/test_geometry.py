"""Conversions between screen px, degrees, picture px and patches."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gazelab.core.errors import ConfigError
from gazelab.core.geometry import PatchGrid, Placement, Screen

DESK = Screen("desk", 1920, 1080, 530.0, 298.0, 600.0, "card")


@st.composite
def screens(draw: st.DrawFn) -> Screen:
    """Draw a screen of square pixels and plausible size."""
    width_px, height_px = draw(st.integers(640, 7680)), draw(st.integers(480, 4320))
    width_mm = draw(st.floats(150, 1500))
    distance = draw(st.floats(200, 1500))
    return Screen("s", width_px, height_px, width_mm, width_mm * height_px / width_px, distance, "user")


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Fit a picture into an area of a screen."""
    picture = draw(st.integers(1, 4000)), draw(st.integers(1, 4000))
    left, top = draw(st.floats(-500, 2000)), draw(st.floats(-500, 2000))
    return Placement.fit(*picture, (left, top, draw(st.floats(50, 4000)), draw(st.floats(50, 4000))))


# degrees


def test_G13_one_degree_at_60_cm_is_38_px() -> None:
    screen = Screen("s", 1920, 1080, 530.0, 298.0, 600.0)
    assert screen.angle_deg(960, 540, 960 + 37.9, 540) == pytest.approx(1.0, abs=0.02)
    assert screen.px_per_deg() == pytest.approx(37.9, abs=0.1)


@pytest.mark.parametrize(
    ("width_mm", "height_mm", "distance_mm", "words"),
    [
        (53.0, 29.8, 600.0, "width_mm = 53 is outside 100 to 3000 mm"),
        (530.0, 298.0, 60.0, "distance_mm = 60 is outside 200 to 1500 mm"),
        (530.0, 298.0, 6000.0, "distance_mm = 6000"),
        (298.0, 530.0, 600.0, "298 x 530 mm does not fit 1920 x 1080 px"),
        (530.0, 0.0, 600.0, "530 x 0 mm does not fit"),
        (0.0, 0.0, 600.0, "width_mm = 0"),
    ],
)
def test_G13_sizes_in_another_unit_are_refused(
    width_mm: float, height_mm: float, distance_mm: float, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        Screen("s", 1920, 1080, width_mm, height_mm, distance_mm).check_plausible()


def test_G13_a_desk_screen_is_plausible() -> None:
    DESK.check_plausible()
    Screen("unknown", 1920, 1080).check_plausible()


@pytest.mark.parametrize(("width", "height"), [(0.0, 0.0), (math.nan, math.nan), (530.0, 0.0)])
def test_G18_an_unknown_size_means_no_degrees(width: float, height: float) -> None:
    screen = Screen("projector", 1024, 768, width, height, 600.0)
    assert not screen.has_degrees
    assert DESK.has_degrees
    if math.isnan(width):
        assert np.isnan(screen.to_deg(10.0, 10.0)).all()
        assert math.isnan(screen.px_per_deg())


def test_G18_a_turned_monitor_whose_mm_were_not_turned_is_refused(cases: Path) -> None:
    listed = json.loads((cases / "screens.json").read_text(encoding="utf-8"))
    turned = next(s for s in listed if s["name"] == "rotated_90_mm_not_swapped")
    width, height = turned["geometry"][2:]
    with pytest.raises(ConfigError, match="does not fit"):
        Screen("s", width, height, *turned["mm"], 600.0).check_plausible()
    Screen("s", width, height, *turned["mm"][::-1], 600.0).check_plausible()


def test_G21_the_centre_is_0_0_and_the_corners_are_symmetric() -> None:
    assert np.allclose(DESK.to_deg(960, 540), (0, 0))
    x, y = DESK.to_deg([0, 1920, 0, 1920], [0, 0, 1080, 1080])
    h, v = math.degrees(math.atan(265 / 600)), math.degrees(math.atan(149 / 600))
    assert np.allclose(x, [-h, h, -h, h])
    assert np.allclose(y, [v, v, -v, -v])  # up is positive


def test_G21_an_eye_5_cm_off_the_axis_sees_by_theory() -> None:
    straight = DESK.directions(960, 540)
    right = DESK.directions(960, 540, eye_offset_mm=(50.0, 0.0))
    assert np.allclose(straight, [0, 0, 1])
    assert math.degrees(math.acos(float(straight @ right))) == pytest.approx(
        math.degrees(math.atan(50 / 600))
    )
    assert right[0] < 0  # the centre lies to the left of an eye that moved right


@given(screens(), st.floats(-2, 3), st.floats(-2, 3))
def test_degrees_and_px_are_inverse(screen: Screen, u: float, v: float) -> None:
    x, y = u * screen.width_px, v * screen.height_px
    back = screen.to_px(*screen.to_deg(x, y))
    assert np.allclose(back, (x, y), rtol=0, atol=1e-4)


@given(screens(), st.tuples(*[st.floats(0, 1)] * 4))
def test_the_angle_between_points_is_the_one_at_the_eye(
    screen: Screen, p: tuple[float, float, float, float]
) -> None:
    w, h = screen.width_px, screen.height_px
    a = float(screen.angle_deg(p[0] * w, p[1] * h, p[2] * w, p[3] * h))
    assert a == pytest.approx(float(screen.angle_deg(p[2] * w, p[3] * h, p[0] * w, p[1] * h)))
    one, two = (
        [(u - 0.5) * screen.width_mm, (v - 0.5) * screen.height_mm, screen.distance_mm]
        for u, v in (p[:2], p[2:])
    )
    cosine = sum(a * b for a, b in zip(one, two, strict=True)) / math.hypot(*one) / math.hypot(*two)
    assert math.cos(math.radians(a)) == pytest.approx(cosine, abs=1e-12)


@given(screens(), st.floats(0, 1), st.floats(0, 1))
def test_along_an_axis_the_angle_is_the_difference_of_the_degrees(screen: Screen, u: float, v: float) -> None:
    x, y = screen.width_px * np.array([u, v]), screen.height_px / 2
    first, second = screen.to_deg(x, y)[0]
    assert float(screen.angle_deg(x[0], y, x[1], y)) == pytest.approx(abs(first - second), abs=1e-9)


@given(screens(), st.sampled_from([1.25, 1.5, 2.0, 3.0]), st.floats(0, 1), st.floats(0, 1))
def test_G5_degrees_do_not_depend_on_the_pixel_density(
    screen: Screen, factor: float, u: float, v: float
) -> None:
    fine = Screen.from_mapping(
        {
            **screen.to_mapping(),
            "width_px": round(screen.width_px * factor),
            "height_px": round(screen.height_px * factor),
        }
    )
    coarse_deg = screen.to_deg(u * screen.width_px, v * screen.height_px)
    fine_deg = fine.to_deg(u * fine.width_px, v * fine.height_px)
    assert np.allclose(coarse_deg, fine_deg, atol=1e-9)


@given(placements(), st.sampled_from([1.25, 1.5, 2.0]), st.floats(0, 1), st.floats(0, 1))
def test_G5_a_chart_shown_at_another_scale_is_looked_at_in_the_same_place(
    at: Placement, factor: float, u: float, v: float
) -> None:
    scaled = Placement(
        at.left_px * factor,
        at.top_px * factor,
        at.width_px * factor,
        at.height_px * factor,
        at.picture_width_px,
        at.picture_height_px,
    )
    x, y = at.to_screen(u * at.picture_width_px, v * at.picture_height_px)
    assert np.allclose(at.to_picture(x, y), scaled.to_picture(x * factor, y * factor), atol=1e-6)


# screens as mappings


def test_a_screen_survives_json() -> None:
    assert Screen.from_mapping(json.loads(json.dumps(DESK.to_mapping()))) == DESK
    half = Screen("s", 800, 600)
    again = Screen.from_mapping(json.loads(json.dumps(half.to_mapping(), allow_nan=False)))
    assert math.isnan(again.width_mm)
    assert (again.name, again.width_px, again.size_source) == ("s", 800, "unknown")


@pytest.mark.parametrize(
    "bad", [{}, {"width_px": 10}, {"width_px": "wide", "height_px": 3}, {"width_px": None}]
)
def test_a_screen_needs_its_px(bad: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="needs width_px and height_px"):
        Screen.from_mapping(bad)


def test_a_screen_without_area_is_refused() -> None:
    with pytest.raises(ConfigError, match="0 x 600 px cannot be"):
        Screen.from_mapping({"width_px": 0, "height_px": 600})


# edges


def test_G25_the_far_edges_are_off_and_gaze_is_never_clamped() -> None:
    x = [0.0, -0.001, 1919.999, 1920.0, -120.0, math.nan]
    assert DESK.contains(x, [0.0] * 6).tolist() == [True, False, True, False, False, False]
    assert DESK.contains([5.0, 5.0, 5.0], [1079.999, 1080.0, -1.0]).tolist() == [True, False, False]
    assert float(DESK.to_deg(-120.0, 540)[0]) < float(DESK.to_deg(0.0, 540)[0])


def test_G25_the_rows_of_the_file(cases: Path) -> None:
    with (cases / "gaze_off_screen_and_exact_edges.csv").open(encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    on = DESK.contains([float(r["x_px"]) for r in rows], [float(r["y_px"]) for r in rows])
    assert on[10:15].tolist() == [False, False, True, False, True]
    assert on.sum() == len(rows) - 3


# the chart on the screen


@given(placements())
def test_G23_the_corners_go_to_the_screen_and_back(at: Placement) -> None:
    w, h = at.picture_width_px, at.picture_height_px
    x, y = at.to_screen([0, w, 0, w], [0, 0, h, h])
    assert np.allclose(x, [at.left_px, at.left_px + at.width_px] * 2)
    assert np.allclose(y, np.repeat([at.top_px, at.top_px + at.height_px], 2))
    back = at.to_picture(x, y)
    assert np.allclose(back, ([0, w, 0, w], [0, 0, h, h]), atol=0.01)


@given(placements())
def test_G23_the_shape_is_kept_and_the_chart_is_centred(at: Placement) -> None:
    assert at.width_px / at.picture_width_px == pytest.approx(at.height_px / at.picture_height_px)


def test_G23_gaze_in_the_bars_is_outside_and_not_clamped() -> None:
    at = Placement.fit(850, 600, (0, 0, 1920, 1080))
    assert (at.left_px, at.top_px) == pytest.approx((195, 0))
    assert (at.width_px, at.height_px) == pytest.approx((1530, 1080))
    assert at.contains([194.9, 195.1, 1724.9, 1725.1], [540] * 4).tolist() == [False, True, True, False]
    assert float(at.to_picture(100.0, 540.0)[0]) == pytest.approx(-95 / 1.8)
    assert not at.contains(math.nan, 540.0)


def test_G23_a_moved_window_moves_the_gaze_on_the_chart() -> None:
    before = Placement.fit(850, 600, (0, 0, 1920, 1080))
    after = Placement.fit(850, 600, (0, 80, 1920, 1000))
    assert not np.allclose(before.to_picture(500, 500), after.to_picture(500, 500), atol=1)


# patches


@st.composite
def grids(draw: st.DrawFn) -> PatchGrid:
    """Draw a grid whose outer patches may lie in the padding, or that leaves part of the picture out."""
    width, height = draw(st.integers(2, 60)), draw(st.integers(2, 60))

    def edges(length: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        steps = np.array(draw(st.lists(st.floats(0.5, 30), min_size=1, max_size=6)))
        start = draw(st.floats(-30, length - 1))
        return start + np.concatenate([[0.0], np.cumsum(steps)])

    return PatchGrid(edges(width), edges(height), width, height)


@given(grids(), st.data())
def test_painting_keeps_the_mass_that_lies_on_the_picture(grid: PatchGrid, data: st.DataObject) -> None:
    values = data.draw(arrays(float, (grid.rows, grid.cols), elements=st.floats(0, 1)))
    rows, cols = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 70))
    painted = grid.paint(values, rows, cols)
    assert painted.shape == (rows, cols)
    assert (painted >= 0).all()
    assert painted.sum() == pytest.approx((values * grid.inside()).sum(), abs=1e-9)


def test_one_hot_patch_fills_its_own_rectangle() -> None:
    grid = PatchGrid.stretched(3, 7, 70, 30)
    hot = np.zeros((3, 7))
    hot[1, 5] = 1.0
    painted = grid.paint(hot, 30, 70)
    expected = np.zeros((30, 70))
    expected[10:20, 50:60] = 1 / 100
    assert np.allclose(painted, expected)


def test_patches_that_split_px_share_them_by_area() -> None:
    grid = PatchGrid(np.array([0.0, 1.5, 3.0]), np.array([0.0, 1.0]), 3, 1)
    assert np.allclose(grid.paint([[3.0, 0.0]], 1, 3), [[2.0, 1.0, 0.0]])


def test_padding_of_a_letterboxed_model_holds_none_of_the_chart() -> None:
    wide = PatchGrid(np.linspace(0, 100, 5), np.linspace(-35, 65, 5), 100, 30)  # 100 x 30 padded to a square
    assert np.allclose(wide.inside()[:, 0], [0, 15 / 25, 15 / 25, 0])
    painted = wide.paint(np.full((4, 4), 1 / 16), 30, 100)
    assert painted.sum() == pytest.approx(0.3)
    assert np.ptp(painted) == pytest.approx(0, abs=1e-12)


@given(grids(), st.floats(-40, 100), st.floats(-40, 100))
def test_the_patch_of_a_point_contains_it(grid: PatchGrid, x: float, y: float) -> None:
    row, col = (int(v) for v in grid.locate(x, y))
    if col >= 0:
        assert grid.x_edges_px[col] <= x < grid.x_edges_px[col + 1]
    else:
        assert x < grid.x_edges_px[0] or x >= grid.x_edges_px[-1]
    if row >= 0:
        assert grid.y_edges_px[row] <= y < grid.y_edges_px[row + 1]


def test_a_lost_point_has_no_patch() -> None:
    row, col = PatchGrid.stretched(2, 2, 10, 10).locate([math.nan, 1.0], [1.0, math.nan])
    assert (row.tolist(), col.tolist()) == ([0, -1], [-1, 0])


def test_a_map_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\) on a grid of 3 x 2"):
        PatchGrid.stretched(3, 2, 6, 6).paint(np.zeros((2, 3)), 6, 6)


@given(grids(), st.integers(1, 40), st.integers(1, 40))
def test_painting_agrees_with_counting_small_cells(grid: PatchGrid, rows: int, cols: int) -> None:
    """An even map painted on a raster equals the covered area of each raster cell."""
    areas = np.outer(np.diff(grid.y_edges_px), np.diff(grid.x_edges_px))
    assume(areas.max() < 1e4)
    painted = grid.paint(areas, rows, cols)
    fine = 8
    x = (np.arange(cols * fine) + 0.5) * grid.picture_width_px / (cols * fine)
    y = (np.arange(rows * fine) + 0.5) * grid.picture_height_px / (rows * fine)
    covered = np.outer(grid.locate(0 * y, y)[0] >= 0, grid.locate(x, 0 * x)[1] >= 0)
    counted = covered.reshape(rows, fine, cols, fine).mean(axis=(1, 3))
    cell = grid.picture_width_px / cols * grid.picture_height_px / rows
    assert np.allclose(painted / cell, counted, atol=4 / fine)
