"""Draw what reading attention costs over the length of the prompt."""

from __future__ import annotations

import os
from pathlib import Path

OURS, THEIRS = "#0072B2", "#D55E00"  # Okabe and Ito (2008), told apart by the colour-blind


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """Draw extra memory and extra CPU time of the tap and of eager attention, each over tokens."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    import pyqtgraph as pg
    from PyQt6.QtWidgets import QApplication

    app = QApplication.instance() or QApplication([])
    pg.setConfigOptions(antialias=True, background="w", foreground="k")
    page = pg.GraphicsLayoutWidget()
    page.resize(1200, 520)
    panels = {
        "extra peak memory, MB": ("tap_mb", "eager_mb"),
        "extra CPU time, s": ("tap_cpu_s", "eager_cpu_s"),
    }
    for column, (title, names) in enumerate(panels.items()):
        plot = page.addPlot(0, column, title=title)
        plot.addLegend(offset=(20, 20))
        plot.setLabel("bottom", "tokens in the prompt")
        plot.showGrid(y=True, alpha=0.2)
        plot.getAxis("left").enableAutoSIPrefix(False)
        plot.getAxis("left").setWidth(50)  # wide enough for four digits, which come after the layout
        for name, colour, label in zip(names, (OURS, THEIRS), ("tap", "eager, attentions kept"), strict=True):
            plot.plot(
                [row["tokens"] for row in rows],
                [row[name] for row in rows],
                pen=pg.mkPen(colour, width=3),
                symbol="o",
                symbolBrush=colour,
                name=label,
            )
    page.show()
    app.processEvents()
    page.grab().save(str(path))
    page.close()
