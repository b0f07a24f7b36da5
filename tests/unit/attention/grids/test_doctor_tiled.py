"""`gazelab doctor --model` on tiny checkpoints of tiled and of squashed families: every line passes."""

import pytest
import tiny_gemma3
import tiny_idefics3
import tiny_internvl
import tiny_paligemma

from gazelab.attention.doctor import check_model

FOLDERS = {
    "gemma3": tiny_gemma3.gemma3_folder,
    "idefics3": tiny_idefics3.idefics3_folder,
    "internvl": tiny_internvl.internvl_folder,
    "paligemma": tiny_paligemma.paligemma_folder,
    "smolvlm": tiny_idefics3.smolvlm_folder,
}


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_the_doctor_passes(name, tmp_path):
    report = check_model(str(FOLDERS[name](tmp_path)))
    assert len(report) > 8
    assert [line for line in report if not line.ok] == []
