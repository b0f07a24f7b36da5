from pathlib import Path

import numpy as np
import pytest
import torch

from gazelab.attention.chartreader.model import ChartReader
from gazelab.attention.chartreader.network import ChartReaderNetwork, NetworkConfig
from gazelab.attention.chartreader.spelling import SpellingTokenizer
from gazelab.charts.shipped import load_charts, write_charts
from gazelab.core.errors import ChartError
from gazelab.pipeline.chartreader_card import (
    CURVE_ROWS,
    Card,
    RealCharts,
    ask_real_charts,
    curve_rows,
    make_card,
    score_rows,
)
from gazelab.pipeline.evaluate_chartreader import CLOSED, SEEN, UNSEEN, Attention, Evaluation, Tally

FACTS = {
    "model": "gazelab/chartreader",
    "parameters": 5_080_000,
    "steps": 900,
    "trained_s": 1200.0,
    "started_from": "first.safetensors",
    "training": {"charts": 8, "questions": 8, "schedule": {"look_weight": 0.1}},
    "history": ["the clock stood still once"],
    "curve": [
        {"step": 10 * i, "elapsed_s": 60.0 * i, "held_out": {"all": i / 100, "value": 0.5}}
        for i in range(1, 41)
    ],
}


@pytest.fixture
def reader() -> ChartReader:
    torch.manual_seed(0)
    tokenizer = SpellingTokenizer(["what", "is"])
    sizes = NetworkConfig(
        tokens=len(tokenizer),
        characters=tokenizer.n_characters,
        line_channels=4,
        width=16,
        heads=2,
        tied_heads=1,
        inner_width=16,
        encoder_layers=1,
        decoder_layers=2,
        stem_channels=(4, 4, 4),
    )
    return ChartReader(ChartReaderNetwork(sizes), tokenizer, dict(FACTS))


def evaluation(labels: str, right: int) -> Evaluation:
    found = Attention(1, 2, 0.95, 0.1, 0.98, 40, 0.1, 0.9, 20)
    return Evaluation(1, 5, labels, {"value": Tally(10, right, right)}, found)


def test_the_curve_keeps_the_last_moment_and_is_short() -> None:
    rows = curve_rows(FACTS)
    assert 2 < len(rows) <= CURVE_ROWS + 1
    assert rows[-1][:4] == ["40", "400", "0.400", "0.500"]
    assert rows[-1][4] == "nan"  # a kind that was not asked at that moment
    assert curve_rows({}) == [rows[0]]


def test_scores_stand_side_by_side_by_supply_of_labels() -> None:
    rows = score_rows([evaluation(CLOSED, 10), evaluation(SEEN, 9), evaluation(UNSEEN, 8)])
    assert rows == [
        ["question", CLOSED, SEEN, UNSEEN],
        ["value", "1.000 (10)", "0.900 (10)", "0.800 (10)"],
        ["all", "1.000 (10)", "0.900 (10)", "0.800 (10)"],
    ]


def test_the_card_says_how_it_was_trained_and_what_it_cannot_do() -> None:
    card = Card(FACTS, (evaluation(UNSEEN, 8),), RealCharts(78, 0.0128, 0.0, 0.0128))
    for page in (card.text(), card.markdown()):
        assert "5.08 million parameters" in page
        assert "started from first.safetensors" in page
        assert "one head (layer 1, head 1" in page
        assert "the clock stood still once" in page
        assert "points at what was asked 0.980 of the time, with 0.950 of its attention" in page
        assert "78 questions: published 0.013" in page
        assert "What it can't do" in page
    assert card.to_json()["chartqa"]["published"] == 0.0128
    assert card.to_json()["by_labels"][UNSEEN]["by_kind"]["all"]["strict"] == 0.8


def test_without_real_charts_the_card_says_so() -> None:
    assert "not measured (name a folder: --chartqa DIR)" in Card(FACTS, ()).text()


def test_a_card_is_measured_on_every_supply_and_on_real_charts(reader: ChartReader, tmp_path: Path) -> None:
    write_charts(tmp_path, n=2)
    card = make_card(reader, charts=1, blanked=1, chartqa=tmp_path)
    assert [one.labels for one in card.evaluations] == [CLOSED, SEEN, UNSEEN]
    assert all(one.overall.asked > 0 for one in card.evaluations)
    assert card.real is not None
    assert card.real.questions == 2


def test_real_charts_are_judged_by_the_three_rules(
    reader: ChartReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_charts(tmp_path, n=2)
    first = load_charts(tmp_path)[0]
    monkeypatch.setattr(reader, "answer", lambda picture, question: iter([question]))
    monkeypatch.setattr(
        reader, "answer_text", lambda steps: first.answer if next(steps) == first.question else "?"
    )
    assert ask_real_charts(reader, tmp_path) == RealCharts(2, 0.5, 0.5, 0.5)


def test_a_folder_without_charts_is_said(reader: ChartReader, tmp_path: Path) -> None:
    with pytest.raises(ChartError):
        ask_real_charts(reader, tmp_path / "none")


def test_an_untrained_reader_has_no_look_to_report(reader: ChartReader) -> None:
    white = np.full((768, 1024, 3), 255, np.uint8)
    assert 1 <= len(list(reader.answer(white, "What is Zebra?", 4))) <= 4
    assert "no look-up was right" in Card({}, (Evaluation(1, 1, SEEN, {}, None),)).text()
