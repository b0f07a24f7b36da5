"""Errors say what, where and what to do."""

from __future__ import annotations

import inspect

import pytest

from gazelab.core import errors
from gazelab.core.errors import CameraError, Cancelled, GazelabError


def test_an_error_says_where_what_and_what_to_do() -> None:
    fault = CameraError("no picture came.", where="camera 0", todo="Close the other program.")
    assert str(fault) == "camera 0: no picture came. Close the other program."
    assert str(GazelabError("broken.")) == "broken."


def test_all_errors_are_of_one_family_and_end_with_a_code() -> None:
    family = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    assert len(family) > 8
    assert all(issubclass(c, GazelabError) and c.exit_code > 0 for c in family)
    assert Cancelled("stopped").exit_code == 130


def test_the_family_is_caught_by_its_name() -> None:
    with pytest.raises(GazelabError, match="x"):
        raise CameraError("x")
