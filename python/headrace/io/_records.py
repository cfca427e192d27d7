"""Where records lie in a RecordIO file, and what is in image records."""

import os
import struct
import weakref

import numpy

from .._file import open_file
from ..base import MXNetError
from ..recordio import HEAD, MAGIC, next_part, unpack
from .base import check_part

_FLAG = struct.Struct("<I")  # the first number of an image record: how many labels follow its header
_WINDOW = 1 << 20


class RecordFile:
    """The records of a file by number; several threads and processes may read.

    `places`: offsets and lengths, those of parts and their heads included, int64 of shape (records, 2).
    MXNetError: the file cannot be opened, or is truncated or damaged; it tells at which byte.
    """

    def __init__(self, path, index_path=""):
        self.path = os.fspath(path)
        try:
            self._file = open(self.path, "rb")  # noqa: SIM115
        except OSError as error:
            raise MXNetError(f"'{self.path}' cannot be opened: {error.strerror}") from None
        weakref.finalize(self, self._file.close)
        self.size = os.fstat(self._file.fileno()).st_size
        self.places = self._indexed(index_path) if index_path else self._scanned()

    def __len__(self):
        return len(self.places)

    def _refuse(self, offset, what):
        raise MXNetError(
            f"'{self.path}', record at byte {offset}: {what}; the file is truncated, damaged "
            "or no RecordIO file"
        )

    def _part(self, offset, buf, is_open, at=0):
        """`next_part`, of the record at byte `offset`, or of one of its parts."""
        try:
            return next_part(buf, is_open, at)
        except ValueError as error:
            return self._refuse(offset, error)

    def _scanned(self):
        """Reads the heads of all parts, not what they hold."""
        places, offset, begin, window, window_at = [], 0, 0, b"", 0
        is_open = False
        while offset < self.size:
            if not window_at <= offset <= window_at + len(window) - HEAD.size:
                window_at, window = offset, os.pread(self._file.fileno(), _WINDOW, offset)
            length, is_last = self._part(offset, window, is_open, offset - window_at)
            if not is_open:
                begin = offset
            offset += HEAD.size + length + -length % 4
            if offset > self.size:
                self._refuse(begin, f"it ends at byte {offset}, but the file has {self.size}")
            is_open = not is_last
            if is_last:
                places.append((begin, offset - begin))
        if is_open:
            self._refuse(begin, "its last part is missing")
        return numpy.array(places, numpy.int64).reshape(-1, 2)

    def _indexed(self, path):
        """The places that an index file names, in the order of the file."""
        offsets = []
        try:
            with open_file(path, "r", encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    fields = line.split()
                    if not fields:
                        continue
                    if len(fields) != 2 or not fields[1].isdecimal() or int(fields[1]) >= self.size:
                        raise MXNetError(
                            f"'{path}', line {number}: expected a key and an offset below the {self.size} "
                            f"bytes of '{self.path}', got {line.rstrip()!r}"
                        )
                    offsets.append(int(fields[1]))
        except (OSError, UnicodeDecodeError) as error:
            raise MXNetError(f"the index '{path}' cannot be read: {error}") from None
        begins = numpy.array(sorted(offsets), numpy.int64)
        return numpy.stack([begins, numpy.diff(begins, append=self.size)], axis=1)

    def read(self, row):
        """The bytes of one record."""
        offset, length = (int(one) for one in self.places[row])
        span = os.pread(self._file.fileno(), length, offset)
        parts, at, is_last = [], 0, False
        while not is_last:
            size, is_last = self._part(offset, span, bool(parts), at)
            at += HEAD.size
            if len(span) < at + size:
                self._refuse(offset, "it ends early")
            parts.append(span[at : at + size])
            at += size + -size % 4
        return parts[0] if len(parts) == 1 else MAGIC.join(parts)

    def label_count(self, row):
        """How many labels the header of an image record says that follow it; the image is not read."""
        offset, length = (int(one) for one in self.places[row])
        head = os.pread(self._file.fileno(), HEAD.size + _FLAG.size, offset)
        size, _ = self._part(offset, head, False)
        if size < _FLAG.size or len(head) < HEAD.size + _FLAG.size:  # in the first part of several
            return self.image(row)[0].flag
        count = _FLAG.unpack_from(head, HEAD.size)[0]
        if count * _FLAG.size > length:
            self._refuse(offset, f"its header says {count} labels, but it has only {length} bytes")
        return count

    def image(self, row):
        """(header, bytes of the image file) of one record."""
        try:
            return unpack(self.read(row))
        except ValueError as error:
            return self._refuse(int(self.places[row, 0]), str(error))


def part_of(records, part_index, num_parts, by_records):
    """The numbers of the records of one part: neighbours, by their count or by the bytes where they begin.

    MXNetError: there is no such part.
    """
    check_part(part_index, num_parts)
    if by_records:
        step = -(-len(records) // num_parts)
        return numpy.arange(len(records))[part_index * step : (part_index + 1) * step]
    step = -(-records.size // num_parts)
    step += -step % 4
    begins = records.places[:, 0]
    return numpy.flatnonzero((begins >= part_index * step) & (begins < (part_index + 1) * step))


def read_list(path, label_width):
    """Labels by index of a list file: lines of index, labels, path. MXNetError: it is none.

    `label_width`: how many labels count; None: all, one at least.
    """
    labels, expected = {}, "one label or more" if label_width is None else f"{label_width} labels"
    try:
        with open_file(path, "r", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                fields = line.split()
                if not fields:
                    continue
                given = fields[1:-1] if label_width is None else fields[1 : label_width + 1]
                try:
                    values = [float(one) for one in given]
                    labels[int(float(fields[0]))] = numpy.array(values, numpy.float32)
                except (ValueError, OverflowError):
                    values = ()
                if len(values) != (label_width or max(len(values), 1)):
                    raise MXNetError(
                        f"'{path}', line {number}: expected an index, {expected} and a path "
                        f"with tabs between, got {line.rstrip()!r}"
                    )
    except (OSError, UnicodeDecodeError) as error:
        raise MXNetError(f"the list '{path}' cannot be read: {error}") from None
    return labels
