"""The one picture loader: what a person sees, what a model gets and what is exported are the same pixels."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from gazelab.core import picture
from gazelab.core.errors import PictureError
from gazelab.core.picture import Picture, encode_png, encode_rgba_png, load_picture


def png(image: Image.Image, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    return out.getvalue()


def small_chart() -> NDArray[np.uint8]:
    """Draw 7 x 5 px of which each differs, so that a turn, a flip or a shear shows."""
    return np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3) * 2


@given(arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))))
def test_png_round_trip_is_lossless(rgb: NDArray[np.uint8]) -> None:
    loaded = load_picture(encode_png(rgb))
    assert np.array_equal(loaded.rgb, rgb)
    assert loaded.sha256 == Picture.from_rgb(rgb).sha256


def transparent(mode: str) -> Image.Image:
    """Draw black ink on nothing at all: the ground's hidden colour is black, too."""
    image = Image.new("RGBA", (20, 10), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (5, 3, 9, 6))
    if mode == "P":
        paletted = Image.new("P", (20, 10), 0)
        paletted.putpalette([0, 0, 0, 0, 0, 0])
        paletted.paste(1, (5, 3, 9, 6))
        return paletted
    return image.convert(mode)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_I1_alpha_lies_on_white(mode: str) -> None:
    options = {"transparency": 0} if mode == "P" else {}
    rgb = load_picture(png(transparent(mode), **options)).rgb
    ink = np.zeros((10, 20), bool)
    ink[3:6, 5:9] = True
    assert (rgb[~ink] == 255).all()
    assert (rgb[ink] == 0).all()


def test_I1_one_colour_made_transparent_lies_on_white() -> None:
    image = Image.new("RGB", (4, 2), (10, 20, 30))
    image.putpixel((1, 1), (200, 0, 0))
    rgb = load_picture(png(image, transparency=(10, 20, 30))).rgb
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[1, 1].tolist() == [200, 0, 0]


def test_I1_half_transparent_ink_is_mixed_with_white() -> None:
    rgb = load_picture(png(Image.new("RGBA", (1, 1), (0, 0, 0, 128)))).rgb
    assert abs(int(rgb[0, 0, 0]) - 127) <= 1


@pytest.mark.parametrize("name", ["rgba_black_on_transparent.png", "palette_trns_index0_black.png"])
def test_I1_files_with_a_hidden_black_ground(cases: Path, name: str) -> None:
    rgb = load_picture(cases / name).rgb
    assert (rgb == 255).all(axis=2).mean() > 0.6
    assert rgb[[0, 0, -1, -1], [0, -1, 0, -1]].min() == 255


@pytest.mark.parametrize("turn", range(1, 9))
def test_I6_exif_turn_is_applied_once_and_dropped(turn: int) -> None:
    upright = small_chart()
    undo = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a, 1),
        7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
        8: lambda a: np.rot90(a, -1),
    }
    exif = Image.Exif()
    exif[0x0112] = turn
    stored = Image.fromarray(np.ascontiguousarray(undo[turn](upright)))
    loaded = load_picture(png(stored, exif=exif))
    assert np.array_equal(loaded.rgb, upright)
    assert np.array_equal(load_picture(encode_png(loaded.rgb)).rgb, upright)


@pytest.mark.parametrize("width", range(850, 858))
def test_I8_rows_stay_straight_at_any_width(width: int) -> None:
    wide = np.zeros((12, width + 3, 3), np.uint8)
    wide[:, 400] = 255
    view = wide[:, :width]  # rows lie further apart than the picture is wide
    loaded = load_picture(encode_png(view))
    for p in (loaded, Picture.from_rgb(view)):
        assert p.rgb.flags.c_contiguous
        assert (p.width_px, p.height_px) == (width, 12)
        assert (np.nonzero(p.rgb[:, :, 0])[1] == 400).all()


def test_I8_a_chart_of_odd_width(cases: Path) -> None:
    loaded = load_picture(cases / "chart_853x601_width_mod4_is_1.png")
    assert loaded.rgb.shape == (601, 853, 3)
    assert loaded.rgb.strides == (853 * 3, 3, 1)


@pytest.mark.slow
def test_I5_a_picture_of_over_256_mb_is_loaded_whole() -> None:
    rgb = load_picture(png(Image.new("1", (9400, 9400), 1))).rgb
    assert rgb.shape == (9400, 9400, 3)
    assert rgb[:, :, 0].size * 4 > 256 * 1024**2  # as Qt counts
    assert rgb[0, 0].tolist() == rgb[-1, -1].tolist() == [255, 255, 255]


def test_I5_a_picture_beyond_the_limit_is_refused_by_its_header() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    with pytest.raises(PictureError, match=r"too large|megapixels.*Scale it down"):
        load_picture(bomb, name="bomb.png")


def test_the_limit_is_the_one_that_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MAX_PIXELS", 100)
    assert load_picture(png(Image.new("L", (10, 10)))).width_px == 10
    with pytest.raises(PictureError, match=r"chart: 11 x 10 px: over .* megapixels\. Scale it down first\."):
        load_picture(png(Image.new("L", (11, 10))), name="chart")


def test_sixteen_bit_grey_keeps_its_shades() -> None:
    deep = np.array([[0, 257, 32896, 65535]], np.uint16)
    rgb = load_picture(png(Image.fromarray(deep))).rgb
    assert rgb[0, :, 0].tolist() == [0, 1, 128, 255]


def test_cmyk_white_is_white(cases: Path) -> None:
    rgb = load_picture(cases / "cmyk.jpg").rgb
    assert rgb.shape == (200, 320, 3)
    assert rgb[0, 0].min() >= 250


def test_one_pixel(cases: Path) -> None:
    assert load_picture(cases / "chart_1x1.png").rgb.tolist() == [[[255, 255, 255]]]


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_what_is_no_picture_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "chart é.png"
    file.write_bytes(content)
    with pytest.raises(PictureError, match=r"chart é\.png: not a picture .* Save it again as PNG\."):
        load_picture(file)


def test_half_a_picture_is_named() -> None:
    whole = encode_png(np.random.default_rng(1).integers(0, 255, (40, 40, 3), np.uint8))
    with pytest.raises(PictureError, match=r"picture of \d+ bytes: not a picture that can be read"):
        load_picture(whole[: len(whole) // 2])


def test_half_a_file_is_named(cases: Path) -> None:
    with pytest.raises(PictureError, match=r"truncated_half\.png: not a picture that can be read"):
        load_picture(cases / "truncated_half.png")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match=r"none\.png: there is no such file\. Check the path\."):
        load_picture(tmp_path / "none.png")
    with pytest.raises(PictureError, match="not a picture"):
        load_picture(tmp_path)


def test_a_pictures_name_tells_its_size_too() -> None:
    flat = np.zeros((2, 3, 3), np.uint8)
    assert Picture.from_rgb(flat).sha256 != Picture.from_rgb(flat.reshape(3, 2, 3)).sha256


@pytest.mark.parametrize(
    "bad", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 4), np.uint8), np.zeros((2, 2, 3), float)]
)
def test_other_arrays_are_refused(bad: NDArray[np.uint8]) -> None:
    with pytest.raises(TypeError, match=r"\(height, width, 3\) uint8"):
        Picture.from_rgb(bad)


def test_a_heat_map_keeps_its_alpha() -> None:
    rgba = np.array([[[255, 0, 0, 128], [0, 0, 255, 0]]], np.uint8)
    with Image.open(io.BytesIO(encode_rgba_png(rgba))) as image:
        assert np.array_equal(np.asarray(image), rgba)
