import hashlib
import json
import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from gazelab.calibration.gate import CalibrationGate
from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.profile import (
    Profile,
    SourceBinding,
    check_fits,
    list_profiles,
    load_profile,
    save_profile,
)
from gazelab.core.errors import CalibrationError, ConfigError
from gazelab.core.gaze import FEATURE_DTYPE
from gazelab.core.geometry import Screen

SOURCE = SourceBinding("webcam", "Integrated Camera", "1", "a" * 64)
WHEN = datetime(2026, 3, 14, 10, 22, 5, tzinfo=UTC)


@pytest.fixture
def profile(good_result, screen):
    return Profile.of(good_result, "007", screen, SOURCE, WHEN)


@pytest.fixture
def saved(profile, tmp_path):
    return save_profile(tmp_path, profile)


def _edit(folder, **changes):
    path = folder / "profile.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | changes))


def _swap_npz(folder, data):
    (folder / "mapping.npz").write_bytes(data)
    _edit(folder, mapping_sha256=hashlib.sha256(data).hexdigest())


def test_a_round_trip_keeps_everything(profile, saved, eyes, screen):
    again = load_profile(saved)

    assert saved.name == "007_2026-03-14T10-22-05Z"
    assert sorted(p.name for p in saved.iterdir()) == ["mapping.npz", "profile.json"]
    assert (again.participant, again.screen, again.source) == ("007", screen, SOURCE)
    assert again.created_utc == "2026-03-14T10:22:05Z"
    assert again.validation == profile.validation
    assert again.record == profile.record
    assert again.head_box == profile.head_box
    rows = np.array([eyes.row(3, 2), eyes.row(-9, 5)], FEATURE_DTYPE)
    np.testing.assert_allclose(
        again.mapping.predict(rows).x_px, profile.mapping.predict(rows).x_px, atol=1e-9
    )


def test_a_profile_from_before_head_boxes_has_none(saved):
    values = json.loads((saved / "profile.json").read_text())
    del values["head_box"]
    (saved / "profile.json").write_text(json.dumps(values))
    assert load_profile(saved).head_box is None


def test_what_was_not_measured_is_null_in_the_file_and_nan_again_when_read(profile, tmp_path):
    """A screen without millimetres has no degrees, and a target that wasn't left out no error: never 0."""
    blind = replace(profile.validation.targets[0], accuracy_px=np.nan, accuracy_deg=np.nan, n_samples=0)
    validation = replace(
        profile.validation, accuracy_deg=np.nan, targets=(blind, *profile.validation.targets[1:])
    )
    folder = save_profile(tmp_path, replace(profile, validation=validation))

    written = json.loads((folder / "profile.json").read_text())["validation"]
    assert written["accuracy_deg"] is None
    assert written["targets"][0]["accuracy_px"] is None
    again = load_profile(folder).validation
    assert np.isnan([again.accuracy_deg, again.targets[0].accuracy_px]).all()
    assert again.accuracy_px == profile.validation.accuracy_px


def test_a_target_without_a_left_out_error_is_null_in_the_record(good_result):
    unknown = replace(good_result, left_out_px=dict.fromkeys(good_result.left_out_px, np.nan))
    targets = unknown.to_mapping()["targets"]
    assert [t["left_out_px"] for t in targets] == [None] * 13
    json.dumps(unknown.to_mapping(), allow_nan=False)


def test_the_json_file_itself_loads_too(saved):
    assert load_profile(saved / "profile.json").participant == "007"


def test_times_are_written_in_utc(good_result, screen):
    local = WHEN.astimezone(timezone(timedelta(hours=-7)))
    assert Profile.of(good_result, "A1", screen, SOURCE, local).created_utc == "2026-03-14T10:22:05Z"


def test_nothing_is_overwritten(profile, saved, tmp_path):
    before = {p: p.read_bytes() for p in saved.iterdir()}
    second = save_profile(tmp_path, profile)
    assert second.name == saved.name + "-2"
    assert {p: p.read_bytes() for p in saved.iterdir()} == before


