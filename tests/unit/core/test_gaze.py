"""Records of gaze, features and frames."""

from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.gaze import (
    EVENT_DTYPE,
    FEATURE_DTYPE,
    GAZE_DTYPE,
    Frame,
    GazeView,
    empty_events,
    empty_features,
    empty_gaze,
)


def test_lost_gaze_is_nan_and_invalid_and_never_zero() -> None:
    rows = empty_gaze(3)
    floats = [name for name in GAZE_DTYPE.names or () if GAZE_DTYPE[name].kind == "f"]
    assert len(floats) == 15
    assert all(np.isnan(rows[name]).all() for name in floats)
    assert not rows["valid"].any()
    assert (rows["frame_index"] == -1).all()


def test_a_frame_without_a_face_has_nan_features() -> None:
    rows = empty_features(2)
    names = [name for name in FEATURE_DTYPE.names or () if FEATURE_DTYPE[name].base.kind == "f"]
    assert {"iris", "look", "head_mm", "yaw_deg", "openness"} <= set(names)
    assert all(np.isnan(rows[name]).all() for name in names)
    assert not rows["valid"].any()


def test_an_empty_view_has_no_samples_and_no_events() -> None:
    view = GazeView(5)
    assert view.samples.dtype == GAZE_DTYPE
    assert view.fixations.dtype == EVENT_DTYPE
    assert (len(view.samples), len(view.fixations)) == (0, 0)
    assert np.isnan(empty_events(1)["x_px"]).all()


def test_records_have_no_padding_so_that_files_mean_the_same_everywhere() -> None:
    for dtype in (GAZE_DTYPE, EVENT_DTYPE, FEATURE_DTYPE):
        assert not dtype.isalignedstruct
        assert dtype.itemsize == sum(dtype[name].itemsize for name in dtype.names or ())


def test_M14_red_stays_red() -> None:
    bgr = np.zeros((4, 6, 3), np.uint8)
    bgr[..., 2] = 255  # red, as OpenCV gives it
    assert (Frame.from_bgr(bgr, 1, 0).rgb == [255, 0, 0]).all()


@pytest.mark.parametrize(
    "view",
    [
        np.s_[:, :],
        np.s_[:, ::-1],
        np.s_[::-1, :],
        np.s_[..., ::-1],
        np.s_[2:9, 3:12],
        np.s_[:, :853],
    ],
    ids=["plain", "mirrored", "upside down", "bgr", "crop", "853 wide"],
)
def test_M13_any_view_of_a_picture_is_copied_pixel_by_pixel(view: tuple[slice, ...]) -> None:
    pixels = np.random.default_rng(2).integers(0, 255, (12, 857, 3), np.uint8)
    frame = Frame.from_rgb(pixels[view], time_ns=7, index=3)
    assert frame.rgb.flags.c_contiguous
    assert np.array_equal(frame.rgb, pixels[view])
    assert (frame.time_ns, frame.device_ns, frame.index) == (7, 7, 3)


@pytest.mark.parametrize(
    "view", [np.s_[:, :], np.s_[:, ::-1], np.s_[2:9, 3:12]], ids=["plain", "mirrored", "crop"]
)
def test_M14_a_frame_from_bgr_has_pixels_of_its_own(view: tuple[slice, ...]) -> None:
    bgr = np.random.default_rng(3).integers(0, 255, (12, 857, 3), np.uint8)
    frame = Frame.from_bgr(bgr[view], 1, 0)
    assert np.array_equal(frame.rgb, bgr[view][..., ::-1])
    assert frame.rgb.flags.c_contiguous
    assert not np.shares_memory(frame.rgb, bgr)  # a driver may write the next picture over its own


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((4, 6), np.uint8),
        np.zeros((4, 6, 4), np.uint8),
        np.zeros((4, 6, 3), np.float32),
        np.zeros((0, 6, 3), np.uint8),
    ],
    ids=["grey", "rgba", "float", "empty"],
)
def test_M13_other_arrays_are_refused(bad: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
    for make in (Frame.from_rgb, Frame.from_bgr):
        with pytest.raises(TypeError, match=r"\(height, width, 3\) uint8 RGB, not"):
            make(bad, 0, 0)


def test_a_device_stamp_is_kept_beside_ours() -> None:
    frame = Frame.from_rgb(np.zeros((1, 1, 3), np.uint8), time_ns=100, index=0, device_ns=3)
    assert (frame.time_ns, frame.device_ns) == (100, 3)
