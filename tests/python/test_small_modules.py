"""Modules and names that programs import from MXNet beside what they compute with."""

import logging
import os
import re
import threading

import numpy
import pytest

import headrace as mx


@pytest.fixture
def name():
    """Of a logger that is as new after the test."""
    yield "a logger of ours"
    logger = logging.getLogger("a logger of ours")
    for handler in logger.handlers[:]:
        handler.close()
        logger.removeHandler(handler)
    del logger._init_done


def test_lines_of_loggers_say_where_they_come_from(name, capsys):
    logger = mx.log.get_logger(name)
    assert mx.log.get_logger(name, level=mx.log.INFO) is logger
    assert logger.level == mx.log.WARNING and len(logger.handlers) == 1
    logger.info("hidden")
    logger.warning("seen %d", 7)
    where = rf"W\d{{4}} \d\d:\d\d:\d\d {os.getpid()} {re.escape(__file__)}:test_lines_of_loggers\w+:\d+\]"
    assert re.fullmatch(rf"\x1b\[31m{where}\x1b\[0m seen 7\n", capsys.readouterr().err)


def test_loggers_write_files(name, tmp_path):
    path = tmp_path / "log.txt"
    with pytest.warns(DeprecationWarning, match="get_logger"):
        logger = mx.log.getLogger(name, filename=str(path), level=mx.log.DEBUG)
    logger.debug("detail")
    assert path.read_text() == "detail\n"
    assert mx.log.get_logger() is logging.getLogger()


def test_library():
    (path,) = mx.libinfo.find_lib_path()
    assert os.path.isfile(path)
    assert mx.libinfo.__version__ == "1.9.1"


def test_errors():
    assert mx.error.InternalError is mx.base.InternalError and mx.error.MXNetError is mx.MXNetError

    @mx.error.register
    class Own(RuntimeError):
        pass

    assert issubclass(Own, RuntimeError)
    assert mx.error.register_error("Own", Own) is Own
    assert mx.error.register_error("Own")(Own) is Own


def test_names_of_base(monkeypatch, tmp_path):
    assert mx.base.mx_real_t is numpy.float32
    assert mx.base.py_str(b"fc_output") == "fc_output"
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    assert mx.base.data_dir() == str(tmp_path)
    monkeypatch.delenv("MXNET_HOME")
    assert mx.base.data_dir() == os.path.expanduser("~/.mxnet")


def test_current_scopes():
    with mx.AttrScope(group="1") as scope:
        assert mx.AttrScope.current is scope and scope.current is scope
    assert mx.AttrScope.current is not scope
    with mx.name.Prefix("net_") as names:
        assert mx.name.NameManager.current is names
        assert mx.name.NameManager.current.get(None, "fc") == "net_fc0"


@pytest.mark.parametrize(
    ("scope", "current"),
    [
        (mx.AttrScope(lr="1"), lambda: mx.AttrScope.current.get(None)),
        (mx.name.Prefix("a_"), lambda: type(mx.name.NameManager.current)),
        (mx.cpu(1), mx.current_context),
    ],
    ids=["attributes", "names", "contexts"],
)
def test_scopes_that_are_entered_again(scope, current):
    before = current()
    with scope:
        inside = current()
        with scope:
            assert current() == inside != before
        assert current() == inside
    assert current() == before


def test_attributes_of_outer_scopes_end_with_them():
    inner = mx.AttrScope(a="2")
    with mx.AttrScope(lr="1"), inner:
        assert mx.sym.var("x").list_attr() == {"a": "2", "lr": "1"}
    with inner:
        assert mx.sym.var("x").list_attr() == {"a": "2"}


def test_threads_are_in_one_context_each():
    shared, entered, left = mx.cpu(1), threading.Barrier(2), []

    def enter(outer):
        with outer:
            with shared:
                entered.wait(60)
            entered.wait(60)
            left.append((outer, mx.current_context()))

    threads = [threading.Thread(target=enter, args=(mx.cpu(number),)) for number in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(left) == 2 and all(outer == context for outer, context in left)


def test_current_scopes_by_their_private_names():
    with mx.AttrScope(ctx_group="dev1"), mx.name.Prefix("net_"):
        assert mx.AttrScope._current.value is mx.AttrScope.current
        assert mx.name.NameManager._current.value.get(None, "dense") == "net_dense0"
    outer = mx.AttrScope._current.value
    mx.AttrScope._current.value = mx.AttrScope(a="b")
    try:
        assert mx.sym.var("x").attr("a") == "b"
    finally:
        mx.AttrScope._current.value = outer


def test_batchify_for_processes():
    from headrace.gluon.data.dataloader import DataLoader, default_mp_batchify_fn

    loader = DataLoader(list(range(4)), 2, num_workers=1, batchify_fn=default_mp_batchify_fn)
    assert [batch.asnumpy().tolist() for batch in loader] == [[0, 1], [2, 3]]


def test_module_of_iterators():
    from headrace.io.io import DataBatch, NDArrayIter

    assert NDArrayIter is mx.io.NDArrayIter and DataBatch is mx.io.DataBatch


def test_operators_and_their_arguments():
    names = mx.operator.get_all_registered_operators()
    assert len(set(names)) == len(names) and {"Activation", "Convolution_v1", "_plus_scalar"} <= set(names)
    narg, names, types = mx.operator.get_operator_arguments("Activation")
    assert (narg, names) == (2, ["data", "act_type"])
    assert types == [
        "NDArray-or-Symbol",
        "{'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}, required",
    ]
    arguments = mx.operator.get_operator_arguments("Convolution_v1")
    described = dict(zip(arguments.names, arguments.types))
    assert described["kernel"] == "Shape(tuple), required"
    assert described["num_group"] == "int, optional, default='1'"
    assert described["no_bias"] == "boolean, optional, default=0"
    assert described["layout"].startswith("{None, 'NCDHW', ")
    with pytest.raises(ValueError, match="no operator 'nothing'"):
        mx.operator.get_operator_arguments("nothing")
