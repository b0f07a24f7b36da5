import threading
from pathlib import Path

import pytest
from PyQt6.QtWidgets import QDialog

from gazelab.attention.base import EMBEDDED
from gazelab.attention.catalogue import CATALOGUE
from gazelab.ui import model_choice, model_download
from gazelab.ui.model_choice import ModelChoice
from gazelab.ui.model_download import ModelDownload

NAME = "someone/a-model"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub on this machine with one small checkpoint."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "unit" / "attention")
    import loopback_hub
    from huggingface_hub.utils import close_session

    folder = tmp_path / "published"
    folder.mkdir()
    for name, content in {
        "config.json": b"{}",
        "preprocessor_config.json": b"{}",
        "tokenizer.json": b"{}",
        "model.safetensors": _tensors(3_000_000),
    }.items():
        (folder / name).write_bytes(content)
    made = loopback_hub.Hub(NAME, folder)
    with loopback_hub.serving(made) as address:
        loopback_hub.use(monkeypatch, address, tmp_path / "cache")
        yield made
        close_session()


def _tensors(n_bytes):
    head = b'{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (n_bytes, n_bytes)
    return len(head).to_bytes(8, "little") + head + bytes(n_bytes)


@pytest.fixture
def dialog(qtbot):
    made = ModelDownload()
    qtbot.addWidget(made)
    yield made
    made.reject()


def test_the_list_tells_what_each_model_costs_and_asks_nobody(dialog, hub):
    cells = [[dialog.table.item(r, c).text() for c in range(7)] for r in range(len(CATALOGUE))]
    assert cells[0][:4] == ["HuggingFaceTB/SmolVLM-256M-Instruct", "513 MB", "890 MB", "832"]
    assert dialog.name == CATALOGUE[0].name
    assert dialog.note.text() == CATALOGUE[0].note
    dialog.table.selectRow(3)
    assert dialog.name == CATALOGUE[3].name
    assert not dialog.go_button.isEnabled()
    assert hub.asked == []


def test_the_size_is_said_before_the_download_which_then_runs(qtbot, dialog, hub):
    dialog.field.setText(NAME)
    dialog.look_up()
    qtbot.waitUntil(lambda: dialog.plan is not None)
    assert dialog.note.text().startswith("3 MB to fetch of 3 MB, into ")
    assert dialog.go_button.text() == "Download 3 MB"
    assert hub.asked == ["LIST"]
    with qtbot.waitSignal(dialog.accepted):
        dialog.start()
    assert dialog.bar.value() == model_download.PARTS


def test_a_download_can_be_stopped_and_taken_up_again(qtbot, dialog, hub, monkeypatch):
    halfway, go_on = threading.Event(), threading.Event()
    real = model_download.download

    def slow(plan, progress, check):
        def checked():
            if hub.asked[-1].startswith("GET model.safetensors"):
                halfway.set()
                assert go_on.wait(10)
            check()

        return real(plan, progress, checked)

    monkeypatch.setattr(model_download, "download", slow)
    dialog.field.setText(NAME)
    dialog.look_up()
    qtbot.waitUntil(lambda: dialog.plan is not None)
    dialog.start()
    assert not dialog.field.isEnabled()
    qtbot.waitUntil(halfway.is_set)
    dialog.stop()
    go_on.set()
    assert dialog.note.text() == "Stopped. What was fetched is kept: download again to go on."
    monkeypatch.setattr(model_download, "download", real)
    with qtbot.waitSignal(dialog.accepted):
        dialog.start()


def test_what_the_hub_does_not_have_is_said_in_the_dialog(qtbot, dialog, hub):
    dialog.field.setText("someone/other")
    dialog.look_up()
    qtbot.waitUntil(lambda: "the hub has no such checkpoint" in dialog.note.text())
    assert dialog.note.property("role") == "bad"
    assert dialog.look_up_button.isEnabled()
    dialog.field.setText("no name of a checkpoint")
    assert not dialog.look_up_button.isEnabled()


def test_closing_while_it_downloads_stops_it(qtbot, dialog, hub):
    dialog.field.setText(NAME)
    dialog.look_up()
    qtbot.waitUntil(lambda: dialog.plan is not None)
    dialog.start()
    dialog.close()
    assert not dialog._worker.busy or dialog._worker.stop()


# The list of models


@pytest.fixture
def choice(qtbot):
    made = ModelChoice()
    qtbot.addWidget(made)
    return made


def entry(choice, text):
    return next(i for i in range(choice._box.count()) if choice._box.itemText(i) == text)


def test_models_that_are_here_are_offered_when_the_list_opens(choice, monkeypatch):
    assert choice.names == [EMBEDDED]
    here = {CATALOGUE[1].name}
    monkeypatch.setattr(
        "gazelab.attention.catalogue.KnownCheckpoint.here",
        property(lambda e: "yes" if e.name in here else "no"),
    )
    choice._box.opened.emit()
    choice._box.opened.emit()
    assert choice.names == [EMBEDDED, CATALOGUE[1].name]
    assert choice.name == EMBEDDED
    assert entry(choice, "SmolVLM-500M-Instruct") == 1


@pytest.mark.parametrize("accepted", [True, False])
def test_a_downloaded_model_is_chosen(choice, monkeypatch, accepted):
    class Dialog:
        name = NAME

        def __init__(self, parent):
            pass

        def exec(self):
            return QDialog.DialogCode.Accepted if accepted else QDialog.DialogCode.Rejected

    monkeypatch.setattr(model_choice, "ModelDownload", Dialog)
    changed = []
    choice.changed.connect(changed.append)
    choice._box.activated.emit(entry(choice, "Download a model…"))
    assert changed == ([NAME] if accepted else [])
    assert choice._box.currentData() == choice.name == (NAME if accepted else EMBEDDED)


@pytest.mark.parametrize("folder", ["/models/mine", ""])
def test_a_folder_is_chosen_or_nothing_changes(choice, monkeypatch, folder):
    monkeypatch.setattr(model_choice.QFileDialog, "getExistingDirectory", lambda *a: folder)
    choice._box.activated.emit(entry(choice, "Checkpoint folder…"))
    assert choice._box.currentData() == choice.name == (folder or EMBEDDED)