def test_profiles_are_listed_newest_first_and_by_participant(profile, tmp_path):
    for code, day in (("B2", "10"), ("007", "12"), ("B2", "11")):
        save_profile(tmp_path, replace(profile, participant=code, created_utc=f"2026-03-{day}T08:00:00Z"))
    (tmp_path / "calibration" / "B2_2026-03-13T08-00-00Z").mkdir()  # an interrupted write

    assert [p.name[:13] for p in list_profiles(tmp_path)] == [
        "007_2026-03-1",
        "B2_2026-03-11",
        "B2_2026-03-10",
    ]
    assert [p.name[:13] for p in list_profiles(tmp_path, "B2")] == ["B2_2026-03-11", "B2_2026-03-10"]
    assert list_profiles(tmp_path / "nowhere") == []


@pytest.mark.parametrize("code", ["007", "1e5", "NA", "nan", "a" * 32])
def test_R12_letters_and_digits_stay_the_text_that_they_are(code, profile, tmp_path):
    folder = save_profile(tmp_path, replace(profile, participant=code))
    assert folder.parent == tmp_path / "calibration"
    assert load_profile(folder).participant == code


@pytest.mark.parametrize("code", ["A/B", "..", "é", "A_1"])
def test_R12_other_codes_are_refused_and_no_path_is_made(code, profile, tmp_path):
    with pytest.raises(ConfigError, match="participant code"):
        save_profile(tmp_path, replace(profile, participant=code))
    assert list(tmp_path.iterdir()) == []


def test_a_calibration_that_is_not_valid_makes_no_profile(screen, participant):
    participant.looks = lambda x, y: (0.0, 0.0)
    procedure = participant.work(CalibrationProcedure(screen))
    procedure.accept("pilot")
    with pytest.raises(CalibrationError, match="failed, not valid"):
        Profile.of(procedure.result(), "A1", screen, SOURCE)


def test_a_profile_fits_what_it_was_made_for(profile, screen):
    check_fits(profile, "007", screen, SOURCE)
    check_fits(profile, "007", replace(screen, distance_mm=650.0), SOURCE)
    check_fits(profile, "007", Screen("laptop", 1920, 1080), SOURCE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "second"}, "made on the screen laptop, 1920 x 1080 px, not on second"),
        ({"width_px": 2560, "height_px": 1440}, "not on laptop, 2560 x 1440 px"),
        ({"width_mm": 300.0}, "was 531 mm wide and now is 300 mm"),
    ],
)
def test_G3_another_screen_is_refused(change, words, profile, screen):
    with pytest.raises(CalibrationError, match=words):
        check_fits(profile, "007", replace(screen, **change), SOURCE)


def test_G9_another_participant_or_source_is_refused(profile, screen):
    with pytest.raises(CalibrationError, match="of participant 007, not 008"):
        check_fits(profile, "008", screen, SOURCE)
    with pytest.raises(CalibrationError, match="'webcam', now it is 'video'"):
        check_fits(profile, "007", screen, replace(SOURCE, name="video"))
    with pytest.raises(CalibrationError, match="the device was 'Integrated Camera'"):
        check_fits(profile, "007", screen, replace(SOURCE, device="USB"))
    with pytest.raises(CalibrationError, match="version of the features was '1', now it is '2'"):
        check_fits(profile, "007", screen, replace(SOURCE, feature_version="2"))


def test_M3_another_face_model_is_refused_with_both_hashes(profile, screen):
    with pytest.raises(CalibrationError, match=r"the face model was a{12}…, now it is b{12}…"):
        check_fits(profile, "007", screen, replace(SOURCE, model_sha256="b" * 64))


def test_all_differences_are_named_at_once(profile, screen):
    with pytest.raises(CalibrationError) as fault:
        check_fits(profile, "008", replace(screen, name="other"), replace(SOURCE, device="USB"))
    assert all(word in str(fault.value) for word in ("008", "other", "USB", "Calibrate again"))


