import json
from pathlib import Path

import numpy as np
import pytest

from gazelab.charts.errata import decode_day_fraction, load_errata
from gazelab.charts.item import ChartItem
from gazelab.charts.shipped import load_charts
from gazelab.core.errors import ChartError, PictureError
from gazelab.core.picture import encode_png


def picture(value: int) -> bytes:
    return encode_png(np.full((6, 9, 3), value, np.uint8))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    split = tmp_path / "test"
    (split / "png").mkdir(parents=True)
    (split / "annotations").mkdir()
    (split / "png" / "7246.png").write_bytes(picture(10))
    (split / "png" / "b.png").write_bytes(picture(20))
    human = [
        {"imgname": "7246.png", "query": "What is the ratio?", "label": "1.179861111"},
        {"imgname": "b.png", "query": "What� now?", "label": "[4, 9]"},
    ]
    (split / "test_human.json").write_text(json.dumps(human), encoding="utf-8")
    made = [{"imgname": "b.png", "query": "How many?", "label": "3"}]
    (split / "test_augmented.json").write_text(json.dumps(made), encoding="utf-8")
    boxes = [{"x1": 1, "y1": 2, "x2": 5, "y2": 6}, {"x1": 50, "y1": 60}]
    answers = {"answer_elements": [{"query": "How many?", "label": "3", "boxes": boxes}]}
    (split / "annotations" / "b.json").write_text(json.dumps(answers), encoding="utf-8")
    return split


def by_id(items: list[ChartItem]) -> dict[str, ChartItem]:
    return {item.chart_id: item for item in items}


def test_official_folder_is_read_from_the_split_and_from_above(folder: Path) -> None:
    items = by_id(load_charts(folder))
    assert list(items) == ["test_human-00000", "test_human-00001", "test_augmented-00000"]
    assert list(by_id(load_charts(folder.parent))) == list(items)
    assert items["test_augmented-00000"].kind == "augmented"
    assert items["test_human-00000"].picture().rgb[0, 0, 0] == 10


def test_boxes_belong_to_the_question_and_a_point_becomes_a_square_round_it(folder: Path) -> None:
    items = by_id(load_charts(folder))
    assert items["test_human-00001"].elements == ()  # same picture, another question
    box, point = items["test_augmented-00000"].asked_elements()
    assert (box.box.left_px, box.box.bottom_px) == (1, 6)
    assert point.box.centre_px == (50, 60)
    assert point.box.area_px2 > 0


def test_Q5_answers_spoiled_by_a_spreadsheet_are_flagged_and_decoded(folder: Path) -> None:
    assert "28:19" in by_id(load_charts(folder))["test_human-00000"].suspect
    assert decode_day_fraction("1.179861111") == "28:19"
    assert decode_day_fraction("1.216666667") == "29:12"
    assert decode_day_fraction("1.234567891") is None
    assert decode_day_fraction("0.72") is None


def test_Q5_Q6_Q7_every_known_odd_answer_has_a_word(cases: Path) -> None:
    path = cases / "chartqa_label_quirks.jsonl"
    errata = load_errata()
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["label"] is None:
            continue  # of the question, not of the answer
        reason, note = errata.reason(row["imgname"], row["label"]), errata.note(row["imgname"], row["label"])
        assert bool(reason) == row["quirk"].startswith("excel"), row
        assert bool(reason) != bool(note), row


def test_Q7_a_broken_character_in_a_question_is_told_not_hidden(folder: Path) -> None:
    item = by_id(load_charts(folder))["test_human-00001"]
    assert "�" in item.question
    assert "character" in item.warning


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_human.json", "{"),
        ("test_human.json", "[1]"),
        ("test_human.json", '[{"imgname": "b.png"}]'),
        ("annotations/b.json", '{"answer_elements": [{}]}'),
        ("test_human.json", '[{"imgname": "b.png", "query": null, "label": "3"}]'),
        ("test_human.json", '[{"imgname": NaN, "query": "How many?", "label": "3"}]'),
        ("test_human.json", '[{"imgname": "../../b.png", "query": "How many?", "label": "3"}]'),
        ("test_human.json", '[{"imgname": "", "query": "How many?", "label": "3"}]'),
        ("test_human.json", '[{"imgname": "..\\\\b.png", "query": "How many?", "label": "3"}]'),
    ],
)
def test_a_broken_file_is_named(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ChartError, match=Path(name).name):
        load_charts(folder)


def test_no_charts_and_a_missing_picture_are_errors(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ChartError, match="no charts"):
        load_charts(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ChartError, match="no ChartQA questions"):
        load_charts(tmp_path / "empty")
    (folder / "png" / "b.png").unlink()
    with pytest.raises(PictureError, match=r"b\.png"):
        by_id(load_charts(folder))["test_augmented-00000"].picture()


def test_parquet_layout_gives_the_same_items_and_reads_pictures_when_wanted(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = [
        {
            "image": {"bytes": picture(i), "path": None},
            "query": f"q{i}",
            "label": [str(i)],
            "human_or_machine": i,
        }
        for i in (0, 1)
    ]
    path = tmp_path / "test-00000-of-00001.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=1)
    items = load_charts(path)
    assert [item.answer for item in items] == ["0", "1"]
    assert [item.kind for item in items] == ["human", "augmented"]
    assert [int(item.picture().rgb[0, 0, 0]) for item in items] == [0, 1]
    assert load_charts(tmp_path)[1].question == "q1"


def test_parquet_without_a_picture_or_a_column_is_an_error(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pa.Table.from_pylist([{"query": "q", "label": ["1"]}]), path)
    with pytest.raises(ChartError, match="image"):
        load_charts(path)
    path.write_bytes(b"no parquet")
    with pytest.raises(ChartError, match=r"a\.parquet"):
        load_charts(path)


def test_sample_of_the_official_set_is_read_whole(shared_data: Path) -> None:
    items = load_charts(shared_data / "chartqa")
    assert len(items) == 78
    assert len({item.chart_id for item in items}) == 78
    assert all(item.elements for item in items)
    for item in items[:5]:
        shown = item.picture()
        for element in item.asked_elements():
            x_px, y_px = element.box.centre_px
            assert 0 <= x_px < shown.width_px
            assert 0 <= y_px < shown.height_px
