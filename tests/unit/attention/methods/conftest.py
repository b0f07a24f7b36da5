"""Tiny random models, their answers, and what was recorded of them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # for `import references`
