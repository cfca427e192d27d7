"""headrace.runtime tells what this build can do."""

import os
import subprocess
import sys

import pytest

from headrace import runtime


def test_features():
    features = runtime.Features()
    assert features is runtime.Features()
    assert list(features) == [feature.name for feature in runtime.feature_list()]
    assert len(features) == 32
    assert features.is_enabled("MKLDNN")
    assert features.is_enabled("mkldnn")
    assert not features.is_enabled("CUDNN")
    assert "✔ MKLDNN" in repr(features)
    assert "✖ CUDNN" in repr(features)


def test_an_unknown_feature_is_named():
    with pytest.raises(RuntimeError, match="'SORCERY' is unknown, known features are"):
        runtime.Features().is_enabled("sorcery")


def test_a_variable_that_is_no_text_is_named_where_the_package_is_imported():
    environment = {**os.environb, b"HEADRACE_SIM_STRICT": b"\xff\xfe"}
    done = subprocess.run([sys.executable, "-c", "import headrace"], env=environment, capture_output=True)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(b"ImportError: HEADRACE_SIM_STRICT: expected 0 or 1, got '\\xff\\xfe'")


@pytest.mark.parametrize("threads", [None, "3"])
def test_importing_starts_no_threads_and_leaves_the_environment(threads):
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    if threads:
        environment["OPENBLAS_NUM_THREADS"] = threads
    program = (
        "import headrace, os; print(len(os.listdir('/proc/self/task')), os.getenv('OPENBLAS_NUM_THREADS'))"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["1", str(threads)], done.stderr


@pytest.mark.parametrize("flush", [False, True])
def test_denormal_numbers_are_kept_unless_the_user_wants_them_flushed(flush):
    """A tiny array is computed by the program's thread, a large one and a product by the engine's."""
    program = (
        "from headrace import np\n"
        "for x in (np.full((2,), 1e-40), np.full((1000, 1000), 1e-40)):\n"
        "    y = np.dot(x, x.T * 1e20) if x.ndim == 2 else x\n"
        "    print(float((x * 0.5 * 1e30).max()), float(y.max()))\n"
    )
    environment = dict(os.environ, HEADRACE_FLUSH_DENORMALS="1" if flush else "0")
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    numbers = [float(word) for word in done.stdout.split()]
    assert len(numbers) == 4
    assert all(number == 0 for number in numbers) if flush else numbers[0] > 4e-11 and numbers[2] > 4e-11
