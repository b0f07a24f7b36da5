from __future__ import annotations

import json
import os

import pytest

from gazelab.sessions.kept_quality import kept_quality
from gazelab.sessions.library import list_sessions

from .test_library import record


@pytest.fixture
def path(tmp_path, header):
    return record(tmp_path, "s", header)


def keep(path, content: str, at_s: int = 2_000_000_000) -> None:
    (path / "derived").mkdir(exist_ok=True)
    file = path / "derived" / "quality.json"
    file.write_text(content)
    os.utime(file, (at_s, at_s))


def report(word: object) -> str:
    return json.dumps({"inputs_sha256": "0" * 64, "data": {"summary": {"word": word}}})


def test_without_a_report_the_list_says_nothing_of_quality(tmp_path, path):
    [line] = list_sessions(tmp_path)
    assert line.quality == ""
    assert "quality" not in line.line()


def test_the_list_says_the_word_of_the_kept_report(tmp_path, path):
    keep(path, report("review"))
    [line] = list_sessions(tmp_path)
    assert line.to_json()["quality"] == "review"
    assert ", quality review" in line.line()


@pytest.mark.parametrize("name", ["gaze.bin", "markers.jsonl", "exclusions.jsonl", "corrections.jsonl"])
def test_a_report_older_than_what_it_was_made_from_counts_as_none(path, name):
    keep(path, report("good"))
    assert kept_quality(path) == "good"
    (path / name).touch()
    os.utime(path / name, (2_100_000_000, 2_100_000_000))
    assert kept_quality(path) == ""


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", report(7), report("splendid"), report(["good"])])
def test_a_broken_report_counts_as_none(path, content):
    keep(path, content)
    assert kept_quality(path) == ""


def test_a_link_is_not_followed(path, tmp_path):
    (tmp_path / "elsewhere.json").write_text(report("good"))
    (path / "derived").mkdir()
    (path / "derived" / "quality.json").symlink_to(tmp_path / "elsewhere.json")
    os.utime(path / "derived" / "quality.json", (2_000_000_000, 2_000_000_000), follow_symlinks=False)
    assert kept_quality(path) == ""
