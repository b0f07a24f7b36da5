"""Read ChartQA (Masry et al. 2022): the official folder and the Hugging Face parquet layout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gazelab.charts.errata import Errata, load_errata
from gazelab.charts.item import Box, ChartItem, Element
from gazelab.core.errors import ChartError

KINDS = ("human", "augmented")
POINT_PX = 8.0
REPLACEMENT = "�"
TODO_FOLDER = "Give ChartQA's folder with png/ and test_human.json, or a parquet file."


def read_folder(folder: Path) -> list[ChartItem]:
    """Read the official layout: `png/`, `<split>_human.json`, `<split>_augmented.json`, `annotations/`.

    Parameters
    ----------
    folder
        A split's folder (`test`), or the one above it, of which every split is read.

    Raises
    ------
    ChartError
        No questions there, or a file is broken or not of this layout.
    """
    splits = [folder] if (folder / "png").is_dir() else sorted(p.parent for p in folder.glob("*/png"))
    errata = load_errata()
    items: list[ChartItem] = []
    for split in splits:
        for kind in KINDS:
            for path in sorted(split.glob(f"*_{kind}.json")):
                items += _read_questions(split, path, kind, errata)
    if not items:
        raise ChartError("no ChartQA questions here.", where=folder, todo=TODO_FOLDER)
    return items


def read_parquet(path: Path) -> list[ChartItem]:
    """Read the Hugging Face layout: columns `image` {bytes, path}, `query`, `label`, `human_or_machine`.

    The pictures stay in the file and are read one by one when they are wanted.

    Raises
    ------
    ChartError
        The file is broken, or a column is missing.
    """
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(path)
        missing = {"image", "query", "label"} - set(file.schema_arrow.names)
        if missing:
            raise ChartError(f"no column {sorted(missing)[0]!r}.", where=path, todo=TODO_FOLDER)
        columns = [n for n in ("query", "label", "human_or_machine") if n in file.schema_arrow.names]
        items = []
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=columns).to_pylist()
            items += [_parquet_item(path, group, i, row) for i, row in enumerate(rows)]
    except (ArrowException, OSError) as fault:
        raise ChartError(f"not a parquet file that can be read ({fault}).", where=path) from fault
    return items


@dataclass(frozen=True)
class ParquetPicture:
    """One picture inside a parquet file."""

    path: Path
    row_group: int
    row: int

    def read(self) -> bytes:
        """Read the picture file's bytes.

        Raises
        ------
        ChartError
            The row holds no picture.
        """
        value = _image_column(self.path, self.row_group)[self.row].as_py()
        data = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(data, bytes):
            raise ChartError(f"row {self.row} holds no picture.", where=self.path)
        return data


@lru_cache(maxsize=1)
def _image_column(path: Path, row_group: int) -> Any:
    """Pictures of one row group; the last one is kept, since charts are mostly read in order."""
    from pyarrow import parquet

    return parquet.ParquetFile(path).read_row_group(row_group, columns=["image"])["image"]


def _read_questions(split: Path, path: Path, kind: str, errata: Errata) -> Iterator[ChartItem]:
    for i, row in enumerate(_read_rows(path)):
        name, question, answer = str(row["imgname"]), str(row["query"]), str(row["label"])
        elements = _read_annotation(split / "annotations" / f"{Path(name).stem}.json", question)
        yield ChartItem(
            chart_id=f"{path.stem}-{i:05d}",
            name=name,
            source=split / "png" / name,
            question=question,
            answer=answer,
            kind=kind,
            elements=elements,
            asked=tuple(element.element_id for element in elements),
            suspect=errata.reason(name, answer),
            warning=_question_warning(question) or errata.note(name, answer),
        )


def _read_rows(path: Path) -> list[dict[str, Any]]:
    rows = _read_json(path)
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and {"imgname", "query", "label"} <= row.keys() for row in rows
    ):
        raise ChartError("not a list of imgname, query and label.", where=path, todo=TODO_FOLDER)
    for number, row in enumerate(rows):
        name = row["imgname"]
        if not isinstance(name, str) or not name or Path(name).name != name or "\\" in name:
            raise ChartError(
                f"row {number}: {str(name)[:60]!r} is no picture of the folder png/.",
                where=path,
                todo="Name a file in png/, without its folder.",
            )
        if not isinstance(row["query"], str):
            raise ChartError(f"row {number} has no question.", where=path, todo="Give its query as text.")
    return rows


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise ChartError(f"cannot be read ({fault}).", where=path) from fault


def _read_annotation(path: Path, question: str) -> tuple[Element, ...]:
    """Boxes of the answer's elements, where the set gives them for this very question."""
    if not path.is_file():
        return ()
    values = _read_json(path)
    answers = values.get("answer_elements", []) if isinstance(values, dict) else []
    try:
        boxes = [box for entry in answers if entry["query"] == question for box in entry["boxes"]]
        return tuple(Element(f"answer-{i}", "answer", "", _annotated_box(box)) for i, box in enumerate(boxes))
    except (KeyError, TypeError) as fault:
        raise ChartError(f"an annotation without {fault}.", where=path) from fault


def _annotated_box(corners: dict[str, float]) -> Box:
    """Box of an annotation; a point of a line, which has one corner only, becomes a small square."""
    x_px, y_px = corners["x1"], corners["y1"]
    if "x2" not in corners:
        return Box(x_px - POINT_PX, y_px - POINT_PX, x_px + POINT_PX, y_px + POINT_PX)
    return Box(x_px, y_px, corners["x2"], corners["y2"])


def _parquet_item(path: Path, group: int, row: int, values: dict[str, Any]) -> ChartItem:
    label = values["label"]
    answer = str(label[0] if isinstance(label, list) and len(label) == 1 else label)
    maker = values.get("human_or_machine")
    kind = KINDS[maker] if maker in (0, 1) else str(maker or "")
    chart_id = f"{path.stem}-{group:03d}-{row:05d}"
    question = str(values["query"])
    return ChartItem(
        chart_id=chart_id,
        name=f"{chart_id}.png",
        source=ParquetPicture(path, group, row),
        question=question,
        answer=answer,
        kind={"machine": "augmented"}.get(kind, kind),
        suspect=load_errata().reason(None, answer),
        warning=_question_warning(question),
    )


def _question_warning(question: str) -> str:
    if REPLACEMENT in question:
        return "The question holds a character that was lost before it reached us; it is shown as �."
    return ""
