"""Block: names, registration, hooks, printed forms, files."""

import copy
import pickle

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, init, name, nd
from headrace.base import MXNetError
from headrace.gluon import nn


@pytest.fixture(autouse=True)
def fresh_names():
    with name.NameManager():
        yield


def mlp():
    net = nn.Sequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dropout(0.3), nn.Dense(2))
    return net


class Pair(gluon.Block):
    """Two dense layers on two inputs, with nested outputs."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = nn.Dense(3, in_units=2)
            self.second = nn.Dense(1, in_units=3)

    def forward(self, x, y):
        return [self.second(self.first(x)), (y, self.first(y))]


class TestNames:
    def test_outside_any_scope(self):
        first, second = nn.Dense(2), nn.Dense(2)
        assert (first.prefix, first.name, second.name) == ("dense0_", "dense0", "dense1")
        assert list(first.collect_params().keys()) == ["dense0_weight", "dense0_bias"]

    def test_inside_a_scope(self):
        net = nn.Sequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Dense(2, activation="tanh"), nn.Dense(2), nn.Dropout(0.1), nn.Dense(2, prefix="out_"))
        assert [block.name for block in net] == ["net_dense0", "net_dense1", "net_dropout0", "net_out"]
        assert net[0].act.name == "net_dense0_tanh"
        assert list(net.collect_params("net_dense1.*").keys()) == ["net_dense1_weight", "net_dense1_bias"]

    def test_layers_added_outside_the_scope_keep_global_names(self):
        assert [block.name for block in mlp()] == ["dense0", "dropout0", "dense1"]

    def test_empty_prefix_uses_the_outer_scope(self):
        net = nn.Sequential(prefix="")
        with net.name_scope():
            net.add(nn.Dense(2))
        assert (net.name, net[0].name) == ("", "dense0")

    def test_activation_and_loss_aliases(self):
        assert nn.Activation("relu").name == "relu0"
        assert gluon.loss.L2Loss().name == "l2loss0"

    def test_prefix_manager(self):
        with name.Prefix("zz_"):
            assert nn.Dense(2).name == "zz_dense0"
        assert nn.Dense(2).name == "dense0"

    def test_shared_parameters(self):
        first = nn.Dense(3, prefix="sh_", in_units=3)
        second = nn.Dense(3, params=first.params)
        assert second.weight is first.weight
        assert second.name == "dense0"
        with pytest.raises(AssertionError, match="Cannot retrieve Parameter 'sh_weight'"):
            nn.Dense(4, params=first.params)


class TestRegistration:
    def test_replacing_a_child(self):
        block = Pair()
        block.first = nn.Dense(5)
        assert block.first.weight.shape[0] == 5
        assert list(block._children) == ["first", "second"]
        with pytest.raises(TypeError, match="Changing attribute type for first"):
            block.first = 3

    def test_parameters(self):
        block = gluon.Block()
        block.w = gluon.Parameter("w", shape=(2,))
        with pytest.raises(AssertionError, match="Overriding Parameter attribute w"):
            block.w = gluon.Parameter("w", shape=(2,))
        with pytest.raises(TypeError, match="Changing attribute type for w"):
            block.w = 4

    def test_lists_of_blocks_are_not_registered(self):
        block = gluon.Block()
        block.layers = [nn.Dense(2)]
        with pytest.warns(UserWarning, match='"Block.layers" is an unregistered container'):
            params = block.collect_params()
        assert len(params) == 0
        block.register_child(block.layers[0])
        assert list(block.collect_params().keys()) == ["dense0_weight", "dense0_bias"]

    def test_collect_params_matches_at_the_start(self):
        net = mlp()
        assert list(net.collect_params(".*weight").keys()) == ["dense0_weight", "dense1_weight"]
        assert list(net.collect_params("weight").keys()) == []
        assert list(net.collect_params("dense0_w|dense1_b").keys()) == ["dense0_weight", "dense1_bias"]

    def test_sequential(self):
        net = mlp()
        assert len(net) == 3 and net[-1].name == "dense1"
        part = net[1:]
        assert len(part) == 2 and part[1] is net[2] and part.prefix == net.prefix
        with pytest.raises(IndexError):
            net[7]
        with pytest.raises(TypeError, match="expected Blocks, got int"):
            net.add(3)

    def test_apply_visits_children_first(self):
        seen = []
        net = mlp()
        assert net.apply(lambda block: seen.append(block.name)) is net
        assert seen == ["dense0_relu", "dense0", "dropout0", "dense1", "sequential0"]

    def test_cast(self):
        net = nn.Dense(2, in_units=3)
        net.initialize()
        net.cast("float64")
        assert net(nd.ones((1, 3), dtype="float64")).dtype == numpy.float64


def step(net):
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        loss = net(nd.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1)
    return net(nd.ones((1, 2))).asnumpy().tolist()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_train_by_themselves(duplicate):
    net = nn.Dense(1, in_units=2)
    net.initialize(init.One())
    other = duplicate(net)
    assert step(other) == [[-1]]
    assert net(nd.ones((1, 2))).asnumpy().tolist() == [[2]]
    assert step(net) == [[-1]]


class TestCalls:
    def test_hooks(self):
        block, seen = nn.Dense(2, in_units=3), []
        block.initialize()
        pre = block.register_forward_pre_hook(lambda b, inputs: seen.append((b.name, len(inputs))))
        post = block.register_forward_hook(lambda b, inputs, out: seen.append((inputs[0].shape, out.shape)))
        block(nd.ones((4, 3)))
        assert seen == [("dense0", 1), ((4, 3), (4, 2))]
        pre.detach()
        post.detach()
        post.detach()
        block(nd.ones((4, 3)))
        assert len(seen) == 2

    def test_positional_arguments_only(self):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            mlp()(x=nd.ones((1, 2)))

    def test_forward_must_be_defined(self):
        with pytest.raises(NotImplementedError):
            gluon.Block()(nd.ones((1,)))

    @pytest.mark.parametrize("argument", [3, "x", None, numpy.ones((2, 3))])
    def test_layers_take_arrays(self, argument):
        net = nn.Dense(2, in_units=3)
        net.initialize()
        with pytest.raises(ValueError, match="there must be one NDArray"):
            net(argument)

    def test_not_initialized(self):
        with pytest.raises(RuntimeError, match="Parameter 'dense0_weight' has not been initialized"):
            mlp()(nd.ones((2, 3)))

    def test_input_of_another_size(self):
        net = nn.Dense(2, in_units=3)
        net.initialize()
        with pytest.raises(MXNetError):
            net(nd.ones((2, 9))).asnumpy()

    def test_np_mode_refuses_nd_outputs(self, np_mode):
        class Legacy(gluon.Block):
            def forward(self, x):
                return x.as_nd_ndarray()

        with pytest.raises(TypeError, match="expected np arrays"):
            Legacy()(hr.np.ones((2,)))
        assert Pair(prefix="p_").forward.__name__ == "forward"

    def test_nested_outputs_in_np_mode(self, np_mode):
        block = Pair()
        block.initialize(init.One())
        outputs = block(hr.np.ones((1, 2)), hr.np.ones((1, 2)))
        assert outputs[0].asnumpy().tolist() == [[6.0]]
        assert outputs[1][1].asnumpy().tolist() == [[2.0, 2.0, 2.0]]


SUMMARY = """\
--------------------------------------------------------------------------------
        Layer (type)                                Output Shape         Param #
