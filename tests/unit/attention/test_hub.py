import hashlib
import shutil

import huggingface_hub.hf_api
import pytest
import tiny_checkpoints
from huggingface_hub import constants
from huggingface_hub.utils import close_session
from loopback_hub import COMMIT, Hub, serving, use

from gazelab.attention import hub as hub_module
from gazelab.attention.base import open_model
from gazelab.attention.hub import cached_folder, commit_of, plan_download
from gazelab.attention.hub_download import download, is_content
from gazelab.core.errors import AttentionError, Cancelled

NAME = "someone/a-model"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("checkpoint"))
    (made / "pytorch_model.bin").write_bytes(b"the same once more, as a pickle")
    (made / "consolidated.safetensors").write_bytes(b"the same once more, for another program")
    (made / "README.md").write_text("# A model\n")
    return made


@pytest.fixture
def hub(folder, tmp_path, monkeypatch):
    made = Hub(NAME, folder)
    with serving(made) as address:
        use(monkeypatch, address, tmp_path / "cache")
        yield made
        close_session()


def test_a_plan_says_the_size_before_anything_is_fetched(hub, folder):
    plan = plan_download(NAME)
    names = {file.name for file in plan.files}
    assert "model.safetensors" in names
    assert "chat_template.jinja" in names
    assert not names & {"pytorch_model.bin", "consolidated.safetensors", "README.md"}
    assert plan.total_bytes == sum((folder / name).stat().st_size for name in names)
    assert plan.left_bytes == plan.total_bytes
    assert plan.commit == COMMIT
    assert hub.asked == ["LIST"]


