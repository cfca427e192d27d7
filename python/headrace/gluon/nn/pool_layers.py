"""Pooling layers and padding."""

from ..._semantics import is_np_array
from ...base import numeric_types
from ..hybrid_block import HybridBlock
from .conv_layers import spread

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ReflectionPad2D",
]


_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _window(size, layout, axes):
    """The size of a window along each of `axes` axes. AssertionError: another layout, or number of sizes."""
    valid = " and ".join(_LAYOUTS[axes])
    assert layout in _LAYOUTS[axes], f"Only {valid} layouts are valid for {axes}D Pooling"
    return spread(size, axes, "pool_size")


class _Pooling(HybridBlock):
    """What poolings share; layers of programs derive from it.

    `pool_size` has a number for each axis; strides and padding may be one number for all.
    """

    def __init__(
        self,
        pool_size,
        strides,
        padding,
        ceil_mode,
        global_pool,
        pool_type,
        layout,
        count_include_pad=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        axes = len(pool_size)
        self._kwargs = {
            "kernel": pool_size,
            "stride": pool_size if strides is None else spread(strides, axes, "strides"),
            "pad": spread(padding, axes, "padding"),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self):
        return "pool"

    def hybrid_forward(self, F, x):
        pooling = F.npx.pooling if is_np_array() else F.Pooling
        return pooling(x, name="fwd", **self._kwargs)

    def __repr__(self):
        return (
            "{}(size={kernel}, stride={stride}, padding={pad}, ceil_mode={}, global_pool={global_pool}, "
            "pool_type={pool_type}, layout={layout})"
        ).format(type(self).__name__, self._kwargs["pooling_convention"] == "full", **self._kwargs)


class MaxPool1D(_Pooling):
    """Maxima of windows along one axis: (N, C, width) to (N, C, out_width).

    Parameters
    ----------
    pool_size, strides, padding : a number, or one per axis; strides None means pool_size.
    layout : order of the axes; 'NCW' or 'NWC'.
    ceil_mode : out = ceil((in + 2 padding - pool_size) / strides) + 1 instead of floor.

    Examples
    --------
    >>> nn.MaxPool1D(2)(nd.array([[[1, 3, 2, 5]]]))
    [[[3. 5.]]]
    <NDArray 1x1x2 @cpu(0)>
    """

    def __init__(self, pool_size=2, strides=None, padding=0, layout="NCW", ceil_mode=False, **kwargs):
        window = _window(pool_size, layout, 1)
        super().__init__(window, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """Maxima of windows along two axes: (N, C, height, width) to (N, C, out_height, out_width).

    Parameters as of MaxPool1D; the layout is 'NCHW' or 'NHWC'.

    Examples
    --------
    >>> nn.MaxPool2D(2)(nd.arange(16).reshape((1, 1, 4, 4)))
    [[[[ 5.  7.]
       [13. 15.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def __init__(self, pool_size=(2, 2), strides=None, padding=0, layout="NCHW", ceil_mode=False, **kwargs):
        window = _window(pool_size, layout, 2)
        super().__init__(window, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """Maxima of windows along three axes: (N, C, depth, height, width) to (N, C, out_depth, ...).

    Parameters as of MaxPool1D; the layout is 'NCDHW' or 'NDHWC'.

    Examples
    --------
    >>> nn.MaxPool3D(2)(nd.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    def __init__(
        self, pool_size=(2, 2, 2), strides=None, padding=0, ceil_mode=False, layout="NCDHW", **kwargs
    ):
        window = _window(pool_size, layout, 3)
        super().__init__(window, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """Means of windows along one axis: (N, C, width) to (N, C, out_width).

    Parameters
    ----------
    pool_size, strides, padding : a number, or one per axis; strides None means pool_size.
    layout : order of the axes; 'NCW' or 'NWC'.
    ceil_mode : out = ceil((in + 2 padding - pool_size) / strides) + 1 instead of floor.
    count_include_pad : padding counts as zeros instead of not at all.

    Examples
    --------
    >>> nn.AvgPool1D(2)(nd.array([[[1, 3, 2, 6]]]))
    [[[2. 4.]]]
    <NDArray 1x1x2 @cpu(0)>
    """

    def __init__(
        self,
        pool_size=2,
        strides=None,
        padding=0,
        layout="NCW",
        ceil_mode=False,
        count_include_pad=True,
        **kwargs,
    ):
        window = _window(pool_size, layout, 1)
        super().__init__(
            window, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs
        )


class AvgPool2D(_Pooling):
    """Means of windows along two axes: (N, C, height, width) to (N, C, out_height, out_width).

    Parameters as of AvgPool1D; the layout is 'NCHW' or 'NHWC'.

    Examples
    --------
    >>> nn.AvgPool2D(2)(nd.arange(16).reshape((1, 1, 4, 4)))
    [[[[ 2.5  4.5]
       [10.5 12.5]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def __init__(
        self,
        pool_size=(2, 2),
        strides=None,
        padding=0,
        ceil_mode=False,
        layout="NCHW",
        count_include_pad=True,
        **kwargs,
    ):
        window = _window(pool_size, layout, 2)
        super().__init__(
            window, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs
        )


class AvgPool3D(_Pooling):
    """Means of windows along three axes: (N, C, depth, height, width) to (N, C, out_depth, ...).

    Parameters as of AvgPool1D; the layout is 'NCDHW' or 'NDHWC'.

    Examples
    --------
    >>> nn.AvgPool3D(2)(nd.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    def __init__(
        self,
        pool_size=(2, 2, 2),
        strides=None,
        padding=0,
        ceil_mode=False,
        layout="NCDHW",
        count_include_pad=True,
        **kwargs,
    ):
        window = _window(pool_size, layout, 3)
        super().__init__(
            window, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs
        )


class GlobalMaxPool1D(_Pooling):
    """The maximum of every channel: (N, C, width) to (N, C, 1).

    Examples
    --------
    >>> nn.GlobalMaxPool1D()(nd.array([[[1, 3, 2, 5]]]))
    [[[5.]]]
    <NDArray 1x1x1 @cpu(0)>
    """

    def __init__(self, layout="NCW", **kwargs):
        super().__init__(_window(1, layout, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """The maximum of every channel: (N, C, height, width) to (N, C, 1, 1).

    Examples
    --------
    >>> nn.GlobalMaxPool2D()(nd.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    def __init__(self, layout="NCHW", **kwargs):
        super().__init__(_window(1, layout, 2), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """The maximum of every channel: (N, C, depth, height, width) to (N, C, 1, 1, 1).

    Examples
    --------
    >>> nn.GlobalMaxPool3D()(nd.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    def __init__(self, layout="NCDHW", **kwargs):
        super().__init__(_window(1, layout, 3), None, 0, True, True, "max", layout, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """The mean of every channel: (N, C, width) to (N, C, 1).

    Examples
    --------
    >>> nn.GlobalAvgPool1D()(nd.array([[[1, 3, 2, 6]]]))
    [[[3.]]]
    <NDArray 1x1x1 @cpu(0)>
    """

    def __init__(self, layout="NCW", **kwargs):
        super().__init__(_window(1, layout, 1), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """The mean of every channel: (N, C, height, width) to (N, C, 1, 1).

    Examples
    --------
    >>> nn.GlobalAvgPool2D()(nd.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    def __init__(self, layout="NCHW", **kwargs):
        super().__init__(_window(1, layout, 2), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """The mean of every channel: (N, C, depth, height, width) to (N, C, 1, 1, 1).

    Examples
    --------
    >>> nn.GlobalAvgPool3D()(nd.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    def __init__(self, layout="NCDHW", **kwargs):
        super().__init__(_window(1, layout, 3), None, 0, True, True, "avg", layout, **kwargs)


class ReflectionPad2D(HybridBlock):
    """Mirrors (N, C, height, width) at its borders without repeating them.

    `padding`: the number of elements on each side, or eight numbers: before and after every axis, the first
    four 0.

    Examples
    --------
    >>> nn.ReflectionPad2D(1)(nd.array([[[[1, 2], [3, 4]]]]))
    [[[[4. 3. 4. 3.]
       [2. 1. 2. 1.]
       [4. 3. 4. 3.]
       [2. 1. 2. 1.]]]]
    <NDArray 1x1x4x4 @cpu(0)>
    """

    def __init__(self, padding=0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        if isinstance(padding, numeric_types):
            padding = (0, 0, 0, 0) + (padding,) * 4
        assert len(padding) == 8, f"padding must be a number or eight numbers, got {padding}"
        self._padding = tuple(padding)

    def hybrid_forward(self, F, x):
        if is_np_array():
            return F.np.pad(x, tuple(zip(self._padding[::2], self._padding[1::2])), mode="reflect")
        return F.pad(x, mode="reflect", pad_width=self._padding)
