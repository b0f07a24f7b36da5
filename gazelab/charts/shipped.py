"""The synthetic charts that ship with the package, and the one entry that reads any set of charts."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from gazelab.charts.chartqa import TODO_FOLDER, read_folder, read_parquet
from gazelab.charts.item import Box, ChartItem, Element
from gazelab.charts.synthetic import CHART_KINDS, Chart, draw_chart
from gazelab.charts.synthetic_questions import WEIGHTS, Question, QuestionKind, allowed, ask_kind
from gazelab.core.errors import ChartError
from gazelab.core.picture import encode_png

SHIPPED = "shipped"
N_SHIPPED = 24
SEED = 20_261_129
LIST_NAME = "charts.json"


def load_charts(where: str | Path = SHIPPED) -> list[ChartItem]:
    """Read a set of charts with their questions.

    Parameters
    ----------
    where
        "shipped" for the package's own charts; a folder (ChartQA's, one of parquet files, or one
        written by `write_charts`); or a parquet file.

    Raises
    ------
    ChartError
        There is no such thing, or it is no set of charts.
    """
    if str(where) == SHIPPED:
        with as_file(files("gazelab.charts") / "data") as folder:
            return _read_written(Path(folder))
    path = Path(where)
    if path.is_file() and path.suffix == ".parquet":
        return read_parquet(path)
    if not path.is_dir():
        raise ChartError("there are no charts here.", where=path, todo=TODO_FOLDER)
    if (path / LIST_NAME).is_file():
        return _read_written(path)
    tables = sorted(path.glob("*.parquet")) or sorted(path.glob("data/*.parquet"))
    return [item for table in tables for item in read_parquet(table)] if tables else read_folder(path)


def write_charts(folder: Path, n: int = N_SHIPPED, seed: int = SEED) -> None:
    """Draw `n` synthetic charts with one question each: PNG files and one JSON list.

    Types take turns; the kind asked is the one asked least so far by its weight, so that a small set
    has them all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    asked: Counter[QuestionKind] = Counter()
    rows = []
    for i in range(n):
        chart = draw_chart(rng, CHART_KINDS[i % len(CHART_KINDS)])
        options = [kind for kind in WEIGHTS if allowed(chart, kind)]
        kind = min(options, key=lambda k: (asked[k] + 1) / WEIGHTS[k])
        asked[kind] += 1
        question = ask_kind(rng, chart, kind)
        name = f"chart-{i + 1:02d}.png"
        (folder / name).write_bytes(encode_png(chart.picture))
        rows.append(_row(name, chart, question))
    (folder / LIST_NAME).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _row(name: str, chart: Chart, question: Question) -> dict[str, Any]:
    return {
        "chart_id": Path(name).stem,
        "name": name,
        "type": chart.kind,
        "question": question.text,
        "answer": question.answer,
        "kind": question.kind,
        "asked": list(question.asked),
        "elements": [
            {
                "id": e.element_id,
                "role": e.role,
                "text": e.text,
                "box_px": [
                    round(v, 1) for v in (e.box.left_px, e.box.top_px, e.box.right_px, e.box.bottom_px)
                ],
                "data": list(e.data),
            }
            for e in chart.elements
        ],
        "values": [[d.category, d.series, d.value, d.colour] for d in chart.data],
    }


def _read_written(folder: Path) -> list[ChartItem]:
    path = folder / LIST_NAME
    try:
        return [_item(folder, row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise ChartError(f"not a list of charts that can be read ({fault}).", where=path) from fault


def _item(folder: Path, row: dict[str, Any]) -> ChartItem:
    return ChartItem(
        chart_id=row["chart_id"],
        name=row["name"],
        source=folder / row["name"],
        question=row["question"],
        answer=row["answer"],
        kind=row["kind"],
        elements=tuple(
            Element(e["id"], e["role"], e["text"], Box(*e["box_px"]), tuple(e["data"]))
            for e in row["elements"]
        ),
        asked=tuple(row["asked"]),
    )
