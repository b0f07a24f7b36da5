from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.gaze import SourceState
from gazelab.sources.pointer import Pointer

MS = 1_000_000


class Mouse:
    """A pointer and a clock that moves when waited for."""

    def __init__(self) -> None:
        self.now = 5_000 * MS
        self.place: tuple[float, float] | None = (10.5, 20.25)

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)

    def source(self, rate_hz: float = 50.0) -> Pointer:
        return Pointer(lambda: self.place, rate_hz, clock=lambda: self.now, wait=self.wait)


def test_gives_the_place_at_its_time_without_noise():
    mouse = Mouse()
    with mouse.source() as pointer:
        assert pointer.state is SourceState.OK
        first = pointer.read()[0].sample
        assert pointer.read() == [], "the next is due in 20 ms"
        mouse.place = (-3.0, 2000.0)
        second = pointer.read(timeout_s=0.05)[0].sample
    assert (first["x_px"], first["y_px"], first["time_ns"]) == (10.5, 20.25, 5_000 * MS)
    assert (second["x_px"], second["y_px"], second["time_ns"]) == (-3.0, 2000.0, 5_020 * MS)
    assert second["valid"], "off the screen is a place too: never clamped, never dropped"
    assert [first["frame_index"], second["frame_index"]] == [0, 1]
    assert pointer.state is SourceState.IDLE
    assert pointer.read() == []


@pytest.mark.parametrize("place", [None, (float("nan"), 3.0)])
def test_a_pointer_elsewhere_is_a_lost_sample(place):
    mouse = Mouse()
    mouse.place = place
    with mouse.source() as pointer:
        sample = pointer.read()[0].sample
    assert not sample["valid"]
    assert np.isnan([sample["x_px"], sample["y_px"]]).all()


def test_a_slow_reader_gets_no_made_up_past():
    mouse = Mouse()
    with mouse.source() as pointer:
        pointer.read()
        mouse.now += 205 * MS
        late = pointer.read()
        assert len(late) == 1
        assert late[0].sample["time_ns"] == 5_205 * MS
        assert pointer.read() == []
        mouse.now += 15 * MS
        assert len(pointer.read()) == 1, "the beat is kept"
