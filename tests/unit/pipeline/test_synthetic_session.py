from __future__ import annotations

from gazelab.core.gaze import EventKind, empty_events
from gazelab.pipeline.synthetic_subject import split_at_blinks

MS = 1_000_000


def events(*rows):
    out = empty_events(len(rows))
    for row, (kind, onset_ms, offset_ms) in zip(out, rows, strict=True):
        row["kind"], row["onset_ns"], row["offset_ns"] = kind, onset_ms * MS, offset_ms * MS
    return out


def spans(rows):
    return [(int(a) // MS, int(b) // MS) for a, b in split_at_blinks(rows)]


def test_a_blink_cuts_the_fixation_round_it():
    both = events((EventKind.FIXATION, 0, 1000), (EventKind.BLINK, 400, 600))
    assert spans(both) == [(0, 400), (600, 1000)]


def test_a_piece_too_short_to_be_a_fixation_is_left_out():
    both = events((EventKind.FIXATION, 0, 1000), (EventKind.BLINK, 30, 600))
    assert spans(both) == [(600, 1000)]


def test_a_blink_elsewhere_changes_nothing():
    both = events((EventKind.FIXATION, 0, 300), (EventKind.BLINK, 400, 600))
    assert spans(both) == [(0, 300)]


def test_without_fixations_there_is_nothing():
    assert split_at_blinks(events((EventKind.BLINK, 0, 100))).shape == (0, 2)
