from __future__ import annotations

from gazelab.core.errors import CameraError, ConfigError
from gazelab.ui.parts import sentence


def test_a_fault_stands_alone_as_a_sentence():
    fault = ConfigError("the synthetic participant needs the screen's size.", todo="Give it below.")
    assert sentence(fault) == "The synthetic participant needs the screen's size. Give it below."


def test_a_path_that_a_fault_begins_with_stays_as_it_is():
    assert sentence(CameraError("there is no such file.", where="faces/a.mp4")).startswith("faces/a.mp4: ")
