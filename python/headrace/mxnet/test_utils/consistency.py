"""The same computation done in two ways: on several devices, hybridized or not, with two optimizers."""

import copy
import time
import traceback

import numpy as np

from ... import autograd, initializer
from ... import ndarray as nd
from ...context import current_context
from ...symbol import Symbol
from ...util import use_np
from .comparing import assert_almost_equal, compare_ndarray_tuple
from .gradients import write
from .sparse_arrays import rand_ndarray
from .tolerances import get_tols

__all__ = ["check_consistency", "check_gluon_hybridize_consistency", "check_speed", "compare_optimizer"]


def check_speed(sym, location=None, ctx=None, N=20, grad_req=None, typ="whole", **kwargs):  # noqa: N803
    """Seconds that a symbol takes: the mean of `N` runs after one that is not counted.

    location : NumPy arrays by argument, or None: normal numbers, for arguments of the shapes `kwargs`
    typ : 'whole', forward and backward, or 'forward'

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> seconds = test_utils.check_speed(sym.var("x") * 2, N=2, x=(3, 3))
    >>> seconds > 0
    True
    """
    if typ not in ("whole", "forward"):
        raise ValueError(f'typ can only be "whole" or "forward", got {typ!r}')
    assert location is None or isinstance(location, dict), f'Expect dict, get "location"={location}'
    shapes = kwargs if location is None else {name: x.shape for name, x in location.items()}
    executor = sym.simple_bind(grad_req=grad_req or "write", ctx=ctx or current_context(), **shapes)
    if location is None:
        location = {name: np.random.normal(size=x.shape) for name, x in executor.arg_dict.items()}
    for name, value in location.items():
        write(executor.arg_dict[name], value)

    def run():
        outputs = executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(out_grads=outputs)

    run()
    nd.waitall()
    start = time.time()
    for _ in range(N):
        run()
    nd.waitall()
    return (time.time() - start) / N


def check_consistency(
    sym,
    ctx_list,
    scale=1.0,
    grad_req="write",
    arg_params=None,
    aux_params=None,
    rtol=None,
    atol=None,
    raise_on_err=True,
    ground_truth=None,
    equal_nan=False,
    use_uniform=False,
    rand_type=np.float64,
):
    """Raises AssertionError unless a symbol has the same outputs and gradients on several devices or dtypes.

    sym : a symbol, or one for each element of `ctx_list`
    ctx_list : dictionaries of what simple_bind takes: 'ctx', shapes by argument, 'type_dict'
    scale, use_uniform, rand_type : how arguments that `arg_params` leaves out are drawn
    ground_truth : arrays by output and argument; by default those of the element with the best precision
    raise_on_err : whether to raise; otherwise errors are printed
    Returns the ground truth.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    >>> where = [{"ctx": mx.cpu(0), "data": (1, 3)}, {"ctx": mx.cpu(1), "data": (1, 3)}]
    >>> sorted(test_utils.check_consistency(net, where))
    ['data', 'fc_bias', 'fc_output', 'fc_weight']
    """
    assert len(ctx_list) > 1
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else sym
    assert len(symbols) == len(ctx_list)
    outputs, arguments = symbols[0].list_outputs(), symbols[0].list_arguments()
    for one in symbols:
        assert one.list_arguments() == arguments and one.list_outputs() == outputs
    executors = [one.simple_bind(grad_req=grad_req, **where) for one, where in zip(symbols, ctx_list)]
    _fill(executors, arg_params, aux_params, scale, use_uniform, rand_type, grad_req)
    best = max(range(len(executors)), key=lambda i: _precision(executors[i].outputs[0].dtype))
    checks = _Checks(executors, best, rtol, atol, raise_on_err, equal_nan)

    for executor in executors:
        executor.forward(is_train=False)
    truth = ground_truth or dict(executors[best].output_dict)
    checks.compare("Predict", truth, lambda executor: zip(outputs, executor.outputs))
    if grad_req != "null":
        _backward(executors)
        if ground_truth is None:
            truth = {**executors[best].grad_dict, **executors[best].output_dict}
        checks.compare(
            "Train", truth, lambda executor: zip(outputs + arguments, executor.outputs + executor.grad_arrays)
        )
    return truth


