"""Any picture to the model's 256x192: the one resize used in training, live and in evaluation."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image


def shrink(picture: NDArray[np.uint8], width_px: int, height_px: int) -> NDArray[np.uint8]:
    """Stretch a picture to the model's size by area averaging.

    Parameters
    ----------
    picture
        (height, width, 3) uint8 RGB of any size.
    width_px, height_px
        The model's picture size. The aspect ratio is not kept: nothing is cropped or padded.

    Returns
    -------
    (height_px, width_px, 3) uint8.
    """
    image = Image.fromarray(np.ascontiguousarray(picture))
    if image.size != (width_px, height_px):
        image = image.resize((width_px, height_px), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.uint8)


def to_input(pictures: NDArray[np.uint8]) -> torch.Tensor:
    """Turn (batch, height, width, 3) uint8 into (batch, 3, height, width) of ink: white 0, black 3."""
    return torch.from_numpy(255 - pictures).permute(0, 3, 1, 2).float() / 85.0
