"""What was there before `mx.image`."""

import numpy

from .. import _core
from ..base import MXNetError
from .ndarray import NDArray, array

__all__ = ["imdecode"]


def _check_types(content, **arrays):
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"imdecode: str_img must be the bytes of a file, got {type(content).__name__}")
    for name, one in arrays.items():
        if one is not None and not isinstance(one, NDArray):
            raise TypeError(f"imdecode: {name} must be an NDArray or None, got {type(one).__name__}")


def _clipped(clip_rect, width, height):
    """Left, top, right and bottom of the part that is kept."""
    if len(clip_rect) != 4:
        raise ValueError(f"imdecode: clip_rect must be left, top, right, bottom, got {clip_rect}")
    left, top, right, bottom = (int(one) for one in clip_rect)
    if top == bottom:
        left, top, right, bottom = 0, 0, width, height
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise MXNetError(
            f"imdecode: clip_rect {tuple(clip_rect)} is not within {width} columns and {height} rows"
        )
    return left, top, right, bottom


def imdecode(str_img, clip_rect=(0, 0, 0, 0), out=None, index=0, channels=3, mean=None):
    """The pixels of an image file, with channels first and in OpenCV's order; see `mx.image.imdecode`.

    Parameters
    ----------
    str_img : bytes
        The content of a JPEG or PNG file.
    clip_rect : tuple of int
        Left, top, right and bottom of the part that is kept; all of the image where the height is 0.
    out : NDArray, optional
        Receives the pixels: (channels, height, width), or (n, channels, height, width), of which they become
        the item `index`. Otherwise they are float32, or of the dtype of `mean`.
    channels : int
        How many there are; 1: grey.
    mean : NDArray, optional
        (channels, height, width), subtracted.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind.
    MXNetError
        The file is no such image or has fewer channels, or shapes or dtypes do not fit.

    Examples
    --------
    >>> import numpy
    >>> pixels = numpy.full((4, 6, 3), (10, 20, 30), dtype="uint8")  # blue, green, red
    >>> _, content = mx.recordio.unpack(mx.recordio.pack_img((0, 0, 0, 0), pixels, img_fmt=".png"))
    >>> nd.imdecode(content)[:, 0, 0].asnumpy()
    array([10., 20., 30.], dtype=float32)
    """
    _check_types(str_img, mean=mean, out=out)
    pixels, height, width, stored, bits = _core.decode_image(bytes(str_img), 0 if channels == 1 else -1)
    if not 1 <= channels <= stored or bits != 8:
        raise MXNetError(
            f"imdecode: channels must be from 1 to the {stored} of the file, of 8 bits, got {channels} and "
            f"{bits} bits"
        )
    left, top, right, bottom = _clipped(clip_rect, width, height)
    host = numpy.frombuffer(pixels, numpy.uint8).reshape(height, width, stored)
    host = host[top:bottom, left:right, :channels].transpose(2, 0, 1)
    made = array(host, dtype=mean.dtype if mean is not None else "float32" if out is None else out.dtype)
    target = out if out is None or out.ndim == 3 else out[index]
    for name, other in (("mean", mean), ("out", target)):
        if other is not None and (other.shape != made.shape or other.dtype != made.dtype):
            raise MXNetError(
                f"imdecode: {name} must be {numpy.dtype(made.dtype).name} of shape {made.shape}, got "
                f"{numpy.dtype(other.dtype).name} of shape {other.shape}"
            )
    if mean is not None:
        made -= mean
    if out is None:
        return made
    target[:] = made
    return out
