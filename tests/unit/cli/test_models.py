import json

from gazelab.attention.catalogue import CATALOGUE
from gazelab.cli import main


def test_the_list_names_every_checkpoint_with_its_figures(capsys):
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    headings = " ".join(lines[0].split())
    assert headings == "model parameters download memory chart tokens CPU s a question fits here"
    first, second = lines[1], lines[len(CATALOGUE)]
    assert first.startswith("HuggingFaceTB/SmolVLM-256M-Instruct")
    assert "0.26 B" in first
    assert "513 MB" in first
    assert "832" in first
    assert second.startswith(CATALOGUE[-1].name)
    assert any(line.startswith("Memory free now: ") for line in lines)


def test_json_says_which_figures_were_measured(capsys, monkeypatch):
    monkeypatch.setattr("gazelab.attention.memory_free.free_host_bytes", lambda: 1_000_000_000)
    assert main(["models", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["free_bytes"] == 1_000_000_000
    rows = {row["model"]: row for row in told["models"]}
    assert rows["HuggingFaceTB/SmolVLM-256M-Instruct"]["cpu_seconds_measured"] is True
    assert rows["HuggingFaceTB/SmolVLM-256M-Instruct"]["fits"] is True
    assert rows["Qwen/Qwen2.5-VL-3B-Instruct"]["cpu_seconds_measured"] is False
    assert rows["Qwen/Qwen2.5-VL-3B-Instruct"]["fits"] is False


def test_a_system_that_does_not_tell_its_memory_gets_a_question_mark(capsys, monkeypatch):
    monkeypatch.setattr("gazelab.attention.memory_free.free_host_bytes", lambda: None)
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "Memory free now: not known." in out
    assert " ?  " in out
