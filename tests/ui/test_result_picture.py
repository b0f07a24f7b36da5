from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PyQt6.QtCore import QRectF

from gazelab.calibration.overview import Overview, ShownTarget
from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.profile import Profile, load_profile, save_profile
from gazelab.calibration.validation import TargetValidation, Validation
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen
from gazelab.pipeline.calibrate import binding_of
from gazelab.pipeline.synthetic_session import SyntheticSubject
from gazelab.ui.colours import contrast, lightness
from gazelab.ui.error_scale import CLASS_RGB, LIMITS_DEG, class_of, scale_names
from gazelab.ui.result_picture import Layout
from gazelab.ui.result_png import PICTURE_NAME, save_picture
from gazelab.ui.result_table import NO_DATA, ResultTable, table_head, table_rows
from gazelab.ui.result_view import ResultView
from gazelab.ui.theme import Theme, apply

NAN = float("nan")
SCREEN = Screen("s", 900, 600, 300, 200, 600)


def validation(*targets: TargetValidation, deg: bool = True) -> Validation:
    known = [t for t in targets if np.isfinite(t.accuracy_px)]

    def mean(name):
        return float(np.mean([getattr(t, name) for t in known])) if known else NAN

    names = ("accuracy_px", "accuracy_deg", "rms_s2s_px", "rms_s2s_deg", "sd_px", "sd_deg")
    return Validation(
        tuple(targets), len(known), **{k: mean(k) for k in names}, data_loss=0.25, rate_hz=29.97,
        slope_x=1.0, slope_y=1.0, edge_accuracy_px=NAN, edge_accuracy_deg=NAN, chance_px=300.0,
        screen_width_px=900,
    )  # fmt: skip


SEEN = TargetValidation(0, 450, 300, 480.0, 300.0, 30.0, 0.95, 5.0, 0.16, 8.0, 0.25, 0.1, 22)
LOST = TargetValidation(1, 800, 500)


def test_G10_no_data_is_a_dash_in_the_table_and_never_0():
    rows = table_rows(validation(SEEN, LOST))
    assert rows[0] == ["V1", "0.95° · 30 px", "0.16° · 5 px", "0.25° · 8 px", "10%", "22"]
    assert rows[1] == ["V2", *[NO_DATA] * 5]
    assert rows[2] == ["Overall", "0.95° · 30 px", "0.16° · 5 px", "0.25° · 8 px", "25%", "22, 30 Hz"]
    nothing = table_rows(replace(validation(LOST), data_loss=NAN, rate_hz=NAN))
    assert nothing[-1] == ["Overall", *[NO_DATA] * 5]


def test_without_a_screen_size_the_table_has_px_alone():
    seen = replace(SEEN, accuracy_deg=NAN, rms_s2s_deg=NAN, sd_deg=NAN)
    assert table_rows(validation(seen))[0][1:4] == ["30 px", "5 px", "8 px"]


def test_the_table_shows_what_there_is_and_hides_without_a_validation(qtbot):
    table = ResultTable()
    qtbot.addWidget(table)
    table.set_validation(validation(SEEN, LOST))
    assert table.texts() == table_rows(validation(SEEN, LOST))
    assert len(table_head()) == len(table.texts()[0])
    assert not table.isHidden()
    table.set_validation(None)
    assert table.isHidden()


def test_the_scale_goes_from_light_to_dark_and_says_its_numbers():
    """Order by lightness survives every colour blindness; each step can be told from the next."""
    steps = np.diff([lightness(rgb) for rgb in CLASS_RGB])
    assert (steps < -0.07).all()
    assert [class_of(v) for v in (0.0, 0.94, 0.96, 2.5, 3.9, 4.0, 90.0)] == [0, 0, 1, 2, 3, 4, 4]
    assert scale_names(SCREEN) == ["0–1°", "1–2°", "2–3°", "3–4°", "over 4°"]
    assert len(scale_names(SCREEN)) == len(CLASS_RGB) == len(LIMITS_DEG) + 1
    assert scale_names(Screen("u", 1000, 1000)) == [
        "0–25 px",
        "25–50 px",
        "50–75 px",
        "75–100 px",
        "over 100 px",
    ]


def test_U4_the_scales_words_are_read_on_their_colours():
    inks = [(24, 28, 34)] * (len(CLASS_RGB) - 1) + [(255, 255, 255)]
    assert all(contrast(ink, rgb) >= 4.5 for ink, rgb in zip(inks, CLASS_RGB, strict=True))


