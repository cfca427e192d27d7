import pytest

from headrace import npx


@pytest.fixture(params=["nd", "np"])
def mode(request):
    """Runs a test in legacy mode and in np mode."""
    if request.param == "np":
        npx.set_np()
    yield request.param
    npx.reset_np()


@pytest.fixture
def np_mode():
    npx.set_np()
    yield
    npx.reset_np()
