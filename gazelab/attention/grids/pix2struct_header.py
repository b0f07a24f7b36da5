"""The question as Pix2Struct, MatCha and DePlot read it: drawn in black on white above the picture.

The library's own processor draws it with a font that it fetches from the hub at that moment. Here it draws
with one of ours, as wide as Arial letter by letter, and we keep where the picture came to lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

FONT = Path(__file__).parent / "fonts" / "LiberationSans-Regular.ttf"


@dataclass(frozen=True)
class Drawn:
    """A picture below its header.

    Attributes
    ----------
    rgb : numpy.ndarray, shape (height, width, 3), uint8
    header_px : int
        Height of the header; the picture takes the rest, at full width.
    """

    rgb: NDArray[np.uint8]
    header_px: int


def drawn_below(image_processor: Any, image: Image.Image, question: str) -> Drawn:
    """Draw a question above a picture, as the library does but for the font.

    Parameters
    ----------
    image_processor : transformers.Pix2StructImageProcessorPil
    image : PIL.Image.Image
        RGB. It is widened to the header if that is wider, else the header is widened to it.
    question : str
        Broken into lines of at most 80 characters, 36 px high, as in Lee et al. 2023, "Pix2Struct".
    """
    planes = np.moveaxis(np.asarray(image), -1, 0)
    made = np.moveaxis(image_processor.render_header(planes, question, font_bytes=FONT.read_bytes()), 0, -1)
    height, width = made.shape[:2]
    return Drawn(made, height - int(image.height * (width / image.width)))
