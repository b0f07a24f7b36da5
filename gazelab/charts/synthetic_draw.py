"""Paint a synthetic chart's layout and report the box of every element."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from gazelab.charts.item import Box, Element, Role
from gazelab.charts.synthetic import HEIGHT_PX, WIDTH_PX, Datum, Layout
from gazelab.charts.synthetic_words import COLOURS

INK = (30, 30, 30)
AXIS = (110, 110, 110)
GRID = (225, 225, 225)
TITLE_SIZE_PX = 34
TEXT_SIZE_PX = 42
PLOT = Box(50, 150, 984, 640)


@lru_cache(maxsize=8)
def _font(size_px: int) -> ImageFont.FreeTypeFont:
    """Pillow's own font, so that a chart looks the same on every machine."""
    font = ImageFont.load_default(size=size_px)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def label_width_px(text: str) -> float:
    """Width of a label as it is drawn."""
    return float(_font(TEXT_SIZE_PX).getlength(text))


def glyph_centres_px(element: Element) -> tuple[tuple[float, float], ...]:
    """Give the centre (x, y) of each character of a label, value or legend entry."""
    font, (_, y_px) = _font(TEXT_SIZE_PX), element.box.centre_px
    ends = [font.getlength(element.text[: i + 1]) for i in range(len(element.text))]
    starts = [0.0, *ends[:-1]]
    # The box holds the ink, which begins a little after the text's origin.
    left = element.box.left_px - font.getbbox(element.text)[0]
    return tuple((left + (a + b) / 2, y_px) for a, b in zip(starts, ends, strict=True))


def paint(layout: Layout) -> tuple[NDArray[np.uint8], tuple[Element, ...]]:
    """Draw the layout at 1024x768.

    Returns
    -------
    picture
        (768, 1024, 3) uint8 RGB.
    elements
        Every label, value, mark, legend entry and the title, with boxes in picture px.
    """
    painter = _Painter(layout)
    painter.title()
    {
        "bar": painter.bars,
        "horizontal bar": painter.horizontal_bars,
        "grouped bar": painter.grouped_bars,
        "line": painter.line,
        "pie": painter.pie,
    }[layout.kind]()
    return np.asarray(painter.image, dtype=np.uint8), tuple(painter.elements)