class _Checks:
    """Compares the arrays of all executors but one with a ground truth."""

    def __init__(self, executors, best, rtol, atol, raise_on_err, equal_nan):
        self._executors, self._best, self._tolerances = executors, best, (rtol, atol)
        self._raise, self._equal_nan = raise_on_err, equal_nan
        self._dtypes = [np.dtype(executor.outputs[0].dtype) for executor in executors]

    def compare(self, what, truth, arrays_of):
        for i, executor in enumerate(self._executors):
            if i == self._best:
                continue
            for name, array in arrays_of(executor):
                if truth[name] is None:
                    assert array is None
                    continue
                try:
                    self._check(array, truth[name], self._dtypes[i])
                except AssertionError:
                    print(f"{what} Err: ctx {i} vs ctx {self._best} at {name}")
                    if self._raise:
                        raise
                    traceback.print_exc()

    def _check(self, array, true, dtype):
        """With the tolerances of the outputs' dtypes, where these are less precise than the arrays."""
        less, true_less = _smaller(array.dtype, dtype), _smaller(true.dtype, self._dtypes[self._best])
        rtol, atol = self._tolerances
        if (less, true_less) != (np.dtype(array.dtype), np.dtype(true.dtype)):
            rtol, atol = get_tols(array.astype(less), true.astype(true_less), rtol, atol)
        assert_almost_equal(array, true, rtol=rtol, atol=atol, equal_nan=self._equal_nan)


def _precision(dtype):
    return np.dtype(dtype).kind == "f", np.dtype(dtype).itemsize


def _smaller(one, other):
    one, other = np.dtype(one), np.dtype(other)
    return one if one.itemsize < other.itemsize else other


def _fill(executors, arg_params, aux_params, scale, use_uniform, rand_type, grad_req):
    """Gives all executors the same arguments and states, and gradients of zero where they are added to."""
    params = dict(arg_params or {})
    for name, array in sorted(executors[0].arg_dict.items()):
        if name not in params:
            if use_uniform:
                drawn = np.random.uniform(-0.92 * scale, 0.92 * scale, size=array.shape)
            else:
                drawn = np.random.normal(size=array.shape, scale=scale)
            params[name] = np.asarray(drawn).astype(rand_type)
    for executor in executors:
        for name, array in executor.arg_dict.items():
            write(array, params[name])
        for name, array in executor.aux_dict.items():
            write(array, np.broadcast_to((aux_params or {}).get(name, 0), array.shape))
        if grad_req == "add":
            for array in executor.grad_arrays:
                write(array, np.zeros(array.shape))


def _backward(executors):
    """Runs all with the outputs of the first one, in the least precise dtype, as gradients of the outputs."""
    outputs = [executor.forward(is_train=True) for executor in executors]
    heads = []
    for of_one_output in zip(*outputs):
        dtype = np.dtype(of_one_output[0].dtype)
        for output in of_one_output:
            dtype = _smaller(dtype, output.dtype)
        heads.append(of_one_output[0].astype(dtype).asnumpy())
    for executor, own in zip(executors, outputs):
        executor.backward([nd.array(head, ctx=x.ctx, dtype=x.dtype) for head, x in zip(heads, own)])


class _Given(initializer.Initializer):
    """Fills parameters with given values."""

    def __init__(self, values):
        super().__init__()
        self._values = values

    def __call__(self, desc, arr):
        arr[()] = self._values[desc]


