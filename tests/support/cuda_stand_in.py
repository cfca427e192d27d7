"""Runs programs on the GPUs of the plug-in, with what stands in for NVIDIA's driver (docs/cuda.md)."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
STAND_IN = ROOT / "build" / "release" / "tests" / "libcuda_stand_in.so"

needs_stand_in = pytest.mark.skipif(
    not STAND_IN.exists(), reason="the stand-in for CUDA's driver is not built"
)


def environment_with_gpus(**variables):
    """That of a process that has the GPUs: two, unless `variables` say otherwise."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_SIM_")}
    return {
        **inherited,
        "HEADRACE_CUDA": "1",
        "HEADRACE_CUDA_DRIVER": str(STAND_IN),
        "HEADRACE_CUDA_COMPILER": str(STAND_IN),
        "HEADRACE_CUDA_DNN": str(STAND_IN),
        "HEADRACE_CUDA_SOLVER": str(STAND_IN),
        "HEADRACE_CUDA_NCCL": str(STAND_IN),
        "HEADRACE_CUDA_CACHE": str(ROOT / "build" / "release" / "cuda" / "kernels"),
        "HEADRACE_LOG": "error",
        **variables,
    }


def run(program, tmp_path, **variables):
    """Runs the text `program` in a process of its own with two GPUs, in the folder `tmp_path`."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment_with_gpus(**variables),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
