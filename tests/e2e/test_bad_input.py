"""What goes wrong at a desk: each gives a sentence that says where and what to do, and loses nothing."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gazelab.core.gaze import SourceState
from gazelab.sessions.reader import Session
from gazelab.sources.cameras import list_cameras

from .pictures import black_pictures, face_video, network_camera, noisy_pictures
from .program import ended, gazelab, n_samples, running, wait_for


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One second of a face."""
    return face_video(tmp_path_factory.mktemp("video") / "face.mp4", 30)


def states(session: Session) -> list[str]:
    return [m["state"] for m in session.markers() if m["kind"] == "source_state"]


# Cameras


@pytest.mark.skipif(bool(list_cameras()), reason="this machine has a camera")
def test_no_camera(tmp_path):
    done = gazelab("record", "--source", "webcam", "--seconds", "2", "--session", "x", "--data", tmp_path)
    assert done.refusal() == (
        "camera 0: there is no such camera. Plug one in, or use another source, such as synthetic."
    )
    assert done.said == [f"gazelab: {done.refusal()}"]
    assert not list((tmp_path / "sessions").glob("*"))


def test_a_camera_of_an_unknown_name(tmp_path):
    done = gazelab(
        "record", "--source", "webcam", "--device", "Nosuch 3000", "--seconds", "2", "--data", tmp_path
    )
    assert done.refusal().startswith("Nosuch 3000: there is no such camera. ")


def test_a_camera_that_gives_black_pictures(tmp_path):
    with network_camera(black_pictures()) as address:
        done = gazelab(
            "record", "--device", address, "--seconds", "1", "--session", "dark", "--data", tmp_path
        )
    sentence = done.refusal()
    assert sentence.startswith(f"{address}: The camera gives black pictures. Open its cover")
    session = Session.open(tmp_path / "sessions" / "dark")
    assert str(session.path) in sentence
    assert len(session.gaze()) > 5
    assert not session.gaze()["valid"].any()
    assert np.isnan(session.gaze()["x_px"]).all()
    assert states(session)[-1] == SourceState.LOST
    assert session.header.closed


def test_a_camera_that_stops_in_the_middle(tmp_path):
    with network_camera(noisy_pictures(40)) as address:
        done = gazelab(
            "record", "--device", address, "--seconds", "4", "--session", "cut", "--data", tmp_path
        )
    sentence = done.refusal()
    assert sentence.startswith(f"{address}: ")
    assert "Check that it is plugged in" in sentence
    session = Session.open(tmp_path / "sessions" / "cut")
    assert str(session.path) in sentence
    assert len(session.gaze()) > 5
    assert states(session)[-1] == SourceState.LOST
    assert session.header.closed


def test_an_address_without_a_camera(tmp_path):
    address = "http://127.0.0.1:9/nothing.mjpg"  # the discard port: nobody answers
    done = gazelab("record", "--device", address, "--seconds", "1", "--data", tmp_path)
    assert done.refusal() == f"{address}: the stream cannot be opened. Check its address."


# Video files


def test_a_video_that_ends(tmp_path, video):
    done = gazelab(
        "record",
        "--source",
        "video",
        "--device",
        video,
        "--seconds",
        "60",
        "--session",
        "v",
        "--data",
        tmp_path,
    )
    assert done.worked().startswith("30 samples in ")
    assert "at the end the source was ended" in done.out
    session = Session.open(tmp_path / "sessions" / "v")
    assert len(session.gaze()) == len(session.features()) == 30
    assert session.features()["valid"].all()
    assert states(session)[-1] == SourceState.ENDED
    assert session.header.closed
    assert session.header.source.detail["width_px"] == "640"
    assert session.report == []


@pytest.mark.parametrize("share", [0.0, 0.6], ids=["empty", "no moov"])
def test_a_video_that_was_cut_off(tmp_path, video, share):
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(video.read_bytes()[: int(share * video.stat().st_size)])
    done = gazelab("record", "--source", "video", "--device", cut, "--seconds", "5", "--data", tmp_path)
    assert done.refusal().startswith(f"{cut}: not a video that can be read; ")
    assert done.said == [f"gazelab: {done.refusal()}"]
    assert not (tmp_path / "sessions").exists()


def test_a_video_that_is_not_there(tmp_path):
    gone = tmp_path / "gone.mp4"
    done = gazelab("record", "--source", "video", "--device", gone, "--seconds", "5", "--data", tmp_path)
    assert done.refusal() == f"{gone}: there is no such video file. Check the path."


# Calibration profiles


def record_with(profile: Path, tmp_path: Path, *more: str):
    return gazelab(
        *("record", "--source", "synthetic", "--seconds", "1", "--session", "p", "--participant", "T1"),
        *("--data", tmp_path, "--profile", profile, *more),
    )


@pytest.fixture
def broken(tmp_path: Path, profile: Path) -> Path:
    """A copy of a sound profile, to be broken."""
    return Path(shutil.copytree(profile, tmp_path / profile.name))


