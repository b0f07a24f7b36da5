from __future__ import annotations

import pytest

from gazelab.core.errors import CameraError
from gazelab.sources.cameras import (
    Camera,
    find_camera,
    is_address,
    linux_cameras,
    list_cameras,
    mac_cameras,
    windows_cameras,
)

TWO = [Camera(0, "Integrated Camera"), Camera(2, "Logitech BRIO")]


def test_linux_lists_pictures_only_and_by_name(tmp_path):
    for node, name, index in (
        ("video2", "Logitech BRIO", "0"),
        ("video0", "Integrated Camera", "0"),
        ("video1", "Integrated Camera", "1"),
        ("video10", None, None),
    ):
        (tmp_path / node).mkdir()
        if name:
            (tmp_path / node / "name").write_text(f"{name}\n")
            (tmp_path / node / "index").write_text(f"{index}\n")
    assert linux_cameras(tmp_path) == [*TWO, Camera(10, "video10")]
    assert linux_cameras(tmp_path / "missing") == []


def test_names_of_the_other_systems():
    answer = '{"SPCameraDataType": [{"_name": "FaceTime HD Camera"}, {"_name": "iPhone"}]}'
    assert mac_cameras(answer) == [Camera(0, "FaceTime HD Camera", False), Camera(1, "iPhone", False)]
    assert mac_cameras("") == mac_cameras("no json") == []
    assert windows_cameras("HD Webcam\r\n\r\nOBS\r\n") == [
        Camera(0, "HD Webcam", False),
        Camera(1, "OBS", False),
    ]
    assert isinstance(list_cameras(), list)


def test_a_camera_is_found_by_a_part_of_its_name():
    assert find_camera("brio", TWO).index == 2
    assert find_camera("Integrated Camera", TWO).index == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Logitec BRIO", "Did you mean 'Logitech BRIO'"),
        ("a", "several"),
        ("xyz", "There are: Integrated Camera, Logitech BRIO"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(name, words):
    cameras = [*TWO, Camera(3, "Cam"), Camera(4, "Cab")] if name == "a" else TWO
    with pytest.raises(CameraError, match=words):
        find_camera(name, cameras)


def test_no_camera_at_all_says_what_to_do():
    with pytest.raises(CameraError, match="Plug one in"):
        find_camera("any", [])


def test_addresses():
    assert is_address("http://127.0.0.1/x")
    assert is_address("frames_%03d.png")
    assert not is_address("Integrated Camera")
    assert not is_address(0)
