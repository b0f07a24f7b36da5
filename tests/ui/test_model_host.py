import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gazelab.attention.base import EMBEDDED
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.worker import ProcessModel
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture
from gazelab.ui import model_host
from gazelab.ui.model_host import ModelHost

GB = 1_000_000_000


class Machine:
    """A computer of 10 GB on which checkpoints lie; what is opened takes their memory."""

    def __init__(self, monkeypatch, sizes):
        self.sizes = sizes
        self.opened, self.closed, self.in_process = [], [], []
        self.asked = []
        machine = self

        class Process:
            def __init__(self, name):
                self.name = name

            @classmethod
            def open(cls, name, options, check):
                machine.in_process.append(name)
                machine.opened.append(name)
                return cls(name)

            def close(self):
                machine.closed.append(self.name)

        def find_folder(name, options):
            if name not in sizes:
                raise AttentionError("no such folder.", where=name)
            return name

        def open_model(name, **options):
            if name not in sizes and name != EMBEDDED:
                raise AttentionError("no such folder.", where=name)
            machine.opened.append(name)
            machine.asked.append(options)
            return SimpleNamespace(name=name)

        monkeypatch.setattr(model_host, "ProcessModel", Process)
        monkeypatch.setattr(model_host, "open_model", open_model)
        monkeypatch.setattr(model_host, "find_folder", find_folder)
        monkeypatch.setattr(model_host, "stored_bytes", sizes.__getitem__)
        monkeypatch.setattr(model_host, "needed_bytes", lambda folder, *a: sizes[folder])
        monkeypatch.setattr(model_host, "free_memory_bytes", lambda: 10 * GB - self.taken)

    @property
    def taken(self):
        return sum(self.sizes.get(name, 0) for name in self.opened) - sum(
            self.sizes.get(name, 0) for name in self.closed
        )


@pytest.fixture
def host(qtbot):
    made = ModelHost()
    made.heard = []
    made.told.connect(made.heard.append)
    yield made
    assert made.close()


def ask(qtbot, host, name, options=None):
    """Run work with a model; gives the model, or the fault."""
    came = []
    host.run(name, lambda model, job: model, came.append, came.append, options=options)
    qtbot.waitUntil(lambda: bool(came))
    return came[0]


