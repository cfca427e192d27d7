"""Where Headrace has what MXNet 1.9.1 has in another module. Keys and values are names of our modules."""

# A name that the first module does not have is that of the second, or of the first of several that has it.
NAMES = {
    "headrace.base": "headrace.mxnet._c_names",
    "headrace.gluon.block": "headrace.mxnet._block_names",
    "headrace.gluon.nn.basic_layers": "headrace.gluon.nn",
    "headrace.gluon.nn.conv_layers": "headrace.gluon.nn",
    "headrace.gluon.contrib.estimator.estimator": "headrace.gluon.contrib.estimator",
    "headrace.gluon.contrib.rnn.rnn_cell": "headrace.gluon.rnn",
    "headrace.gluon.model_zoo.vision.densenet": "headrace.mxnet._zoo_names",
    "headrace.gluon.model_zoo.vision.resnet": "headrace.mxnet._zoo_names",
    "headrace.gluon.model_zoo.vision.vgg": "headrace.mxnet._zoo_names",
    "headrace.gluon.parameter": "headrace.gluon.utils",
    "headrace.gluon.rnn.rnn_cell": "headrace.gluon",
    "headrace.gluon.rnn.rnn_layer": "headrace.gluon",
    "headrace.gluon.data.dataloader": "headrace.mxnet._queues",
    "headrace.gluon.data.vision.datasets": "headrace",
    "headrace.gluon.data.vision.transforms": ("headrace.gluon.nn", "headrace.gluon"),
    "headrace.image": "headrace.mxnet._image_names",
    "headrace.image.detection": "headrace.image",
    "headrace.io": "headrace.mxnet._io_utils",
    "headrace.kvstore": "headrace.kvstore.server",
    "headrace.ndarray": "headrace.mxnet._cached_op",
    "headrace.module.base_module": "headrace.mxnet._module_names",
    "headrace.module.executor_group": "headrace.mxnet._executor_group",
    "headrace.ndarray.ndarray": ("headrace.mxnet._c_names", "headrace.ndarray"),
    "headrace.numpy.multiarray": "headrace.numpy",
    "headrace.numpy_extension": "headrace.mxnet._util_names",
    "headrace.numpy_extension.image": "headrace.image",
    "headrace.operator": ("headrace.mxnet._c_names", "headrace.base", "headrace.ndarray"),
    "headrace.recordio": "headrace.mxnet._image_names",
    "headrace.symbol.symbol": "headrace.symbol",
    "headrace.util": "headrace.mxnet._util_names",
}

# What `from module import *` brings beside its `__all__`, for programs that call MXNet's C interface.
STARS = {"headrace.operator": ("NDArray", "NDArrayHandle", "ctypes", "py_str")}

# Modules.
MODULES = {
    "headrace.gluon.contrib.data.text": "headrace.mxnet._text_datasets",
    "headrace.io.utils": "headrace.mxnet._io_utils",
    "headrace.kvstore.kvstore_server": "headrace.kvstore.server",
    "headrace.image.image": "headrace.image",
    "headrace.ndarray.numpy": "headrace.numpy",
    "headrace.ndarray.numpy_extension": "headrace.numpy_extension",
    "headrace.numpy.fallback": "headrace.mxnet._np_fallback",
    "headrace.numpy.fallback_linalg": "headrace.mxnet._np_fallback_linalg",
    "headrace.symbol.numpy._symbol": "headrace.symbol.numpy",
}

# Where classes say that they are from, for programs that print them (`print(type(x))`) or write their names
# to files: what MXNet's say.
SHOWN = {
    "headrace.context": {"Context": "mxnet.context"},
    "headrace.gluon.parameter": {"Parameter": "mxnet.gluon.parameter"},
    "headrace.ndarray.ndarray": {"NDArray": "mxnet.ndarray.ndarray"},
    "headrace.numpy.multiarray": {"ndarray": "mxnet.numpy"},
}
