"""Where Headrace has what MXNet 1.9.1 has in another module. Keys and values are names of our modules."""

# A name that the first module does not have is that of the second.
NAMES = {
    "headrace.base": "headrace.mxnet._c_names",
    "headrace.gluon.block": "headrace.gluon",
    "headrace.gluon.nn.basic_layers": "headrace.gluon.nn",
    "headrace.gluon.nn.conv_layers": "headrace.gluon.nn",
    "headrace.ndarray.ndarray": "headrace.mxnet._c_names",
    "headrace.util": "headrace.mxnet._util_names",
}

# Modules.
MODULES = {
    "headrace.image.image": "headrace.image",
    "headrace.ndarray.numpy": "headrace.numpy",
    "headrace.ndarray.numpy_extension": "headrace.numpy_extension",
    "headrace.symbol.numpy._symbol": "headrace.symbol.numpy",
}
