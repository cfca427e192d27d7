"""RecordIO files, as MXNet writes them: records of bytes one after the other, and images as such records.

A record is a magic number, a word with its length and place, the bytes, and zeros up to a multiple of four.
Where its bytes hold the magic number at a multiple of four they are cut, so that a reader can find the next
record from anywhere.
"""

import collections
import numbers
import os
import struct

import numpy as np

from . import _core
from ._file import open_file
from .base import MXNetError

__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]

# Each part of a record has a head: the magic number, and a word with its place in the record in the upper
# three bits and its length below.
HEAD = struct.Struct("<4sI")
MAGIC = struct.pack("<I", 0xCED7230A)
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
_LENGTH_BITS = 29


class MXRecordIO:
    """Reads (`flag` 'r') or writes ('w', a new file) records one after the other.

    A reader that comes to another process, by a fork or as a pickle, begins at the start there; a writer
    stays where it is. ValueError: another flag. MXNetError: the file cannot be opened.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "some.rec")
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(b"first")
    >>> file.close()
    >>> mx.recordio.MXRecordIO(path, "r").read()
    b'first'
    """

    def __init__(self, uri, flag):
        self.uri = uri
        self.flag = flag
        self.handle = None
        self.is_open = False
        self.open()

    def open(self):
        """Opens the file: a reader at the start, a writer as an empty one."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"{type(self).__name__}: the flag must be 'r' or 'w', got {self.flag!r}")
        self.writable = self.flag == "w"
        try:
            self.handle = open(self.uri, self.flag + "b")  # noqa: SIM115
        except OSError as error:
            raise MXNetError(
                f"{type(self).__name__}: '{self.uri}' cannot be opened: {error.strerror}"
            ) from None
        self.pid = os.getpid()
        self.is_open = True

    def close(self):
        """Closes the file; a writer's records are in it then. May be called again."""
        if self.is_open:
            self.handle.close()
            self.is_open = False
            self.pid = None

    def __del__(self):
        if getattr(self, "is_open", False):
            self.close()

    def __getstate__(self):
        if self.writable:
            raise ValueError(
                f"{type(self).__name__}: a writer cannot be pickled; pickle a reader of the file"
            )
        return self.__dict__ | {"handle": None, "is_open": False, "pid": None, "was_open": self.is_open}

    def __setstate__(self, state):
        was_open = state.pop("was_open")
        self.__dict__.update(state)
        if was_open:
            self.open()

    def _check_pid(self, allow_reset=False):
        if not self.is_open or self.pid == os.getpid():
            return
        if not allow_reset:
            raise RuntimeError(
                "Forbidden operation in multiple processes: the file was opened by another one"
            )
        self.reset()

    def reset(self):
        """Goes back to the start: a reader reads the first record next, a writer begins an empty file."""
        self.close()
        self.open()

    def write(self, buf):
        """Appends a record of bytes. AssertionError: a reader. MXNetError: 2^29 bytes or more."""
        assert self.writable, "write: the file was opened for reading"
        self._check_pid()
        if isinstance(buf, str):
            raise TypeError("write: a record is bytes, got str; encode it")
        buf = bytes(buf)
        if len(buf) >= 1 << _LENGTH_BITS:
            raise MXNetError(f"write: a record has less than 2^{_LENGTH_BITS} bytes, got {len(buf)}")
        parts = _cut(buf)
        for number, part in enumerate(parts):
            place = _MIDDLE
            if len(parts) == 1:
                place = _WHOLE
            elif number in (0, len(parts) - 1):
                place = _LAST if number else _FIRST
            head = HEAD.pack(MAGIC, place << _LENGTH_BITS | len(part))
            self.handle.write(head + part + bytes(-len(part) % 4))

    def read(self):
        """The next record as bytes, or None at the end.

        AssertionError: a writer. MXNetError: the file is damaged, or no RecordIO file.
        """
        assert not self.writable, "read: the file was opened for writing"
        self._check_pid(allow_reset=True)
        parts, is_last = [], False
        while not is_last:
            head = self.handle.read(HEAD.size)
            if not head and not parts:
                return None
            try:
                length, is_last = next_part(head, bool(parts))
            except ValueError as error:
                self._refuse(error)
            part = self.handle.read(length)
            if len(part) < length or len(self.handle.read(-length % 4)) < -length % 4:
                self._refuse("a record ends early")
            parts.append(part)
        return MAGIC.join(parts)

    def _refuse(self, what):
        raise MXNetError(
            f"Invalid RecordIO File '{self.uri}': {what}; it is truncated, damaged or of another kind"
        )