def test_a_model_is_opened_once(qtbot, host, monkeypatch):
    machine = Machine(monkeypatch, {"small": GB // 10})
    assert not host.is_open("small")
    assert ask(qtbot, host, "small") is ask(qtbot, host, "small")
    assert host.is_open("small")
    assert machine.opened == ["small"]
    assert machine.in_process == []


def test_a_large_model_gets_a_process_of_its_own(qtbot, host, monkeypatch):
    machine = Machine(monkeypatch, {"small": GB // 10, "large": GB})
    for name in ("small", "large", EMBEDDED):
        ask(qtbot, host, name)
    assert machine.opened == ["small", "large", EMBEDDED]
    assert machine.in_process == ["large"]
    assert host.heard == []


def test_the_size_for_a_process_can_be_set(qtbot, monkeypatch):
    machine = Machine(monkeypatch, {"small": GB // 10})
    made = ModelHost(0)
    ask(qtbot, made, "small")
    assert machine.in_process == ["small"]
    assert made.close()
    assert machine.closed == ["small"]


def test_models_stay_open_side_by_side_where_there_is_room(qtbot, host, monkeypatch):
    machine = Machine(monkeypatch, {"one": 4 * GB, "two": 5 * GB})
    ask(qtbot, host, "one")
    ask(qtbot, host, "two")
    assert machine.closed == []


def test_the_model_longest_unused_is_closed_where_there_is_no_room_and_the_user_told(
    qtbot, host, monkeypatch
):
    machine = Machine(monkeypatch, {"one": 4 * GB, "two": 5 * GB, "three": 3 * GB})
    for name in ("one", "two", "one", "three"):
        ask(qtbot, host, name)
    assert machine.closed == ["two"]
    assert host.heard == ["two was closed: there is no room for it beside three."]
    ask(qtbot, host, "two")
    assert machine.closed == ["two", "one"]


def test_a_model_that_does_not_fit_alone_is_refused_and_the_app_goes_on(qtbot, host, monkeypatch):
    machine = Machine(monkeypatch, {"one": 4 * GB, "huge": 12 * GB})
    ask(qtbot, host, "one")
    fault = ask(qtbot, host, "huge")
    assert isinstance(fault, AttentionError)
    assert "needs about 12.0 GB of memory, and 10.0 GB are free on cpu" in str(fault)
    assert machine.opened == ["one"]
    ask(qtbot, host, "one")
    assert machine.opened == ["one", "one"]


def test_on_a_graphics_card_there_is_one_model_at_a_time(qtbot, host, monkeypatch):
    machine = Machine(monkeypatch, {"one": GB, "two": GB})
    ask(qtbot, host, "one")
    ask(qtbot, host, "two", ModelOptions(device="cuda"))
    assert machine.closed == ["one"]


def test_how_a_model_is_opened_makes_another_model_of_it(qtbot, host, monkeypatch):
    machine = Machine(monkeypatch, {"small": GB // 10})
    ask(qtbot, host, "small")
    ask(qtbot, host, "small", ModelOptions(dtype="bfloat16"))
    assert machine.asked == [{}, {"dtype": "bfloat16"}]


def test_the_settings_say_how_a_model_is_opened_where_nobody_else_does(qtbot, monkeypatch):
    machine = Machine(monkeypatch, {"small": GB // 10})
    made = ModelHost(options=ModelOptions(dtype="float32"))
    ask(qtbot, made, "small")
    ask(qtbot, made, "small", ModelOptions(dtype="bfloat16"))
    assert machine.asked == [{"dtype": "float32"}, {"dtype": "bfloat16"}]
    assert made.close()


def test_a_model_that_is_not_there_is_a_fault_and_no_crash(qtbot, host, monkeypatch):
    Machine(monkeypatch, {})
    assert str(ask(qtbot, host, "gone")) == "gone: no such folder."


def test_a_killed_process_is_a_fault_and_the_next_question_is_answered(qtbot, tmp_path, monkeypatch):
    """With a real process, whose model a test module opens."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "unit" / "attention")
    from numbers_model import open_numbers

    monkeypatch.setattr(model_host, "find_folder", lambda name, options: tmp_path)
    monkeypatch.setattr(model_host, "stored_bytes", lambda folder: GB)
    monkeypatch.setattr(model_host, "needed_bytes", lambda folder, *a: 1)
    opened = ProcessModel.open
    monkeypatch.setattr(ProcessModel, "open", lambda *a, **k: opened(*a, **k, opener=open_numbers))
    host = ModelHost()
    picture = Picture.from_rgb(np.zeros((9, 9, 3), np.uint8))
    came = []

    def work(model, job):
        pids.append(model.pid)
        return model.trace(picture, questions.pop(0), 3).answer

    pids, questions = [], ["How many?", "die now", "And now?"]
    for expected in (1, 2, 3):
        host.run("numbers", work, came.append, came.append)
        qtbot.waitUntil(lambda n=expected: len(came) == n, timeout=20_000)
    assert came[0] == came[2] == "012"
    assert "the system ended its process" in str(came[1])
    running = []
    host.run("numbers", lambda model, job: list(model.stream(picture, "x", 10**9)), print, print)
    host.run("numbers", lambda model, job: running.append(model.pid) or running, came.append, came.append)
    qtbot.waitUntil(lambda: bool(running), timeout=20_000)  # the endless answer was stopped for it
    assert host.close()
    with pytest.raises(ProcessLookupError):
        os.kill(running[0], signal.SIGCONT)


def test_a_broken_checkpoint_is_a_fault_and_a_sound_one_answers_after_it(qtbot, host, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "unit" / "attention")
    import tiny_checkpoints

    sound = tiny_checkpoints.qwen_folder(tmp_path / "sound")
    broken = Path(shutil.copytree(sound, tmp_path / "broken"))
    (broken / "model.safetensors").write_bytes(b"\0" * 100)
    picture = Picture.from_rgb(np.zeros((60, 90, 3), np.uint8))
    came = []
    for n, folder in enumerate((broken, sound, tmp_path, sound), 1):
        host.run(str(folder), lambda model, job: model.trace(picture, "What?", 1), came.append, came.append)
        qtbot.waitUntil(lambda n=n: len(came) == n, timeout=30_000)
    assert "its header is damaged" in str(came[0])
    assert "holds no config.json" in str(came[2])
    assert len(came[1].tokens) == len(came[3].tokens) == 1
