"""How programs end: daemon threads at work, errors that nobody read, whatever was imported before."""

import os
import subprocess
import sys
import textwrap

import pytest


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


DAEMON = """
    import sys, threading, time
    import numpy, headrace as mx
    def work(context):
        x = mx.nd.ones((64, 64), ctx=context)
        while True:
            x = (x + mx.nd.from_numpy(numpy.ones((64, 64), "float32")).as_in_context(context)) * 0.5
            x.copyto(mx.cpu()).asnumpy()
            mx.nd.waitall()
    for context in (mx.gpu(0), mx.gpu(1), mx.cpu(), mx.cpu()):
        threading.Thread(target=work, args=(context,), daemon=True).start()
    time.sleep(0.2)
"""


@pytest.mark.parametrize("end, status", [("", 0), ("sys.exit(3)", 3), ("raise ValueError('end')", 1)])
def test_daemon_threads_at_work(end, status):
    for _ in range(3):
        done = run(DAEMON + f"    {end}\n", HEADRACE_SIM_GPUS="2")
        assert done.returncode == status, done.stderr
        assert "terminate" not in done.stderr


def test_daemon_threads_that_run_operators_and_gradients_of_programs():
    program = """
        import sys, threading, time
        from headrace import autograd, nd, operator
        sys.setswitchinterval(1e-5)
        class Double(operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))
        @operator.register("double")
        class DoubleProp(operator.CustomOpProp):
            def create_operator(self, ctx, shapes, dtypes):
                return Double()
        class Triple(autograd.Function):
            def forward(self, x):
                return nd.array(x.asnumpy() * 3)
            def backward(self, dy):
                return nd.array(dy.asnumpy() * 3)
        def operators():
            while True:
                nd.Custom(nd.ones((3,)), op_type="double").asnumpy()
        def gradients():
            x = nd.ones((3,))
            x.attach_grad()
            while True:
                with autograd.record():
                    y = Triple()(x)
                y.backward()
        for work in (operators, gradients, operators):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """
    for _ in range(3):
        done = run(program)
        assert done.returncode == 0, done.stderr


def test_daemon_threads_whose_errors_are_raised():
    """Making a Python error runs Python code, in which a thread may be ended."""
    program = """
        import sys, threading, time
        from headrace import nd
        sys.setswitchinterval(1e-6)
        def work():
            while True:
                try:
                    (nd.take(nd.ones((3,)), nd.array([9]), mode="raise") + 1).asnumpy()
                except IndexError:
                    pass
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.01)
    """
    for _ in range(5):
        done = run(program, HEADRACE_UNREAD_ERRORS="ignore")
        assert done.returncode == 0 and "terminate" not in done.stderr, done.stderr


def test_daemon_threads_that_let_go_of_memory_of_others():
    """A weak reference to what an array holds may run Python code, in which a thread may be ended."""
    program = """
        import sys, threading, time, weakref
        import numpy
        from headrace import nd
        sys.setswitchinterval(1e-6)
        def noticed(reference):
            for _ in range(100):
                pass
        def work():
            while True:
                memory = numpy.ones((4,), "float32")
                reference = weakref.ref(memory, noticed)
                array = nd.from_numpy(memory, zero_copy=True)
                del memory
                del array
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.01)
    """
    for _ in range(5):
        done = run(program)
        assert done.returncode == 0 and "terminate" not in done.stderr, done.stderr


FAILED = """
    from headrace import nd
    def fail(scale=-1):
        return nd.random.normal(0, scale, shape=(2,))
"""


def test_errors_that_nobody_read_are_told():
    done = run(FAILED + "    fail()\n")
    assert done.returncode == 0
    assert "nobody waited" in done.stderr and "scale must not be negative" in done.stderr
    many = run(FAILED + "    for step in range(8): fail(-1 - step)\n")
    assert many.stderr.count("scale") == 5 and "3 more" in many.stderr
    same = run(FAILED + "    for _ in range(8): fail()\n")
    assert same.stderr.count("scale") == 1 and "more" not in same.stderr


def test_the_user_decides_what_they_mean():
    failing = run(FAILED + "    fail()\n    print('done')\n", HEADRACE_UNREAD_ERRORS="fail")
    assert failing.returncode == 1 and "scale" in failing.stderr and failing.stdout == "done\n"
    silent = run(FAILED + "    fail()\n", HEADRACE_UNREAD_ERRORS="ignore")
    assert silent.returncode == 0 and silent.stderr == ""
    refused = run("import headrace.nd as nd; nd.ones(1)", HEADRACE_UNREAD_ERRORS="maybe")
    assert refused.returncode == 1 and "expected report, fail or ignore" in refused.stderr


def test_errors_that_were_read_are_not_told():
    done = run(
        FAILED
        + """
    for _ in range(3):
        try:
            fail().asnumpy()
        except Exception:
            pass
    import os
    bad = fail()
    child = os.fork()
    if child == 0:
        sys_exit = __import__("sys").exit
        sys_exit(0)
    os.waitpid(child, 0)
    try:
        nd.waitall()
    except Exception:
        pass
    """,
        HEADRACE_UNREAD_ERRORS="fail",
    )
    assert done.returncode == 0 and done.stderr == ""
