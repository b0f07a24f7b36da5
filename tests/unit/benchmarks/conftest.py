"""The benchmarks are scripts: their folder is where they import from."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"
sys.path.append(str(FOLDER))
