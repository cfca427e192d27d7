"""Fixtures of the Gluon tests."""

import pytest

import headrace as hr
from headrace import npx


@pytest.fixture
def np_mode():
    """np arrays and shapes for the duration of a test."""
    npx.set_np()
    yield
    npx.reset_np()


@pytest.fixture(params=["nd", "np"])
def array(request):
    """The function that makes arrays of the mode under test."""
    if request.param == "np":
        npx.set_np()
    yield hr.np.array if request.param == "np" else hr.nd.array
    npx.reset_np()
