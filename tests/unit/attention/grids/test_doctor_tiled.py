"""`gazelab doctor --model` on tiny checkpoints of tiled and of squashed families: every line passes."""

import pytest
import tiny_gemma3
import tiny_idefics3
import tiny_internvl
import tiny_llava
import tiny_paligemma

from gazelab.attention.doctor import check_model

FOLDERS = {
    "gemma3": tiny_gemma3.gemma3_folder,
    "idefics3": lambda folder: tiny_idefics3.idefics3_folder(folder, tile_px=32),
    "internvl": tiny_internvl.internvl_folder,
    "llava_next": tiny_llava.next_folder,
    "llava_onevision": tiny_llava.onevision_folder,
    "paligemma": tiny_paligemma.paligemma_folder,
    "paligemma 2": lambda folder: tiny_paligemma.paligemma_folder(folder, 2),
    "smolvlm": lambda folder: tiny_idefics3.smolvlm_folder(folder, tile_px=32),
    "uneven": lambda folder: tiny_idefics3.smolvlm_folder(folder, tile_px=46, patch_px=14, scale_factor=1),
}


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_the_doctor_passes(name, tmp_path):
    report = check_model(str(FOLDERS[name](tmp_path)))
    assert len(report) > 8
    assert [line for line in report if not line.ok] == []
