"""headrace.runtime tells what this build can do."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from headrace import _settings, runtime


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


def test_settings_are_those_of_the_library_with_what_the_environment_says(monkeypatch):
    monkeypatch.setenv("HEADRACE_LOOKAHEAD", "7")
    monkeypatch.delenv("HEADRACE_BACKENDS", raising=False)
    settings = {setting.name: setting for setting in runtime.settings()}
    assert settings["HEADRACE_LOOKAHEAD"].value == "7"
    assert settings["HEADRACE_LOOKAHEAD"].default == "16"
    assert settings["HEADRACE_BACKENDS"].value is None
    assert all(setting.meaning for setting in settings.values())


def test_the_report_names_the_machine_and_marks_what_is_set():
    done = subprocess.run(
        [sys.executable, "-m", "headrace.runtime"],
        env=dict(os.environ, HEADRACE_LOG="info"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "MKLDNN" in done.stdout
    assert f"{len(os.sched_getaffinity(0))} cores for this process" in done.stdout
    assert "\n* HEADRACE_LOG=info\n" in done.stdout
    assert "\n  HEADRACE_MAX_PENDING=4096\n" in done.stdout
    assert done.stderr == ""


# Sources name variables as whole texts.
NAMED = re.compile(r'"(HEADRACE_[A-Z_]+)"')


def test_every_variable_that_sources_read_is_known():
    root = pathlib.Path(__file__).parents[2]
    files = [*root.glob("src/**/*.cc"), *root.glob("python/**/*.py"), *root.glob("examples/**/*.py")]
    named = {name for file in files for name in NAMED.findall(file.read_text(encoding="utf-8"))}
    assert len(named) > 50
    assert named <= _settings.known_names()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HEADRACE_WORKER", "HEADRACE_WORKERS"),
        ("HEADRACE_NUM_WORKERS", "HEADRACE_WORKERS"),
        ("HEADRACE_SIMGPUS", "HEADRACE_SIM_GPUS"),
        ("HEADRACE_ENGIEN", "HEADRACE_ENGINE"),
        ("HEADRACE_CHECKPOINT_SECOND", "HEADRACE_CHECKPOINT_SECONDS"),
        ("HEADRACE_WORKERS", None),
        ("HEADRACE_SERVICE_HOST", None),
        ("HEADRACE_PORT_80_TCP", None),
        ("WORKERS", None),
    ],
)
def test_a_misspelt_variable_is_told_when_the_package_is_imported(name, meant):
    assert _settings.misspelt([name]) == ({name: meant} if meant else {})
    done = subprocess.run(
        [sys.executable, "-c", "import headrace"],
        env={**os.environ, name: "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    if meant:
        assert (
            f"variable {name} is no setting of Headrace and changes nothing. Did you mean {meant}?"
            in done.stderr
        )
    else:
        assert done.stderr == ""


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


def test_the_variables_that_sources_name_are_known():
    root = pathlib.Path(__file__).parents[2]
    named = set()
    for folder in ("src", "python", "examples"):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".cc", ".h", ".py"):
                named.update(re.findall(r"[\"'](HEADRACE_[A-Z0-9_]+)[\"']", path.read_text(encoding="utf-8")))
    assert named == {name for name in _settings.known_names() if name.startswith(_settings.PREFIX)}