class _Painter:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.image = Image.new("RGB", (WIDTH_PX, HEIGHT_PX), (255, 255, 255))
        self.draw = ImageDraw.Draw(self.image)
        self.elements: list[Element] = []

    def _add(self, role: Role, text: str, box: Box, data: tuple[int, ...]) -> None:
        self.elements.append(Element(f"{role}-{len(self.elements)}", role, text, box, data))

    def _text(
        self,
        role: Role,
        text: str,
        x_px: float,
        y_px: float,
        data: tuple[int, ...],
        anchor: str = "mm",
        ink: tuple[int, int, int] = INK,
    ) -> None:
        size = TITLE_SIZE_PX if role == "title" else TEXT_SIZE_PX
        font = _font(size)
        self.draw.text((x_px, y_px), text, fill=ink, font=font, anchor=anchor)
        left, top, right, bottom = self.draw.textbbox((x_px, y_px), text, font=font, anchor=anchor)
        self._add(role, text, Box(left, top, right, bottom), data)

    def _fill(self, colour: str) -> tuple[int, int, int]:
        red, green, blue = (
            min(255, max(0, c + d)) for c, d in zip(COLOURS[colour], self.layout.shift, strict=True)
        )
        return red, green, blue

    def title(self) -> None:
        self._text("title", self.layout.title, WIDTH_PX / 2, 46, (), ink=AXIS)

    def _height_px(self, value: int) -> float:
        top = max(datum.value for datum in self.layout.data) * self.layout.headroom
        return (PLOT.bottom_px - PLOT.top_px) * value / top

    def _frame(self) -> None:
        if self.layout.gridlines:
            for i in range(1, 5):
                y_px = PLOT.bottom_px - i * (PLOT.bottom_px - PLOT.top_px) / 4
                self.draw.line((PLOT.left_px, y_px, PLOT.right_px, y_px), fill=GRID, width=3)
        self.draw.line((PLOT.left_px, PLOT.bottom_px, PLOT.right_px, PLOT.bottom_px), fill=AXIS, width=4)

    def _bar(self, index: int, datum: Datum, centre_px: float, width_px: float) -> None:
        top = PLOT.bottom_px - self._height_px(datum.value)
        box = Box(centre_px - width_px / 2, top, centre_px + width_px / 2, PLOT.bottom_px)
        self.draw.rectangle((box.left_px, top, box.right_px, PLOT.bottom_px), fill=self._fill(datum.colour))
        self._add("mark", datum.colour, box, (index,))
        self._text("value", str(datum.value), centre_px, top - 8, (index,), "mb")

    def bars(self) -> None:
        self._frame()
        data = self.layout.data
        slot = (PLOT.right_px - PLOT.left_px) / len(data)
        for i, datum in enumerate(data):
            centre = PLOT.left_px + (i + 0.5) * slot
            self._bar(i, datum, centre, slot * self.layout.bar_share)
            self._text("label", datum.category, centre, PLOT.bottom_px + 46, (i,))

    def horizontal_bars(self) -> None:
        data = self.layout.data
        left, right, top, bottom = 250.0, 960.0, 110.0, 730.0
        slot = (bottom - top) / len(data)
        scale = (right - left) / (max(datum.value for datum in data) * self.layout.headroom * 1.1)
        for i, datum in enumerate(data):
            y_px = top + (i + 0.5) * slot
            half = min(slot * self.layout.bar_share, 90) / 2
            box = Box(left, y_px - half, left + datum.value * scale, y_px + half)
            self.draw.rectangle(
                (box.left_px, box.top_px, box.right_px, box.bottom_px), fill=self._fill(datum.colour)
            )
            self._add("mark", datum.colour, box, (i,))
            self._text("label", datum.category, left - 16, y_px, (i,), "rm")
            self._text("value", str(datum.value), box.right_px + 12, y_px, (i,), "lm")
        self.draw.line((left, top, left, bottom), fill=AXIS, width=4)

    def grouped_bars(self) -> None:
        self._frame()
        data = self.layout.data
        categories = list(dict.fromkeys(datum.category for datum in data))
        per_group = len(data) // len(categories)
        slot = (PLOT.right_px - PLOT.left_px) / len(categories)
        bar = min(slot * 0.9 / per_group, 150)
        for c, category in enumerate(categories):
            centre = PLOT.left_px + (c + 0.5) * slot
            members = tuple(range(c * per_group, (c + 1) * per_group))
            for s, i in enumerate(members):
                self._bar(i, data[i], centre + (s - (per_group - 1) / 2) * bar, bar - 8)
            self._text("label", category, centre, PLOT.bottom_px + 46, members)
        self._legend(per_group)

    def _legend(self, n_series: int) -> None:
        slot = 800 / n_series
        for s, datum in enumerate(self.layout.data[:n_series]):
            x_px = 130 + s * slot
            members = tuple(range(s, len(self.layout.data), n_series))
            self.draw.rectangle((x_px, 82, x_px + 36, 118), fill=self._fill(datum.colour))
            self._text("legend", datum.series or "", x_px + 50, 100, members, "lm")

    def line(self) -> None:
        self._frame()
        data = self.layout.data
        slot = (PLOT.right_px - PLOT.left_px) / len(data)
        top = max(datum.value for datum in data) * self.layout.headroom
        span = PLOT.bottom_px - PLOT.top_px - 130
        points = [
            (PLOT.left_px + (i + 0.5) * slot, PLOT.bottom_px - 70 - span * datum.value / top)
            for i, datum in enumerate(data)
        ]
        colour = self._fill(data[0].colour)
        self.draw.line(points, fill=colour, width=10, joint="curve")
        for i, ((x_px, y_px), datum) in enumerate(zip(points, data, strict=True)):
            self.draw.ellipse((x_px - 14, y_px - 14, x_px + 14, y_px + 14), fill=colour)
            self._add("mark", datum.colour, Box(x_px - 14, y_px - 14, x_px + 14, y_px + 14), (i,))
            # Written on the side that the line does not take.
            neighbours = [points[k][1] for k in (i - 1, i + 1) if 0 <= k < len(points)]
            below = all(neighbour < y_px for neighbour in neighbours)
            self._text("value", str(datum.value), x_px, y_px + (42 if below else -42), (i,))
            self._text("label", datum.category, x_px, PLOT.bottom_px + 46, (i,))

    def pie(self) -> None:
        data = self.layout.data
        x_px, y_px, radius = WIDTH_PX / 2, 425.0, 235.0
        start = -90.0
        for i, datum in enumerate(data):
            end = start + 3.6 * datum.value
            fill = self._fill(datum.colour)
            box = (x_px - radius, y_px - radius, x_px + radius, y_px + radius)
            self.draw.pieslice(box, start, end, fill=fill, outline=(255, 255, 255), width=4)
            middle = math.radians((start + end) / 2)
            dx, dy = math.cos(middle), math.sin(middle)
            self._add("mark", datum.colour, _slice_box(x_px, y_px, radius, start, end), (i,))
            ink = INK if sum(fill) > 380 else (255, 255, 255)
            value_x, value_y = x_px + 0.68 * radius * dx, y_px + 0.68 * radius * dy
            self._text("value", str(datum.value), value_x, value_y, (i,), ink=ink)
            anchor = "lm" if dx > 0.25 else "rm" if dx < -0.25 else "mm"
            self._text(
                "label", datum.category, x_px + 1.1 * radius * dx, y_px + 1.16 * radius * dy, (i,), anchor
            )
            start = end


def _slice_box(x_px: float, y_px: float, radius_px: float, start_deg: float, end_deg: float) -> Box:
    """Bounds of a slice: the centre, both ends of its arc and every axis direction inside it."""
    angles = [start_deg, end_deg] + [a for a in range(-90, 361, 90) if start_deg < a < end_deg]
    xs = [x_px] + [x_px + radius_px * math.cos(math.radians(a)) for a in angles]
    ys = [y_px] + [y_px + radius_px * math.sin(math.radians(a)) for a in angles]
    return Box(min(xs), min(ys), max(xs), max(ys))
