"""How long a click on a token, a layer, a head or a cell takes until everything is drawn anew.

    python benchmarks/look.py [--layers N] [--heads N] [--rows N] [--cols N] [--tokens N] [--clicks N]

A trace of random weights is shown on the page's own widgets, offscreen: two charts, a strip with a small map
for each token, the layer x head matrix. Each click is timed from the choice to the end of the repaint that it
causes, for the matrix as numbers and as small maps. Beside it what the sums cost that make this possible
(once a token, on the model's thread), and what the same map costs without them (`MapChoice.of`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PyQt6.QtWidgets import QHBoxLayout, QWidget

from gazelab.app import make_application
from gazelab.attention.base import TokenStep, TraceHead
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.settings import Settings
from gazelab.ui.look import ALL_TOKENS, Measure
from gazelab.ui.look_panel import MAPS, LookPanel
from gazelab.ui.look_sums import sums_of_step
from gazelab.ui.looking import Looking
from gazelab.ui.pair_view import PairView
from gazelab.ui.theme import Theme


def random_steps(head: TraceHead, n_tokens: int) -> list[TokenStep]:
    """Peaked rows, as attention has them; three quarters of each row fall on the picture."""
    rng = np.random.default_rng(0)
    shape = (len(head.layers), head.n_heads, head.grid.rows, head.grid.cols)
    eighth = np.full(shape[:2], 0.125, np.float32)
    out = []
    for k in range(n_tokens):
        raw = rng.random(shape, np.float32) ** 12
        weights = (0.75 * raw / raw.sum((-2, -1), keepdims=True)).astype(np.float16)
        out.append(TokenStep(f" t{k}", k, ((f" t{k}", 0.9), ("x", 0.05)), weights, eighth, eighth))
    return out


class Page(QWidget):
    """What Explore has of a look."""

    def __init__(self, picture: Picture, size: tuple[int, int]) -> None:
        super().__init__()
        self.pair, self.panel = PairView("Person"), LookPanel()
        self.looking = Looking(self.pair, self.panel)
        line = QHBoxLayout(self)
        line.addWidget(self.pair, 1)
        line.addWidget(self.panel)
        self.panel.setFixedWidth(372)
        self.resize(*size)
        self.pair.set_picture(picture)


def timed(do: Callable[[], object], paint: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    paint()
    return 1e3 * (time.perf_counter() - start)


def clicks(page: Page, n: int) -> dict[str, Callable[[int], object]]:
    """Each kind of click, by its number."""
    look, panel, strip = page.looking, page.panel, page.pair.strip
    trace = look.trace
    assert trace is not None
    n_tokens, layers, heads = len(trace.tokens), trace.layers, trace.n_heads

    def token(k: int) -> None:
        at = k % (n_tokens + 1) - 1
        strip.choose(at)
        strip.chosen.emit(at)

    return {
        "token": token,
        "layer": lambda k: panel.controls.choose(layers[k % len(layers)], None),
        "head": lambda k: panel.controls.choose(None, k % heads),
        "cell": lambda k: panel.controls.choose(layers[k % len(layers)], (7 * k) % heads),
        "patch (hover)": lambda k: page.pair.model._set_mark((k % trace.grid.rows, k % trace.grid.cols)),
    }


def percentiles(values: list[float]) -> str:
    p50, p95 = np.percentile(values, [50, 95])
    return f"{p50:8.1f} {p95:8.1f} {max(values):8.1f}"


def main() -> int:
    given = _arguments().parse_args()
    app = make_application(Settings(), Theme.LIGHT)
    width, height = given.chart
    picture = Picture.from_rgb(np.full((height, width, 3), 255, np.uint8))
    grid = PatchGrid.stretched(given.rows, given.cols, width, height)
    head = TraceHead("random", "", picture.sha256, "q", grid, tuple(range(given.layers)), given.heads)
    steps = random_steps(head, given.tokens)
    page = Page(picture, tuple(given.window))
    page.show()
    app.processEvents()
    print(
        f"{given.layers} layers x {given.heads} heads x {given.rows} x {given.cols} patches x {given.tokens}"
        f" tokens; a window of {given.window[0]} x {given.window[1]} px\n"
    )
    print(f"{'ms':28s}{'p50':>8s} {'p95':>8s} {'most':>8s}")
    sums, took = [], []
    for step in steps:
        start = time.perf_counter()
        sums.append(sums_of_step(step))
        took.append(1e3 * (time.perf_counter() - start))
    print(f"{'sums of a token (worker)':28s}{percentiles(took)}")
    page.looking.begin(head)
    came = [
        timed(lambda s=step, m=made: page.looking.add(s, m), app.processEvents)
        for step, made in zip(steps, sums, strict=True)
    ]
    print(f"{'a new token':28s}{percentiles(came)}")
    page.looking.finish("answer", None)
    look = page.looking.look
    assert look is not None
    slow = [timed(lambda: page.looking.pick.choice().of(look.trace), lambda: None) for _ in range(3)]
    print(f"{'the map without the sums':28s}{percentiles(slow)}")
    worst = 0.0
    for what, name in ((Measure.PICTURE, "numbers"), (MAPS, "small maps")):
        page.panel.set_measure(what)
        page.looking._token_chosen(ALL_TOKENS)
        app.processEvents()
        for kind, click in clicks(page, given.clicks).items():
            times = [timed(lambda k=k, c=click: c(k), app.processEvents) for k in range(1, given.clicks + 1)]
            worst = max(worst, float(np.percentile(times, 95)))
            print(f"{kind + ', ' + name:28s}{percentiles(times)}")
        page.panel.controls.choose(None, None)
    print(f"\nlargest p95 of a click: {worst:.1f} ms (aim: below 50)")
    return int(worst >= 50)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (
        ("layers", 30),
        ("heads", 9),
        ("rows", 30),
        ("cols", 50),
        ("tokens", 16),
        ("clicks", 60),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--chart", type=int, nargs=2, default=(850, 600), metavar="PX")
    parser.add_argument("--window", type=int, nargs=2, default=(1366, 768), metavar="PX")
    return parser


if __name__ == "__main__":
    sys.exit(main())
