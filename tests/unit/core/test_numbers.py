from __future__ import annotations

import math

import pytest

from gazelab.core.numbers import finite


@pytest.mark.parametrize("value", [0, -3, 2.5, 10**300])
def test_numbers(value):
    assert finite(value) == float(value)


@pytest.mark.parametrize("value", [None, True, "1", [1], {}, 10**400, -(10**400), math.inf, math.nan, 1 + 2j])
def test_what_is_none(value):
    assert math.isnan(finite(value))
