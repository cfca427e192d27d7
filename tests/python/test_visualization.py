"""Tables and drawings of symbols."""

import builtins
import sys
import types

import pytest

import headrace as mx

NETWORK = """
def network(mx):
    layer = mx.sym.Convolution(mx.sym.var("data"), num_filter=4, kernel=(3, 3), name="conv1")
    layer = mx.sym.Activation(mx.sym.BatchNorm(layer, name="bn"), act_type="relu", name="relu")
    pool = mx.sym.Pooling(layer, kernel=(2, 2), pool_type="max", stride=(2, 2), name="pool")
    layer = mx.sym.Convolution(pool, num_filter=4, num_group=2, kernel=(3, 3), pad=(1, 1), no_bias=True,
                               name="conv2")
    layer = mx.sym.FullyConnected(mx.sym.Flatten(layer + pool, name="flat"), num_hidden=10, name="long" * 20)
    layer = mx.sym.FullyConnected(layer, num_hidden=3, no_bias=True, name="fc2")
    return mx.sym.SoftmaxOutput(layer, name="softmax")
"""
scope = {}
exec(NETWORK, scope)


@pytest.fixture
def symbol():
    with mx.name.NameManager():
        return scope["network"](mx)


TABLE = """\
________________________________________________________________________
Layer (type)                   Output Shape  Param # Previous Layer     
========================================================================
data(null)                     3x8x8         0                          
________________________________________________________________________
conv1(Convolution)             4x6x6         112     data               
________________________________________________________________________
bn(BatchNorm)                  4x6x6         8       conv1              
________________________________________________________________________
relu(Activation)               4x6x6         0       bn                 
________________________________________________________________________
pool(Pooling)                  4x3x3         0       relu               
________________________________________________________________________
conv2(Convolution)             4x3x3         72      pool               
________________________________________________________________________
_plus0(elemwise_add)           4x3x3         0       conv2              
                                                     pool               
________________________________________________________________________
flat(Flatten)                  36            0       _plus0             
________________________________________________________________________
longlonglonglonglonglonglonglon10            370     flat               
________________________________________________________________________
fc2(FullyConnected)            3             30      longlonglonglonglon
________________________________________________________________________
softmax(SoftmaxOutput)         3             0       fc2                
========================================================================
Total params: 592
________________________________________________________________________
"""  # noqa: W291


def test_print_summary(symbol, capsys):
    mx.viz.print_summary(symbol, {"data": (2, 3, 8, 8)}, 72, [0.44, 0.625, 0.74, 1.0])
    assert capsys.readouterr().out == TABLE


def test_print_summary_without_shapes(symbol, capsys):
    mx.visualization.print_summary(symbol)
    lines = capsys.readouterr().out.splitlines()
    assert {len(line) for line in lines if "Total" not in line} == {120}
    assert lines[5].split() == ["conv1(Convolution)", "4", "data"]  # its bias
    mx.viz.print_summary(mx.sym.Embedding(mx.sym.var("x"), input_dim=5, output_dim=4), {"x": (2, 3)})
    assert "Total params: 20" in capsys.readouterr().out


@pytest.fixture
def without_graphviz(monkeypatch):
    real = builtins.__import__

    def imported(name, *arguments):
        if name == "graphviz":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", imported)


def test_plot_network(symbol, without_graphviz):
    graph = mx.viz.plot_network(symbol, "net", shape={"data": (2, 3, 8, 8)}, node_attrs={"width": "2"})
    lines = graph.source.split("\n\t")
    assert lines[0] == "digraph net {" and graph.source.endswith("}")
    look = "fixedsize=true height=0.8034 shape={} style=filled width=2]"
    assert lines[1:3] == [
        'data [label=data fillcolor="#8dd3c7" ' + look.format("oval"),
        'conv1 [label="Convolution\n3x3/1, 4" fillcolor="#fb8072" ' + look.format("box"),
    ]
    assert 'pool [label="Pooling\nmax, 2x2/2x2" fillcolor="#80b1d3" ' + look.format("box") in lines
    assert 'conv1 -> data [label="3x8x8" arrowtail=open dir=back]' in lines
    assert not any("conv1_weight" in line for line in lines)
    whole = mx.viz.plot_network(symbol, hide_weights=False).source
    assert 'conv1 -> conv1_weight [label="" arrowtail=open dir=back]' in whole
    typed = mx.viz.plot_network(symbol, hide_weights=False, dtype={"data": "float32"}).source
    assert 'conv1 -> conv1_weight [label="(float32)" arrowtail=open dir=back]' in typed
    typed = mx.viz.plot_network(symbol, shape={"data": (2, 3, 8, 8)}, dtype={"data": "float32"}).source
    assert 'label="3x8x8(float32)"' in typed


def test_names_are_quoted(tmp_path):
    graph = mx.viz.Digraph("graph")
    graph.node("a b", "1.5", color='say "x"')
    graph.edge("node", "c_1")
    text = 'digraph "graph" {\n\t"a b" [label=1.5 color="say \\"x\\""]\n\t"node" -> c_1\n}'
    assert graph.source == str(graph) == text
    path = graph.save("one.gv", str(tmp_path / "deep"))
    assert (tmp_path / "deep" / "one.gv").read_text() == text and path.endswith("deep/one.gv")


def test_programs_get_the_graph_of_graphviz_where_it_is(symbol, monkeypatch):
    class Graph(mx.viz.Digraph):
        pass

    monkeypatch.setitem(sys.modules, "graphviz", types.SimpleNamespace(Digraph=Graph))
    graph = mx.viz.plot_network(symbol, "net", "svg")
    assert type(graph) is Graph and graph.format == "svg" and graph.source.startswith("digraph net {")


def test_drawing_needs_graphviz(symbol, without_graphviz):
    with pytest.raises(ImportError, match="needs the package graphviz"):
        mx.viz.plot_network(symbol).render()


@pytest.mark.parametrize("show", [mx.viz.print_summary, mx.viz.plot_network])
def test_errors(show, symbol):
    with pytest.raises(TypeError, match="symbol must be Symbol"):
        show(3)
    with pytest.raises(ValueError, match="Input shape is incomplete"), pytest.warns(UserWarning):
        show(symbol, shape={"softmax_label": (2,)})
    with pytest.raises(mx.MXNetError, match="argument name x not found"):
        show(symbol, shape={"x": (2,)})


def test_as_mxnet(symbol, mxnet_peer, capsys):
    program = (
        NETWORK
        + """
import contextlib, io, json, mxnet as mx
text, net = io.StringIO(), network(mx)
with contextlib.redirect_stdout(text):
    mx.viz.print_summary(net)
    mx.viz.print_summary(net, {"data": (2, 3, 8, 8)})
graphs = []
try:
    for hide in (0, 1):
        graphs.append(mx.viz.plot_network(net, shape={"data": (2, 3, 8, 8)}, hide_weights=hide).source)
except ImportError:
    pass
print(json.dumps([text.getvalue(), graphs]))
"""
    )
    table, graphs = mxnet_peer(program)
    mx.viz.print_summary(symbol)
    mx.viz.print_summary(symbol, {"data": (2, 3, 8, 8)})
    assert capsys.readouterr().out == table
    for hide, graph in enumerate(graphs):
        mine = mx.viz.plot_network(symbol, shape={"data": (2, 3, 8, 8)}, hide_weights=hide).source
        assert mine == graph.rstrip("\n")
