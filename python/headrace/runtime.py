"""What this build of Headrace can do, in MXNet's words: `mx.runtime.Features().is_enabled("MKLDNN")`.

`python -m headrace.runtime` prints that, the machine, and all settings with what the environment says of
them: what belongs into a report of something that went wrong.
"""

from __future__ import annotations

import argparse
import collections
import functools
import os
import platform
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from . import _core, _settings
from ._shell import run_command
from .base import MXNetError

__all__ = [
    "Feature",
    "Features",
    "GPUProperties",
    "Setting",
    "cuda_graphs",
    "detours",
    "feature_list",
    "gpu_properties",
    "operators_on_host",
    "settings",
]

# MXNet's names, in its order.
_NAMES = (
    "CUDA",
    "CUDNN",
    "NCCL",
    "CUDA_RTC",
    "TENSORRT",
    "CPU_SSE",
    "CPU_SSE2",
    "CPU_SSE3",
    "CPU_SSE4_1",
    "CPU_SSE4_2",
    "CPU_SSE4A",
    "CPU_AVX",
    "CPU_AVX2",
    "OPENMP",
    "SSE",
    "F16C",
    "JEMALLOC",
    "BLAS_OPEN",
    "BLAS_ATLAS",
    "BLAS_MKL",
    "BLAS_APPLE",
    "LAPACK",
    "MKLDNN",
    "OPENCV",
    "CAFFE",
    "PROFILER",
    "DIST_KVSTORE",
    "CXX14",
    "INT64_TENSOR_SIZE",
    "SIGNAL_HANDLER",
    "DEBUG",
    "TVM_OP",
)
_ALWAYS = frozenset({"BLAS_OPEN", "LAPACK", "MKLDNN", "PROFILER", "CXX14", "INT64_TENSOR_SIZE"})
# Kernels for these instruction sets are in every build for x86-64; the processor decides which run.
_X86 = frozenset(
    {"CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2", "CPU_AVX", "CPU_AVX2", "SSE", "F16C"}
)


class Feature(NamedTuple):
    """One feature and whether it is there.

    Examples
    --------
    >>> mx.runtime.Features()["MKLDNN"]
    ✔ MKLDNN
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


@functools.cache
def _features() -> tuple[Feature, ...]:
    present = _ALWAYS.union(_core.device_features())
    if platform.machine() == "x86_64":
        present |= _X86
    return tuple(Feature(name, name in present) for name in _NAMES)


def feature_list() -> list[Feature]:
    """All features that MXNet 1.9.1 knows, in its order.

    Examples
    --------
    >>> [feature for feature in mx.runtime.feature_list() if feature.name == "SIGNAL_HANDLER"]
    [✖ SIGNAL_HANDLER]
    """
    return list(_features())


def detours() -> dict[str, int]:
    """How often operations were computed in another way than their arrays ask for, for want of code.

    By "operator: how", since the program began: on dense copies of sparse arrays, on the host for a device
    that has no kernel. Results are the same, only slower. The first of each is said in the log.

    Examples
    --------
    >>> sparse = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> softmax = nd.softmax(sparse)
    >>> mx.runtime.detours()["softmax: computed on dense copies of sparse arrays"] >= 1
    True
    """
    return _core.detours()


def operators_on_host() -> list[str]:
    """The operators that GPUs leave to the host, by name; programs that use them make detours there.

    Real GPUs have code of their own for the others; simulated ones compute all operators.

    Examples
    --------
    >>> "softmax" in mx.runtime.operators_on_host()
    False
    """
    return _core.operators_on_host()


def cuda_graphs() -> dict[str, int]:
    """How many sequences of launches GPUs have captured as CUDA graphs, and how often they replayed one.

    None, unless the program runs with `MXNET_ENABLE_CUDA_GRAPHS=1`; then what hybridized networks launch in
    the same memory as once before is put on the GPU by one call of the driver.

    Examples
    --------
    >>> mx.runtime.cuda_graphs()
    {'captured': 0, 'replayed': 0}
    """
    return _core.cuda_graphs()


class Setting(NamedTuple):
    """An environment variable that Headrace reads when it is imported; `value`: what it says, None if unset.

    Examples
    --------
    >>> mx.runtime.settings()[1].name
    'HEADRACE_ENGINE'
    """

    name: str
    default: str
    meaning: str
    value: str | None


def settings() -> list[Setting]:
    """The environment variables that the library reads, with what this process's environment says of them.

    Those of jobs of several processes are on a page of their own, docs/distributed.md.

    Examples
    --------
    >>> {setting.name: setting.default for setting in mx.runtime.settings()}["HEADRACE_MAX_PENDING"]
    '4096'
    """
    return [Setting(*row, os.environ.get(row[0])) for row in _settings.of_library()]


@functools.cache
def _all_features(cls: type[Features]) -> Features:
    features = super(Features, cls).__new__(cls)
    super(Features, features).__init__((feature.name, feature) for feature in _features())
    return features


class Features(collections.OrderedDict[str, Feature]):
    """The features by name: one object, however often it is asked for.

    Examples
    --------
    >>> mx.runtime.Features().is_enabled("MKLDNN")
    True
    """

    def __new__(cls) -> Features:
        return _all_features(cls)

    def __init__(self) -> None:
        pass  # filled when it was made

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there; names may be given in lower case.

        Raises RuntimeError for a name that MXNet does not have.
        """
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"Feature {name!r} is unknown, known features are: {list(self)}")
        return self[name].enabled


