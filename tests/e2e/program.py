"""The real program in a process of its own, and what it says."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gazelab.sessions.reader import Session

# Written to stderr inside mediapipe, where no setting reaches it.
_LIBRARY_TALK = re.compile(r"WARNING: All log messages before absl|[WI]\d{4} \d\d:|INFO: Created TensorFlow")
POLL_S = 0.02


@dataclass(frozen=True)
class Finished:
    """A run of the program that has ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        """What gazelab wrote to stderr, line by line."""
        return [line for line in self.err.splitlines() if not _LIBRARY_TALK.match(line)]

    def refusal(self, code: int = 1) -> str:
        """Give the one sentence with which it refused; fail if it did anything else."""
        assert self.code == code, f"exit code {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err, self.err
        sentences = [line for line in self.said if line.startswith("gazelab: ")]
        assert len(sentences) == 1, self.err
        return sentences[0].removeprefix("gazelab: ")

    def worked(self) -> str:
        """Give what it printed; fail if it did not end well."""
        assert self.code == 0, f"exit code {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err, self.err
        return self.out


def gazelab(*arguments: str | Path, timeout_s: float = 120.0, stdin: str = "") -> Finished:
    """Run `gazelab …` to its end."""
    command = [sys.executable, "-m", "gazelab", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, input=stdin)
    return Finished(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def running(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start `gazelab …` and kill it at the end of the block if it still runs."""
    given = {**os.environ, **(environment or {})}
    command = [sys.executable, "-m", "gazelab", *map(str, arguments)]
    pipe = subprocess.PIPE
    # Ctrl-C as a terminal gives it: a shell that starts the tests in the background has it ignored.
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=given, preexec_fn=_hear_ctrl_c
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], timeout_s: float = 60.0) -> Finished:
    """Wait for a started program's end."""
    out, err = process.communicate(timeout=timeout_s)
    return Finished(process.returncode, out, err)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], deadline_s: float = 60.0) -> None:
    """Wait until something holds; fail if the program ends before, or at the deadline."""
    until = time.monotonic() + deadline_s
    while not condition():
        assert process.poll() is None, f"it ended: {ended(process)}"
        assert time.monotonic() < until, "not within the deadline"
        time.sleep(POLL_S)


def n_samples(session: Path) -> int:
    """Count the samples of a session that is being written."""
    return len(Session.open(session).gaze()) if (session / "gaze.bin").exists() else 0


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
