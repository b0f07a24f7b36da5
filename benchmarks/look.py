"""How long a click on a token, a layer, a head or a cell takes until everything is drawn anew.

    python benchmarks/look.py [--layers N] [--heads N] [--rows N] [--cols N] [--tokens N] [--clicks N]

A trace of random weights is shown on the page's own widgets, offscreen: two charts, a strip with a small map
for each token, the layer x head matrix. Each click is timed from the choice to the end of the repaint that it
causes, for the matrix as numbers and as small maps. Beside it what the sums cost that make this possible
(once a token, on the model's thread), and what the same map costs without them (`MapChoice.of`). On a busy
machine the CPU time of the process is what to trust; both are printed.
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
from gazelab.ui.look_sums import StepSums, sums_of_step
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


Took = tuple[float, float]
"""Wall-clock and CPU milliseconds."""


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


def timed(do: Callable[[], object], paint: Callable[[], object] = lambda: None) -> Took:
    wall, cpu = time.perf_counter(), time.process_time()
    do()
    paint()
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def clicks(page: Page) -> dict[str, Callable[[int], object]]:
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


def line(what: str, took: list[Took]) -> str:
    wall, cpu = np.percentile(took, [50, 95], axis=0).T
    return f"{what:28s}{wall[0]:9.1f} {wall[1]:9.1f} {cpu[0]:9.1f} {cpu[1]:9.1f}"


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
    print(f"{'ms':28s}{'wall p50':>9s} {'p95':>9s} {'CPU p50':>9s} {'p95':>9s}")
    sums: list[StepSums] = []
    print(line("sums of a token (worker)", [timed(lambda s=s: sums.append(sums_of_step(s))) for s in steps]))
    page.looking.begin(None, head)
    paint = app.processEvents
    came = [timed(lambda k=k: page.looking.add(steps[k], sums[k]), paint) for k in range(len(steps))]
    print(line("a new token", came))
    page.looking.finish("answer", None)
    trace = page.looking.trace
    slow = [timed(lambda: page.looking.pick.choice().of(trace)) for _ in range(3)]
    print(line("the map without the sums", slow))
    worst = [0.0, 0.0]
    for what, name in ((Measure.PICTURE, "numbers"), (MAPS, "small maps")):
        page.panel.set_measure(what)
        page.looking._token_chosen(ALL_TOKENS)
        paint()
        for kind, click in clicks(page).items():
            took = [timed(lambda k=k, c=click: c(k), paint) for k in range(1, given.clicks + 1)]
            worst = [max(a, float(b)) for a, b in zip(worst, np.percentile(took, 95, axis=0), strict=True)]
            print(line(f"{kind}, {name}", took))
        page.panel.controls.choose(None, None)
    print(
        f"\nlargest p95 of a click: {worst[0]:.1f} ms of wall clock, {worst[1]:.1f} ms of CPU (aim: below 50)"
    )
    return int(min(worst) >= 50)


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
