"""Convolutions and transposed convolutions."""

from ..._semantics import is_np_array
from ...base import numeric_types
from ..hybrid_block import HybridBlock
from .activations import Activation

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]


def spread(value, axes, what):
    """A tuple of one number for each of `axes` axes. AssertionError: another number of numbers."""
    if isinstance(value, numeric_types):
        return (value,) * axes
    assert len(value) == axes, f"{what} must be a number or a list of {axes} ints"
    return tuple(value)


def convolution_text(layer, kwargs, weight, bias):
    """What a convolutional layer looks like; `kwargs` are the arguments of its operator."""
    outer, inner = weight.shape[:2]
    kernel = kwargs["kernel"]
    parts = [f"{inner or None} -> {outer}", f"kernel_size={kernel}", f"stride={kwargs['stride']}"]
    for name, key, usual in (("padding", "pad", 0), ("dilation", "dilate", 1)):
        if kwargs[key] != (usual,) * len(kernel):
            parts.append(f"{name}={kwargs[key]}")
    if kwargs["num_group"] != 1:
        parts.append(f"groups={kwargs['num_group']}")
    if bias is None:
        parts.append("bias=False")
    if layer.act is not None:
        parts.append(repr(layer.act))
    return f"{type(layer).__name__}({', '.join(parts)})"


