import subprocess
import sys
from pathlib import Path

import pytest

from gazelab.attention import catalogue
from gazelab.attention.catalogue import CATALOGUE, OPERATIONS_A_SECOND, known
from gazelab.attention.grids import FAMILIES
from gazelab.attention.hub import is_hub_name

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

import published_models

NAMES = [entry.name for entry in CATALOGUE]


def test_the_smallest_comes_first_and_none_twice():
    assert CATALOGUE[0].name == "HuggingFaceTB/SmolVLM-256M-Instruct"
    assert CATALOGUE[1].name == "HuggingFaceTB/SmolVLM-500M-Instruct"
    assert len(set(NAMES)) == len(NAMES)
    assert all(is_hub_name(name) for name in NAMES)
    assert known(NAMES[3]) is CATALOGUE[3]
    assert known("someone/else") is None


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_that_of_the_published_shape(name):
    entry = known(name)
    assert published_models.CONFIGS[name][0] in FAMILIES
    assert entry.chart_tokens == published_models.picture_tokens(name)
    assert entry.parameters == published_models.parameters(name)
    assert entry.operations == pytest.approx(published_models.operations(name) / 1e12, abs=0.006)


def test_seconds_that_were_not_measured_are_estimated_at_the_rate_of_those_that_were():
    measured = [entry for entry in CATALOGUE if entry.measured_seconds]
    assert len(measured) >= 2
    for entry in measured:
        assert entry.seconds == entry.measured_seconds
        rate = entry.operations * 1e12 / entry.measured_seconds
        assert rate == pytest.approx(OPERATIONS_A_SECOND, rel=0.3)
    other = next(entry for entry in CATALOGUE if not entry.measured_seconds)
    assert other.seconds == pytest.approx(other.operations * 1e12 / OPERATIONS_A_SECOND)


def test_what_is_on_this_computer_is_found_whole_or_begun(tmp_path, monkeypatch):
    entry = CATALOGUE[0]
    monkeypatch.setattr(catalogue, "cached_folder", lambda name: None)
    assert entry.here == "no"
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(catalogue, "cached_folder", lambda name: tmp_path)
    assert entry.here == "begun"
    (tmp_path / "preprocessor_config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    assert entry.here == "yes"


def test_what_fits_is_told_where_the_system_tells_what_is_free():
    entry = CATALOGUE[0]
    assert entry.fits(entry.memory_bytes) is True
    assert entry.fits(entry.memory_bytes - 1) is False
    assert entry.fits(None) is None


def test_the_list_needs_no_torch():
    code = (
        "import sys, gazelab.attention.catalogue as c; [e.here for e in c.CATALOGUE];"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