def test_a_download_is_found_afterwards_where_every_program_looks(hub, folder):
    told = []
    there = download(plan_download(NAME), lambda *a: told.append(a[1:]))
    assert (there / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert cached_folder(NAME) == there
    assert cached_folder(NAME, COMMIT) == there
    assert commit_of(there) == COMMIT
    total = plan_download(NAME).total_bytes
    assert told[0] == (0, total)
    assert told[-1] == (total, total)
    assert told == sorted(told)
    fetched = list(hub.asked)
    assert download(plan_download(NAME)) == there
    assert hub.asked == [*fetched, "LIST"]  # nothing is fetched twice


def test_nothing_is_asked_of_the_hub_unless_the_user_asked_for_it(hub, folder):
    with pytest.raises(AttentionError, match=r"no such checkpoint on this machine.*with --download"):
        open_model(NAME)
    assert hub.asked == []
    model = open_model(NAME, online=True)
    assert model.revision == COMMIT
    fetched = list(hub.asked)
    assert open_model(NAME).revision == COMMIT
    assert open_model(NAME, online=True, revision=COMMIT).revision == COMMIT
    assert hub.asked == fetched  # what is whole here is taken as it is


def test_a_download_that_was_stopped_goes_on_where_it_stopped(hub, folder):
    pieces = []

    def stop_in_the_weights():
        if hub.asked[-1].startswith("GET model.safetensors"):
            pieces.append(1)
            if len(pieces) == 2:
                raise Cancelled("stopped.")

    plan = plan_download(NAME)
    weights = next(file for file in plan.files if file.name == "model.safetensors")
    with pytest.raises(Cancelled):
        download(plan, check=stop_in_the_weights)
    here = plan.part_path(weights).stat().st_size
    assert 0 < here < weights.size_bytes
    again = plan_download(NAME)
    begun = again.here_bytes
    assert begun > here
    told = []
    there = download(again, lambda *a: told.append(a[1:]))
    assert f"GET model.safetensors {here}" in hub.asked
    assert told[0][0] == begun
    assert (there / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert not list(again.folder.rglob("*.incomplete"))


def test_a_connection_that_is_cut_is_taken_up_again_at_once(hub, folder):
    hub.cut_after["model.safetensors"] = 10_000
    there = download(plan_download(NAME))
    assert (there / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    starts = [int(asked.split()[-1]) for asked in hub.asked if "model.safetensors " in asked]
    assert starts[0] == 0
    assert 0 < starts[1] <= 10_000


def test_a_server_without_ranges_gives_the_whole_file_again(hub, folder):
    plan = plan_download(NAME)
    weights = next(file for file in plan.files if file.name == "model.safetensors")
    plan.part_path(weights).parent.mkdir(parents=True)
    plan.part_path(weights).write_bytes(b"begun" * 100)
    hub.ranges = False
    told = []
    there = download(plan, lambda *a: told.append(a[1:]))
    assert (there / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert told[-1] == (plan.total_bytes, plan.total_bytes)


def test_what_is_not_what_the_hub_announced_is_thrown_away(hub):
    hub.spoiled.add("model.safetensors")
    plan = plan_download(NAME)
    with pytest.raises(AttentionError, match=r"arrived as model\.safetensors is not what the hub announced"):
        download(plan)
    hub.spoiled.clear()
    assert (download(plan) / "model.safetensors").is_file()


def test_no_room_on_the_disk_is_said_before_anything_is_fetched(hub, monkeypatch):
    plan = plan_download(NAME)
    usage = shutil.disk_usage("/")._replace(free=plan.total_bytes)
    monkeypatch.setattr(hub_module.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(AttentionError, match="still to be downloaded, and the disk has 0 MB free"):
        download(plan)
    assert hub.asked == ["LIST"]


def test_a_disk_that_fills_up_meanwhile_is_one_sentence(hub, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gazelab.attention.hub_download._receive", full)
    with pytest.raises(AttentionError, match=r"the disk is full.*what was fetched is kept"):
        download(plan_download(NAME))


@pytest.mark.parametrize(
    ("name", "revision", "message"),
    [
        ("someone/other", None, "the hub has no such checkpoint, or it is private"),
        (NAME, "v9", "the hub has no such revision"),
        ("some one", None, "no checkpoint can have such a name"),
    ],
)
def test_what_the_hub_does_not_have_is_said(hub, name, revision, message):
    with pytest.raises(AttentionError, match=message):
        plan_download(name, revision)


def test_a_gated_checkpoint_says_what_to_do(hub):
    """Some are listed for everybody, and refused only when their files are asked for."""
    hub.files_gated = True
    plan = plan_download(NAME)
    with pytest.raises(AttentionError, match=r"consent to a licence first.*hf auth login"):
        download(plan)
    hub.gated = True
    with pytest.raises(AttentionError, match=r"consent to a licence first.*hf auth login"):
        plan_download(NAME)


def test_a_system_without_links_keeps_each_file_once(hub, folder, monkeypatch):
    monkeypatch.setattr("huggingface_hub.file_download.are_symlinks_supported", lambda *a: False)
    plan = plan_download(NAME)
    there = download(plan)
    assert not (there / "model.safetensors").is_symlink()
    assert (there / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert list((plan.folder / "blobs").iterdir()) == []
    assert plan.left_bytes == 0
    fetched = len(hub.asked)
    assert download(plan) == there
    assert not [asked for asked in hub.asked[fetched:] if asked.startswith("GET")]


def test_a_hub_that_is_not_there_is_one_sentence(hub, monkeypatch):
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AttentionError, match="the hub cannot be reached"):
        plan_download(NAME)


def test_a_user_who_forbade_it_is_obeyed(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(AttentionError, match="HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids"):
        plan_download(NAME)
    assert hub.asked == []


def test_pickles_alone_are_refused_before_the_download(hub):
    del hub.files["model.safetensors"]
    with pytest.raises(AttentionError, match=r"in pytorch_model\.bin, a pickle, which can run code"):
        plan_download(NAME)


def test_content_is_named_as_the_hub_does(tmp_path):
    file = tmp_path / "hello"
    file.write_bytes(b"hello\n")
    assert is_content(file, "ce013625030ba8dba906f756967f9e9ca394464a")  # git hash-object
    assert is_content(file, hashlib.sha256(b"hello\n").hexdigest())
    assert not is_content(file, "0" * 40)
