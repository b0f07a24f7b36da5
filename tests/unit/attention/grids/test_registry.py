"""The registry of families, and the layout that each gives."""

import numpy as np
import pytest

from gazelab.attention.grids import FAMILIES, Family, Layout, PatchView, family_of
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid


@pytest.mark.parametrize("model_type", list(FAMILIES))
def test_every_family_of_the_list_is_there(model_type):
    assert isinstance(family_of(model_type), Family)


def test_V6_columns_follow_the_place_holders_in_the_prompt():
    where = Layout.whole(PatchGrid.stretched(2, 3, 60, 40), "56 x 84")
    is_picture = np.array([0, 0, 1, 1, 1, 1, 1, 1, 0], bool)
    (columns,) = where.columns(is_picture)
    np.testing.assert_array_equal(columns, [[2, 3, 4], [5, 6, 7]])


@pytest.mark.parametrize("n", [0, 5, 7, 576])
def test_V6_V19_another_number_of_tokens_than_the_grids_is_refused(n):
    where = Layout.whole(PatchGrid.stretched(2, 3, 60, 40), "56 x 84")
    with pytest.raises(AttentionError, match=f"holds {n} picture tokens.* 2 x 3 patches needs 6"):
        where.columns(np.ones(n, bool))


def test_an_unknown_family_is_refused_with_the_shapes_it_would_need():
    with pytest.raises(AttentionError, match=r'"newvl".*853 x 601.*pixel_values \(5, 3, 384, 384\)'):
        family_of("newvl", {"pixel_values": (5, 3, 384, 384)})


def test_a_token_cannot_be_two_patches():
    grid = PatchGrid.stretched(2, 3, 60, 40)
    views = (
        PatchView("tiles", grid, np.arange(6).reshape(2, 3)),
        PatchView("whole", grid, np.arange(5, 11).reshape(2, 3)),
    )
    with pytest.raises(ValueError, match="each once"):
        Layout(views, 11, "56 x 84")


OWN = """
from gazelab.attention.grids import Family, Layout
from gazelab.core.geometry import PatchGrid

def layout(inputs, config, width_px, height_px):
    return Layout.whole(PatchGrid.stretched(2, 2, width_px, height_px), "own")

FAMILY = Family(layout)
"""


def test_a_family_of_the_users_own_comes_from_a_named_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    assert family_of("newvl", file=file).layout({}, None, 10, 10).input_px == "own"


@pytest.mark.parametrize(
    ("text", "told"),
    [("FAMILY = 3", "no FAMILY"), ("import nothing_such", "cannot be run"), ("def (", "cannot be run")],
)
def test_a_users_file_that_gives_no_family_is_told(tmp_path, text, told):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(AttentionError, match=rf"mine\.py.*{told}|{told}.*mine\.py"):
        family_of("newvl", file=file)


def test_a_users_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(AttentionError, match=r"absent\.py"):
        family_of("newvl", file=tmp_path / "absent.py")
