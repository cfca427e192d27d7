"""Checkpoints: files of a symbol and its parameters, ours and MXNet's."""

import logging

import numpy
import pytest
import recorded

import headrace as mx


def test_round_trip(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    prefix = str(tmp_path / "net")
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    arg_params = {"fc_weight": mx.nd.array([[1, 2], [3, 4]]), "fc_bias": mx.nd.zeros((2,), dtype="float16")}
    aux_params = {"mean": mx.nd.ones((3,))}
    mx.model.save_checkpoint(prefix, 12, symbol, arg_params, aux_params)
    assert caplog.messages == [f'Saved checkpoint to "{prefix}-0012.params"']
    assert list(mx.nd.load(f"{prefix}-0012.params")) == ["arg:fc_weight", "arg:fc_bias", "aux:mean"]
    loaded, arg, aux = mx.model.load_checkpoint(prefix, 12)
    assert loaded.tojson() == symbol.tojson()
    assert list(arg) == list(arg_params) and list(aux) == ["mean"]
    assert arg["fc_weight"].asnumpy().tolist() == [[1, 2], [3, 4]] and arg["fc_bias"].dtype == numpy.float16
    mx.model.save_checkpoint(str(tmp_path / "bare"), 0, None, arg_params, {})
    assert not (tmp_path / "bare-symbol.json").exists()


def test_errors(tmp_path, caplog):
    prefix = str(tmp_path / "net")
    with pytest.raises(mx.MXNetError, match="net-symbol.json.*No such file"):
        mx.model.load_checkpoint(prefix, 1)
    with pytest.raises(mx.MXNetError, match="net-0001.params"):
        mx.model.load_params(prefix, 1)
    mx.nd.save(f"{prefix}-0001.params", {})
    assert mx.model.load_params(prefix, 1) == ({}, {})
    assert caplog.messages == [f"Params file '{prefix}-0001.params' is empty"]
    for key in ("weight", "grad:weight", "arg:"):
        mx.nd.save(f"{prefix}-0002.params", {key: mx.nd.ones((1,))})
        with pytest.raises(ValueError, match=f"Invalid param file .*key '{key}'"):
            mx.model.load_params(prefix, 2)


def test_files_equal_those_of_mxnet(tmp_path):
    folder = recorded.network("symbol_module")
    symbol, arg, aux = mx.model.load_checkpoint(str(folder / "symbol_module"), 7)
    assert symbol.list_auxiliary_states() == list(aux)
    mx.model.save_checkpoint(str(tmp_path / "symbol_module"), 7, symbol, arg, aux)
    for name in ("symbol_module-symbol.json", "symbol_module-0007.params"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def module_of(folder, symbol=None):
    """(module bound to the checkpoint of MXNet, batch)."""
    loaded, arg, aux = mx.model.load_checkpoint(str(folder / "symbol_module"), 7)
    data, label = (mx.nd.array(numpy.load(folder / f"input{i}.npy")) for i in range(2))
    module = mx.mod.Module(loaded if symbol is None else symbol, label_names=["m_softmax_label"])
    module.bind([("data", data.shape)], [("m_softmax_label", label.shape)], inputs_need_grad=True)
    module.set_params(arg, aux)
    return module, mx.io.DataBatch([data], [label])


def test_outputs_of_a_network_of_mxnet():
    folder = recorded.network("symbol_module")
    module, batch = module_of(folder)
    module.forward(batch, is_train=False)
    numpy.testing.assert_allclose(
        module.get_outputs()[0].asnumpy(), numpy.load(folder / "output0.npy"), rtol=1e-4
    )


def test_gradients_of_a_network_of_mxnet():
    folder = recorded.network("symbol_module")
    text = (folder / "symbol_module-symbol.json").read_text()
    module, batch = module_of(folder, mx.sym.load_json(text.replace('"p": "0.4"', '"p": "0.0"')))
    expected = numpy.load(folder / "gradients.npz")
    module.forward_backward(batch)
    numpy.testing.assert_allclose(module.get_outputs()[0].asnumpy(), expected["train_output"], rtol=1e-4)
    executor = module._exec_group.execs[0]
    found = {f"grad:{name}": array for name, array in executor.grad_dict.items() if array is not None}
    found.update((f"after:{name}", array) for name, array in executor.aux_dict.items())
    assert {"train_output", *found} == set(expected)
    for name, array in found.items():
        numpy.testing.assert_allclose(array.asnumpy(), expected[name], rtol=1e-4, atol=1e-6, err_msg=name)
