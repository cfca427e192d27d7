"""Trained networks of float32 as networks that compute partly in low precision."""

import json

from .... import _core
from ....gluon import HybridBlock, SymbolBlock
from ....module import BucketingModule
from ....symbol import Symbol
from . import lists
from .dtypes import low_dtype
from .lists.names import canonical
from .reduce_precision import Lists, reduce_precision

__all__ = ["convert_bucketing_module", "convert_hybrid_block", "convert_model", "convert_symbol", "lists_of"]


def lists_of(target_dtype):
    """(low, wide, both, conditional, widest, loss outputs): the lists of 'float16' or 'bfloat16'."""
    if low_dtype(target_dtype) == "float16":
        of, low, both = lists.symbol_fp16, "FP16_FUNCS", "FP16_FP32_FUNCS"
    else:
        of, low, both = lists.symbol_bf16, "BF16_FUNCS", "BF16_FP32_FUNCS"
    return (
        getattr(of, low),
        of.FP32_FUNCS,
        getattr(of, both),
        of.CONDITIONAL_FP32_FUNCS,
        of.WIDEST_TYPE_CASTS,
        of.LOSS_OUTPUT_FUNCTIONS,
    )


def _names(names, what):
    assert isinstance(names, list) and all(isinstance(name, str) for name in names), (
        f"{what} should be a list of strs, got {names!r}"
    )
    return {canonical(name) for name in names}


def _checked_lists(target, low, wide, conditional, excluded):
    """The Lists of arguments, None standing for the defaults. AssertionError: they do not fit together."""
    known_low, known_wide, known_both, known_conditional, widest, _ = lists_of(target)
    low = _names(known_low if low is None else low, "target_dtype_ops")
    wide = _names(known_wide if wide is None else wide, "fp32_ops")
    conditional = known_conditional if conditional is None else conditional
    assert isinstance(conditional, list), "conditional_fp32_ops should be a list"
    by_op = {}
    for one in conditional:
        op, argument, values = one
        assert isinstance(op, str) and isinstance(argument, str) and isinstance(values, list), (
            f"conditional_fp32_ops should be a list of (str, str, list of str), got {one!r}"
        )
        by_op.setdefault(canonical(op), []).append((argument, values))
    pairs = (
        ("target_dtype_ops and fp32_ops", low & wide),
        ("target_dtype_ops and conditional_fp32_ops", low & by_op.keys()),
        ("fp32_ops and conditional_fp32_ops", wide & by_op.keys()),
    )
    for which, common in pairs:
        assert not common, f"Ops cannot be in two or more lists. Common ops in {which}: {sorted(common)}"
    allowed = {canonical(name) for name in (*known_low, *known_wide, *known_both)}
    allowed.update(canonical(name) for name, _, _ in known_conditional)
    illegal = (low | wide | by_op.keys()) - allowed
    assert not illegal, (
        "Can only choose ops from amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops and "
        f"list_conditional_fp32_ops for {target}; {sorted(illegal)} are in none of them"
    )
    excluded = [] if excluded is None else excluded
    assert isinstance(excluded, list), "excluded_sym_names should be a list of strs"
    return Lists(*map(frozenset, (low, wide, map(canonical, widest))), by_op, frozenset(excluded))


