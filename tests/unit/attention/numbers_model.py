"""A model without a network, which a child process opens at once: it counts, and does as its name says."""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from gazelab.attention.base import TokenStep, TraceHead, trace_of
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid


class NumbersModel:
    kind, layers, n_heads, revision = "self", (0, 1), 2, "r1"
    about = "It counts."

    def __init__(self, name, arguments):
        self.model_id = name
        self.arguments = arguments

    def head(self, picture, question):
        if "refuse" in question:
            raise AttentionError("the picture is too small.", where="chart.png", todo="Take another.")
        grid = PatchGrid.stretched(2, 3, picture.width_px, picture.height_px)
        return TraceHead(self.model_id, "r1", picture.sha256, question, grid, self.layers, self.n_heads)

    def stream(self, picture, question, max_tokens=32):
        for k in range(max_tokens):
            if k == 1 and "die" in question:
                os.kill(os.getpid(), 9)
            if k == 1 and "crash" in question:
                raise ZeroDivisionError
            while k == 1 and "hang" in question:
                time.sleep(0.01)
            weights = np.full((2, 2, 2, 3), float(picture.rgb[0, 0, 0]) / 1000, np.float16)
            yield TokenStep(
                str(k),
                k,
                ((str(k), 1.0),),
                weights,
                np.zeros((2, 2), np.float32),
                np.zeros((2, 2), np.float32),
            )

    def answer_text(self, steps):
        return "".join(step.text for step in steps)

    def trace(self, picture, question, max_tokens=32):
        steps = list(self.stream(picture, question, max_tokens))
        return trace_of(self.head(picture, question), steps, self.answer_text(steps))


def open_numbers(name, progress=None, **arguments):
    """Open it as `open_model` would."""
    if name == "missing":
        raise AttentionError("no such folder.", where=name, todo="Give another.")
    if name == "slow":
        while True:
            time.sleep(0.01)
    if name == "fetched":
        progress("downloading fetched", 0, 10)
        progress("downloading fetched", 10, 10)
    return NumbersModel(name, arguments)


def qt_modules(model):
    """What of Qt, torch or mediapipe the process has loaded."""
    return sorted(m for m in sys.modules if m.split(".")[0] in ("PyQt6", "torch", "mediapipe"))


def arguments_of(model, times):
    return [model.arguments["dtype"]] * times


def counted(model, n, progress=lambda done, total: None):
    """Tell n steps; gives how many."""
    for done in range(1, n + 1):
        progress(done, n)
    return n
