"""The order of the folders of src/, and what is wrong with an #include.

A folder of src/ includes only itself and the folders before it in LAYERS; include/headrace lies below all.
Folders of backend/ do not know each other. The host's cores are there in every build, so all layers from the
arrays up may use backend/cpu/; the engine knows no backend, only *_cuda files know backend/cuda/, and only
simulation/ knows backend/sim/.
"""

import pathlib
import re
from collections.abc import Iterator

LAYERS = (
    *("headrace", "base", "timeline", "device", "backend", "engine", "ndarray", "op", "ops"),
    *("autograd", "graph", "collective", "kvstore", "distributed", "profiler", "hardware", "simulation"),
    "gluon",
)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
CUDA_HEADER = re.compile(
    r"(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|cupti|nccl|nvrtc|nvtx|nvToolsExt|cub/|thrust/)"
)
PYTHON_HEADER = re.compile(r"(Python\.h|nanobind/|pybind11/|numpy/)")
C_HEADERS = frozenset({"stdbool.h", "stddef.h", "stdint.h"})


def folder_of(path: pathlib.PurePosixPath) -> str:
    """The layer of a file in src/ or include/, or of a quoted include: its first folder below those."""
    parts = path.parts[1:] if path.parts[0] in ("src", "include") else path.parts
    return parts[0]


def backend_of(path: pathlib.PurePosixPath) -> str | None:
    """`cpu` for anything in backend/cpu/; None outside of backends and for the list of backends itself."""
    parts = path.parts[1:] if path.parts[0] == "src" else path.parts
    return parts[1] if parts[0] == "backend" and len(parts) > 2 else None


def check_layer(path: pathlib.PurePosixPath, included: str) -> str | None:
    """What is wrong with `#include "included"` in `path`, if anything."""
    target = pathlib.PurePosixPath(included)
    if len(target.parts) < 2:
        return f'"{included}" must be written from src/ or include/, as "folder/{included}"'
    here, there = folder_of(path), folder_of(target)
    if there not in LAYERS:
        return f'"{included}": {there}/ is not a layer of src/ (they are listed in tools/cpp_layers.py)'
    if LAYERS.index(there) > LAYERS.index(here):
        return f'"{included}": {here}/ lies below {there}/ and must not know it'
    if there == "backend" and (problem := check_backend(path, here, backend_of(target))):
        return f'"{included}": {problem}'
    return None


def check_backend(path: pathlib.PurePosixPath, here: str, backend: str | None) -> str | None:
    if here == "backend":
        own = backend_of(path)
        return f"backend/{own}/ must not know backend/{backend}/" if own not in (None, backend) else None
    if backend == "cpu" and LAYERS.index(here) > LAYERS.index("engine"):
        return None
    if backend == "cuda" and path.stem.endswith("_cuda"):
        return None
    if backend == "sim" and here == "simulation":
        return None
    return (
        "only layers above the engine may know backend/cpu/, *_cuda files backend/cuda/, "
        "simulation/ backend/sim/"
    )


def check_third_party(path: pathlib.PurePosixPath, header: str) -> str | None:
    """What is wrong with `#include <header>` in `path`, if anything."""
    if path.parts[0] == "include" and header not in C_HEADERS and ("/" in header or "." in header):
        return f"<{header}>: public headers include nothing but the standard library"
    if PYTHON_HEADER.match(header):
        return f"<{header}>: Python is known in python/src/ only"
    may_know_cuda = (
        path.stem.endswith("_cuda")
        or backend_of(path) == "cuda"
        or path.parts[:3] == ("src", "kvstore", "nccl")
    )
    if CUDA_HEADER.match(header) and not may_know_cuda:
        return f"<{header}>: CUDA is known in backend/cuda/, kvstore/nccl/ and *_cuda files only"
    return None


def _problems_of(root: pathlib.Path, file: pathlib.Path) -> Iterator[str]:
    path = pathlib.PurePosixPath(file.as_posix())
    if path.parts[0] == "src" and folder_of(path) not in LAYERS:
        yield f"{path}: {folder_of(path)}/ is not a layer of src/ (they are listed in tools/cpp_layers.py)"
        return
    for number, line in enumerate((root / file).read_text().splitlines(), 1):
        if not (match := INCLUDE.match(line)):
            continue
        quoted, angled = match.groups()
        problem = check_layer(path, quoted) if quoted else check_third_party(path, angled)
        if problem:
            yield f"{path}:{number}: {problem}"


def problems(root: pathlib.Path, files: list[pathlib.Path]) -> Iterator[str]:
    """What is wrong with `files`, paths below `root`, and with LAYERS."""
    for layer in LAYERS:
        folder = "include" if layer == LAYERS[0] else "src"
        if not (root / folder / layer).is_dir():
            yield f"tools/cpp_layers.py: there is no folder {folder}/{layer}: take it out of LAYERS"
    for file in files:
        yield from _problems_of(root, file)
