"""What the cells of `mx.rnn` share: variables, states, sequences of symbols, and weights gate by gate."""

from ... import ndarray as nd
from ... import symbol

__all__ = ["BaseRNNCell", "RNNParams"]


def as_steps(length, inputs, layout):
    """The inputs as a list of `length` symbols. AssertionError: they are not `length` steps."""
    if not isinstance(inputs, symbol.Symbol):
        _check_steps(length, inputs)
        return inputs
    assert len(inputs.list_outputs()) == 1, (
        "unroll: a symbol of several outputs cannot be split into steps; pass list(inputs), or a symbol of "
        "one output"
    )
    steps = symbol.split(inputs, axis=layout.find("T"), num_outputs=length, squeeze_axis=1)
    return list(steps)


def as_one(length, inputs, layout):
    """The inputs as one symbol with the time where `layout` has it."""
    if isinstance(inputs, symbol.Symbol):
        return inputs
    _check_steps(length, inputs)
    axis = layout.find("T")
    return symbol.concat(*(symbol.expand_dims(one, axis=axis) for one in inputs), dim=axis)


def as_asked(length, inputs, layout, merge):
    """The inputs as one symbol (`merge` True), as a list (False), or as they are (None)."""
    if merge is None:
        return inputs
    return as_one(length, inputs, layout) if merge else as_steps(length, inputs, layout)


def _check_steps(length, inputs):
    assert inputs is not None, "unroll: expected inputs, got None; make variables for them first"
    assert length is None or len(inputs) == length, (
        f"unroll: the inputs have {len(inputs)} steps, but length is {length}; pass the number of steps"
    )


class RNNParams:
    """Variables by name, made when they are first asked for; cells that hold the same one share weights.

    Every name starts with `prefix`.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> shared = rnn.RNNParams("rnn_")
    >>> shared.get("i2h_weight").name
    'rnn_i2h_weight'
    """

    def __init__(self, prefix=""):
        self._prefix = prefix
        self._params = {}

    def get(self, name, **kwargs):
        """The variable of that name; `kwargs` are for symbol.Variable if it is new."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """One step of a recurrent network as symbols: `cell(inputs, states)` gives (output, new states).

    `prefix` is what names of operators and variables start with; `params` an RNNParams to share. Subclasses
    define `state_info` and `__call__`.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.RNNCell(4, prefix="rnn_")
    >>> isinstance(cell, rnn.BaseRNNCell), cell.state_info
    (True, [{'shape': (0, 4), '__layout__': 'NC'}])
    """

    def __init__(self, prefix="", params=None):
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self):
        """Forgets what earlier steps left behind: the next step is t0."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs, states):
        """One step: (output, new states)."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__(self, inputs, states)")

    def _next_step(self):
        """What the names of the next step's operators start with."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    @property
    def params(self):
        """The cell's RNNParams; from now on others may hold it too."""
        self._own_params = False
        return self._params

    @property
    def state_info(self):
        """A list with one dictionary per state: `shape` (0 for the batch) and `__layout__`."""
        raise NotImplementedError(f"{type(self).__name__} has no state_info")

    @property
    def state_shape(self):
        """The shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self):
        return ()

    def _check_not_modified(self):
        assert not self._modified, (
            f"Cell {self._prefix} is part of a modifier cell (ZoneoutCell, ResidualCell) and cannot be "
            "called directly; call the modifier cell instead."
        )

    def begin_state(self, func=symbol.zeros, **kwargs):
        """The states before the first step, made by `func(name=, shape=, **kwargs)`.

        AssertionError: the cell belongs to a modifier cell.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def _packed(self):
        """(name of a packed parameter, names of its gates' parts) of weights and biases."""
        for group in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                start = self._prefix + group
                yield f"{start}_{kind}", [f"{start}{gate}_{kind}" for gate in self._gate_names]

    def unpack_weights(self, args):
        """A copy of `args` (name to array) with an array for every gate in the place of the packed ones."""
        args = dict(args)
        if self._gate_names:
            for packed, parts in self._packed():
                value, size = args.pop(packed), self._num_hidden
                for place, part in enumerate(parts):
                    args[part] = value[place * size : (place + 1) * size].copy()
        return args

    def pack_weights(self, args):
        """What unpack_weights took apart."""
        args = dict(args)
        if self._gate_names:
            for packed, parts in self._packed():
                args[packed] = nd.concatenate([args.pop(part) for part in parts])
        return args

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """Calls the cell for `length` steps; returns (outputs, states after the last step).

        `inputs` are one symbol of `layout`, or a list with one per step. Outputs are one symbol with
        `merge_outputs`, a list when it is False, whatever is faster when it is None.
        """
        self.reset()
        inputs = as_steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for i in range(length):
            output, states = self(inputs[i], states)
            outputs.append(output)
        return as_asked(length, outputs, layout, merge_outputs), states

    def _get_activation(self, inputs, activation, **kwargs):
        """`activation` (a name or a function) of the inputs."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)
