from __future__ import annotations

from dataclasses import asdict, replace

from gazelab.sessions.trials import build_trials

from .conftest import PLACEMENT, stimulus_on

MOVED = replace(PLACEMENT, left_px=0.0)


def as_read(*markers):
    """Markers as they come from the file: plain values."""
    return [
        {**m, "placement": asdict(m["placement"])} if hasattr(m.get("placement"), "left_px") else m
        for m in markers
    ]


def at(time_ns, kind, **more):
    return {"time_ns": time_ns, "kind": kind, **more}


def test_an_answer_after_the_chart_has_gone_belongs_to_it():
    trials, problems = build_trials(
        as_read(
            at(0, "session_start"),
            stimulus_on(10, 0),
            at(20, "stimulus_off"),
            at(25, "answer", given="7"),
            stimulus_on(30, 1),
            at(35, "answer", given="8"),
            at(40, "stimulus_off"),
        ),
        end_ns=50,
    )
    assert problems == []
    assert [(t.index, t.chart_id, t.onset_ns, t.offset_ns, t.given, t.complete) for t in trials] == [
        (0, "chart0", 10, 20, "7", True),
        (1, "chart1", 30, 40, "8", True),
    ]


def test_a_corrected_answer_counts():
    ((trial,), _) = build_trials(
        as_read(stimulus_on(1), at(2, "answer", given="7"), at(3, "answer", given="17")), end_ns=9
    )
    assert trial.given == "17"


def test_without_an_answer_there_is_none():
    ((trial,), _) = build_trials(as_read(stimulus_on(1, answer=None), at(3, "stimulus_off")), end_ns=9)
    assert trial.given is None
    assert trial.answer is None


def test_a_trial_that_was_cut_off_ends_with_the_data_or_the_next_chart():
    trials, _ = build_trials(as_read(stimulus_on(10, 0), stimulus_on(30, 1)), end_ns=50)
    assert [(t.offset_ns, t.complete) for t in trials] == [(30, False), (50, False)]
    ((alone,), _) = build_trials(as_read(stimulus_on(10)), end_ns=None)
    assert alone.offset_ns == 10


def test_a_trial_never_ends_before_it_begins():
    ((trial,), _) = build_trials(as_read(stimulus_on(10), at(3, "stimulus_off")), end_ns=9)
    assert (trial.onset_ns, trial.offset_ns) == (10, 10)


def test_G23_a_chart_that_moves_is_logged_in_time():
    ((trial,), _) = build_trials(
        as_read(stimulus_on(10), at(20, "stimulus_moved", placement=MOVED), at(30, "stimulus_off")), end_ns=40
    )
    assert [trial.placement_at(t) for t in (10, 19, 20, 30)] == [PLACEMENT, PLACEMENT, MOVED, MOVED]


def test_U11_lost_focus_is_counted_in_its_trial():
    trials, _ = build_trials(
        as_read(
            stimulus_on(10, 0),
            at(11, "focus_lost"),
            at(12, "focus_back"),
            at(13, "stimulus_off"),
            at(14, "focus_lost"),
            at(15, "focus_back"),
            stimulus_on(20, 1),
            at(21, "stimulus_off"),
        ),
        end_ns=30,
    )
    assert [t.n_focus_lost for t in trials] == [1, 0]


def test_a_chart_that_says_too_little_is_no_trial_and_takes_its_answer_with_it():
    broken = {k: v for k, v in stimulus_on(20, 1).items() if k != "placement"}
    trials, problems = build_trials(
        as_read(
            stimulus_on(10, 0),
            at(15, "stimulus_off"),
            broken,
            at(25, "answer", given="wrong chart"),
            stimulus_on(30, 2),
            at(31, "stimulus_moved", placement={}),
        ),
        end_ns=40,
    )
    assert [(t.index, t.chart_id, t.given) for t in trials] == [(0, "chart0", None), (1, "chart2", None)]
    assert len(problems) == 2
    assert problems[0].startswith("the stimulus_on marker at 20 ns is left out")
    assert problems[1].startswith("the stimulus_moved marker at 31 ns is left out")


def test_a_skipped_chart_is_a_skipped_trial():
    trials, _ = build_trials(
        as_read(
            stimulus_on(1, 0),
            at(2, "stimulus_off", skipped=True, reason="tired"),
            stimulus_on(3, 1),
            at(4, "stimulus_off"),
        ),
        end_ns=9,
    )
    assert [t.skipped for t in trials] == [True, False]
