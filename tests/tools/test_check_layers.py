"""tools/check_layers.py accepts the includes of the design and names each one that breaks it."""

import check_layers
import cpp_layers
import pytest
import sources

GOOD = {
    "src/base/log.cc": '#include "base/log.h"\n#include <fmt/format.h>\n',
    "src/base/check.h": '#include "headrace/error.hpp"\n',
    "src/engine/engine.cc": '#include "timeline/span.h"\n#include "device/registry.h"\n',
    "src/backend/all.cc": '#include "backend/cpu/pool.h"\n#include "backend/sim/device.h"\n',
    "src/op/pointwise.cc": '#include "backend/cpu/parallel.h"\n',
    "src/ops/nn/dense_cpu.cc": '#include "backend/cpu/parallel.h"\n#include "ops/nn/dense.h"\n',
    "src/ops/nn/dense_cuda.cu": "#include <cublasLt.h>\n",
    "src/backend/cuda/stream.cc": "#include <cuda_runtime.h>\n",
    "src/gluon/data.cc": '#include "gluon/idx.h"\n#include "headrace/gluon/data.hpp"\n#include <zlib.h>\n',
    "include/headrace/c_api.h": "#include <stdint.h>\n",
    "include/headrace/shape.hpp": '#include <vector>\n#include "headrace/small_vector.hpp"\n',
    "python/src/module.cc": "#include <nanobind/nanobind.h>\n",
}

BAD = [
    ("src/engine/engine.cc", '#include "ndarray/view.h"', "engine/ lies below ndarray/"),
    ("src/engine/engine.cc", '#include "backend/cpu/parallel.h"', "may know backend/cpu/"),
    ("src/ops/nn/dense_cpu.cc", '#include "backend/cuda/stream.h"', "may know backend/cpu/"),
    ("src/backend/cpu/pool.cc", '#include "backend/cuda/stream.h"', "must not know backend/cuda/"),
    ("src/ops/nn/dense.cc", "#include <cuda_runtime.h>", "CUDA is known in"),
    ("src/op/invoke.cc", "#include <Python.h>", "Python is known in"),
    ("src/op/invoke.cc", '#include "invoke.h"', "must be written from src/"),
    ("src/op/invoke.cc", '#include "gluon/idx.h"', "op/ lies below gluon/"),
    ("src/op/invoke.cc", '#include "models/mlp.h"', "models/ is not a layer"),
    ("src/models/mlp.cc", "#include <vector>", "models/ is not a layer"),
    ("include/headrace/array.hpp", "#include <fmt/format.h>", "nothing but the standard library"),
    ("include/headrace/array.hpp", '#include "base/check.h"', "headrace/ lies below base/"),
]


@pytest.fixture
def problems_in(make_tree):
    """What is wrong with the C++ files of a tree that has all layers, as one text."""

    def check(files):
        root = make_tree(files)
        for layer in cpp_layers.LAYERS[1:]:
            (root / "src" / layer).mkdir(parents=True, exist_ok=True)
        (root / "include/headrace").mkdir(parents=True, exist_ok=True)
        listed = sources.list_sources(root, sources.CPP_SUFFIXES)
        return "\n".join(
            cpp_layers.problems(root, [file for file in listed if file.parts[0] in ("src", "include")])
        )

    return check


def test_accepts_the_design(problems_in):
    assert problems_in(GOOD) == ""


@pytest.mark.parametrize(("path", "line", "reason"), BAD, ids=lambda value: value.replace("/", "."))
def test_names_what_breaks_the_design(problems_in, path, line, reason):
    problems = problems_in({path: f"// A file.\n{line}\n"})
    assert path in problems
    assert reason in problems


def test_tells_the_line(problems_in):
    problems = problems_in({"src/base/a.h": '#pragma once\n\n#  include "op/op_def.h"\n'})
    assert problems.startswith("src/base/a.h:3:")


def test_a_layer_has_a_folder(problems_in, monkeypatch):
    monkeypatch.setattr(cpp_layers, "LAYERS", (*cpp_layers.LAYERS, "optimizer"))
    assert problems_in({"src/optimizer/sgd.cc": ""}) == ""
    monkeypatch.setattr(cpp_layers, "LAYERS", cpp_layers.LAYERS[:-1])
    assert "optimizer/ is not a layer of src/" in problems_in({})


def test_a_layer_without_a_folder_is_told(make_tree):
    problems = list(cpp_layers.problems(make_tree({"src/base/a.h": ""}), []))
    assert len(problems) == len(cpp_layers.LAYERS) - 1
    assert "there is no folder include/headrace" in problems[0] and "src/timeline" in problems[1]


def test_both_languages_count(make_tree, capsys):
    files = {"src/base/a.h": '#include "op/op.h"\n', "python/headrace/__init__.py": "", "python/src/a.cc": ""}
    assert check_layers.main([str(make_tree(files))]) == 1
    output = capsys.readouterr().out
    assert "base/ lies below op/" in output and "there is no python/headrace/gluon" in output
    assert "check_layers: 2 files" in output
