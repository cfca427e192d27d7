"""Image files become arrays."""

import numpy

from .. import _arrays as arrays
from .. import _core
from .._file import open_file
from ..base import ArrayFileNotFoundError
from ..ndarray import NDArray

_decode = _core.function("_cvimdecode", False)


def imdecode(buf, flag=1, to_rgb=True, out=None):
    """The pixels of a JPEG or PNG file: uint8, (height, width, 3), or (height, width, 1) with `flag=0`.

    The header is read at once, the pixels when a thread has time.

    Parameters
    ----------
    buf : bytes, bytearray, NumPy array or NDArray of uint8
        The content of the file.
    flag : int
        1: colours; 0: grey.
    to_rgb : bool or int
        Channels are red, green, blue; otherwise blue, green, red, as OpenCV has them.
    out : NDArray, optional
        Receives the pixels.

    Raises
    ------
    ValueError
        `buf` is of another type, or `flag` another number.
    MXNetError
        The file is no JPEG or PNG. Where its pixels are damaged: when they are read.

    Examples
    --------
    >>> import numpy
    >>> pixels = numpy.full((4, 6, 3), (10, 20, 30), dtype="uint8")  # blue, green, red
    >>> _, content = mx.recordio.unpack(mx.recordio.pack_img((0, 0, 0, 0), pixels, img_fmt=".png"))
    >>> image = mx.image.imdecode(content)
    >>> image.shape, image[0, 0].asnumpy()
    ((4, 6, 3), array([30, 20, 10], dtype=uint8))
    """
    if not isinstance(buf, NDArray):
        if not isinstance(buf, (bytes, bytearray, memoryview, numpy.ndarray)):
            raise ValueError(
                "buf must be of type bytes, bytearray or numpy.ndarray, if you would like to input type str, "
                f"please convert to bytes; got {type(buf).__name__}"
            )
        buf = arrays.array(numpy.frombuffer(buf, dtype=numpy.uint8), dtype="uint8")
    target = None if out is None else out.as_nd_ndarray()
    decoded = _decode(buf.as_nd_ndarray(), flag=int(flag), to_rgb=bool(to_rgb), out=target)
    return arrays.in_mode(decoded) if out is None else out


def imread(filename, flag=1, to_rgb=True, out=None):
    """The pixels of a file, as `imdecode` gives them. OSError: it cannot be read.

    Examples
    --------
    >>> import numpy, os, tempfile
    >>> record = mx.recordio.pack_img((0, 0, 0, 0), numpy.zeros((4, 6, 3), dtype="uint8"), img_fmt=".png")
    >>> header, content = mx.recordio.unpack(record)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "image.png")
    ...     with open(path, "wb") as file:
    ...         size = file.write(content)
    ...     print(mx.image.imread(path).shape)
    (4, 6, 3)
    """
    try:
        with open_file(filename) as file:
            content = file.read()
    except FileNotFoundError as error:
        raise ArrayFileNotFoundError(f"imread: {error}") from None
    return imdecode(content, flag, to_rgb, out)
