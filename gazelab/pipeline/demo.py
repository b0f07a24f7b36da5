"""The main job with no camera: calibrate, record, compare and report, on a synthetic participant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import EMBEDDED, open_model
from gazelab.charts.item import ChartItem
from gazelab.charts.shipped import SHIPPED, load_charts
from gazelab.core.errors import SessionError
from gazelab.core.geometry import Screen
from gazelab.metrics.event_agreement import blind_pieces, event_f1
from gazelab.pipeline.compare import SkippedTrial, TrialComparison, compare_sessions
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.report import score_table, table_text, write_report
from gazelab.pipeline.synthetic_session import Draw, SyntheticRun, run_synthetic_session

N_CHARTS = 4
DEMO_SCREEN = Screen("synthetic laptop", 1920, 1080, 345.0, 194.0, 600.0, "user")

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo came to.

    Attributes
    ----------
    session_path, report_path : Path
    accuracy_deg, rms_s2s_deg, sd_deg : float
        On the held-out validation targets of the synthetic participant.
    data_loss : float
        In validation.
    f1_offline, f1_online, f1_blind : float
        Of the fixations against the script, pooled over trials; blind: pieces of 300 ms.
    n_known : int
        Scripted fixations.
    results : list of TrialComparison or SkippedTrial
    """

    session_path: Path
    report_path: Path
    accuracy_deg: float
    rms_s2s_deg: float
    sd_deg: float
    data_loss: float
    f1_offline: float
    f1_online: float
    f1_blind: float
    n_known: int
    results: list[TrialComparison | SkippedTrial]

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        numbers = (
            "accuracy_deg",
            "rms_s2s_deg",
            "sd_deg",
            "data_loss",
            "f1_offline",
            "f1_online",
            "f1_blind",
            "n_known",
        )
        return {
            "session": str(self.session_path),
            "report": str(self.report_path),
            **{name: getattr(self, name) for name in numbers},
            "trials": [r.to_json() for r in self.results],
        }


def run_demo(out: Path, root: Path, seed: int, say: Say, draw: Draw | None = None) -> DemoResult:
    """Run the whole loop.

    Parameters
    ----------
    out : Path
        Folder of the report.
    root : Path
        Data root for the session and the profile.
    seed : int
    say : callable
        Told what is going on.
    draw : callable, optional
        Puts a picture of the validation beside the profile that it is given with its folder.

    Raises
    ------
    GazelabError
        Something of it failed; what was recorded is kept.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise SessionError(
            f"the folder cannot be made ({fault.strerror}).", where=out, todo="Choose another with --out."
        ) from fault
    charts = choose_charts(seed)
    session_id = free_id(root, f"demo-{seed}")
    run = run_synthetic_session(root, session_id, charts, DEMO_SCREEN, seed, say, draw=draw)
    say("The embedded model answers the same questions")
    model = open_model(EMBEDDED)
    results = [r for _, r in compare_sessions([run.session_path], model)]
    replay = Replay.open(run.session_path)
    report = write_report(
        out / f"{session_id}.html", replay, results, "gazelab demo: a synthetic participant"
    )
    scores = event_scores(replay, run)
    v = run.profile.validation
    return DemoResult(
        run.session_path,
        report.resolve(),
        v.accuracy_deg,
        v.rms_s2s_deg,
        v.sd_deg,
        v.data_loss,
        *scores,
        n_known=sum(len(t) for t in run.truth_ns),
        results=results,
    )


def choose_charts(seed: int, n: int = N_CHARTS) -> list[ChartItem]:
    """Choose shipped charts by the seed."""
    charts = load_charts(SHIPPED)
    order = np.random.default_rng((seed, 23)).permutation(len(charts))
    return [charts[i] for i in order[:n].tolist()]


def free_id(root: Path, wanted: str) -> str:
    """Find a session id that is not taken: `wanted`, or with a number after it."""
    for n in range(1, 10_000):
        name = wanted if n == 1 else f"{wanted}-{n}"
        if not (root / "sessions" / name).exists():
            return name
    raise SessionError("10 000 sessions of this name.", where=root, todo="Delete some of them.")


def event_scores(replay: Replay, run: SyntheticRun) -> tuple[float, float, float]:
    """Score the fixations against the script, pooled over the trials: offline, online, blind."""
    pairs = list(zip(replay.trials, run.truth_ns, strict=True))
    known = np.concatenate(run.truth_ns)
    offline = [_spans(replay.fixations(trial)) for trial, _ in pairs]
    online = [_spans(replay.online_fixations(trial)) for trial, _ in pairs]
    blind = [blind_pieces(trial.onset_ns, trial.offset_ns) for trial, _ in pairs]
    first, second, third = (event_f1(known, np.concatenate(found)) for found in (offline, online, blind))
    return first, second, third


def demo_table(result: DemoResult) -> str:
    """Lay out the demo's figures for the terminal."""
    lines = [
        "",
        "Synthetic participant through the real face landmarker, held-out validation targets:",
        f"  accuracy {result.accuracy_deg:.2f} deg, precision RMS-S2S {result.rms_s2s_deg:.2f} deg,"
        f" SD {result.sd_deg:.2f} deg, data loss {result.data_loss:.1%}",
        f"Fixations against the script ({result.n_known} scripted, cut at blinks), event F1:",
        f"  offline {result.f1_offline:.2f}, online {result.f1_online:.2f};"
        f" blind floor (300 ms pieces) {result.f1_blind:.2f}",
        "",
    ]
    for r in result.results:
        lines += _trial_lines(r)
    lines += [
        "A synthetic participant reads by a script and gives the chart's own answer: these scores show",
        "that the loop works. They are no finding about people or models.",
        "",
        f"Session: {result.session_path.resolve()}",
        f"Report:  {result.report_path}",
    ]
    return "\n".join(lines)


def _trial_lines(r: TrialComparison | SkippedTrial) -> list[str]:
    if isinstance(r, SkippedTrial):
        return [f"{r.trial.chart_id}: skipped, {r.reason}", ""]
    verdict = "" if r.model_correct is None else (" (right)" if r.model_correct.published else " (wrong)")
    return [
        f"{r.trial.question}",
        f"  gold {r.trial.answer}; participant {r.trial.given}; model {r.trace.answer!r}{verdict}",
        *(f"  {line}" for line in table_text(score_table(r.agreement)).splitlines()),
        "",
    ]


def _spans(events: Sequence[Any] | NDArray[np.void]) -> NDArray[np.int64]:
    rows = np.asarray(events)
    return np.stack([rows["onset_ns"], rows["offset_ns"]], -1).astype(np.int64).reshape(-1, 2)
