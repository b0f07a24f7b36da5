"""A mapping as plain arrays, for an NPZ file without pickle, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.confidence import ErrorModel, Familiarity
from gazelab.calibration.distance import Distance
from gazelab.calibration.eyes import N_EYE
from gazelab.calibration.head_terms import N_HEAD, TURNS, HeadTerms
from gazelab.calibration.parts import PARTS, Plane
from gazelab.calibration.ridge import Ridge
from gazelab.core.errors import CalibrationError

Arrays = dict[str, NDArray[np.generic]]
Contents = tuple[
    dict[str, Ridge],
    dict[str, ErrorModel],
    dict[str, Plane],
    dict[str, Familiarity],
    HeadTerms,
    Distance,
    dict[int, float],
    int,
    int,
]

MAPPING_VERSION = 3

KINDS: dict[str, Any] = {"ridge": Ridge, "error": ErrorModel, "plane": Plane, "familiar": Familiarity}


def write_arrays(
    pieces: Mapping[str, Mapping[str, Any]],
    head: HeadTerms,
    distance: Distance,
    left_out_px: Mapping[int, float],
    counts: tuple[int, int],
) -> Arrays:
    """Lay the pieces of a mapping out as arrays named `<part>_<kind>_<field>`.

    Parameters
    ----------
    pieces : mapping of str to mapping of str to object
        By kind (`KINDS`) and by part.
    head : HeadTerms
    distance : Distance
    left_out_px : mapping of int to float
    counts : (int, int)
        Samples used and dropped.
    """
    out: Arrays = {
        "mapping_version": np.array(MAPPING_VERSION),
        "left_out_target": np.array(list(left_out_px), np.int64),
        "left_out_px": np.array(list(left_out_px.values()), np.float64),
        "n_samples": np.array(counts[0]),
        "n_dropped": np.array(counts[1]),
    }
    out |= {f"head_{field}": np.asarray(getattr(head, field), np.float64) for field in HeadTerms.__slots__}
    out |= {f"distance_{k}": np.asarray(getattr(distance, k), np.float64) for k in Distance.__slots__}
    for kind, by_part in pieces.items():
        for part, piece in by_part.items():
            for field in KINDS[kind].__slots__:
                dtype = np.float32 if field == "basis" else np.float64
                out[f"{part}_{kind}_{field}"] = np.asarray(getattr(piece, field), dtype)
    return out


def read_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> Contents:
    """Invert `write_arrays`.

    Raises
    ------
    CalibrationError
        Another version, or arrays that are missing, of a wrong shape or not finite.
    """
    try:
        version = int(np.asarray(arrays["mapping_version"]).item())
        if version != MAPPING_VERSION:
            raise CalibrationError(
                f"the mapping is of version {version}, this gazelab reads {MAPPING_VERSION}.",
                todo="Calibrate again.",
            )
        found = {kind: _read_kind(arrays, kind) for kind in KINDS}
        head = _read(arrays, "head", HeadTerms, _HEAD_SHAPES)
        distance = _read(arrays, "distance", Distance, {"camera_px": (2,)})
        targets = np.asarray(arrays["left_out_target"]).astype(np.int64).tolist()
        errors = np.asarray(arrays["left_out_px"]).astype(np.float64).tolist()
        n_samples, n_dropped = (int(np.asarray(arrays[k]).item()) for k in ("n_samples", "n_dropped"))
        left_out = dict(zip(targets, errors, strict=True))
        _check_complete(found)
    except (KeyError, TypeError, ValueError) as fault:
        raise CalibrationError(f"the mapping is broken ({fault}).", todo="Calibrate again.") from fault
    return (
        found["ridge"],
        found["error"],
        found["plane"],
        found["familiar"],
        head,
        distance,
        left_out,
        n_samples,
        n_dropped,
    )


def _read_kind(arrays: Mapping[str, NDArray[np.generic]], kind: str) -> dict[str, Any]:
    first = KINDS[kind].__slots__[0]
    parts = [part for part in PARTS if f"{part}_{kind}_{first}" in arrays]
    return {part: _read(arrays, f"{part}_{kind}", KINDS[kind], _shapes(kind, part)) for part in parts}


_HEAD_SHAPES: dict[str, tuple[int | None, ...]] = {
    "centre_deg": (len(TURNS),),
    "reach_deg": (len(TURNS),),
    "px_per_deg": (2,),
    "iris": (2,),
}


def _shapes(kind: str, part: str) -> dict[str, tuple[int | None, ...]]:
    """Shapes of the fields; None: any length."""
    p = N_EYE * len(PARTS[part]) + N_HEAD
    by_kind: dict[str, dict[str, tuple[int | None, ...]]] = {
        "ridge": {"centre": (p,), "weights": (p, 2), "offset": (2,)},
        "plane": {"shift_px": (2,), "slope": (2, 2)},
        "familiar": {"centre": (N_EYE,), "basis": (N_EYE, None)},
    }
    return by_kind.get(kind, {})


def _read(
    arrays: Mapping[str, NDArray[np.generic]],
    prefix: str,
    kind: Any,
    shapes: dict[str, tuple[int | None, ...]],
) -> Any:
    values = {field: np.asarray(arrays[f"{prefix}_{field}"]).astype(np.float64) for field in kind.__slots__}
    for field, value in values.items():
        shape = shapes.get(field, ())
        if value.ndim != len(shape) or any(
            n not in (None, m) for n, m in zip(shape, value.shape, strict=True)
        ):
            raise ValueError(f"{prefix}_{field} has the shape {value.shape}; the arrays don't fit each other")
        if not np.isfinite(value).all():
            raise ValueError(f"{prefix}_{field} isn't finite")
    return kind(**{field: value if value.ndim else float(value) for field, value in values.items()})


def _check_complete(found: dict[str, dict[str, Any]]) -> None:
    parts = set(found["ridge"])
    if not parts:
        raise ValueError("it is empty")
    sides = parts - {"both"}
    fits = found["error"].keys() == parts and found["plane"].keys() == found["familiar"].keys() == sides
    if not fits or ("both" in parts and len(sides) < 2):
        raise ValueError("a part is missing")