def next_part(buf, is_open, offset=0):
    """(length, whether it is the last of its record) of the part whose head lies in `buf`. `is_open`: parts
    of the record came before. ValueError: what is wrong with the head.
    """
    if len(buf) < offset + HEAD.size:
        raise ValueError("the head is not complete")
    magic, word = HEAD.unpack_from(buf, offset)
    place, length = word >> _LENGTH_BITS, word & ((1 << _LENGTH_BITS) - 1)
    if magic != MAGIC:
        raise ValueError("no record begins here")
    if place not in ((_MIDDLE, _LAST) if is_open else (_WHOLE, _FIRST)):
        raise ValueError("parts of a record do not follow each other")
    return length, place in (_WHOLE, _LAST)


def _cut(buf):
    """The pieces between magic numbers at multiples of four."""
    parts, begin = [], 0
    place = buf.find(MAGIC)
    while place >= 0:
        if place % 4 == 0:
            parts.append(buf[begin:place])
            begin = place + 4
        place = buf.find(MAGIC, place + (1 if place % 4 else 4))
    return [*parts, buf[begin:]]


class MXIndexedRecordIO(MXRecordIO):
    """Reads and writes records by key, with an index file of lines `key<TAB>offset`.

    `keys` has them in the order of the file, `idx` their offsets; `key_type` makes them of texts.
    FileNotFoundError: there is no index file. ValueError: it is none.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "some")
    >>> file = mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> file.write_idx(5, b"five")
    >>> file.close()
    >>> mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "r").read_idx(5)
    b'five'
    """

    def __init__(self, idx_path, uri, flag, key_type=int):
        self.idx_path = idx_path
        self.idx = {}
        self.keys = []
        self.key_type = key_type
        self.fidx = None
        super().__init__(uri, flag)

    def open(self):
        super().open()
        self.idx, self.keys = {}, []
        if self.writable:
            self.fidx = open(self.idx_path, "w")  # noqa: SIM115
            return
        self.fidx = open_file(self.idx_path, "r")
        for number, line in enumerate(self.fidx, 1):
            fields = line.strip().split("\t")
            if len(fields) != 2 or not fields[1].isdecimal():
                self.close()
                raise ValueError(
                    f"MXIndexedRecordIO: '{self.idx_path}', line {number}: expected key<TAB>offset, got "
                    f"{line!r}"
                )
            key = self.key_type(fields[0])
            self.idx[key] = int(fields[1])
            self.keys.append(key)

    def close(self):
        super().close()
        if self.fidx is not None:
            self.fidx.close()

    def __getstate__(self):
        return super().__getstate__() | {"fidx": None}

    def seek(self, idx):
        """The record with this key is read next. KeyError: there is none."""
        assert not self.writable, "seek: the file was opened for writing"
        self._check_pid(allow_reset=True)
        self.handle.seek(self.idx[idx])

    def tell(self):
        """The offset at which the next record is read or written."""
        return self.handle.tell()

    def read_idx(self, idx):
        """The record with this key, as bytes. KeyError: there is none."""
        self.seek(idx)
        return self.read()

    def write_idx(self, idx, buf):
        """Appends a record of bytes under a key."""
        key, place = self.key_type(idx), self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{place}\n")
        self.idx[key] = place
        self.keys.append(key)


IRHeader = collections.namedtuple("HEADER", ["flag", "label", "id", "id2"])  # type: ignore[name-match]
IRHeader.__doc__ = (
    "What stands before an image: how many labels follow (0: `label` is the one), and two numbers."
)
_HEADER = struct.Struct("<IfQQ")


def pack(header, s):
    """A record, bytes, of a header, an IRHeader or a tuple like it, and bytes. The label may be a sequence.

    TypeError: `s` is no bytes. ValueError: a number of the header does not fit into 64 bits without sign.

    Examples
    --------
    >>> header = mx.recordio.IRHeader(flag=0, label=3.0, id=7, id2=0)
    >>> record = mx.recordio.pack(header, b"pixels")
    >>> mx.recordio.unpack(record)
    (HEADER(flag=0, label=3.0, id=7, id2=0), b'pixels')
    """
    header = IRHeader(*header)
    for number in (header.id, header.id2):
        if not 0 <= number < 1 << 64:
            raise ValueError(f"pack: id and id2 of a header are from 0 to 2^64 - 1, got {number}")
    if isinstance(header.label, numbers.Number):
        return _HEADER.pack(0, header.label, header.id, header.id2) + s
    label = np.asarray(header.label, dtype=np.float32)
    return _HEADER.pack(label.size, 0, header.id, header.id2) + label.tobytes() + s


