"""Fixtures of the Gluon tests."""

import pytest

from headrace import npx


@pytest.fixture
def np_mode():
    """np arrays and shapes for the duration of a test."""
    npx.set_np()
    yield
    npx.reset_np()
