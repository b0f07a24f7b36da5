"""Our gaze error beside other webcam trackers' on the same pictures, in one run.

    python benchmarks/gaze.py [--data DIR] [--peers EyeTrax,GazeFollower] [--peers-dir .peers] [--json FILE]

Always on the synthetic participant (still and moving head); with --data also on a folder that has the
sub-folders `laptop`, `headposes` or `columbia` in the layouts of `gazelab evaluate gaze`. Peers are installed
with pip, each into an environment of its own under --peers-dir, and keep their own licences; `--peers none`
leaves them out. What a peer answered is kept there too and asked again only when the pictures, the splits or
the peer change; gazelab is measured afresh each time.

Nothing is smoothed, as each picture stands alone. A tracker that gives no gaze for a test picture, be it a
missed face or shut eyes, answers the mean calibration target. "iris + pose" is a plain ridge on the iris's
place in the eye and the head's turn.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from peers.contestants import PEERS, Answers, CannotRun, gazelab, iris_and_pose, mean_target, peer_answers
from peers.tasks import Measure, Task, folder_tasks, synthetic_task

from gazelab import __version__

OURS = "gazelab"


def score(task: Task, measure: Measure, answers: Answers) -> float:
    """Give the measure's figure; a missing answer is the mean calibration target."""
    errors = []
    for split in measure.splits:
        given = answers(task, split)
        lost = ~np.isfinite(given).all(1)
        given = np.where(lost[:, None], task.places[split[0]].mean(0), given)
        errors.append(task.errors(given, task.places[split[1]]))
    return float(np.mean([np.median(e) for e in errors]) if measure.median else np.concatenate(errors).mean())


def contest(task: Task, names: list[str], folder: Path) -> dict[str, Any]:
    """Ask everyone about one set of pictures."""
    asked: dict[str, Answers] = {OURS: gazelab, "iris + pose": iris_and_pose, "mean target": mean_target}
    missed = {OURS: int((~task.features["valid"]).sum())}
    not_run = {}
    for peer in PEERS:
        if peer.name in names:
            try:
                asked[peer.name], missed[peer.name] = peer_answers(peer, folder, task)
            except CannotRun as why:
                not_run[peer.name] = str(why)
    figures = [
        {
            "measure": measure.name,
            "how": "median" if measure.median else "mean",
            "n_tests": sum(len(test) for _, test in measure.splits),
            "error": {name: score(task, measure, answers) for name, answers in asked.items()},
        }
        for measure in task.measures
    ]
    for figure in figures:
        figure["ours_to_theirs"] = {k: figure["error"][OURS] / v for k, v in figure["error"].items()}
    return {
        "set": task.name,
        "unit": task.unit,
        "n_pictures": len(task.pictures),
        "n_no_face": missed,
        "not_run": not_run,
        "figures": figures,
    }


def table(results: list[dict[str, Any]]) -> str:
    """Lay out one line a figure; in brackets our error over theirs."""
    names = list(dict.fromkeys(n for r in results for f in r["figures"] for n in f["error"]))
    names.sort(key=lambda n: (n != OURS, n in ("iris + pose", "mean target")))
    lines = ["".join([f"{'set: measure':<68}", *(f"{name:>16}" for name in names)])]
    for result in results:
        for figure in result["figures"]:
            label = f"{result['set']}: {figure['measure']}, {figure['how']} {result['unit']}"
            cells = []
            for name in names:
                error = figure["error"].get(name)
                ratio = "" if name == OURS else f" ({figure['ours_to_theirs'].get(name, 0):.2f})"
                cells.append(f"{'–' if error is None else f'{error:.{_digits(result)}f}{ratio}':>16}")
            lines.append(f"{label:<68}{''.join(cells)}")
        missed = ", ".join(f"{name} {n}" for name, n in result["n_no_face"].items())
        lines.append(f"  no face in, of {result['n_pictures']} pictures: {missed}")
        lines += [f"  {name} {why}" for name, why in result["not_run"].items()]
    return "\n".join(lines)


def _digits(result: dict[str, Any]) -> int:
    return 0 if result["unit"] == "px" else 2


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--peers", default=",".join(peer.name for peer in PEERS))
    arguments.add_argument("--peers-dir", type=Path, default=Path(".peers"))
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    names = [] if options.peers == "none" else options.peers.split(",")
    if unknown := set(names) - {peer.name for peer in PEERS}:
        arguments.error(f"there is no peer {', '.join(sorted(unknown))}")
    if options.data is not None and not options.data.is_dir():
        arguments.error(f"{options.data}: there is no such folder")
    folder = options.peers_dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for task in [synthetic_task(), *([] if options.data is None else folder_tasks(options.data))]:
        print(f"{task.name}: {len(task.pictures)} pictures", file=sys.stderr)
        results.append(contest(task, names, folder))
    print(table(results))
    if options.json:
        about = {
            "gazelab": __version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "when_utc": datetime.now(UTC).isoformat(timespec="seconds"),
            "peers": {peer.name: peer.installs for peer in PEERS},
        }
        options.json.write_text(json.dumps({**about, "results": results}, indent=1))


if __name__ == "__main__":
    main()