def unpack(s):
    """The header and the bytes of a record of `pack`; several labels are a float32 NumPy array.

    ValueError: the record is too short to be one.

    Examples
    --------
    >>> record = mx.recordio.pack(mx.recordio.IRHeader(0, [1.0, 2.0], 7, 0), b"pixels")
    >>> header, content = mx.recordio.unpack(record)
    >>> header.label.tolist(), content
    ([1.0, 2.0], b'pixels')
    """
    if len(s) < _HEADER.size:
        raise ValueError(f"unpack: a record has a header of {_HEADER.size} bytes, got {len(s)} in all")
    header = IRHeader(*_HEADER.unpack_from(s))
    if not header.flag:
        return header, s[_HEADER.size :]
    end = _HEADER.size + 4 * header.flag
    if len(s) < end:
        raise ValueError(f"unpack: the header says {header.flag} labels, but only {len(s)} bytes are there")
    return header._replace(label=np.frombuffer(s[_HEADER.size : end], np.float32)), s[end:]


def pack_img(header, img, quality=95, img_fmt=".jpg"):
    """A record of an image, a NumPy array in OpenCV's order of channels.

    Parameters
    ----------
    header : IRHeader or tuple
        See `pack`.
    img : array
        (height, width), or (height, width, channels) with 1, 3 (blue, green, red) or 4 channels (and alpha,
        which JPEG leaves away): uint8, for PNG uint16, too. Others are rounded and brought to uint8.
    quality : int
        Of JPEG 0 to 100, of PNG its compression, 0 to 9; numbers outside are brought there.
    img_fmt : str
        '.jpg', '.jpeg' or '.png'. Files of other kinds are made elsewhere, and `pack` makes records of them.

    Raises
    ------
    ValueError
        Another shape or format.

    Examples
    --------
    >>> import numpy
    >>> pixels = numpy.full((8, 8, 3), 200, dtype="uint8")
    >>> record = mx.recordio.pack_img(mx.recordio.IRHeader(0, 3.0, 7, 0), pixels, img_fmt=".png")
    >>> header, decoded = mx.recordio.unpack_img(record)
    >>> header.label, (decoded == pixels).all().item()
    (3.0, True)
    """
    is_png = img_fmt.lower() == ".png"
    if not is_png and img_fmt.lower() not in (".jpg", ".jpeg"):
        raise ValueError(f"pack_img: img_fmt must be .jpg, .jpeg or .png, got {img_fmt!r}; see pack")
    pixels = np.asarray(img)
    if pixels.ndim not in (2, 3):
        raise ValueError(
            f"pack_img: an image (height, width) or (height, width, channels) is needed, got {pixels.shape}"
        )
    if pixels.dtype != np.uint8 and not (is_png and pixels.dtype == np.uint16):
        pixels = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    shape = pixels.shape if pixels.ndim == 3 else (*pixels.shape, 1)
    encode = _core.encode_png if is_png else _core.encode_jpeg
    return pack(header, encode(pixels.tobytes(), *shape, 8 * pixels.itemsize, int(quality)))


def unpack_img(s, iscolor=-1):
    """The header of a record of `pack_img`, and its image: a NumPy array in OpenCV's order of channels.

    `iscolor`: 1: uint8 (height, width, 3); 0: grey, (height, width); -1: as the file stores it, perhaps with
    alpha, with 16 bits, and not turned as a camera asks. MXNetError: the image is no JPEG or PNG file, or
    damaged. ValueError: the record is too short, or `iscolor` another number.

    Examples
    --------
    >>> import numpy
    >>> pixels = numpy.zeros((8, 6, 3), dtype="uint8")
    >>> record = mx.recordio.pack_img((0, 3.0, 7, 0), pixels, img_fmt=".png")
    >>> header, decoded = mx.recordio.unpack_img(record, iscolor=0)
    >>> header.id, decoded.shape
    (7, (8, 6))
    """
    header, file = unpack(s)
    pixels, height, width, channels, bits = _core.decode_image(bytes(file), iscolor)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return header, np.frombuffer(pixels, np.uint16 if bits == 16 else np.uint8).reshape(shape)
