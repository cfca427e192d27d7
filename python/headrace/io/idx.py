"""Reader of idx files, the format of MNIST, plain or compressed with gzip.

A header states everything: magic (two zero bytes, a type, the number of axes), one big-endian 32-bit size per
axis, then the values. Nothing is allocated that the file does not back: sizes are checked against the file
first, and compressed data are taken in pieces, no further than the header says.
"""

import gzip
import math
import os
import zlib

import numpy

from .._file import open_file

_UINT8 = 0x08
_MAX_BYTES = 2 << 30
_PIECE = 1 << 20
_MAX_DEFLATE_RATIO = 1040  # deflate cannot compress further than 1032:1


def read_idx(path, axes):
    """The uint8 array with `axes` axes in the idx file `path`.

    ValueError: not such a file, or its size disagrees with its header. OSError: it cannot be read.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not compressed:
            return _read(file, path, axes, size)
        try:
            with gzip.GzipFile(fileobj=file) as plain:
                return _read(plain, path, axes, size * _MAX_DEFLATE_RATIO)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path}: damaged gzip data ({error})") from None


def _read(file, path, axes, max_file_bytes):
    header = file.read(4 + 4 * axes)
    expected = bytes([0, 0, _UINT8, axes])
    if header[:4] != expected:
        wanted, found = int.from_bytes(expected, "big"), int.from_bytes(header[:4], "big")
        raise ValueError(
            f"{path}: not an idx file of {axes}-dimensional uint8 data: expected magic {wanted}, got {found}"
        )
    if len(header) < 4 + 4 * axes:
        raise ValueError(f"{path}: idx header cut short: expected {4 + 4 * axes} bytes, got {len(header)}")
    shape = tuple(int.from_bytes(header[i : i + 4], "big") for i in range(4, len(header), 4))
    wanted = math.prod(shape)
    if wanted > _MAX_BYTES or wanted + len(header) > max_file_bytes:
        raise ValueError(f"{path}: idx header states shape {shape}, more data than the file can hold")
    data = _read_exactly(file, path, wanted)
    if file.read(1):
        raise ValueError(f"{path}: more data than the shape {shape} in the idx header")
    return numpy.frombuffer(data, numpy.uint8).reshape(shape)


def _read_exactly(file, path, wanted):
    data = bytearray()
    while len(data) < wanted:
        piece = file.read(min(_PIECE, wanted - len(data)))
        if not piece:
            raise ValueError(f"{path}: idx data cut short: expected {wanted} bytes, got {len(data)}")
        data += piece
    return data