def _infer_weight_shape(op_name, data_shape, kwargs):
    """The shapes of data, weight and, where there is one, bias of a convolution; 0: not known."""
    layout, filters, groups = kwargs["layout"], kwargs["num_filter"], kwargs["num_group"]
    channels, kernel = max(0, data_shape[layout.find("C")]), tuple(kwargs["kernel"])
    is_transposed = op_name.lower() == "deconvolution"
    outer, inner = (channels, filters // groups) if is_transposed else (filters, channels // groups)
    weight = (outer, inner, *kernel) if layout.find("C") == 1 else (outer, *kernel, inner)
    return [tuple(data_shape), weight, *([] if kwargs["no_bias"] else [(filters,)])]


class _Conv(HybridBlock):
    """A convolution by the operator of a name. Layers of programs derive from it, and call the operator
    `_op_name` with `_kwargs` themselves.

    `kernel_size` has a number for each axis; strides, padding and dilation may be one number for all.
    """

    def __init__(
        self,
        channels,
        kernel_size,
        strides,
        padding,
        dilation,
        groups,
        layout,
        in_channels=0,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        op_name="Convolution",
        adj=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        axes = len(kernel_size)
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name
        self._kwargs = {
            "kernel": kernel_size,
            "stride": spread(strides, axes, "strides"),
            "dilate": spread(dilation, axes, "dilation"),
            "pad": spread(padding, axes, "padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = adj
        data_shape = [in_channels if axis == "C" else 0 for axis in layout]
        weight_shape = _infer_weight_shape(op_name, data_shape, self._kwargs)[1]
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=weight_shape, init=weight_initializer, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def _alias(self):
        return "conv"

    def _operator(self, F):
        """The operator; np arrays may have come into use since the layer was made."""
        name = self._op_name
        if is_np_array():
            return getattr(F.npx, name.lower())
        return getattr(F, name.capitalize() if name in ("convolution", "deconvolution") else name)

    def hybrid_forward(self, F, x, weight, bias=None):
        out = self._operator(F)(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self):
        return convolution_text(self, self._kwargs, self.weight, self.bias)


class _Convolution(_Conv):
    """What the convolutions here share. `_layouts` are a subclass's layouts, its usual one first.

    AssertionError: a layout, or a size for another number of axes, that does not fit the class.
    """

    _layouts: tuple[str, ...] = ()
    _usual_op_name = "Convolution"

    def __init__(
        self,
        channels,
        kernel_size,
        strides=1,
        padding=0,
        dilation=1,
        groups=1,
        layout=None,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels=0,
        prefix=None,
        params=None,
        op_name=None,
        adj=None,
    ):
        layout = self._layouts[0] if layout is None else layout
        supported = " and ".join(f"'{name}'" for name in self._layouts)
        assert layout in self._layouts, f"Only supports {supported} layout for now"
        op_name = self._usual_op_name if op_name is None else op_name
        super().__init__(
            channels,
            spread(kernel_size, len(layout) - 2, "kernel_size"),
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            op_name.lower() if is_np_array() else op_name,
            adj,
            prefix,
            params,
        )


class Conv1D(_Convolution):
    """Cross-correlation along one axis: (N, C, width) to (N, channels, out_width).

    Parameters
    ----------
    channels : channels of the output.
    kernel_size, strides, padding, dilation : a number, or one per axis;
        out = floor((in + 2 padding - dilation (kernel_size - 1) - 1) / strides) + 1.
    groups : input and output channels are split into that many groups, each with kernels of its own.
    layout : order of the axes; 'NCW'.
    activation : name of an activation to apply to the result.
    use_bias : adds a bias of shape (channels,).
    in_channels : channels of the input; 0 takes them from the first input.

    The weight has shape (channels, in_channels / groups, *kernel_size).

    Examples
    --------
    >>> layer = nn.Conv1D(channels=4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 10))).shape
    (2, 4, 10)
    """

    _layouts = ("NCW",)


class Conv2D(_Convolution):
    """Cross-correlation along two axes: (N, C, height, width) to (N, channels, out_height, out_width).

    Parameters as of Conv1D; the layout is 'NCHW', or 'NHWC' with a weight (channels, *kernel_size,
    in_channels / groups).

    Examples
    --------
    >>> layer = nn.Conv2D(channels=4, kernel_size=3, strides=2, padding=1)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8, 8))).shape
    (2, 4, 4, 4)
    >>> layer.weight.shape
    (4, 3, 3, 3)
    """

    _layouts = ("NCHW", "NHWC")


class Conv3D(_Convolution):
    """Cross-correlation along three axes: (N, C, depth, height, width) to (N, channels, ...).

    Parameters as of Conv1D; the layout is 'NCDHW', or 'NDHWC' with a weight (channels, *kernel_size,
    in_channels / groups).

    Examples
    --------
    >>> layer = nn.Conv3D(channels=4, kernel_size=3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8, 8, 8))).shape
    (2, 4, 6, 6, 6)
    """

    _layouts = ("NCDHW", "NDHWC")


class _ConvTranspose(_Convolution):
    """What transposed convolutions share: the gradient of a convolution with respect to its input."""

    _usual_op_name = "Deconvolution"

    def __init__(
        self,
        channels,
        kernel_size,
        strides=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        layout=None,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels=0,
        prefix=None,
        params=None,
        op_name=None,
    ):
        self.outpad = spread(output_padding, len(self._layouts[0]) - 2, "output_padding")
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            in_channels,
            prefix,
            params,
            op_name,
            self.outpad,
        )


class Conv1DTranspose(_ConvTranspose):
    """Transposed convolution along one axis: (N, C, width) to (N, channels, out_width).

    Parameters as of Conv1D, with out = (in - 1) strides - 2 padding + dilation (kernel_size - 1) + 1 +
    output_padding. The weight has shape (in_channels, channels / groups, *kernel_size).

    Examples
    --------
    >>> layer = nn.Conv1DTranspose(channels=4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 10))).shape
    (2, 4, 20)
    """

    _layouts = Conv1D._layouts


class Conv2DTranspose(_ConvTranspose):
    """Transposed convolution along two axes: (N, C, height, width) to (N, channels, ...).

    Parameters as of Conv1DTranspose; the layout is 'NCHW' or 'NHWC'.

    Examples
    --------
    >>> layer = nn.Conv2DTranspose(channels=4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8, 8))).shape
    (2, 4, 16, 16)
    """

    _layouts = Conv2D._layouts


class Conv3DTranspose(_ConvTranspose):
    """Transposed convolution along three axes: (N, C, depth, height, width) to (N, channels, ...).

    Parameters as of Conv1DTranspose; the layout is 'NCDHW' or 'NDHWC'.

    Examples
    --------
    >>> layer = nn.Conv3DTranspose(channels=4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 4, 4, 4))).shape
    (2, 4, 8, 8, 8)
    """

    _layouts = Conv3D._layouts