================================================================================
               Input                                      (2, 3)               0
        Activation-1                                      (2, 4)               0
             Dense-2                                      (2, 4)              16
           Dropout-3                                      (2, 4)               0
             Dense-4                                      (2, 2)              10
================================================================================
Parameters in forward computation graph, duplicate included
   Total params: 26
   Trainable params: 26
   Non-trainable params: 0
Shared params in forward computation graph: 0
Unique parameters in model: 26
--------------------------------------------------------------------------------
"""

NESTED_SUMMARY = """\
--------------------------------------------------------------------------------
        Layer (type)                                Output Shape         Param #
================================================================================
               Input                              (1, 2), (1, 2)               0
             Dense-1                                      (1, 3)               9
             Dense-2                                      (1, 1)               4
             Dense-3                                      (1, 3)               9
              Pair-4                    (1, 1), [(1, 2), (1, 3)]               0
================================================================================
Parameters in forward computation graph, duplicate included
   Total params: 22
   Trainable params: 13
   Non-trainable params: 9
Shared params in forward computation graph: 9
Unique parameters in model: 13
--------------------------------------------------------------------------------
"""


class TestPrintedForms:
    def test_repr(self):
        net = nn.Sequential()
        net.add(nn.Dense(4, activation="tanh"), nn.Dropout(0.5), nn.Dense(2, in_units=4), nn.Flatten())
        net.add(nn.Lambda("relu"), nn.Lambda(lambda x: x), nn.LeakyReLU(0.1), nn.PReLU(), nn.Embedding(3, 4))
        net.add(nn.LayerNorm(), nn.Activation("relu"))
        inner = nn.Sequential()
        inner.add(nn.Dense(1))
        net.add(inner)
        assert repr(net) == (
            "Sequential(\n"
            "  (0): Dense(None -> 4, Activation(tanh))\n"
            "  (1): Dropout(p = 0.5, axes=())\n"
            "  (2): Dense(4 -> 2, linear)\n"
            "  (3): Flatten\n"
            "  (4): Lambda(relu)\n"
            "  (5): Lambda(<lambda>)\n"
            "  (6): LeakyReLU(0.1)\n"
            "  (7): PReLU(\n  \n  )\n"
            "  (8): Embedding(3 -> 4, float32)\n"
            "  (9): LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=0)\n"
            "  (10): Activation(relu)\n"
            "  (11): Sequential(\n"
            "    (0): Dense(None -> 1, linear)\n"
            "  )\n"
            ")"
        )

    def test_repr_of_attributes(self):
        assert repr(Pair()) == "Pair(\n  (first): Dense(2 -> 3, linear)\n  (second): Dense(3 -> 1, linear)\n)"
        assert repr(gluon.Block()) == "Block(\n\n)"

    def test_repr_in_np_mode(self, np_mode):
        assert repr(nn.Dense(2)) == "Dense(-1 -> 2, linear)"

    def test_summary(self, capsys):
        net = mlp()
        net.initialize()
        net.summary(nd.ones((2, 3)))
        assert capsys.readouterr().out == SUMMARY
        assert not net[0]._forward_hooks

    def test_summary_of_nested_outputs_and_shared_layers(self, capsys):
        block = Pair()
        block.initialize()
        block.first.collect_params().setattr("grad_req", "null")
        block.second.collect_params().setattr("grad_req", "write")
        block.summary(nd.ones((1, 2)), nd.ones((1, 2)))
        out = capsys.readouterr().out
        assert out.splitlines()[:10] == NESTED_SUMMARY.splitlines()[:10]
        assert "Shared params in forward computation graph: 9" in out
        assert "Unique parameters in model: 13" in out
        assert "   Non-trainable params: 18" in out

    def test_summary_needs_parameters(self):
        net = mlp()
        with pytest.raises(RuntimeError, match="has not been initialized"):
            net.summary(nd.ones((2, 3)))
        assert not net[0]._forward_hooks


class TestFiles:
    @pytest.fixture
    def file(self, tmp_path):
        net = mlp()
        net.initialize()
        net(nd.ones((2, 3)))
        net.save_parameters(str(tmp_path / "net.params"))
        return str(tmp_path / "net.params")

    def test_keys_and_values(self, file):
        saved = nd.load(file)
        assert list(saved) == ["0.weight", "0.bias", "2.weight", "2.bias"]
        net = mlp()
        net.load_parameters(file)
        for key, param in net._collect_params_with_prefix().items():
            assert (param.data().asnumpy() == saved[key].asnumpy()).all()
        with autograd.record():
            loss = net(nd.ones((2, 3))).sum()
        loss.backward()
        assert net[2].bias.grad().asnumpy().tolist() == [2, 2]

    def test_loading_into_initialized_parameters_keeps_the_arrays(self, file):
        net = mlp()
        net.initialize()
        net(nd.ones((2, 3)))
        array = net[0].weight.data()
        net.load_parameters(file)
        assert net[0].weight.data() is array
        assert (array.asnumpy() == nd.load(file)["0.weight"].asnumpy()).all()

    def test_missing_and_extra(self, file):
        other = nn.Sequential()
        other.add(nn.Dense(4), nn.Dense(2), nn.Dense(3))
        with pytest.raises(
            AssertionError, match=r"Parameter '1.weight' is missing in file .* allow_missing=True"
        ):
            other.load_parameters(file)
        short = nn.Sequential()
        short.add(nn.Dense(4))
        with pytest.raises(ValueError, match="Parameter '2.weight' loaded from file .* ignore_extra=True"):
            short.load_parameters(file)
        short.load_parameters(file, ignore_extra=True)
        assert short(nd.ones((2, 3))).shape == (2, 4)
        longer = nn.Sequential()
        longer.add(nn.Dense(4), nn.Dropout(0.3), nn.Dense(2), nn.Dense(1, in_units=2))
        longer.load_parameters(file, allow_missing=True)
        with pytest.raises(RuntimeError, match="has not been initialized"):
            longer[3].weight.data()

    def test_another_shape(self, file):
        net = nn.Sequential()
        net.add(nn.Dense(5), nn.Dropout(0.1), nn.Dense(2))
        with pytest.raises(AssertionError, match="Failed loading Parameter .*shape incompatible"):
            net.load_parameters(file)

    def test_another_dtype(self, file):
        def half():
            net = nn.Sequential()
            net.add(nn.Dense(4, dtype="float16"), nn.Dropout(0.1), nn.Dense(2))
            return net

        net = half()
        with pytest.raises(AssertionError, match="dtype incompatible .*cast_dtype=True"):
            net.load_parameters(file)
        net.load_parameters(file, cast_dtype=True)
        assert net[0].weight.data().dtype == numpy.float16
        net = half()
        net.load_parameters(file, cast_dtype=True, dtype_source="saved")
        assert net[0].weight.data().dtype == numpy.float32
        with pytest.raises(AssertionError, match="dtype_source must be"):
            net.load_parameters(file, cast_dtype=True, dtype_source="neither")

    def test_another_context(self, file):
        net = mlp()
        net.load_parameters(file)
        with pytest.raises(AssertionError, match="previous initialized on"):
            net.load_parameters(file, ctx=hr.cpu(1))
        net = mlp()
        net.load_parameters(file, ctx=hr.cpu(1))
        assert net[0].weight.list_ctx() == [hr.cpu(1)]

    def test_no_file(self, tmp_path):
        with pytest.raises(MXNetError, match="No such file or directory"):
            mlp().load_parameters(str(tmp_path / "none.params"))

    def test_file_without_names(self, tmp_path):
        nd.save(str(tmp_path / "list.params"), [nd.ones((2,))])
        with pytest.raises(MXNetError, match="without names"):
            mlp().load_parameters(str(tmp_path / "list.params"))

    def test_single_layer(self, tmp_path):
        net = nn.Dense(2, in_units=3, prefix="a_")
        net.initialize()
        net.save_parameters(str(tmp_path / "dense.params"))
        assert list(nd.load(str(tmp_path / "dense.params"))) == ["weight", "bias"]
        other = nn.Dense(2, prefix="b_")
        other.load_parameters(str(tmp_path / "dense.params"))
        assert (other.weight.data().asnumpy() == net.weight.data().asnumpy()).all()

    def test_deprecated_names(self, tmp_path):
        file = str(tmp_path / "dense.params")
        net = nn.Dense(2, in_units=3)
        net.initialize()
        with pytest.warns(DeprecationWarning, match="save_parameters"):
            net.save_params(file)
        other = nn.Dense(2)
        with pytest.warns(DeprecationWarning, match="load_parameters"):
            other.load_params(file)
        assert (other.weight.data().asnumpy() == net.weight.data().asnumpy()).all()

    def test_shared_parameters(self, tmp_path):
        file = str(tmp_path / "shared.params")
        first = nn.Dense(3, in_units=3)
        net = nn.Sequential()
        net.add(first, nn.Dense(3, params=first.params), nn.Dense(2, in_units=3))
        net.initialize()
        net.save_parameters(file)
        assert list(nd.load(file)) == ["0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"]
        net.save_parameters(file, deduplicate=True)
        assert list(nd.load(file)) == ["1.weight", "1.bias", "2.weight", "2.bias"]
        before = first.weight.data().asnumpy()
        net.initialize(force_reinit=True)
        net.load_parameters(file)
        assert (first.weight.data().asnumpy() == before).all()

    def test_not_initialized(self, tmp_path):
        with pytest.raises(RuntimeError, match="has not been initialized"):
            mlp().save_parameters(str(tmp_path / "net.params"))


def test_errors_of_a_blocks_own_forward_stay():
    class Own(gluon.HybridBlock):
        def forward(self, x):
            raise KeyError("of the program")

    with pytest.raises(KeyError, match="of the program"):
        Own()({"x": nd.ones(1)})


def test_containers_take_their_blocks_by_add():
    with pytest.raises(TypeError, match=r"Sequential: .*got the block Dense.*add\(\)"):
        nn.Sequential(nn.Dense(2), nn.Dense(3))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_data_of_another_dtype_than_parameters_without_a_shape(hybrid, dtype):
    """The shapes are not what is wrong, and there is one error."""
    net = nn.Dense(3)
    net.initialize()
    net.hybridize(hybrid)
    with pytest.raises(MXNetError, match="^FullyConnected: data holds") as caught:
        net(nd.ones((2, 4), dtype=dtype))
    assert caught.value.__cause__ is None
