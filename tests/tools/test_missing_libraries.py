"""CMake on a machine that lacks libraries: one sentence says what to install."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("ninja"), reason="needs CMake and Ninja")
@pytest.mark.parametrize(
    "missing, packages",
    [
        (["fmt"], "libfmt-dev"),
        (["hwy", "libjpeg-turbo"], "libhwy-dev libturbojpeg0-dev libjpeg62-turbo-dev"),
        (["gRPC"], "libgrpc++-dev protobuf-compiler-grpc"),
    ],
)
def test_what_is_missing_is_told(missing, packages, tmp_path):
    options = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in missing]
    done = subprocess.run(
        [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            ROOT,
            "-B",
            tmp_path,
            f"-DPython_EXECUTABLE={sys.executable}",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode != 0
    assert f"Libraries are missing: `apt install {packages}`, or run `./dev setup`." in " ".join(
        done.stderr.split()
    )


@pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("ninja"), reason="needs CMake and Ninja")
def test_packages_that_pip_brings(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True, timeout=300
    )
    python = tmp_path / "empty" / "bin" / "python"
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "build", f"-DPython_EXECUTABLE={python}"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "oneDNN is missing" in said
    assert "-m pip install onednn-devel-cpu-tbb==2023.2.0" in said