def convert_symbol(sym, target_dtype="float16", target_dtype_ops=None, fp32_ops=None,
                   conditional_fp32_ops=None, excluded_sym_names=None, data_names=None,
                   cast_optional_params=False):  # fmt: skip
    """The symbol of a network of float32 with casts in it: some of its operators compute in low precision.

    Parameters
    ----------
    target_dtype : 'float16' or 'bfloat16'.
    target_dtype_ops, fp32_ops : lists of operators that compute in low precision, and in float32; default:
        list_lp16_ops and list_fp32_ops.
    conditional_fp32_ops : list of (operator, argument, values) for those that compute in float32 when the
        argument has one of the values, as text; default: list_conditional_fp32_ops.
    excluded_sym_names : names of nodes that compute in float32.
    data_names : names of inputs that stay float32; default: all that do not state a dtype.
    cast_optional_params : whether other inputs are expected in low precision where nobody wants them in
        float32; what each is expected in is its attribute `__dtype__`.

    AssertionError: another dtype, or lists that contradict each other.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> [node.name for node in amp.convert_symbol(net).get_internals()][-2:]
    ['fc', 'fc_output_amp_cast_float32']
    """
    assert isinstance(sym, Symbol), "First argument to convert_symbol should be Symbol"
    target = low_dtype(target_dtype)
    checked = _checked_lists(target, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    if data_names is None:
        stated = {name for name, texts in sym.attr_dict().items() if "__dtype__" in texts}
        data_names = [name for name in sym.list_inputs() if name not in stated]
    converted = reduce_precision(sym, target, checked, data_names, cast_optional_params)
    return _with_dtypes(converted, target, data_names, cast_optional_params)


def _with_dtypes(sym, target, data_names, cast_optional_params):
    """The symbol, whose inputs that are no data state their dtypes, whatever they stated before."""
    graph = json.loads(sym.tojson(remove_amp_cast=False))
    inputs = {node["name"]: node for node in graph["nodes"] if node["op"] == "null"}
    stated = {name for name, node in inputs.items() if node.setdefault("attrs", {}).pop("__dtype__", None)}
    known = dict.fromkeys(inputs.keys() & set(data_names), "float32")
    dtypes = _dtypes_of_inputs(graph, known)
    if cast_optional_params:
        dtypes.update(_dtypes_of_casts(graph, target, dtypes))
    for name, node in inputs.items():
        dtype = known.get(name) or dtypes[name] or "float32"
        if name not in known or name in stated:
            node["attrs"]["__dtype__"] = str(_core.dtype_flag(dtype))
    return type(sym)(_core.SymbolHandle.from_json(json.dumps(graph)))


def _dtypes_of_inputs(graph, known):
    """Name to dtype, or None, of all inputs; shapes that they state do not matter."""
    nodes = []
    for node in graph["nodes"]:
        texts = {key: text for key, text in node.get("attrs", {}).items() if key != "__shape__"}
        nodes.append({**node, "attrs": texts})
    handle = _core.SymbolHandle.from_json(json.dumps({**graph, "nodes": nodes}))
    found, _ = handle.infer({}, known)
    return {name: dtype for name, (_, dtype) in zip(handle.list_inputs(), found)}


def _dtypes_of_casts(graph, target, dtypes):
    """The dtype of each input of unknown dtype that all its casts give it; name to dtype."""
    nodes, found = graph["nodes"], {}
    for node in nodes:
        sources = [nodes[one[0]] for one in node["inputs"]]
        if node["op"] == "amp_cast":
            wanted = node["attrs"]["dtype"]
        elif node["op"] == "amp_multicast" and all(one["op"] == "null" for one in sources):
            wanted = target
        else:
            continue
        for name in (one["name"] for one in sources if one["op"] == "null" and dtypes[one["name"]] is None):
            found[name] = wanted if found.get(name, wanted) == wanted else None
    return found


def _as_stated(sym, arrays):
    """The arrays in the dtypes that the inputs of a symbol state."""
    attributes = sym.attr_dict()
    made = {}
    for name, array in arrays.items():
        flag = attributes.get(name, {}).get("__dtype__", "-1")
        stated = flag != "-1" and int(flag) != _core.dtype_flag(array._dtype_name)
        made[name] = array.astype(_core.dtype_names[int(flag)]) if stated else array
    return made


def convert_model(sym, arg_params, aux_params, target_dtype="float16", target_dtype_ops=None, fp32_ops=None,
                  conditional_fp32_ops=None, excluded_sym_names=None,
                  cast_optional_params=False):  # fmt: skip
    """(symbol, arguments, auxiliary states) of a network as convert_symbol makes it, in new dictionaries.

    AssertionError: see convert_symbol.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weights = {"fc_weight": nd.ones((2, 3))}
    >>> net, weights, states = amp.convert_model(net, weights, {}, cast_optional_params=True)
    >>> weights["fc_weight"].dtype
    <class 'numpy.float16'>
    """
    assert isinstance(sym, Symbol), "First argument to convert_model should be Symbol"
    assert isinstance(arg_params, dict), (
        "Second argument to convert_model should be a dict of name to ndarray"
    )
    assert isinstance(aux_params, dict), "Third argument to convert_model should be a dict of name to ndarray"
    data_names = [name for name in sym.list_inputs() if name not in arg_params and name not in aux_params]
    sym = convert_symbol(sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops,
                         excluded_sym_names, data_names, cast_optional_params)  # fmt: skip
    return sym, _as_stated(sym, arg_params), _as_stated(sym, aux_params)


def convert_hybrid_block(block, target_dtype="float16", target_dtype_ops=None, fp32_ops=None,
                         conditional_fp32_ops=None, excluded_sym_names=None, ctx=None,
                         cast_optional_params=False):  # fmt: skip
    """A SymbolBlock with the graph of a hybridized block as convert_symbol makes it, and its parameters.

    `ctx`: where the parameters are to be; default: where those of the block are. RuntimeError: the block has
    not run since it was hybridized.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> net.hybridize()
    >>> expected = net(nd.ones((1, 3)))
    >>> converted = amp.convert_hybrid_block(net, cast_optional_params=True)
    >>> [parameter.dtype for parameter in converted.collect_params().values()]
    ['float16', 'float16']
    >>> converted(nd.ones((1, 3))).dtype
    <class 'numpy.float32'>
    """
    assert isinstance(block, HybridBlock), f"block input should be a HybridBlock, got {type(block).__name__}"
    if not block._cached_graph:
        raise RuntimeError(
            "Please first call block.hybridize() and then run forward with this block at least once before "
            "calling convert_hybrid_block."
        )
    inputs, sym = block._cached_graph
    converted = convert_symbol(sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops,
                               excluded_sym_names, [one.name for one in inputs],
                               cast_optional_params)  # fmt: skip
    parameters = dict(block.collect_params().items())
    wanted = {name: parameters[name] for name in converted.list_inputs() if name in parameters}
    values = _as_stated(converted, {name: one._reduce() for name, one in wanted.items()})
    auxiliary = set(converted.list_auxiliary_states())
    keyed = {("aux:" if name in auxiliary else "arg:") + name: value for name, value in values.items()}
    if ctx is None:
        ctx = next((one.list_ctx() for one in wanted.values()), None)
    made = SymbolBlock(converted, list(inputs))
    made.collect_params().load_dict(keyed, ctx=ctx)
    return made


def convert_bucketing_module(bucketing_mod, target_dtype="float16", target_dtype_ops=None, fp32_ops=None,
                             conditional_fp32_ops=None, excluded_sym_names=None,
                             cast_optional_params=False):  # fmt: skip
    """A BucketingModule whose buckets are as convert_model makes them, those of later batches, too.

    AssertionError: no BucketingModule, or one without buckets or parameters.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> net = lambda length: (sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), ["data"], None)
    >>> module = mx.mod.BucketingModule(net, default_bucket_key=3)
    >>> module.bind([("data", (1, 3))])
    >>> module.init_params()
    >>> converted = amp.convert_bucketing_module(module)
    >>> type(converted).__name__
    'BucketingModule'
    """
    assert isinstance(bucketing_mod, BucketingModule), "module should be instance of bucketing module"
    assert bucketing_mod._buckets, "Bucketing Module should not be empty"
    assert bucketing_mod.params_initialized, (
        "bucketing_mod params should be initialized for mixed precision conversion"
    )
    options = (target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    args, auxiliary = bucketing_mod.get_params()

    def generate(key):
        symbol, data_names, label_names = bucketing_mod._describe(key)
        inputs = [name for name in symbol.list_inputs() if name not in args and name not in auxiliary]
        converted = convert_symbol(symbol, *options, inputs, cast_optional_params)
        return converted, data_names, label_names

    symbol, _, _ = generate(bucketing_mod._default_bucket_key)
    return BucketingModule.load_dict(
        sym_gen=generate,
        default_bucket_key=bucketing_mod._default_bucket_key,
        arg_params=_as_stated(symbol, args),
        aux_params=_as_stated(symbol, auxiliary),
        logger=bucketing_mod.logger,
        context=bucketing_mod._context,
        work_load_list=bucketing_mod._work_load_list,
        fixed_param_names=bucketing_mod._fixed_param_names,
        state_names=bucketing_mod._state_names,
        group2ctxs=bucketing_mod._group2ctxs,
        compression_params=bucketing_mod._compression_params,
    )
