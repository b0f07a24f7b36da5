"""One chart with one question: the noun that every source of charts gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from gazelab.core.errors import ChartError
from gazelab.core.picture import Picture, load_picture

Role = Literal["label", "value", "mark", "legend", "title", "answer"]


@dataclass(frozen=True)
class Box:
    """An upright rectangle in picture px: upper left origin, +y down, right and bottom exclusive."""

    left_px: float
    top_px: float
    right_px: float
    bottom_px: float

    @property
    def centre_px(self) -> tuple[float, float]:
        """Centre as (x, y) in picture px."""
        return (self.left_px + self.right_px) / 2, (self.top_px + self.bottom_px) / 2

    @property
    def area_px2(self) -> float:
        """Area in px²."""
        return (self.right_px - self.left_px) * (self.bottom_px - self.top_px)


@dataclass(frozen=True)
class Element:
    """One thing drawn on a chart.

    Attributes
    ----------
    element_id : str
        Unique on its chart.
    role : str
        label, value, mark (bar, slice, point), legend, title; or "answer" where only that is known.
    text : str
        What it says; the colour's name for a mark.
    box : Box
        Where it lies, picture px.
    data : tuple of int
        The chart's data that it stands for; a category label of a grouped chart stands for several.
    """

    element_id: str
    role: Role
    text: str
    box: Box
    data: tuple[int, ...] = ()


class PictureSource(Protocol):
    """A picture inside another file, read when it is wanted."""

    def read(self) -> bytes:
        """Read the picture file's bytes."""


@dataclass(frozen=True)
class ChartItem:
    """One question on one chart.

    Attributes
    ----------
    chart_id : str
        Unique in its set of items.
    name : str
        The picture's file name.
    source : Path, bytes or PictureSource
        The picture file, its content, or where it can be read from.
    question, answer : str
        As given by the set; the answer may be suspect (see `suspect`).
    kind : str
        Kind of question for synthetic charts, "human" or "augmented" for ChartQA.
    elements : tuple of Element
        All that are known: every element of a synthetic chart, the answer's alone for ChartQA.
    asked : tuple of str
        Ids of the elements that the question asks about.
    suspect : str
        Why the given answer may be wrong, empty if there is no reason to think so.
    warning : str
        What to tell the user of this item, such as a broken character in the question.
    """

    chart_id: str
    name: str
    source: Path | bytes | PictureSource = field(repr=False)
    question: str
    answer: str
    kind: str = ""
    elements: tuple[Element, ...] = ()
    asked: tuple[str, ...] = ()
    suspect: str = ""
    warning: str = ""

    def picture(self) -> Picture:
        """Read the picture.

        Raises
        ------
        PictureError
            The file is missing or no picture.
        """
        source = self.source
        if isinstance(source, (Path, bytes)):
            return load_picture(source, name=self.name)
        return load_picture(source.read(), name=self.name)

    @property
    def picture_sha256(self) -> str:
        """SHA-256 of the picture's pixels (reads the picture)."""
        return self.picture().sha256

    def asked_elements(self) -> tuple[Element, ...]:
        """Give the elements that the question asks about.

        Raises
        ------
        ChartError
            An id in `asked` is not on the chart.
        """
        by_id = {element.element_id: element for element in self.elements}
        missing = [name for name in self.asked if name not in by_id]
        if missing:
            raise ChartError(f"the chart has no element {missing[0]!r}.", where=self.name)
        return tuple(by_id[name] for name in self.asked)
