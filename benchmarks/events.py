"""Our fixation detectors beside those of others, on the same gaze in the same run.

    python benchmarks/events.py [--data DIR] [--peers] [--seconds N] [--repeats N] [--json FILE]

Two kinds of gaze. The scripted one runs anywhere: fixations of gamma-distributed length (mean 300 ms) with
drift, saccades on the main sequence, and white or wandering noise (an autoregressive one, as of a device
that smooths). `--data` adds hand-labelled recordings, `.npz` files such as `lund_*.npz` of Andersson et al.
(2017); they are scored by the tool that `--bench` names (`eventbench.py`), which also says what the
conditions are.

`--peers` installs pymovements, I2MC and REMoDNaV with pip into an environment of its own (`--peers-dir`) and
runs everything there; without it, those that are installed already take part. Each figure is of this run.

F1 counts a fixation as found at an overlap of one half (intersection over union). "blind" cuts time into
pieces of 300 ms without looking: the floor. "-" means that the detector refuses such gaze. Costs are CPU
time, the least of the repeats; trust the ratio.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = ("pymovements==0.28.0", "I2MC==2.2.8", "remodnav==1.1.2")
HERE = Path(__file__).resolve()


def install_peers(folder: Path) -> Path:
    """Make an environment with the peers, if there is none yet; give its Python."""
    home = folder.resolve() / "events"
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = home / "installed.txt"
    if not done.exists() or done.read_text("utf-8") != "\n".join(PEERS):
        print(f"Installing {', '.join(PEERS)} into {home} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PEERS], check=True)
        done.write_text("\n".join(PEERS), "utf-8")
    return python


def load_bench(path: Path):
    spec = importlib.util.spec_from_file_location("eventbench", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments() -> argparse.Namespace:
    shared = ROOT.parent / "shared"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="of scripted gaze; I2MC takes minutes for it"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", type=Path, help="folder of hand-labelled recordings (.npz)")
    parser.add_argument(
        "--bench", type=Path, default=shared / "tools" / "eventbench.py", help="what scores --data"
    )
    parser.add_argument("--peers", action="store_true", help="install the peers and run beside them")
    parser.add_argument("--peers-dir", type=Path, default=ROOT / ".peers")
    parser.add_argument("--json", type=Path, help="write every figure here too")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    inside = os.environ.get("GAZELAB_EVENTS_PEERS") == "1"
    if options.peers and not inside:
        python = install_peers(options.peers_dir)
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        there = {**os.environ, "GAZELAB_EVENTS_PEERS": "1", "PYTHONPATH": path}
        return subprocess.run([str(python), str(HERE), *sys.argv[1:]], env=there).returncode
    from event_contests import labelled, scripted, speed

    figures = {"scripted": scripted(options.seconds), "speed": speed(options.repeats)}
    if options.data is not None:
        if not options.bench.is_file():
            print(f"{options.bench} is not there: name the scoring tool with --bench.", file=sys.stderr)
            return 2
        figures["labelled"] = labelled(load_bench(options.bench), options.data)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
