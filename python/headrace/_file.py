"""Opening files that others named."""

import contextlib
import errno
import os
import secrets
import stat


def path_text(function, path):
    """What names a file, as text. TypeError: it is neither text, bytes nor a path."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise TypeError(
            f"{function}: the file name must be a string or a path (pathlib.Path), got {type(path).__name__}"
        ) from None


def open_file(path, mode="rb", **options):
    """Opens a file for reading, as `open` does.

    OSError: it cannot be read, or is a device, which may never end.
    """
    kind = os.stat(path).st_mode
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise OSError(errno.EINVAL, "This is a device, not a file", os.fspath(path))
    return open(path, mode, **options)


@contextlib.contextmanager
def replaced_file(path):
    """A binary file that takes the place of `path` in one step when the block ends without an error, and is
    gone else: processes and threads may write one file at a time. It has the permissions of the old one, and
    a link stays one. Its folder is there. OSError: it cannot be written, or what the block raises.
    """
    path = os.fsdecode(path)
    target = os.path.realpath(path)
    part = f"{target}.{secrets.token_hex(4)}.part"
    try:
        with open(part, "xb") as file:
            with contextlib.suppress(OSError):  # no old one, or a file system without permissions
                os.chmod(part, stat.S_IMODE(os.stat(target).st_mode))
            yield file
        os.replace(part, target)
    except OSError as error:
        _name(error, path, part)
        raise
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)


def write_file(path, content):
    """Writes bytes, or a text in UTF-8, as all of a file, or leaves the old one whole. OSError: it cannot.

    As in `save` of arrays, what has nothing to keep or would be torn from those who hold it is written in
    place: a file that is empty or has several names, a pipe, a file in a folder that takes no other.
    """
    opened = open(path, "wb") if _is_written_in_place(path) else replaced_file(path)  # noqa: SIM115
    try:
        with opened as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        _name(error, path)
        raise


def _name(error, path, part=None):
    """Lets an OSError tell of `path` where it tells of the file `part`, which nobody knows, or, of a full
    disk, of none.
    """
    if part is not None and error.filename == part:
        error.filename = os.fspath(path)
        del error.filename2
    elif error.filename is None and error.errno is not None:
        error.filename = os.fspath(path)


def _is_written_in_place(path):
    try:
        old = os.stat(path)
    except OSError:
        return False
    is_alone = stat.S_ISREG(old.st_mode) and old.st_nlink == 1 and old.st_size > 0
    return not is_alone or not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)
