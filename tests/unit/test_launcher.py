"""run_gazelab.py: what it refuses, what it installs, what it hands over."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement

from gazelab import system

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nID=debian\n'
MINT = 'NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n'
FEDORA = "NAME=Fedora\nID=fedora\n"


@pytest.fixture
def launcher() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_gazelab", ROOT / "run_gazelab.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["run_gazelab.py", "gazelab/system.py", "gazelab/__init__.py"])
def test_needs_nothing_but_an_old_pythons_library(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 7))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names | {"gazelab"}
    assert "__future__" not in names


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (((3, 11), "Linux", "x86_64", 64, "2.36"), ""),
        (((3, 14), "Linux", "x86_64", 64, "2.34"), ""),
        (((3, 12), "Windows", "AMD64", 64, ""), ""),
        (((3, 13), "Darwin", "arm64", 64, "14.5"), ""),
        (((3, 10), "Linux", "x86_64", 64, "2.36"), "needs Python 3.11 to 3.14 and this is 3.10"),
        (((3, 15), "Linux", "x86_64", 64, "2.36"), "needs Python 3.11 to 3.14 and this is 3.15"),
        (((3, 11), "Windows", "x86", 32, ""), "32-bit"),
        (((3, 11), "Darwin", "x86_64", 64, "14.5"), "Intel Mac"),
        (((3, 11), "Darwin", "arm64", 64, "13.6"), "macOS 14"),
        (((3, 11), "Linux", "aarch64", 64, "2.36"), "no build for Linux on aarch64"),
        (((3, 11), "Windows", "ARM64", 64, ""), "no build for Windows on ARM64"),
        (((3, 11), "Linux", "x86_64", 64, "2.31"), "glibc 2.34"),
        (((3, 11), "Linux", "x86_64", 64, ""), "glibc 2.34"),
    ],
)
def test_M9_says_which_machines_it_supports(machine: tuple[Any, ...], words: str) -> None:
    said = system.unsupported(*machine)
    assert words in said
    assert bool(said) == bool(words)


def test_this_machine_is_supported() -> None:
    assert system.unsupported_here() == ""


@pytest.mark.parametrize(
    ("os_release", "line"),
    [
        (DEBIAN, "apt-get install -y --no-install-recommends libegl1 libgl1"),
        (MINT, "apt-get install -y --no-install-recommends libegl1 libgl1"),
        (FEDORA, "dnf install 'libEGL.so.1()(64bit)' 'libGL.so.1()(64bit)'"),
        ("ID=alpine\n", ""),
        ("", ""),
    ],
)
def test_names_the_exact_install_line(os_release: str, line: str) -> None:
    assert system.install_line({"libGL.so.1": "libgl1", "libEGL.so.1": "libegl1"}, os_release) == line


def test_a_library_that_is_not_there_is_found_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LIBRARIES", {"libnowhere.so.9": "libnowhere9"})
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    assert system.missing_libraries(window=True) == {"libnowhere.so.9": "libnowhere9"}
    monkeypatch.setattr("platform.system", lambda: "Windows")
    assert system.missing_libraries(window=True) == {}


def test_asks_for_what_x11_needs_only_for_a_window_on_x11(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr(system, "_loads", lambda name: "xcb" not in name)
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "libxcb-cursor.so.0" in system.missing_libraries(window=True)
    assert system.missing_libraries(window=False) == {}
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert system.missing_libraries(window=True) == {}


def lacking(monkeypatch: pytest.MonkeyPatch, launcher: ModuleType, *, root: bool) -> list[list[str]]:
    """Let a Debian lack one library; give the list that commands will be noted in."""
    ran: list[list[str]] = []

    def run(command: list[str], **kw: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(launcher.system, "missing_libraries", lambda window: {"libGL.so.1": "libgl1"})
    monkeypatch.setattr(launcher.system, "install_line", lambda needs, text: "apt-get install -y libgl1")
    monkeypatch.setattr(launcher.os, "geteuid", lambda: 0 if root else 1000, raising=False)
    monkeypatch.setattr(launcher.subprocess, "run", run)
    return ran


def test_a_user_is_told_the_line_and_nothing_is_run(
    monkeypatch: pytest.MonkeyPatch, launcher: ModuleType
) -> None:
    ran = lacking(monkeypatch, launcher, root=False)
    with pytest.raises(launcher.Stop, match=r"libGL\.so\.1.*\n    sudo apt-get install -y libgl1"):
        launcher.check_system("app")
    assert ran == []


def test_root_on_debian_gets_it_installed(monkeypatch: pytest.MonkeyPatch, launcher: ModuleType) -> None:
    ran = lacking(monkeypatch, launcher, root=True)
    launcher.check_system("app")
    assert ran == [["apt-get", "update"], ["apt-get", "install", "-y", "libgl1"]]


def test_turns_words_into_commands(launcher: ModuleType) -> None:
    python = Path("p")
    assert launcher.command_for([], python) == ["p", "-P", "-m", "gazelab", "app"]
    assert launcher.command_for(["demo", "--out", "x y"], python)[3:] == ["gazelab", "demo", "--out", "x y"]
    assert launcher.command_for(["test", "-k", "M9"], python)[3:] == ["pytest", "-k", "M9"]
    assert launcher.python_in(Path("v"), windows=True) == Path("v", "Scripts", "python.exe")
    assert launcher.python_in(Path("v"), windows=False) == Path("v", "bin", "python")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Collecting numpy>=2.0", ""),
        ("  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (62 kB)", ""),
        (
            "  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl (16.8 MB)",
            "  numpy 2.4.6 (16.8 MB)",
        ),
        ("  Using cached idna-3.20-py3-none-any.whl (70 kB)", "  idna 3.20 (70 kB)"),
        ("Processing /a b/torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl", "  torch 2.13.0+cpu"),
        ("Processing ./six-1.17.0-py2.py3-none-any.whl (from x==1->y)", "  six 1.17.0"),
        ("Installing collected packages: a, b, c", "Unpacking 3 packages: a minute or two."),
        ("Installing collected packages: torch", "Unpacking torch"),
    ],
)
def test_tells_progress_in_words(launcher: ModuleType, line: str, words: str) -> None:
    assert launcher.progress(line) == words


Install = tuple[ModuleType, Path, list[tuple[str, ...]]]


@pytest.fixture
def installing(
    monkeypatch: pytest.MonkeyPatch, launcher: ModuleType, tmp_path: Path
) -> Callable[..., Install]:
    """Make an environment folder with a Python in it, and a pip that only notes what it is asked for."""

    def begin(gpu: bool = False, fails: Callable[[tuple[str, ...]], bool] = lambda a: False) -> Install:
        asked: list[tuple[str, ...]] = []

        def pip(python: Path, *args: str) -> str:
            asked.append(args)
            return "ERROR: no" if fails(args) else ""

        venv = tmp_path / "v é"
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / "python").symlink_to(sys.executable)
        (venv / "pyvenv.cfg").write_text("home = x\n")

        def run(command: list[object], **kw: object) -> subprocess.CompletedProcess[str]:
            assert command[1:] == ["-c", "import pip"]
            return subprocess.CompletedProcess([], 0)

        monkeypatch.setattr(launcher, "pip_install", pip)
        monkeypatch.setattr(launcher.subprocess, "run", run)
        monkeypatch.setattr(launcher.platform, "system", lambda: "Linux")
        monkeypatch.setattr(launcher.shutil, "which", lambda name: "/usr/bin/nvidia-smi" if gpu else None)
        monkeypatch.delenv("GAZELAB_TORCH_INDEX", raising=False)
        return launcher, venv, asked

    if os.name == "nt":
        pytest.skip("the stand-in environment is laid out as on Linux and macOS")
    return begin


def test_says_the_size_takes_the_cpu_build_and_stamps(
    installing: Callable[..., Install], capsys: pytest.CaptureFixture[str]
) -> None:
    launcher, venv, asked = installing()
    launcher.install(venv, dev=False)
    assert asked[0][:2] == ("--no-deps", f"torch=={locked()['torch']}+cpu")
    assert "mediapipe==0.10.31" in asked[1]
    assert not any(name.startswith("pytest") for name in asked[1])
    assert "530 MB" in capsys.readouterr().out.splitlines()[0]
    assert launcher.is_fresh(venv, dev=False)
    assert not launcher.is_fresh(venv, dev=True)
    launcher.install(venv, dev=True)
    assert any(name.startswith("pytest") for name in asked[-1])
    assert launcher.is_fresh(venv, dev=True)


def test_without_a_cpu_build_the_larger_size_is_said(
    installing: Callable[..., Install], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher, venv, asked = installing(fails=lambda args: "--no-deps" in args)
    monkeypatch.setenv("GAZELAB_TORCH_INDEX", "file:///nowhere")
    launcher.install(venv, dev=False)
    assert asked[0][2:] == ("--index-url", "file:///nowhere")
    assert f"{launcher.CUDA_MB} MB in all" in capsys.readouterr().out
    assert launcher.is_fresh(venv, dev=False)


def test_with_a_gpu_the_standard_build_is_taken(
    installing: Callable[..., Install], capsys: pytest.CaptureFixture[str]
) -> None:
    launcher, venv, asked = installing(gpu=True)
    launcher.install(venv, dev=False)
    assert len(asked) == 1
    assert f"{launcher.CUDA_MB} MB" in capsys.readouterr().out


def test_a_failed_install_is_not_taken_for_whole(installing: Callable[..., Install]) -> None:
    launcher, venv, _ = installing(fails=lambda args: True)
    with pytest.raises(launcher.Stop, match=r"ERROR: no\n.*start again"):
        launcher.install(venv, dev=False)
    assert not launcher.is_fresh(venv, dev=False)


def test_what_an_interrupted_pip_left_half_done_is_removed(installing: Callable[..., Install]) -> None:
    launcher, venv, _ = installing()
    packages = venv / "lib" / "python3.11" / "site-packages"
    half, whole = packages / "scipy-1.dist-info", packages / "numpy-2.dist-info"
    for folder in (half, whole):
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("x")
    (whole / "RECORD").write_text("x")
    launcher.install(venv, dev=False)
    assert [p.name for p in packages.iterdir()] == ["numpy-2.dist-info"]


def test_an_environment_without_a_working_pip_is_made_anew(
    installing: Callable[..., Install], monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher, venv, asked = installing()
    ran: list[list[object]] = []

    def run(command: list[object], **kw: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess([], int(command[1] == "-c"))

    monkeypatch.setattr(launcher.subprocess, "run", run)
    launcher.install(venv, dev=False)
    assert ran[1] == [sys.executable, "-m", "venv", "--clear", venv]
    assert len(asked) == 2


def test_a_changed_lock_asks_for_another_install(
    installing: Callable[..., Install], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launcher, venv, _ = installing()
    launcher.install(venv, dev=False)
    changed = tmp_path / "requirements.lock"
    changed.write_text(launcher.LOCK.read_text(encoding="utf-8") + "one-more==1\n", encoding="utf-8")
    monkeypatch.setattr(launcher, "LOCK", changed)
    assert not launcher.is_fresh(venv, dev=False)


def test_a_folder_of_the_users_own_is_left_alone(installing: Callable[..., Install]) -> None:
    launcher, venv, asked = installing()
    (venv / "pyvenv.cfg").unlink()
    with pytest.raises(launcher.Stop, match="no Python environment"):
        launcher.install(venv, dev=False)
    assert asked == []


def test_too_little_room_is_said_before_anything_is_fetched(
    installing: Callable[..., Install], monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher, venv, asked = installing()
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(launcher.shutil, "disk_usage", lambda path: usage(10**9))
    with pytest.raises(launcher.Stop, match="3 GB are needed"):
        launcher.install(venv, dev=False)
    assert asked == []


def test_the_larger_build_needs_more_room(
    installing: Callable[..., Install], monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher, venv, asked = installing(fails=lambda args: "--no-deps" in args)
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(launcher.shutil, "disk_usage", lambda path: usage(6 * 10**9))
    with pytest.raises(launcher.Stop, match="13 GB are needed"):
        launcher.install(venv, dev=False)
    assert len(asked) == 1


@pytest.mark.skipif(os.name == "nt", reason="the stand-in environment is laid out as on Linux and macOS")
def test_hands_over_words_folder_and_exit_code_from_a_path_with_spaces(
    launcher: ModuleType, tmp_path: Path
) -> None:
    home, venv, elsewhere = tmp_path / "a b é", tmp_path / "v é", tmp_path / "where I am"
    for folder in (home / "gazelab", venv / "bin", elsewhere):
        folder.mkdir(parents=True)
    for name in ("run_gazelab.py", "requirements.lock", "pyproject.toml", "gazelab/system.py"):
        shutil.copy(ROOT / name, home / name)
    (home / "gazelab" / "__init__.py").touch()
    (home / "gazelab" / "__main__.py").write_text(
        "import json, os, sys\nprint(json.dumps([sys.argv[1:], os.getcwd()]))\nsys.exit(7)\n"
    )
    (elsewhere / "json.py").write_text("raise SystemExit('a file of the user was imported')\n")
    (venv / "bin" / "python").symlink_to(sys.executable)
    launcher.stamp_of(venv, False).write_text(launcher.wanted(False)[1])
    done = subprocess.run(
        [sys.executable, str(home / "run_gazelab.py"), "compare", "x y", "--data", "ä"],
        cwd=elsewhere,
        env={**os.environ, "GAZELAB_VENV": str(venv), "PYTHONHOME": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout) == [["compare", "x y", "--data", "ä"], str(elsewhere)]


def locked() -> dict[str, str]:
    """Read the pins of requirements.lock that hold on this machine."""
    pins = {}
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate():
                pins[need.name.lower()] = str(need.specifier).removeprefix("==")
    return pins


def test_every_requirement_is_pinned_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + [
        n for names in project["optional-dependencies"].values() for n in names
    ]
    pins = locked()
    for need in map(Requirement, asked):
        assert need.specifier.contains(pins[need.name.lower()]), need


def test_every_pin_is_exact_and_no_host_is_named() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all("==" in line.split(";")[0] for line in lines)
    assert "://" not in text
