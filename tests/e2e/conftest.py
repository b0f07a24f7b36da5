from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from .program import Finished, gazelab


@dataclass(frozen=True)
class Demo:
    """One run of `gazelab demo`, shared by the tests that look at it."""

    folder: Path
    run: Finished

    @property
    def session(self) -> Path:
        return self.folder / "sessions" / "demo-1"

    @property
    def report(self) -> Path:
        return self.folder / "demo-1.html"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    return Demo(folder, gazelab("demo", "--out", folder, "--no-window", timeout_s=280))


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A calibration profile of the synthetic participant T1, made by the program."""
    root = tmp_path_factory.mktemp("calibrated")
    gazelab(
        "calibrate", "--source", "synthetic", "--participant", "T1", "--points", "5", "--data", root
    ).worked()
    (folder,) = (root / "calibration").iterdir()
    return folder
