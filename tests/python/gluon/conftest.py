"""Fixtures of the Gluon tests."""

import gc

import pytest

import headrace as hr
from headrace import npx, sim


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


@pytest.fixture(params=["cpu", "gpu"])
def at(request):
    """Makes contexts: `at(1)` is cpu(1), another name of the host's memory, or a simulated GPU."""
    if request.param == "gpu":
        sim.configure(gpus=4, topology="", clock="virtual", memory=0)
    yield getattr(hr, request.param)
    hr.waitall()
    gc.collect()
    sim.configure(gpus=0, topology="", clock="real")
