"""Checks that every #include follows the layers of the tree. Usage: check_layers.py [ROOT]

A folder of src/ includes only itself and the folders before it in LAYERS. Folders of backend/ do not know
each other. The host's cores are there in every build, so all layers from the arrays up may use backend/cpu/;
the engine knows no backend, only *_cuda files know backend/cuda/, and only simulation/ knows backend/sim/.
"""

import pathlib
import re
import sys
from collections.abc import Iterator

import sources

LAYERS = (
    *("headrace", "base", "trace", "device", "backend", "engine", "ndarray", "op", "ops"),
    *(
        "autograd",
        "graph",
        "optimizer",
        "data",
        "kvstore",
        "profiler",
        "hardware",
        "simulation",
        "gluon",
        "c_api",
    ),
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
        return f'"{included}": {there}/ is not a layer of src/ (they are listed in tools/check_layers.py)'
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


def problems_of(root: pathlib.Path, file: pathlib.Path) -> Iterator[str]:
    path = pathlib.PurePosixPath(file.as_posix())
    if path.parts[0] == "src" and folder_of(path) not in LAYERS:
        yield f"{path}: {folder_of(path)}/ is not a layer of src/ (they are listed in tools/check_layers.py)"
        return
    for number, line in enumerate((root / file).read_text().splitlines(), 1):
        if not (match := INCLUDE.match(line)):
            continue
        quoted, angled = match.groups()
        problem = check_layer(path, quoted) if quoted else check_third_party(path, angled)
        if problem:
            yield f"{path}:{number}: {problem}"


def main(arguments: list[str]) -> int:
    root = pathlib.Path(arguments[0]) if arguments else sources.ROOT
    files = [
        file
        for file in sources.list_sources(root, sources.CPP_SUFFIXES)
        if file.parts[0] in ("src", "include")
    ]
    problems = [problem for file in files for problem in problems_of(root, file)]
    print("\n".join([*problems, f"check_layers: {len(files)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
