"""A tiny random checkpoint for each family; nothing is downloaded."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # for `import equality`, `import tiny_internvl`, …
