"""Convolutions whose windows are moved, element by element, by offsets that another convolution computes."""

from ...hybrid_block import HybridBlock
from ...nn.activations import Activation
from ...nn.conv_layers import convolution_text, spread

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class _Deformable(HybridBlock):
    """What deformable convolutions share; `_numbers` are computed for each element of a window and group.

    AssertionError: a layout that is neither 'NCHW' nor 'NHWC', or sizes for another number of axes.
    """

    _numbers = 2
    _offsets_first = True  # in the order of parameters, as in MXNet

    def __init__(
        self,
        channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        dilation=(1, 1),
        groups=1,
        num_deformable_group=1,
        layout="NCHW",
        use_bias=True,
        in_channels=0,
        activation=None,
        weight_initializer=None,
        bias_initializer="zeros",
        offset_weight_initializer="zeros",
        offset_bias_initializer="zeros",
        offset_use_bias=True,
        op_name=None,
        adj=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        assert layout in ("NCHW", "NHWC"), "Only supports 'NCHW' and 'NHWC' layout for now"
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name or type(self).__name__
        kernel = spread(kernel_size, 2, "kernel_size")
        self._places = num_deformable_group * kernel[0] * kernel[1]
        shared = {
            "kernel": kernel,
            "stride": spread(strides, 2, "strides"),
            "dilate": spread(dilation, 2, "dilation"),
            "pad": spread(padding, 2, "padding"),
            "num_group": groups,
            "layout": layout,
            **({"adj": adj} if adj else {}),
        }
        numbers = self._numbers * self._places
        self._kwargs_offset = {**shared, "num_filter": numbers, "no_bias": not offset_use_bias}
        self._kwargs_deformable_conv = {
            **shared,
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        with self.name_scope():
            parts = [
                (self._add_offset_weights, offset_weight_initializer, offset_bias_initializer),
                (self._add_weights, weight_initializer, bias_initializer),
            ]
            for add, init, bias_init in parts if self._offsets_first else reversed(parts):
                add(init, bias_init)
            self.act = Activation(activation, prefix=activation + "_") if activation else None

    def _add_weights(self, init, bias_init):
        """Parameters of the convolution."""
        kwargs = self._kwargs_deformable_conv
        shape = (self._channels, self._in_channels // kwargs["num_group"], *kwargs["kernel"])
        self.deformable_conv_weight = self._parameter("deformable_conv_weight", shape, init)
        self.deformable_conv_bias = None
        if not kwargs["no_bias"]:
            self.deformable_conv_bias = self._parameter("deformable_conv_bias", (self._channels,), bias_init)

    def _add_offset_weights(self, init, bias_init):
        """Parameters of the convolution that computes the offsets, likewise."""
        kwargs = self._kwargs_offset
        outer, inner = kwargs["num_filter"], self._in_channels // kwargs["num_group"]
        kernel = kwargs["kernel"]
        shape = (outer, inner, *kernel) if kwargs["layout"] == "NCHW" else (outer, *kernel, inner)
        self.offset_weight = self._parameter("offset_weight", shape, init)
        self.offset_bias = None
        if not kwargs["no_bias"]:
            self.offset_bias = self._parameter("offset_bias", (outer,), bias_init)

    def _parameter(self, name, shape, init):
        return self.params.get(name, shape=shape, init=init, allow_deferred_init=True)

    def _convolved(self, F, x, offset, weight, bias):
        raise NotImplementedError

    def hybrid_forward(
        self, F, x, offset_weight, deformable_conv_weight, offset_bias=None, deformable_conv_bias=None
    ):
        offset = F.Convolution(x, offset_weight, offset_bias, cudnn_off=True, **self._kwargs_offset)
        out = self._convolved(F, x, offset, deformable_conv_weight, deformable_conv_bias)
        return out if self.act is None else self.act(out)


class DeformableConvolution(_Deformable):
    """Convolution of images (N, C, height, width) whose windows read each element at an offset of its own.

    Parameters
    ----------
    channels : channels of the output.
    kernel_size, strides, padding, dilation : a number, or (height, width), as of nn.Conv2D.
    groups : input and output channels are split into that many groups, each with kernels of its own.
    num_deformable_group : groups of input channels with offsets of their own.
    layout : order of the axes, 'NCHW'; the operator refuses 'NHWC'.
    use_bias, offset_use_bias : whether the convolution, and that which computes the offsets, add a bias.
    in_channels : channels of the input; 0 takes them from the first input.
    activation : name of an activation to apply to the result.
    op_name, adj : as in MXNet, of no use.

    The result has shape (N, channels, out_height, out_width), as of nn.Conv2D. The offsets start from zero,
    which makes it that.

    Examples
    --------
    >>> layer = gluon.contrib.cnn.DeformableConvolution(4, kernel_size=(3, 3), padding=(1, 1))
    >>> layer.initialize()
    >>> layer(nd.ones((1, 3, 8, 8))).shape
    (1, 4, 8, 8)
    """

    def _alias(self):
        return "deformable_conv"

    def _convolved(self, F, x, offset, weight, bias):
        return F.contrib.DeformableConvolution(
            x, offset, weight, bias, name="fwd", **self._kwargs_deformable_conv
        )

    def __repr__(self):
        weight, bias = self.deformable_conv_weight, self.deformable_conv_bias
        return convolution_text(self, self._kwargs_deformable_conv, weight, bias)


class ModulatedDeformableConvolution(_Deformable):
    """DeformableConvolution that also weighs what each element of a window sees, by a factor from 0 to 2 that
    is computed with the offsets and starts from 1. Parameters as there.

    Examples
    --------
    >>> layer = gluon.contrib.cnn.ModulatedDeformableConvolution(4, kernel_size=(3, 3), padding=(1, 1))
    >>> layer.initialize()
    >>> layer(nd.ones((1, 3, 8, 8))).shape
    (1, 4, 8, 8)
    """

    _numbers = 3
    _offsets_first = False

    def _alias(self):
        return "modulated_deformable_conv"

    def _convolved(self, F, x, offset, weight, bias):
        split = 2 * self._places
        moved = F.slice_axis(offset, axis=1, begin=0, end=split)
        mask = F.sigmoid(F.slice_axis(offset, axis=1, begin=split, end=None)) * 2
        return F.contrib.ModulatedDeformableConvolution(
            x, moved, mask, weight, bias, name="fwd", **self._kwargs_deformable_conv
        )
