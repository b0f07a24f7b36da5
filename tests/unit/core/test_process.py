from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(("first", "cleared"), [("import PyQt6.QtWidgets", False), ("pass", True)])
def test_with_qt_in_it_the_process_ends_without_clearing_up_and_loses_no_word(first, cleared):
    code = (
        f"{first}; import atexit, sys; from gazelab.core.process import leave;"
        "atexit.register(print, 'cleared up'); print('said'); sys.stderr.write('told'); leave(3)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "told")
    assert done.stdout == ("said\ncleared up\n" if cleared else "said\n")


def test_both_ways_in_end_by_it():
    """The command, and `python -m gazelab`."""
    for words in (["-m", "gazelab"], ["-c", "import sys; from gazelab.__main__ import run; run()"]):
        done = subprocess.run([sys.executable, *words, "nosuch"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
