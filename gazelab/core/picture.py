"""The one picture loader: the same pixels for the person, the model and the export."""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from gazelab.core.errors import PictureError

MAX_PIXELS = 100_000_000
MAX_BYTES = 200_000_000
LARGE_PIXELS = 4_000_000


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture as shown.

    Attributes
    ----------
    rgb : numpy.ndarray, shape (height, width, 3), uint8
        Alpha laid on white, EXIF turn applied; contiguous.
    sha256 : str
        Of the size and the RGB pixels, so that a re-encoded file of the same picture has the same name.
    """

    rgb: NDArray[np.uint8]
    sha256: str

    @property
    def width_px(self) -> int:
        """Width in px."""
        return int(self.rgb.shape[1])

    @property
    def height_px(self) -> int:
        """Height in px."""
        return int(self.rgb.shape[0])

    @classmethod
    def from_rgb(cls, rgb: NDArray[np.uint8]) -> Picture:
        """Wrap pixels that are already (height, width, 3) uint8 RGB."""
        pixels = np.ascontiguousarray(rgb)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise TypeError(f"a picture is (height, width, 3) uint8, not {pixels.shape} {pixels.dtype}")
        head = f"{pixels.shape[1]}x{pixels.shape[0]}:".encode()
        return cls(pixels, hashlib.sha256(head + pixels.tobytes()).hexdigest())


def load_picture(source: Path | str | bytes, name: str | None = None) -> Picture:
    """Read a picture file (PNG, JPEG, …) into RGB.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.
    name : str, optional
        What to call it in an error; the path by default.

    Returns
    -------
    Picture

    Raises
    ------
    PictureError
        Missing, too large, truncated, or no picture.
    """
    label = name or (f"picture of {len(source)} bytes" if isinstance(source, bytes) else str(source))
    try:
        data = source if isinstance(source, bytes) else _read(Path(source))
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise PictureError(
                        f"{image.width} x {image.height} px: over {MAX_PIXELS // 1_000_000} megapixels.",
                        where=label,
                        todo="Scale it down first.",
                    )
                image.load()
                return Picture.from_rgb(_to_rgb(image))
    except PictureError:
        raise
    except FileNotFoundError as fault:
        raise PictureError("there is no such file.", where=label, todo="Check the path.") from fault
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as fault:
        raise PictureError("the picture is too large.", where=label, todo="Scale it down first.") from fault
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError) as fault:
        # Pillow's own words for an unknown format name only our buffer's address.
        why = "" if isinstance(fault, UnidentifiedImageError) else f" ({fault})"
        raise PictureError(
            f"not a picture that can be read{why}.", where=label, todo="Save it again as PNG."
        ) from fault


def encode_png(rgb: NDArray[np.uint8]) -> bytes:
    """Encode (height, width, 3) uint8 RGB pixels as PNG, without loss; large ones fast rather than small."""
    out = io.BytesIO()
    level = 6 if rgb.shape[0] * rgb.shape[1] < LARGE_PIXELS else 1
    Image.fromarray(np.ascontiguousarray(rgb), "RGB").save(out, "PNG", compress_level=level)
    return out.getvalue()


def encode_rgba_png(rgba: NDArray[np.uint8]) -> bytes:
    """Encode (height, width, 4) uint8 RGBA pixels, such as a heat map to lay over a picture, as PNG."""
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(rgba), "RGBA").save(out, "PNG")
    return out.getvalue()


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_BYTES:
        raise PictureError(f"more than {MAX_BYTES // 1_000_000} MB.", where=path, todo="Scale it down first.")
    return path.read_bytes()


def _to_rgb(image: Image.Image) -> NDArray[np.uint8]:
    turned = ImageOps.exif_transpose(image) or image
    if turned.mode.startswith("I") or turned.mode == "F":
        turned = Image.fromarray(_sixteen_to_eight(np.asarray(turned)), "L")
    if turned.mode in ("P", "RGBA", "LA", "PA", "RGBa", "La") or "transparency" in turned.info:
        layer = turned.convert("RGBA")
        white = Image.new("RGBA", layer.size, (255, 255, 255, 255))
        turned = Image.alpha_composite(white, layer)
    return np.asarray(turned.convert("RGB"), np.uint8)


def _sixteen_to_eight(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Grey of more than 8 bits: 16-bit range to 8 bits."""
    return np.clip(np.asarray(values, float) / 257.0 + 0.5, 0, 255).astype(np.uint8)