def test_broken_files_are_named(saved, tmp_path):
    good = (saved / "profile.json").read_text()
    for text, words in (
        ("", "isn't a profile"),
        (good[: len(good) // 2], "isn't a profile"),
        ("[1, 2]", "version None"),
        ('{"schema_version": 99}', "version 99"),
        ('{"schema_version": 1}', "isn't the mapping"),
    ):
        (saved / "profile.json").write_text(text)
        with pytest.raises(CalibrationError, match=words) as fault:
            load_profile(saved)
        assert str(saved) in str(fault.value)
    with pytest.raises(CalibrationError, match=r"profile\.json: can't be read"):
        load_profile(tmp_path / "nowhere")


@pytest.mark.parametrize("binary", [b"\xff\xfe\x00", b"\x80\x04K\x01."])
def test_a_json_file_of_bytes_is_named(binary, saved):
    (saved / "profile.json").write_bytes(binary)
    with pytest.raises(CalibrationError, match=r"profile\.json: isn't a profile"):
        load_profile(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"participant": "../x"},
        {"participant": 7},
        {"screen": {"width_px": 0, "height_px": 3}},
        {"screen": None},
        {"source": {"name": "webcam"}},
        {"validation": {}},
        {"record": 5},
        {"head_box": {"yaw_deg": [1, 2]}},
        {"head_box": 3},
    ],
)
def test_fields_that_are_wrong_are_refused(changes, saved):
    _edit(saved, **changes)
    with pytest.raises(CalibrationError, match=r"profile\.json"):
        load_profile(saved)


def test_a_mapping_from_elsewhere_is_refused(saved):
    data = bytearray((saved / "mapping.npz").read_bytes())
    data[-1] ^= 1
    (saved / "mapping.npz").write_bytes(data)
    with pytest.raises(CalibrationError, match=r"mapping\.npz: this isn't the mapping"):
        load_profile(saved)
    (saved / "mapping.npz").unlink()
    with pytest.raises(CalibrationError, match=r"mapping\.npz: can't be read"):
        load_profile(saved)


def test_G17_pickles_are_refused_and_never_run(saved, tmp_path):
    marker = tmp_path / "ran"

    class Hostile:
        def __reduce__(self):
            return (marker.touch, ())

    np.savez(tmp_path / "objects.npz", mapping_version=np.array([Hostile()], dtype=object))
    for data in (pickle.dumps(Hostile()), (tmp_path / "objects.npz").read_bytes(), b"PK\x03\x04 cut", b""):
        _swap_npz(saved, data)
        with pytest.raises(CalibrationError, match=r"mapping\.npz: isn't a mapping"):
            load_profile(saved)
    assert not marker.exists()


def test_a_folder_that_cannot_be_written_is_named(profile, tmp_path):
    (tmp_path / "calibration").write_text("a file where the folder should be")
    with pytest.raises(CalibrationError, match=r"can't be saved .*--data"):
        save_profile(tmp_path, profile)


def test_G14_nothing_in_force_closes_the_gate_and_an_override_is_in_the_header(screen):
    gate = CalibrationGate()
    with pytest.raises(CalibrationError, match="participant A1 isn't calibrated"):
        gate.check("A1", screen, SOURCE)
    with pytest.raises(CalibrationError, match="needs a note"):
        gate.override(" ")

    gate.override("mouse only")

    gate.check("A1", screen, SOURCE)
    assert gate.header() == {
        "calibrated": False,
        "profile_utc": None,
        "participant": None,
        "note": "mouse only",
    }


def test_G8_a_new_calibration_empties_the_gate(profile, screen):
    """A is calibrated, B starts and cancels: nothing of A holds for B."""
    gate = CalibrationGate()
    gate.put(profile)
    gate.check("007", screen, SOURCE)
    assert gate.header()["calibrated"]
    with pytest.raises(CalibrationError, match="of participant 007, not B2"):
        gate.check("B2", screen, SOURCE)

    gate.drop()

    assert gate.profile is None
    assert gate.header()["participant"] is None
    with pytest.raises(CalibrationError, match="isn't calibrated"):
        gate.check("007", screen, SOURCE)