def test_a_sound_profile_gives_gaze(tmp_path, broken):
    assert "at the end the source was ok" in record_with(broken, tmp_path).worked()
    session = Session.open(tmp_path / "sessions" / "p")
    assert session.gaze()["valid"].any()
    assert session.header.calibrated
    assert (session.calibrations()[0] / "profile.json").is_file()


def test_a_profile_that_is_no_json(tmp_path, broken):
    (broken / "profile.json").write_text('{"schema_version": 1, "partici')
    sentence = record_with(broken, tmp_path).refusal()
    assert sentence.startswith(f"{broken / 'profile.json'}: isn't a profile (")
    assert sentence.endswith("Calibrate again.")
    assert not (tmp_path / "sessions").exists()


def test_a_profile_whose_mapping_is_another(tmp_path, broken):
    mapping = broken / "mapping.npz"
    data = bytearray(mapping.read_bytes())
    data[len(data) // 2] ^= 1
    mapping.write_bytes(data)
    assert record_with(broken, tmp_path).refusal() == (
        f"{mapping}: this isn't the mapping that was saved with the profile."
        " Calibrate again, or restore both files."
    )


def test_a_profile_of_another_screen(tmp_path, broken):
    sentence = record_with(broken, tmp_path, "--screen", "2560x1440:600x340@600").refusal()
    assert "it was made on the screen screen, 1920 x 1080 px, not on screen, 2560 x 1440 px" in sentence
    assert sentence.endswith("Calibrate again, or choose a profile that fits.")


def test_a_profile_of_another_participant(tmp_path, broken):
    sentence = record_with(broken, tmp_path, "--participant", "T2").refusal()
    assert "it is of participant T1, not T2" in sentence
    assert sentence.endswith("Calibrate again, or choose a profile that fits.")


def test_a_profile_that_is_not_there(tmp_path):
    sentence = record_with(tmp_path / "gone", tmp_path).refusal()
    assert str(tmp_path / "gone") in sentence
    assert sentence.endswith(f"Choose a profile's folder; they lie in {tmp_path / 'calibration'}.")


# Charts, models and sessions


@pytest.mark.parametrize("content", [b"month,value\nMay,3\n", b"", b"\x89PNG\r\n\x1a\n\0\0"])
def test_a_chart_that_is_no_picture(tmp_path, content):
    chart = tmp_path / "chart.png"
    chart.write_bytes(content)
    done = gazelab("attend", chart, "--question", "What is the value of May?", "--out", tmp_path / "out")
    sentence = done.refusal()
    assert sentence.startswith(f"{chart}: not a picture that can be read")
    assert " at 0x" not in sentence
    assert sentence.endswith("Save it again as PNG.")
    assert not (tmp_path / "out").exists()


def test_a_chart_that_is_not_there(tmp_path):
    chart = tmp_path / "chart.png"
    done = gazelab("attend", chart, "--question", "What?", "--out", tmp_path / "out")
    assert done.refusal() == f"{chart}: there is no such file. Check the path."


def test_a_model_that_is_not_there(tmp_path):
    from PIL import Image

    Image.new("RGB", (64, 48), "white").save(tmp_path / "chart.png")
    done = gazelab(
        "attend", tmp_path / "chart.png", "--question", "What?", "--model", "chartreeder", "--out", tmp_path
    )
    sentence = done.refusal()
    assert sentence.startswith("chartreeder: ")
    assert "'chartreader'" in sentence


@pytest.mark.parametrize(
    "verb",
    [("sessions", "show"), ("compare",), ("replay", "--html", "out.html"), ("sessions", "delete", "-y")],
)
def test_a_session_that_is_not_there(tmp_path, verb):
    sentence = gazelab(*verb, "nosuch", "--data", tmp_path).refusal()
    assert sentence.startswith(f"{tmp_path / 'sessions' / 'nosuch'}: ")
    assert sentence.endswith("List the sessions with: gazelab sessions list")


@pytest.mark.parametrize("verb", [("sessions", "show"), ("compare",), ("replay", "--html", "out.html")])
def test_a_session_whose_header_is_broken(tmp_path, verb):
    folder = tmp_path / "sessions" / "s1"
    folder.mkdir(parents=True)
    (folder / "session.json").write_text('{"schema_version": 1, "screen": {')
    sentence = gazelab(*verb, "s1", "--data", tmp_path).refusal()
    assert sentence.startswith(f"{folder / 'session.json'}: the session's header is broken (")
    assert sentence.endswith("Restore it from a copy; the samples beside it are untouched.")


def test_a_session_without_charts_cannot_be_compared(tmp_path, video):
    gazelab(
        *("record", "--source", "video", "--device", video, "--seconds", "1", "--session", "v"),
        *("--data", tmp_path),
    ).worked()
    done = gazelab("compare", "v", "--json", "--data", tmp_path)
    assert done.refusal().startswith("v: no trial could be compared. ")
    assert done.out == ""


def test_a_demo_into_a_file(tmp_path):
    (tmp_path / "out").write_text("")
    done = gazelab("demo", "--out", tmp_path / "out", "--no-window")
    assert done.refusal() == f"{tmp_path / 'out'}: the data folder is a file. Give a folder to --data."


def test_a_session_id_that_is_taken(tmp_path, video):
    arguments = ("record", "--source", "video", "--device", video, "--seconds", "1", "--session", "v")
    gazelab(*arguments, "--data", tmp_path).worked()
    before = (tmp_path / "sessions" / "v" / "gaze.bin").read_bytes()
    sentence = gazelab(*arguments, "--data", tmp_path).refusal()
    assert sentence.endswith(
        "there is already a session of this id, and none is overwritten. Choose another id."
    )
    assert (tmp_path / "sessions" / "v" / "gaze.bin").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("recrod",), "recrod"),
        (("record", "--seconds", "soon"), "--seconds"),
        (("record", "--secnods", "3"), "--secnods"),
        (("compare",), "sessions"),
        (("attend", "chart.png", "--question", "What?", "--method", "best"), "--method"),
    ],
)
def test_wrong_arguments(arguments, named):
    done = gazelab(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("Usage: ")
    (sentence,) = (line for line in done.err.splitlines() if line.startswith("Error: "))
    assert named in sentence


@pytest.mark.parametrize("screen", ["1920", "1920x1080:345cm", "1920x1080:3.45x1.94@600"])
def test_a_screen_that_cannot_be(tmp_path, screen):
    done = gazelab(
        "record", "--source", "synthetic", "--seconds", "1", "--screen", screen, "--data", tmp_path
    )
    assert done.refusal()
    assert not (tmp_path / "sessions").exists()


# A recording that is cut short


@contextlib.contextmanager
def recording(root: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a recording of the synthetic participant that would go on for minutes; gives its folder."""
    arguments = ("record", "--source", "synthetic", "--seconds", "600", "--session", "cut", "--data", root)
    with running(*arguments) as process:
        yield process, root / "sessions" / "cut"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_kill_9_leaves_the_session_readable_up_to_100_ms_before_the_end(tmp_path):
    with recording(tmp_path) as (process, folder):
        wait_for(lambda: n_samples(folder) >= 60, process)
        process.kill()
        killed_ns = time.perf_counter_ns()  # counts alike in every process of this machine
        process.wait()
    session = Session.open(folder)
    arrived = session.gaze()["arrival_ns"]
    # When the next sample was due nobody knows: at the latest after the longest wait of this recording.
    longest_ns = int(np.diff(arrived).max())
    assert killed_ns - arrived[-1] <= 100_000_000 + longest_ns
    assert abs(len(session.features()) - len(arrived)) <= 1
    assert session.gaze()["frame_index"].tolist() == sorted(set(session.gaze()["frame_index"].tolist()))
    assert not session.header.closed
    assert session.report[0] == "not closed: the recording was cut off, or still runs"
    shown = gazelab("sessions", "show", "cut", "--data", tmp_path).worked()
    assert "note: not closed: the recording was cut off, or still runs" in shown
    (row,) = json.loads(gazelab("sessions", "list", "--json", "--data", tmp_path).worked())
    assert row["n_samples"] == len(arrived)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process on Windows")
def test_ctrl_c_keeps_the_recording(tmp_path):
    with recording(tmp_path) as (process, folder):
        wait_for(lambda: n_samples(folder) >= 15, process)
        process.send_signal(signal.SIGINT)
        done = ended(process)
    assert done.refusal(code=130) == "stopped; what was recorded is kept."
    session = Session.open(folder)
    assert len(session.gaze()) >= 15
    assert session.header.closed
    assert session.report == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 128 kB, in memory."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("a small tmpfs can only be mounted by root on Linux")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs may be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_fills_up_while_recording(small_disk):
    with recording(small_disk) as (process, folder):
        done = ended(process, 120)
    assert done.refusal() == (
        f"{folder}: the disk is full; recording has stopped, and what was recorded until then is kept."
        " Free space on that disk, then try again."
    )
    session = Session.open(folder)
    assert len(session.gaze()) > 30
    # Where not even the header fits any more, the session stays open.
    assert session.report[0].startswith(("recording was stopped by a fault: the disk is full", "not closed"))
    times = session.gaze()["time_ns"].tolist()
    assert all(a < b for a, b in itertools.pairwise(times))


def test_a_disk_that_is_full_from_the_start(small_disk):
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize))
    done = gazelab(
        "record", "--source", "synthetic", "--seconds", "5", "--session", "s", "--data", small_disk
    )
    sentence = done.refusal()
    assert "the disk is full; no session was started." in sentence
    assert str(small_disk) in sentence
    assert not list((small_disk / "sessions").glob("*"))
