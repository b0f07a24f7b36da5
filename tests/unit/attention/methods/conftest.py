"""Tiny random models, their answers, and what was recorded of them."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "grids")]  # for `import references`, `import tiny_florence2`, …
