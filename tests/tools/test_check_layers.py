"""tools/check_layers.py accepts the includes of the design and names each one that breaks it."""

import check_layers
import pytest

GOOD = {
    "src/base/log.cc": '#include "base/log.h"\n#include <fmt/format.h>\n',
    "src/base/check.h": '#include "headrace/error.hpp"\n',
    "src/engine/engine.cc": '#include "trace/span.h"\n#include "device/registry.h"\n',
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


def test_accepts_the_design(make_tree, capsys):
    assert check_layers.main([str(make_tree(GOOD))]) == 0
    assert "11 files, 0 problems" in capsys.readouterr().out


@pytest.mark.parametrize(("path", "line", "reason"), BAD, ids=lambda value: value.replace("/", "."))
def test_names_what_breaks_the_design(make_tree, capsys, path, line, reason):
    assert check_layers.main([str(make_tree({path: f"// A file.\n{line}\n"}))]) == 1
    output = capsys.readouterr().out
    assert path in output
    assert reason in output


def test_tells_the_line(make_tree, capsys):
    check_layers.main([str(make_tree({"src/base/a.h": '#pragma once\n\n#  include "op/op_def.h"\n'}))])
    assert "src/base/a.h:3:" in capsys.readouterr().out
