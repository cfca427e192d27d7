"""Executors of one symbol, one for each context, that share a batch."""

from .. import _arrays as arrays
from .. import ndarray as nd
from ..base import ArrayValueError
from ..context import Context, cpu
from ..executor import gradient_requests, simple_bind
from ..io import DataDesc

__all__ = ["ExecutorGroup", "groups_of", "join"]


def join(parts, axis):
    """One array of several along an axis; a single one is given back as it is.

    Examples
    --------
    >>> from headrace.module.executor_group import join
    >>> join([nd.ones((2, 3)), nd.zeros((1, 3))], axis=0).shape
    (3, 3)
    """
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], arrays.NpArray):
        return arrays.mnp.concatenate(parts, axis=axis)
    return nd.concatenate(list(parts), axis=axis)


def split(batch_size, loads):
    """Slices of a batch in proportion to `loads`. ValueError: one would be empty, or the loads are no such
    numbers.
    """
    if min(loads) < 0 or not sum(loads) > 0:
        raise ArrayValueError(f"work_load_list: expected numbers of which the sum is above 0, got {loads}")
    shares = [round(batch_size * load / sum(loads)) for load in loads]
    shares[-1] = batch_size - sum(shares[:-1])
    if min(shares) <= 0:
        raise ArrayValueError(
            f"Too many slices. Some splits are empty: a batch of {batch_size} for {len(loads)} contexts"
        )
    ends = [sum(shares[: i + 1]) for i in range(len(shares))]
    return [slice(end - share, end) for share, end in zip(shares, ends)]


def requests_of(symbol, grad_req, trained):
    """The gradient request of each argument of a symbol: 'null' for those that are not in `trained`."""
    names = symbol.list_arguments()
    asked = gradient_requests(grad_req, names, otherwise="write")
    return {name: asked[name] if name in trained else "null" for name in names}


def groups_of(group2ctxs, count):
    """For each of `count` contexts, name to context of groups of variables, or None.

    `group2ctxs` is one such dictionary, whose values are contexts, or lists of one for all or one for each; a
    list of them; or None. AssertionError: a list of another length.

    Examples
    --------
    >>> from headrace.module.executor_group import groups_of
    >>> groups_of({"embedding": [mx.cpu(0), mx.cpu(1)], "output": mx.cpu(0)}, 2)
    [{'embedding': cpu(0), 'output': cpu(0)}, {'embedding': cpu(1), 'output': cpu(0)}]
    """
    if group2ctxs is None:
        return [None] * count
    if isinstance(group2ctxs, (list, tuple)):
        assert len(group2ctxs) == count, f"length of group2ctxs should be {count}"
        return list(group2ctxs)
    found = {}
    for name, given in group2ctxs.items():
        given = [given] if isinstance(given, Context) else list(given)
        found[name] = given * count if len(given) == 1 else given
        assert len(found[name]) == count, f"length of group2ctxs[{name}] should be {count} or 1"
    return [{name: contexts[i] for name, contexts in found.items()} for i in range(count)]


def _part(array, axis, rows):
    """`rows` (a slice) of an array along its batch axis; all of it when it has none (-1)."""
    if axis < 0 or (rows.start == 0 and rows.stop == array.shape[axis]):
        return array
    return array[rows if axis == 0 else (slice(None),) * axis + (rows,)]


def _mean(copies):
    """The mean of arrays on several devices, on the CPU and in their dtype; of one on the CPU itself."""
    mean = copies[0].as_in_context(cpu())
    if len(copies) == 1:
        return mean
    total = mean.copy()
    for other in copies[1:]:
        total += other.as_in_context(cpu())
    return (total / len(copies)).astype(total._dtype_name)


