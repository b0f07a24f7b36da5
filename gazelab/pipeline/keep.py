"""Results beside a session, in its `derived/`: the fixations and the scores; both can be made again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gazelab import __version__
from gazelab.core.gaze import empty_events
from gazelab.pipeline.replay import Replay
from gazelab.sessions.derived import inputs_sha256, save_arrays, save_json

FIXATIONS = "fixations"


def keep_fixations(replay: Replay) -> Path:
    """Write the offline fixations of every trial as `fixations.npz`.

    Arrays, one row a fixation: `events` (EVENT_DTYPE, screen px), `trial` (its index), `picture_xy_px`
    (n, 2). Beside them `how`: what found them, with its parameters, as JSON.

    Raises
    ------
    SessionError
        It cannot be written.
    """
    events = [replay.fixations(trial) for trial in replay.trials]
    index = [np.full(len(found), trial.index) for found, trial in zip(events, replay.trials, strict=True)]
    places = [replay.fixations_on_picture(trial)[0] for trial in replay.trials]
    arrays = {
        "events": np.concatenate([empty_events(), *events]),
        "trial": np.concatenate([np.zeros(0, np.int64), *index]),
        "picture_xy_px": np.concatenate([np.zeros((0, 2)), *places]),
        "how": np.array(json.dumps(replay.detector.how())),
    }
    return save_arrays(replay.session.derived, FIXATIONS, arrays, fixation_inputs(replay))


def keep_scores(
    replay: Replay, model_id: str, revision: str, choice: dict[str, Any], rows: Sequence[dict[str, Any]]
) -> Path:
    """Write the comparison of every trial with a model as `scores_<model>.json`; the newest one stays.

    Parameters
    ----------
    model_id, revision : str
    choice : dict
        Which layers, heads and tokens made the map.
    rows : sequence of dict
        One a trial, JSON-ready.

    Raises
    ------
    SessionError
        It cannot be written.
    """
    inputs = inputs_sha256(fixation_inputs(replay), model_id, revision, choice)
    return save_json(replay.session.derived, scores_name(model_id), list(rows), inputs)


def scores_name(model_id: str) -> str:
    """Name the scores of a model so that the name can be a file's."""
    return f"scores_{re.sub(r'[^A-Za-z0-9_-]+', '-', model_id).strip('-')[-60:] or 'model'}"


def fixation_inputs(replay: Replay) -> str:
    """Hash what the offline fixations are made from; the gaze's corrections are in it."""
    times = [[trial.onset_ns, trial.offset_ns] for trial in replay.trials]
    how = replay.detector.how()
    return inputs_sha256(replay.gaze(), replay.screen.to_mapping(), times, how, __version__)