@use_np
def check_gluon_hybridize_consistency(
    net_builder, data_l, numpy_func=None, test_grad=True, rtol=1e-4, atol=1e-4
):
    """Raises AssertionError unless a block computes the same whether hybridized and recorded or not.

    net_builder : makes the block, without random numbers in it, from `prefix`
    data_l : np arrays, its inputs
    numpy_func : if given, what it must compute, a function of NumPy arrays
    test_grad : whether gradients of the inputs are compared too

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> make, inputs = lambda prefix: nn.Activation("relu", prefix=prefix), [np.array([-1, 0.5, 2])]
    >>> with mx.util.np_shape(True), mx.util.np_array(True):
    ...     test_utils.check_gluon_hybridize_consistency(make, inputs, numpy_func=lambda x: x.clip(0))
    """
    values = first_output = first_gradients = None
    for hybridize in (False, True):
        for record in (False, True) if test_grad else (False,):
            net = net_builder(prefix="net_")
            if values is None:
                net.initialize()
            else:
                net.initialize(_Given(values))
            if hybridize:
                net.hybridize()
            output, gradients = _run(net, [x.copy() for x in data_l], record)
            if values is None:
                values = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
                first_output = output
            assert_almost_equal(output, first_output, rtol=rtol, atol=atol)
            first_gradients = first_gradients or gradients
            for found, wanted in zip(gradients, first_gradients):
                assert_almost_equal(found, wanted, rtol=rtol, atol=atol)
    if numpy_func is not None:
        wanted = numpy_func(*[x.asnumpy() for x in data_l])
        assert_almost_equal(first_output, wanted, rtol=rtol, atol=atol)


def _run(net, data, record):
    """(output, gradients of the data) of a block, as NumPy arrays; the head gradient is the output."""
    if not record:
        return net(*data).asnumpy(), []
    for x in data:
        x.attach_grad()
    with autograd.record():
        output = net(*data)
    output.backward(output)
    return output.asnumpy(), [x.grad.asnumpy() for x in data]


def compare_optimizer(
    opt1,
    opt2,
    shape,
    dtype,
    w_stype="default",
    g_stype="default",
    rtol=1e-4,
    atol=1e-5,
    compare_states=True,
    ntensors=1,
):
    """Raises AssertionError unless two optimizers change random weights, and their states, alike: the first
    dense ones, the second the same values in the storage of `w_stype` and `g_stype`.

    shape : of the weight, or a list of shapes: `opt2` then updates all of them in one call

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> sgd = lambda rate: mx.optimizer.SGD(learning_rate=rate)
    >>> test_utils.compare_optimizer(sgd(0.1), sgd(0.1), (4, 2), "float32", g_stype="row_sparse")
    >>> test_utils.compare_optimizer(sgd(0.1), sgd(0.2), (4, 2), "float32")
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    if isinstance(shape, list):
        _compare_on_several(opt1, opt2, shape, dtype, rtol, atol, compare_states)
        return
    assert ntensors == 1
    weight2, gradient2 = _draw(shape, w_stype, dtype, density=1), _draw(shape, g_stype, dtype)
    weight1, gradient1 = weight2.copy().tostype("default"), gradient2.copy().tostype("default")
    state1 = opt1.create_state_multi_precision(0, weight1)
    state2 = opt2.create_state_multi_precision(0, weight2)
    if compare_states:
        compare_ndarray_tuple(state1, state2)
    opt1.update_multi_precision(0, weight1, gradient1, state1)
    opt2.update_multi_precision(0, weight2, gradient2, state2)
    if compare_states:
        compare_ndarray_tuple(state1, state2, rtol=rtol, atol=atol)
    assert_almost_equal(weight1, weight2, rtol=rtol, atol=atol)


def _draw(shape, stype, dtype, density=None):
    if stype != "default":
        return rand_ndarray(shape, stype, density=density, dtype=dtype)
    return nd.random.uniform(shape=shape, ctx=current_context(), dtype=dtype)


def _compare_on_several(opt1, opt2, shapes, dtype, rtol, atol, compare_states):
    weights1, gradients1 = [], []
    for shape in shapes:
        weights1.append(_draw(shape, "default", dtype))
        gradients1.append(_draw(shape, "default", dtype))
    weights2, gradients2 = copy.deepcopy(weights1), copy.deepcopy(gradients1)
    states2 = [opt2.create_state_multi_precision(0, weight) for weight in weights2]
    opt2.update_multi_precision(list(range(len(shapes))), weights2, gradients2, states2)
    for i, weight1 in enumerate(weights1):
        state1 = opt1.create_state_multi_precision(i, weight1)
        opt1.update_multi_precision(i, weight1, gradients1[i], state1)
        if compare_states:
            compare_ndarray_tuple(state1, states2[i], rtol, atol)
        compare_ndarray_tuple(weight1, weights2[i], rtol, atol)
