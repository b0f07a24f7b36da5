"""Pictures of where a model looked: a map over its chart, and a sheet with one map a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from gazelab.attention.chosen import numbers_of
from gazelab.attention.maps import display_scale
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.pipeline.map_choice import MapChoice

HEAT_STOPS = np.array([[255, 247, 188], [254, 217, 118], [253, 141, 60], [227, 74, 51], [128, 0, 38]], float)
HEAT_OPACITY = 0.75
UNSEEN_GREY, UNSEEN_OPACITY, UNSEEN_STRIPE_PX = 120, 0.45, 12
BAND_PX = 256
SHEET_COLUMNS, THUMBNAIL_PX, GAP_PX, CAPTION_PX = 6, 240, 10, 20

FRAME_RGB, FRAME_PX = (0, 90, 160), 2

Pixels = NDArray[np.uint8]


def overlay(picture: Picture, chosen: AttentionMap) -> Pixels:
    """Lay a map over its picture by the patches' exact rectangles; opacity grows with the weight.

    What the model cannot see, such as sides that it crops away, is striped grey.

    Returns
    -------
    numpy.ndarray, shape (height, width, 3), uint8
    """
    density = chosen.grid.paint(np.nan_to_num(chosen.values), picture.height_px, picture.width_px)
    scaled = display_scale(density)
    hidden = unseen(chosen.grid, picture.height_px, picture.width_px)
    out: Pixels = np.empty_like(picture.rgb)
    for top in range(0, picture.height_px, BAND_PX):  # a large picture as a whole takes GB in between
        band = slice(top, top + BAND_PX)
        out[band] = _mixed(picture.rgb[band], scaled[band], hidden[band], top)
    return out


def _mixed(rgb: Pixels, scaled: NDArray[np.float64], hidden: NDArray[np.bool_], top_px: int) -> Pixels:
    place = np.linspace(0, 1, len(HEAT_STOPS))
    colour = np.stack([np.interp(scaled, place, HEAT_STOPS[:, c]) for c in range(3)], -1)
    alpha = (scaled * HEAT_OPACITY)[..., None]
    mixed = rgb * (1 - alpha) + colour * alpha
    striped = hidden & _stripes(hidden.shape, top_px)
    mixed[striped] = mixed[striped] * (1 - UNSEEN_OPACITY) + UNSEEN_GREY * UNSEEN_OPACITY
    return np.asarray(np.round(mixed), np.uint8)


def unseen(grid: PatchGrid, height_px: int, width_px: int) -> NDArray[np.bool_]:
    """Find the pixels that no patch covers.

    Returns
    -------
    numpy.ndarray, shape (height, width), bool
    """
    x_px, y_px = np.arange(width_px) + 0.5, np.arange(height_px) + 0.5
    x, y = grid.x_edges_px, grid.y_edges_px
    outside_x, outside_y = (x_px < x[0]) | (x_px > x[-1]), (y_px < y[0]) | (y_px > y[-1])
    return np.asarray(outside_y[:, None] | outside_x[None])


def contact_sheet(picture: Picture, trace: AttentionTrace, choice: MapChoice) -> Pixels:
    """Draw one small map for each layer, with the share of the attention that fell on the chart.

    Parameters
    ----------
    choice : MapChoice
        How heads and tokens are put together ("mean" where its method is none that puts together); its
        layers are the ones drawn, all by default.

    Returns
    -------
    numpy.ndarray, shape (height, width, 3), uint8
    """
    layers = numbers_of("layer", choice.layers, trace.layers)
    together = choice if choice.method in ("mean", "max") else replace(choice, method="mean")
    said = "" if together is choice else ", mean"
    maps = []
    for layer in layers:
        made = replace(together, layers=(layer,)).of(trace)
        share = (
            f"{made.picture_share:.0%} on the chart" if np.isfinite(made.values).all() else "nothing on it"
        )
        maps.append((f"layer {layer}{said}: {share}", made))
    return map_sheet(picture, maps)


def map_sheet(
    picture: Picture, maps: Sequence[tuple[str, AttentionMap]], patch: tuple[int, int] | None = None
) -> Pixels:
    """Draw maps over small copies of their picture, row by row, each with its caption.

    Parameters
    ----------
    maps : sequence of (str, AttentionMap)
        Caption and map.
    patch : (int, int), optional
        Row and column of a patch that is framed in each.

    Returns
    -------
    numpy.ndarray, shape (height, width, 3), uint8
    """
    small = _small(picture)
    columns = min(SHEET_COLUMNS, len(maps))
    cell = small.width + GAP_PX, small.height + CAPTION_PX + GAP_PX
    rows = -(-len(maps) // columns)
    sheet = Image.new("RGB", (columns * cell[0] + GAP_PX, rows * cell[1] + GAP_PX), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for place, (caption, made) in enumerate(maps):
        left, top = (GAP_PX + place % columns * cell[0], GAP_PX + place // columns * cell[1])
        scaled = _scaled_to(made, small.width, small.height)
        drawn = overlay(Picture.from_rgb(np.asarray(small)), scaled)
        if patch is not None:
            drawn = framed_patch(drawn, scaled.grid, *patch)
        sheet.paste(Image.fromarray(drawn), (left, top + CAPTION_PX))
        pen.text((left, top), caption, "black", font)
    return np.asarray(sheet, np.uint8)


def framed_patch(rgb: Pixels, grid: PatchGrid, row: int, col: int) -> Pixels:
    """Draw a frame round a patch, outside of it, as far as the picture goes."""
    height, width = rgb.shape[:2]
    left, right = (round(float(grid.x_edges_px[k])) for k in (col, col + 1))
    top, bottom = (round(float(grid.y_edges_px[k])) for k in (row, row + 1))
    out = rgb.copy()
    outer = np.zeros((height, width), bool)
    outer[max(top - FRAME_PX, 0) : bottom + FRAME_PX, max(left - FRAME_PX, 0) : right + FRAME_PX] = True
    outer[max(top, 0) : bottom, max(left, 0) : right] = False
    out[outer] = FRAME_RGB
    return out


def _small(picture: Picture) -> Image.Image:
    image = Image.fromarray(picture.rgb)
    image.thumbnail((THUMBNAIL_PX, THUMBNAIL_PX), Image.Resampling.BOX)
    return image


def _scaled_to(made: AttentionMap, width_px: int, height_px: int) -> AttentionMap:
    """Give the same map on a smaller copy of its picture."""
    grid = made.grid
    x, y = width_px / grid.picture_width_px, height_px / grid.picture_height_px
    return replace(made, grid=PatchGrid(grid.x_edges_px * x, grid.y_edges_px * y, width_px, height_px))


def _stripes(shape: tuple[int, ...], top_px: int) -> NDArray[np.bool_]:
    y, x = np.indices(shape, sparse=True)
    return np.asarray((x + y + top_px) // UNSEEN_STRIPE_PX % 2 == 0)
