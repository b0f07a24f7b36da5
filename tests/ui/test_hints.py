from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.gaze import Frame, empty_features
from gazelab.ui.hints import About, Hint, SteadyHints, hints, ready


def words(*arguments):
    return " | ".join(h.text for h in hints(*arguments))


def test_all_well_is_ready(shot, face):
    said = hints(shot(), face(), 600.0, 30.0)
    assert ready(said)
    assert [h.about for h in said] == [
        About.FACE, About.PLACE, About.LIGHT, About.DISTANCE, About.EYES, About.RATE
    ]  # fmt: skip


def test_nothing_said_is_not_ready():
    assert not ready([])


@pytest.mark.parametrize(
    ("make", "distance_mm", "rate_hz", "said"),
    [
        (lambda s, f: (s(30), f()), 600, 30, "Too dark"),
        (lambda s, f: (s(240), f()), 600, 30, "Too bright"),
        (lambda s, f: (s(90, 2.4), f()), 600, 30, "Light from one side"),
        (lambda s, f: (s(60, behind=200), f()), 600, 30, "Light from behind"),
        (lambda s, f: (s(), f()), 300, 30, "About 30 cm: move back"),
        (lambda s, f: (s(), f()), 900, 30, "About 90 cm: come closer"),
        (lambda s, f: (s(), f()), float("nan"), 30, "Distance unknown"),
        (lambda s, f: (s(), f(eye_px=12)), 600, 30, "only 12 px wide: come closer, or ask for 1280"),
        (lambda s, f: (s(), f()), 600, 9, "Only 9 pictures a second"),
        (lambda s, f: (s(), f(n_faces=2)), 600, 30, "second face"),
        (lambda s, f: (s(), f(x=100)), 600, 30, "to your left"),
        (lambda s, f: (s(), f(x=540)), 600, 30, "to your right"),
        (lambda s, f: (s(), f(y=60)), 600, 30, "Sit lower"),
        (lambda s, f: (s(), f(y=400)), 600, 30, "Sit higher"),
    ],
)
def test_a_hint_names_what_to_change_and_the_rest_stays_well(shot, face, make, distance_mm, rate_hz, said):
    frame, features = make(shot, face)
    given = hints(frame, features, distance_mm, rate_hz)
    assert [h.role for h in given].count("good") == len(given) - 1
    assert said in next(h.text for h in given if h.role != "good")
    assert not ready(given)


def test_without_a_picture_or_a_face_one_sentence_says_so(shot):
    nothing = empty_features(1)[0]
    assert "No picture" in words(None, None, 600.0)
    assert "No face" in words(shot(), nothing, 600.0)
    assert "camera covered" in words(shot(5), nothing, 600.0)


def test_M7_two_faces_of_which_none_could_be_chosen_are_told(shot):
    row = empty_features(1)[0]
    row["n_faces"] = 2
    assert "Two faces" in words(shot(), row, 600.0)


def test_mirroring_glasses_are_told_and_the_glint_on_an_eye_is_not(shot, face):
    glint = shot().rgb.copy()
    glint[213:217, 348:352] = 255
    assert ready(hints(Frame.from_rgb(glint, 0, 0), face(), 600.0))
    mirror = shot().rgb.copy()
    mirror[206:216, 340:362] = 255
    assert "Reflections" in words(Frame.from_rgb(mirror, 0, 0), face(), 600.0)


def test_a_face_at_the_very_edge_is_measured_all_the_same(shot, face):
    assert "to your left" in words(shot(), face(x=2, y=2), 600.0)
    row = face()
    row["eye_centre_px"][1] = np.nan
    assert hints(shot(), row, 600.0)


def test_hints_do_not_flicker():
    well, dark = [Hint("even", "good", About.LIGHT)], [Hint("dark", "warn", About.LIGHT)]
    steady = SteadyHints(hold_ns=400)
    assert steady.take(well, 0) == well
    assert steady.take(dark, 100) == well
    assert steady.take(well, 200) == well
    assert steady.take(dark, 300) == well
    assert steady.take(dark, 699) == well
    assert steady.take(dark, 700) == dark


def test_numbers_change_now_and_then_while_the_hints_hold():
    steady = SteadyHints(hold_ns=400)
    shown = []
    for time_ns in range(0, 1000, 100):
        hint = Hint(f"{time_ns}", "good", About.DISTANCE)
        shown.append(steady.take([hint], time_ns)[0].text)
    assert shown == ["0"] * 4 + ["400"] * 4 + ["800"] * 2
