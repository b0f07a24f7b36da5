#!/usr/bin/env python3
"""Start gazelab; the first run installs it.

python run_gazelab.py            the app
python run_gazelab.py demo       the main job with no camera: calibrate, read, compare, report
python run_gazelab.py test       the tests; what follows goes to pytest
python run_gazelab.py VERB ...   any other verb; `doctor` tells what works on this machine

The first run makes a folder .venv beside this file (or the one that GAZELAB_VENV names) and installs the
packages of requirements.lock into it. GAZELAB_TORCH_INDEX may name an index that has torch's CPU build.
"""
# Standard library only, and readable by older Pythons, which end in a sentence and not in a traceback.

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from gazelab import system

ROOT = Path(__file__).resolve().parent
LOCK = ROOT / "requirements.lock"
WINDOW_VERBS = ("app", "demo", "calibrate", "record")
DOWNLOAD_MB = {"Linux": 530, "Darwin": 390, "Windows": 390}  # all wheels; on Linux with torch's CPU build
CUDA_MB = 3100  # the same on Linux with torch's standard build


class Stop(Exception):
    """A reason to stop, with what to do about it."""


def say(text: str) -> None:
    """Print at once, so that progress is seen through a pipe as well."""
    print(text, flush=True)


def check_system(verb: str) -> None:
    """Install missing system packages if root on Debian or its kin; else stop with the line that does."""
    needs = system.missing_libraries(verb in WINDOW_VERBS)
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        needs["Python's module venv"] = f"python3.{sys.version_info[1]}-venv"
    if not needs:
        return
    what, release = "Missing: " + ", ".join(needs), Path("/etc/os-release")
    line = system.install_line(needs, release.read_text(encoding="utf-8") if release.exists() else "")
    if not line.startswith("apt-get") or os.geteuid() != 0:
        how = f":\n    sudo {line}" if line else " with your system's package manager."
        raise Stop(f"{what}. Install this and start again{how}")
    say(f"{what}. Installing it:\n    {line}")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for command in ("apt-get update", line):
        done = subprocess.run(command.split(), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if done.returncode:
            raise Stop(f"`{command}` failed, see above. Install by hand and start again:\n    {line}")


def python_in(venv: Path, windows: bool = os.name == "nt") -> Path:
    """Give the environment's own Python."""
    return venv / "Scripts" / "python.exe" if windows else venv / "bin" / "python"


def wanted(dev: bool) -> "tuple[list[str], str]":
    """Give the requirements, and the stamp that an environment with them and this lock carries."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = project["dependencies"] + (project["optional-dependencies"]["dev"] if dev else [])
    return names, hashlib.sha256("\n".join(names).encode() + LOCK.read_bytes()).hexdigest()


def stamp_of(venv: Path, dev: bool) -> Path:
    """Give the file that says what was installed to its end."""
    return venv / ("gazelab-dev.stamp" if dev else "gazelab.stamp")


def is_fresh(venv: Path, dev: bool) -> bool:
    """Tell whether the environment has what this checkout wants."""
    stamp = stamp_of(venv, dev)
    return python_in(venv).exists() and stamp.exists() and stamp.read_text() == wanted(dev)[1]


def command_for(args: "list[str]", python: Path) -> "list[str]":
    """Turn the user's words into a command; -P keeps files in the working folder from being imported."""
    verb = ["pytest", *args[1:]] if args[:1] == ["test"] else ["gazelab", *(args or ["app"])]
    return [str(python), "-P", "-m", *verb]


def child_env() -> "dict[str, str]":
    """Give a child the environment in which this checkout is found and a user's other packages are not."""
    drop = ("PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    return dict(kept, PYTHONPATH=str(ROOT), PYTHONNOUSERSITE="1")


def progress(line: str) -> str:
    """Turn a line of pip's into words; empty if it holds none for the user."""
    if line.startswith("Installing collected packages"):
        names = line.partition(": ")[2].split(", ")
        return f"Unpacking {len(names)} packages: a minute or two." if names[1:] else f"Unpacking {names[0]}"
    kind = r"\s*(?:Downloading|Using cached|Processing) (?:.*/)?"
    found = re.match(kind + r"([\w.]+)-(\d[^-]*)-\S+\.whl(?:( \([\d.]+ [kMG]?B\))|\s|$)", line)
    return "  {} {}{}".format(found.group(1), found.group(2), found.group(3) or "") if found else ""


def pip_install(python: Path, *args: str) -> str:
    """Install, saying each package; give pip's errors, empty if there were none."""
    quiet = ["--no-input", "--disable-pip-version-check", "--progress-bar=off", "--only-binary=:all:"]
    command = [str(python), "-m", "pip", "install", *quiet, "-c", str(LOCK), *args]
    errors = []
    with subprocess.Popen(command, env=child_env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        for line in (raw.decode(errors="replace").rstrip() for raw in run.stdout or ()):
            errors += [line] if line.startswith(("ERROR", "Could not fetch")) else []
            if progress(line):
                say(progress(line))
    return ("\n".join(errors) or "pip failed.") if run.returncode else ""


def check_room(venv: Path, download_mb: int) -> None:
    """Stop if the wheels, and what they unpack to, will not fit."""
    room_gb = (4 * download_mb + 1000) / 1000
    if shutil.disk_usage(venv).free < room_gb * 1e9:
        raise Stop(f"Too little room on the disk of {venv}: {room_gb:.0f} GB are needed.")


def install(venv: Path, dev: bool) -> None:
    """Make the environment, or mend a broken or interrupted one, and put the locked packages into it."""
    name, python = platform.system(), python_in(venv)
    cpu = name == "Linux" and not (shutil.which("nvidia-smi") or Path("/dev/nvidia0").exists())
    size = CUDA_MB if name == "Linux" and not cpu else DOWNLOAD_MB[name]
    say(f"Installing gazelab into {venv}: about {size} MB to download, less what pip has cached.")
    venv.mkdir(parents=True, exist_ok=True)
    if any(venv.iterdir()) and not (venv / "pyvenv.cfg").exists():
        raise Stop(f"{venv} is not empty and no Python environment. Name another folder in GAZELAB_VENV.")
    check_room(venv, size)
    whole = (
        python.exists() and subprocess.run([python, "-c", "import pip"], capture_output=True).returncode == 0
    )
    if not whole:
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    for info in [*venv.glob("lib/*/site-packages/*.dist-info"), *venv.glob("Lib/site-packages/*.dist-info")]:
        if not (info / "RECORD").exists():  # left by an interrupted pip, which would take it for whole
            shutil.rmtree(info)
    torch = re.findall(r"^torch==\S+", LOCK.read_text(encoding="utf-8"), re.MULTILINE)[0] + "+cpu"
    index = os.environ.get("GAZELAB_TORCH_INDEX")
    if cpu and pip_install(python, "--no-deps", torch, *(["--index-url", index] if index else [])):
        say(f"No package index in use has torch's CPU build: its standard build it is, {CUDA_MB} MB in all.")
        check_room(venv, CUDA_MB)
    errors = pip_install(python, *wanted(dev)[0])
    if errors:
        raise Stop(f"{errors}\nCheck network and disk and start again: it goes on where it stopped.")
    for each in {False, dev}:
        stamp_of(venv, each).write_text(wanted(each)[1])


def main(args: "list[str]") -> int:
    """Check the machine, install if need be, and hand over."""
    why = system.unsupported_here()
    if why or os.pathsep in str(ROOT):
        raise Stop(why or f"Python cannot use a folder with {os.pathsep} in its path: rename {ROOT}.")
    venv, dev = Path(os.environ.get("GAZELAB_VENV") or ROOT / ".venv").absolute(), args[:1] == ["test"]
    if args in (["-h"], ["--help"]) and not is_fresh(venv, dev):
        say(str(__doc__))
        return 0
    check_system(args[0] if args else "app")
    if not is_fresh(venv, dev):
        install(venv, dev)
    command = command_for(args, python_in(venv))
    if dev:
        os.chdir(ROOT)
    if os.name != "nt":
        os.execve(command[0], command, child_env())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the child's to handle
    return subprocess.call(command, env=child_env())


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except (Stop, OSError, subprocess.CalledProcessError) as fault:
        print(f"run_gazelab: {fault}", file=sys.stderr)
        sys.exit(2)
