from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from gazelab.core.errors import SessionError
from gazelab.pipeline.compare import compare_sessions
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.report import report_data, score_table, table_text, write_report
from gazelab.pipeline.session_quality import assess

from .scripted import record_two_charts
from .test_compare import FixedModel


@pytest.fixture
def compared(tmp_path):
    _, path = record_two_charts(tmp_path)
    return Replay.open(path), [r for _, r in compare_sessions([path], FixedModel(0, 3))]


def embedded(page: str) -> dict:
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL).group(1))


def test_the_report_holds_everything_and_asks_for_nothing_from_outside(tmp_path, compared):
    replay, results = compared
    page = write_report(tmp_path / "out" / "r.html", replay, results, "A session").read_text("utf-8")
    data = embedded(page)
    assert data["title"] == "A session"
    assert [t["chart_id"] for t in data["trials"]] == ["a", "b"]
    assert data["trials"][0]["picture"].startswith("data:image/png;base64,")
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "http" not in page


def test_lost_gaze_is_null_in_the_report_and_never_zero(compared):
    replay, results = compared
    gaze = report_data(replay, results, "t")["trials"][1]["gaze"]
    lost = [row for row in gaze if row[1] is None]
    assert len(lost) >= 19
    assert all(row[1] != 0 for row in gaze)


def test_text_from_outside_cannot_end_the_script(tmp_path, compared):
    replay, results = compared
    title = "</script><script>alert(1)</script>"
    page = write_report(tmp_path / "r.html", replay, results, title).read_text("utf-8")
    assert title not in page
    assert embedded(page)["title"] == title


def test_fixations_in_the_report_are_on_the_chart_in_ms_from_onset(compared):
    replay, results = compared
    trial = report_data(replay, results, "t")["trials"][0]
    xy, _ = replay.fixations_on_picture(replay.trials[0])
    assert trial["fixations"][0][2:] == [round(float(v), 1) for v in xy[0]]
    assert 0 <= trial["fixations"][0][0] < trial["fixations"][0][1] <= trial["duration_ms"] + 40


def test_the_score_table_names_its_baselines_and_reads_undefined_where_it_is(compared):
    _, results = compared
    table = score_table(results[0].agreement)
    assert [row[0] for row in table.rows] == ["model", "centre prior", "uniform", "chance, middle 95 %"]
    assert "lower is closer" in table.note
    assert "undefined" in score_table(results[0].agreement.from_json(no_fixation(results[0]))).rows[0]
    assert len(table_text(table).splitlines()) == 6


def no_fixation(result) -> dict:
    """The same agreement with every score of the map undefined."""
    m = result.agreement.to_json()
    m["rows"]["map"] = dict.fromkeys(m["rows"]["map"])
    return m


def test_a_report_that_cannot_be_written_says_where(tmp_path, compared):
    replay, results = compared
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="cannot be written"):
        write_report(tmp_path / "file" / "r.html", replay, results, "t")


def test_a_report_without_a_trial_says_so(tmp_path, compared):
    """Controls that move nothing would look like a broken page."""
    replay, _ = compared
    page = write_report(tmp_path / "r.html", replay, [], "t").read_text("utf-8")
    assert "there is no trial" in embedded(page)["quality_note"]
    assert 'id="no-trial"' in page


def test_the_report_shows_each_trials_verdict_with_its_reasons_and_what_the_means_leave_out(
    tmp_path, compared
):
    replay, results = compared
    data = embedded(write_report(tmp_path / "r.html", replay, results, "t").read_text("utf-8"))
    why = "47.5 % of the samples are lost (limit 40 %)"
    assert [row["verdict"] for row in data["quality"]["rows"]] == ["review", "exclude"]
    assert data["quality"]["rows"][1]["cells"][-1].startswith(why)
    assert "2 trials: 0 to keep, 1 to review, 1 to exclude." in data["quality"]["lines"]
    assert "exclude loss 0.4" in data["quality"]["limits"]
    assert data["means"]["note"].startswith(
        f"Means over 1 of 2 trials; 1 left out. Left out: reading trial 2 (b): {why}"
    )
    assert data["means"]["rows"][-1] == ["trials", "1", "1", "1", "1", "1", "1"]
    assert data["trials"][1]["gaze_quality"].startswith(f"Gaze of this trial: ✕ exclude: {why}")


def test_the_reports_limits_are_the_callers(compared):
    replay, results = compared
    lax = replace(QualityLimits(), exclude_loss=0.9)
    rows = report_data(replay, results, "t", assess(replay, lax))["quality"]["rows"]
    assert [row["verdict"] for row in rows] == ["review", "review"]


def test_means_of_nothing_are_told_and_not_made_up(compared):
    replay, _ = compared
    data = report_data(replay, [], "t")
    assert data["means"]["rows"] == []
    assert data["means"]["note"] == "Means over 0 of 0 trials."
