import numpy as np
import pytest
from event_contests import SCREEN, f1, sampled, script
from event_detectors import OFFLINE, ONLINE, run_online, there
from events import load_bench


@pytest.fixture(scope="module")
def walk():
    return script(12.0, seed=3)


def test_noise_is_as_wide_and_as_lasting_as_asked(walk):
    x, y, _ = walk
    _, clean, _ = sampled(x, y, 500, 0.0)
    for carry in (0.0, 0.8):
        _, noisy, _ = sampled(x, y, 500, 0.5, carry)
        noise = (noisy - clean) / SCREEN.px_per_deg()
        assert noise.std() == pytest.approx(0.5, rel=0.1)
        assert np.corrcoef(noise[1:], noise[:-1])[0, 1] == pytest.approx(carry, abs=0.05)


def test_f1_by_hand():
    truth = np.array([[0, 100], [200, 300]])
    assert f1(truth, truth) == 1.0
    assert f1(truth, np.array([[0, 100]])) == pytest.approx(2 / 3)
    assert f1(truth, np.array([[0, 45], [210, 300]])) == 0.5
    assert f1(truth, np.empty((0, 2))) == 0.0


def test_every_contestant_beats_cutting_blindly_on_clean_gaze(walk):
    x, y, truth = walk
    recording = sampled(x, y, 60, 0.02)
    detectors = {**there(OFFLINE), **{name: run_online(make) for name, make in ONLINE.items()}}
    scores = {
        name: f1(truth, np.asarray(find(*recording, SCREEN)))
        for name, find in detectors.items()
        if name != "REMoDNaV"  # refuses 60 Hz
    }
    blind = scores.pop("blind")
    assert min(scores.values()) > 0.8 > blind


def test_a_recording_is_scored_by_the_tool_that_is_named(tmp_path):
    tool = tmp_path / "bench.py"
    tool.write_text("CONDITIONS = ('native',)\n")
    assert load_bench(tool).CONDITIONS == ("native",)