class ExecutorGroup:
    """An executor for each context; every one computes its slice of the batch.

    `param_names` and `state_names` are arguments of the symbol, `requests` the gradient request of each
    argument. Arrays of parameters and states are taken from `shared`, another group, where they have the same
    names; ValueError: such a parameter has another shape there. `groups` has for each context None, or where
    groups of variables are; see simple_bind.

    Examples
    --------
    >>> from headrace.module.executor_group import ExecutorGroup
    >>> net, shapes = sym.relu(sym.var("data")), [mx.io.DataDesc("data", (2, 3))]
    >>> group = ExecutorGroup(net, [mx.cpu()], [1], shapes, [], [], [], {"data": "null"})
    >>> group.arg_names
    ['data']
    """

    def __init__(self, symbol, contexts, loads, data_shapes, label_shapes, param_names, state_names, requests,
                 shared=None, groups=None):  # fmt: skip
        self.symbol = symbol
        self.arg_names, self.aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        self.param_names, self.state_names = param_names, state_names
        self.contexts = contexts
        self.grad_req = requests
        self._total_exec_bytes = 0  # which programs show; memory is shared by all graphs
        self.groups = groups or [None] * len(contexts)
        self.data_shapes = data_shapes
        self.label_shapes = label_shapes
        self.data_axes = [DataDesc.get_batch_axis(one.layout) for one in data_shapes]
        self.label_axes = [DataDesc.get_batch_axis(one.layout) for one in label_shapes or ()]
        layouts = [one.attr("__layout__") for one in symbol]
        self.output_axes = [DataDesc.get_batch_axis(layout) for layout in layouts]
        self.batch_size = self._batch_size()
        self.slices = split(self.batch_size, loads)
        self.execs = [self._bind(i, requests, shared and shared.execs[i]) for i in range(len(contexts))]

    def _batch_size(self):
        described = [*self.data_shapes, *(self.label_shapes or ())]
        axes = (*self.data_axes, *self.label_axes)
        sizes = {one.shape[axis] for one, axis in zip(described, axes) if axis >= 0 and one.shape}
        if len(sizes) > 1:
            raise ArrayValueError(f"all data must have the same batch size, got {described}")
        return sizes.pop() if sizes else 1

    def _bind(self, i, requests, shared):
        described = [*self.data_shapes, *(self.label_shapes or ())]
        arguments = set(self.arg_names)
        shapes, dtypes = {}, {}
        for one, axis in zip(described, (*self.data_axes, *self.label_axes)):
            if one.name not in arguments:
                continue
            shape = list(one.shape)
            if axis >= 0:
                shape[axis] = self.slices[i].stop - self.slices[i].start
            shapes[one.name], dtypes[one.name] = tuple(shape), arrays.dtype_name(one.dtype)
        made = simple_bind(
            self.symbol, self.contexts[i], requests, dtypes, shapes, shared, group2ctx=self.groups[i]
        )
        if shared is not None:
            known, now = ({**one.arg_dict, **one.aux_dict} for one in (shared, made))
            for name in (*self.param_names, *self.aux_names, *self.state_names):
                if name in known and name in now and now[name] is not known[name]:
                    raise ArrayValueError(
                        f"the parameter {name} of shape {known[name].shape} would need the shape "
                        f"{now[name].shape} for the inputs {shapes}"
                    )
        return made

    # --- parameters ---

    def arrays_of(self, names, kind="arg_dict"):
        """For each name the arrays of all contexts; `kind`: 'arg_dict', 'grad_dict' or 'aux_dict'."""
        found = [getattr(one, kind) for one in self.execs]
        return [[one[name] for one in found] for name in names]

    @property
    def param_arrays(self):
        """For each parameter its arrays on all contexts."""
        return self.arrays_of(self.param_names)

    @property
    def grad_arrays(self):
        """For each parameter its gradients on all contexts; None for those without."""
        return self.arrays_of(self.param_names, "grad_dict")

    @property
    def aux_arrays(self):
        """For each auxiliary state its arrays on all contexts."""
        return self.arrays_of(self.aux_names, "aux_dict")

    @property
    def state_arrays(self):
        """For each state its arrays on all contexts."""
        return self.arrays_of(self.state_names)

    @property
    def data_arrays(self):
        """For each input a pair on every context: its rows of the batch (a slice), and the array."""
        return self._inputs(self.data_shapes)

    @property
    def label_arrays(self):
        """As data_arrays, for the labels that the symbol takes; None: there are no labels."""
        return self.label_shapes and self._inputs(self.label_shapes)

    def _inputs(self, described):
        names = [one.name for one in described if one.name in self.arg_names]
        return [list(zip(self.slices, copies)) for copies in self.arrays_of(names)]

    def set_params(self, arg_params, aux_params, allow_extra=False):
        """Writes parameters into all executors. ValueError: one is unknown."""
        for one in self.execs:
            one.copy_params_from(arg_params, aux_params, allow_extra)

    @property
    def input_grad_arrays(self):
        """For each input its gradients on all contexts."""
        return self.arrays_of([one.name for one in self.data_shapes], "grad_dict")

    def get_params(self, arg_params, aux_params):
        """Writes the means over the contexts into two dictionaries of arrays; those that they lack are added,
        on the CPU.
        """
        for held, names, kind in (
            (arg_params, self.param_names, "arg_dict"),
            (aux_params, self.aux_names, "aux_dict"),
        ):
            for name, copies in zip(names, self.arrays_of(names, kind)):
                mean, old = _mean(copies), held.get(name)
                if old is not None and (old.shape, old._dtype_name) == (mean.shape, mean._dtype_name):
                    mean.copyto(old)
                else:
                    held[name] = mean.copy()

    def get_states(self, merge_multi_context=True):
        """The arrays of the states: one each, or those of all contexts."""
        return self._merge(self.state_arrays, [0] * len(self.state_names), merge_multi_context)

    def set_states(self, states=None, value=None):
        """Sets the states to arrays (each a list over the contexts), or all to one number."""
        for i, copies in enumerate(self.state_arrays):
            for k, array in enumerate(copies):
                if states is None:
                    array[:] = value
                else:
                    arrays.write(states[i][k], array, f"set_states: state {self.state_names[i]}")

    def install_monitor(self, mon):
        """Lets a Monitor watch the executors."""
        for one in self.execs:
            mon.install(one)

    def keep_monitors_of(self, before):
        """Lets those who watch another group's executors watch these, which take their places."""
        for old, new in zip(before.execs, self.execs):
            new._monitor = old._monitor

    # --- steps ---

    def forward(self, batch, is_train):
        """Runs all executors on their slices of a DataBatch, or each on its own batch of a list."""
        for i, (one, rows) in enumerate(zip(self.execs, self.slices)):
            own = isinstance(batch, list)
            chosen = batch[i] if own else batch
            for shapes, axes, given in (
                (self.data_shapes, self.data_axes, chosen.data),
                (self.label_shapes, self.label_axes, getattr(chosen, "label", None)),
            ):
                for described, axis, array in zip(shapes or (), axes, given or ()):
                    target = one.arg_dict.get(described.name)
                    if target is not None:
                        part = array if own else _part(array, axis, rows)
                        arrays.write(part, target, f"forward: {described.name}")
            one.forward(is_train)

    def backward(self, out_grads=None):
        """Runs all executors backward, with slices of the gradients of the outputs if these are given."""
        for one, rows in zip(self.execs, self.slices):
            heads = out_grads and [
                _part(array, axis, rows).as_in_context(one.outputs[0].ctx)
                for array, axis in zip(out_grads, self.output_axes)
            ]
            one.backward(heads)

    def _merge(self, parts, axes, merged):
        if not merged:
            return parts
        return [self._merged(of_one, axis) for of_one, axis in zip(parts, axes)]

    def _merged(self, parts, axis):
        if axis < 0 or len(parts) == 1 or parts[0] is None:  # all alike; one; gradients nobody asked for
            return parts[0]
        return join([array.as_in_context(self.contexts[0]) for array in parts], axis)

    def get_outputs(self, merge_multi_context=True, begin=0, end=None):
        """The outputs from `begin` to `end`: one array each, or those of all contexts."""
        of_all = list(map(list, zip(*(one.outputs for one in self.execs))))
        return self._merge(of_all[begin:end], self.output_axes[begin:end], merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the data, as get_outputs."""
        return self._merge(self.input_grad_arrays, self.data_axes, merge_multi_context)

    def get_output_shapes(self):
        """[(name, shape)] of the outputs for the whole batch."""
        shapes = {one.name: one.shape for one in (*self.data_shapes, *(self.label_shapes or ()))}
        arguments = set(self.symbol.list_arguments())
        _, made, _ = self.symbol.infer_shape(**{k: v for k, v in shapes.items() if k in arguments})
        return list(zip(self.symbol.list_outputs(), made))

    def update_metric(self, eval_metric, label_names, labels, pre_sliced):
        """Adds the outputs of each executor, with its slice of the labels, to a metric."""
        names = self.symbol.list_outputs()
        for i, (one, rows) in enumerate(zip(self.execs, self.slices)):
            if pre_sliced:
                own = labels[i]
            else:
                own = [_part(array, axis, rows) for array, axis in zip(labels or (), self.label_axes)]
            eval_metric.update_dict(dict(zip(label_names, own)), dict(zip(names, one.outputs)))
