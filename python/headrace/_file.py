"""Opening files that others named."""

import contextlib
import errno
import os
import secrets
import stat


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
    gone else: processes and threads may write one file at a time. Its folder is there. OSError: it cannot be
    written, or what the block raises.
    """
    path = os.fsdecode(path)
    part = f"{path}.{secrets.token_hex(4)}.part"
    try:
        with open(part, "xb") as file:
            yield file
        os.replace(part, path)
    except OSError as error:
        if error.filename == part:  # which nobody knows
            error.filename = path
            del error.filename2
        raise
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)