@pytest.mark.parametrize("area", [(0, 0, 600, 400), (10, 20, 300, 900), (0, 0, 1500, 200)])
def test_the_screen_keeps_its_shape_and_the_legend_lies_below_it(area):
    layout = Layout.of(SCREEN, QRectF(*area))
    s = layout.screen
    assert s.width_px / s.height_px == pytest.approx(1.5)
    assert layout.legend.top() >= s.top_px + s.height_px
    assert layout.legend.bottom() <= area[1] + area[3] + 1
    assert s.left_px >= area[0]


def overview(**changes) -> Overview:
    targets = (ShownTarget(0, 27, 18, 60.0, 1.9), ShownTarget(1, 873, 18), ShownTarget(2, 27, 582, redo=True))
    return replace(Overview(SCREEN, targets, validation(SEEN, LOST)), **changes)


def test_a_left_out_target_has_a_ring_as_wide_as_its_error(grab):
    view = ResultView()
    view.resize(904, 604 + 58)
    view.show_overview(overview())
    with_ring = grab(view).astype(int)
    without = replace(overview().targets[0], left_out_px=NAN, left_out_deg=NAN)
    view.show_overview(overview(targets=(without, *overview().targets[1:])))
    changed = np.abs(with_ring - grab(view)).max(-1) > 60
    at = view.place(overview().targets[0])
    ys, xs = np.nonzero(changed[: int(at.y()) + 80, : int(at.x()) + 80])
    distance = np.hypot(xs + 0.5 - at.x(), ys + 0.5 - at.y())
    assert (np.abs(distance - 60) < 2).sum() > 30


def test_U4_the_picture_is_the_same_in_both_themes_and_its_words_are_read(qapp, grab):
    looks = []
    for theme in (Theme.LIGHT, Theme.DARK):
        apply(qapp, theme)
        view = ResultView()
        view.resize(904, 604 + 58)
        view.show_overview(overview())
        looks.append(grab(view))
        ground, ink = (view.palette().color(role) for role in (view.backgroundRole(), view.foregroundRole()))
        rgbs = [(c.red(), c.green(), c.blue()) for c in (ground, ink)]
        assert contrast(*rgbs) >= 4.5
    apply(qapp, Theme.LIGHT)
    screen = (slice(4, 598), slice(4, 896))
    assert (looks[0][screen] == looks[1][screen]).all()


def test_an_error_map_says_its_numbers_for_scripts_too():
    told = overview().error_map().to_mapping()
    assert told["n"] == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert told["held_out"] == [[False] * 3, [False, True, False], [False] * 3]
    assert told["error_px"][0] == [60.0, None, None]
    assert told["error_deg"][1][1] == pytest.approx(0.95)


@pytest.fixture(scope="module")
def profile():
    """A synthetic participant's profile, calibrated once."""
    screen = Screen("demo", 1366, 768, 309, 174, 600)
    subject = SyntheticSubject(screen, 3)
    with subject.gaze as gaze:
        procedure = CalibrationProcedure(screen, 5, n_validation=3)
        result = subject.calibrate(procedure, lambda _text: None)
        if result.state == "review":
            procedure.accept("a test")
        return Profile.of(procedure.result(), "P01", screen, binding_of(gaze))


def test_the_saved_picture_has_the_map_of_the_live_view(tmp_path, profile, qapp):
    folder = save_profile(tmp_path, profile)
    path = save_picture(folder, profile)
    assert path == folder / PICTURE_NAME
    with Image.open(path) as image:
        assert image.size == (1200, 1000)
        colours = {rgb for n, rgb in image.convert("RGB").getcolors(2**24) if n > 2000}
    assert colours & set(CLASS_RGB)
    again = Overview.of_profile(load_profile(folder))
    assert again.error_map().to_mapping() == Overview.of_profile(profile).error_map().to_mapping()
    assert len(again.targets) == 5


def test_a_picture_that_cannot_be_written_is_an_error_with_a_place(tmp_path, profile, qapp):
    with pytest.raises(CalibrationError, match=r"validation\.png"):
        save_picture(tmp_path / "nowhere", profile)


@pytest.mark.parametrize(
    "record",
    [
        {"targets": [{"index": 0}]},
        {"targets": 3},
        {"targets": [None]},
        {"targets": [{"index": "a", "x_px": 1, "y_px": 1, "left_out_px": None}]},
        {"redo": 5},
        {"findings": [{}]},
    ],
    ids=str,
)
def test_a_record_that_gazelab_did_not_write_is_an_error_and_no_crash(profile, record):
    with pytest.raises(CalibrationError, match="record"):
        Overview.of_profile(replace(profile, record=record))


def test_a_profile_on_disk_says_the_error_of_each_region(tmp_path, profile):
    """What a script reads there is what the picture shows."""
    told = json.loads((save_profile(tmp_path, profile) / "profile.json").read_text())["error_map"]
    assert told == Overview.of_profile(profile).error_map().to_mapping()
    assert len(told["error_deg"]) == 3
