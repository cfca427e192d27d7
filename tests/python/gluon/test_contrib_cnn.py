"""Layers of gluon.contrib.cnn."""

import numpy
import pytest

from headrace import autograd, gluon, nd, sym
from headrace.gluon.contrib.cnn import DeformableConvolution, ModulatedDeformableConvolution

RNG = numpy.random.RandomState(2)
SETTINGS = [
    {"kernel_size": 3, "padding": 1},
    {"kernel_size": (3, 2), "strides": 2, "num_deformable_group": 2, "activation": "relu"},
    {"kernel_size": 2, "use_bias": False, "offset_use_bias": False},
    {"kernel_size": 2, "dilation": 2, "groups": 2, "in_channels": 4},
]


@pytest.mark.parametrize("layer", [DeformableConvolution, ModulatedDeformableConvolution])
@pytest.mark.parametrize("settings", SETTINGS)
def test_a_new_layer_is_a_convolution(layer, settings):
    x = nd.array(RNG.rand(2, 4, 7, 8))
    net = layer(6, weight_initializer="normal", **settings)
    net.initialize()
    got = net(x).asnumpy()
    known = {
        key: value
        for key, value in settings.items()
        if key not in ("num_deformable_group", "offset_use_bias")
    }
    plain = gluon.nn.Conv2D(6, **known)
    plain.initialize()
    plain(x)
    plain.weight.set_data(net.deformable_conv_weight.data())
    numpy.testing.assert_allclose(got, plain(x).asnumpy(), atol=1e-5)


@pytest.mark.parametrize("layer, numbers", [(DeformableConvolution, 2), (ModulatedDeformableConvolution, 3)])
def test_hybridized_layers_learn_where_to_look(layer, numbers):
    x = nd.array(RNG.rand(2, 4, 7, 8))
    net = layer(6, 3, num_deformable_group=2, offset_weight_initializer="normal")
    net.initialize()
    eager = net(x).asnumpy()
    net.hybridize()
    with autograd.record():
        result = net(x)
    result.backward()
    numpy.testing.assert_allclose(result.asnumpy(), eager, rtol=1e-5, atol=1e-6)
    assert net.offset_weight.shape == (numbers * 18, 4, 3, 3)
    for name, parameter in net.collect_params().items():
        assert abs(parameter.grad().asnumpy()).max() > 0, name


def test_layers_have_mxnets_names_and_operators():
    graph = ModulatedDeformableConvolution(6, 3, prefix="m_")(sym.var("data"))
    names = ["offset_weight", "offset_bias", "deformable_conv_weight", "deformable_conv_bias"]
    assert graph.list_arguments() == ["data", *(f"m_{name}" for name in names)]
    assert graph.attr_dict()["m_fwd"]["num_deformable_group"] == "1"
    turned = names[2:] + names[:2]
    for kind, order in ((DeformableConvolution, names), (ModulatedDeformableConvolution, turned)):
        assert [*kind(6, 3, prefix="m_").collect_params()] == [f"m_{name}" for name in order]


def test_how_a_layer_looks():
    net = DeformableConvolution(8, 3, padding=(1, 2), use_bias=False, activation="relu")
    assert repr(net) == (
        "DeformableConvolution(None -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 2), bias=False, "
        "Activation(relu))"
    )


def test_other_layouts():
    with pytest.raises(AssertionError, match="NCHW"):
        DeformableConvolution(8, 3, layout="NCDHW")
