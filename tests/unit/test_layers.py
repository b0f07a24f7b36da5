"""Lower layers stand without the heavy packages, and habits that corrupt data stay out of the source."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "gazelab"

HEAVY = {"torch", "transformers", "mediapipe", "PyQt6", "pyqtgraph", "cv2"}
ALLOWED = {
    "core": {"cv2"},
    "processing": {"cv2"},
    "metrics": set(),
    "calibration": {"cv2"},
    "charts": set(),
    "sessions": {"cv2"},
    "attention": {"torch", "transformers"},
    "sources": {"mediapipe", "cv2"},
    "pipeline": {"cv2"},
}
"""What a layer may ask for; a name that is not in its set is blocked while every module of it is imported."""

TORCH_WORK = {
    "gazelab.pipeline.train_chartreader",
    "gazelab.pipeline.evaluate_chartreader",
    "gazelab.pipeline.chartreader_card",
}
"""Verbs that are work on a torch model throughout; the command line imports them when they are called."""

BLOCKED_IMPORT = """
import importlib, json, sys
names, blocked = json.loads(sys.argv[1])

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ModuleNotFoundError(f"{name} is blocked in this layer", name=name)

sys.meta_path.insert(0, Blocked())
for name in names:
    importlib.import_module(name)
print(json.dumps(sorted({m.split(".")[0] for m in sys.modules})))
"""


def modules_of(layer: str) -> list[str]:
    files = sorted((PACKAGE / layer).rglob("*.py"))
    names = [".".join(f.relative_to(ROOT).with_suffix("").parts) for f in files]
    names = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    return [name for name in names if name not in TORCH_WORK]


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], cwd=ROOT, capture_output=True, text=True, timeout=250)


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_a_layer_imports_without_what_belongs_to_others(layer: str) -> None:
    names = modules_of(layer)
    assert f"gazelab.{layer}" in names
    done = python("-c", BLOCKED_IMPORT, json.dumps([names, sorted(HEAVY - ALLOWED[layer])]))
    assert done.returncode == 0, done.stderr


def test_the_block_itself_works() -> None:
    done = python("-c", BLOCKED_IMPORT, json.dumps([["gazelab.core.opencv"], ["cv2"]]))
    assert done.returncode != 0
    assert "cv2 is blocked in this layer" in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["demo", "--help"], ["sessions", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    script = (
        "import runpy, sys, json\n"
        f"sys.argv = ['gazelab', *{words!r}]\n"
        "try:\n    runpy.run_module('gazelab', run_name='__main__')\n"
        "except SystemExit as end:\n    code = end.code\n"
        "print(json.dumps([code, sorted({m.split('.')[0] for m in sys.modules})]), file=sys.stderr)\n"
    )
    done = python("-c", script)
    assert "Usage" in done.stdout, done.stderr
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    assert code in (0, None)
    assert HEAVY & set(loaded) == set()


def sources() -> Iterator[tuple[str, str]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")


def calls(text: str) -> set[str]:
    """Give the dotted names that are called in a source text."""
    return {ast.unparse(n.func) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)}


def imports(text: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{a.name}" for a in node.names}
    return found


def code_only(text: str) -> str:
    """Join a source's tokens without comments and strings."""
    kinds = (tokenize.COMMENT, tokenize.STRING)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "".join(token.string for token in tokens if token.type not in kinds)


def test_M9_no_module_refers_to_the_solutions_of_old() -> None:
    assert [name for name, text in sources() if "solutions" in code_only(text)] == []


def test_G17_nothing_is_pickled() -> None:
    unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    for name, text in sources():
        assert not {i.split(".")[0] for i in imports(text)} & unsafe, name
        assert "allow_pickle=True" not in code_only(text), name
        assert "weights_only=False" not in code_only(text), name


def test_G17_torch_files_are_loaded_as_weights_only() -> None:
    for name, text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load":
                assert "weights_only=True" in {f"{k.arg}={ast.unparse(k.value)}" for k in node.keywords}, name


def attributes(text: str) -> set[str]:
    """Give the dotted names that a source text reads, called or not."""
    return {ast.unparse(n) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute)}


def test_R3_no_interval_is_taken_from_the_wall_clock() -> None:
    """`time.time` is for nothing, `time.time_ns` for the anchors of a session alone."""
    assert [n for n, text in sources() if "time.time" in attributes(text) | imports(text)] == []
    wall = {n for n, text in sources() if "time.time_ns" in attributes(text) | imports(text)}
    assert wall <= {"gazelab/sessions/writer.py"}


def test_no_print_below_the_command_line() -> None:
    allowed = "gazelab/cli"
    assert [n for n, text in sources() if "print" in calls(text) and not n.startswith(allowed)] == []


LAST_RESORTS = {
    "gazelab/pipeline/live.py",  # the acquisition loop
    "gazelab/sessions/writer.py",  # the writer loop
    "gazelab/ui/workers.py",  # the worker's loop
    "gazelab/attention/pushed.py",  # a model's own thread, which hands the fault to its reader
    "gazelab/ui/faults.py",  # saving after a fault that nobody caught
}


def swallows_anything(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler catches everything and does not raise it again at its end."""
    names = (
        {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)}
        if handler.type
        else {"BaseException"}
    )
    last = handler.body[-1]
    raises_again = isinstance(last, ast.Raise) and last.exc is None
    return bool(names & {"Exception", "BaseException"}) and not raises_again


def test_whatever_goes_wrong_is_caught_in_the_named_places_only() -> None:
    found = {
        name
        for name, text in sources()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ExceptHandler) and swallows_anything(node)
    }
    assert found <= LAST_RESORTS
