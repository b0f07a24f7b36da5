"""What docs/attention.md says is run, block after block, as a notebook would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_models

import gazelab.attention
from gazelab.charts.synthetic import draw_chart
from gazelab.core.picture import encode_png

GUIDE = Path(__file__).parents[3] / "docs" / "attention.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("chart.png").write_bytes(encode_png(draw_chart(np.random.default_rng(3)).picture))
    known = {"language_model": tiny_models.llama(), "input_ids": tiny_models.prompt()}
    for block in blocks():
        exec(compile(block, str(GUIDE), "exec"), known)  # the guide's own code
    told = capsys.readouterr().out
    assert "Blanking the " in told
    assert "relevance gradients can be had" in told
    assert known["tap"].weights.shape[:3] == (4, 2, 4)
    assert len(list(Path("traces").glob("*.safetensors"))) == 1


def test_every_name_of_the_interface_is_there_and_none_is_loaded_before_its_use():
    for name in gazelab.attention.__all__:
        assert getattr(gazelab.attention, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gazelab.attention.nothing
    code = (
        "import sys, gazelab.attention as a; a.load_trace; a.make_map; a.causal_check; a.METHODS;"
        "sys.exit(bool({'torch', 'transformers', 'PyQt6'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