def _setting_text(setting: Setting) -> str:
    value = setting.value if setting.value else setting.default
    title = f"{'*' if setting.value else ' '} {setting.name}={value}"
    meaning = textwrap.fill(setting.meaning, 100, initial_indent="      ", subsequent_indent="      ")
    return f"{title}\n{meaning}"


def _processor() -> str:
    """What the system calls the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


class GPUProperties(NamedTuple):
    """What kind of device a GPU is, see ``gpu_properties``.

    Examples
    --------
    >>> mx.runtime.GPUProperties("a GPU", (9, 0), 132, 4_000_000_000).name
    'a GPU'
    """

    name: str
    compute_capability: tuple[int, int] | None
    multi_processor_count: int | None
    total_memory: int


def gpu_properties(device_id: int = 0) -> GPUProperties:
    """What kind of device a GPU is: its name, NVIDIA's compute capability as (major, minor), how many
    multiprocessors and how many bytes of memory it has. Simulated GPUs have no capability and no
    multiprocessors: None.

    Raises
    ------
    MXNetError
        When there is no such GPU.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, memory="4GB")
    >>> properties = mx.runtime.gpu_properties(0)
    >>> properties.name, properties.compute_capability, properties.total_memory
    ('simulated', None, 4000000000)
    >>> mx.sim.configure(gpus=0, memory=0)
    """
    name, capability, processors, memory = _core.gpu_properties(device_id)
    return GPUProperties(name, divmod(capability, 10) if capability else None, processors or None, memory)


def _gpu_text(device_id: int) -> str:
    try:
        gpu = gpu_properties(device_id)
    except MXNetError as error:  # of a driver that does not give it
        return str(error)
    capability = "" if gpu.compute_capability is None else "sm_{}{}, ".format(*gpu.compute_capability)
    return f"{gpu.name} ({capability}{gpu.total_memory / 2**30:.1f} GiB)"


def _report() -> str:
    """What `python -m headrace.runtime` prints."""
    import numpy

    features = ", ".join(feature.name for feature in feature_list() if feature.enabled)
    facts = {
        "headrace": f"{_core.__version__}, in {os.path.dirname(os.path.abspath(__file__))}",
        "python": f"{platform.python_version()} with NumPy {numpy.__version__}",
        "system": platform.platform(),
        "processor": f"{_processor()}; {len(os.sched_getaffinity(0))} cores for this process",
        "GPUs": "; ".join(map(_gpu_text, range(_core.device_count(2)))) or "none",
        "features": features,
    }
    width = max(map(len, facts)) + 2
    lines = [
        textwrap.fill(text, 110, initial_indent=name.ljust(width), subsequent_indent=" " * width)
        for name, text in facts.items()
    ]
    titles = ["", "Settings, as environment variables; * marks those that are set here:", ""]
    return "\n".join([*lines, *titles, *map(_setting_text, settings())])


def _main(arguments: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m headrace.runtime",
        description="Prints what this build of Headrace can do, the machine, and all settings.",
    )
    parser.parse_args(arguments)
    print(_report())


if __name__ == "__main__":
    run_command(_main, None)
