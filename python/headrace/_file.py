"""Opening files that others named."""

import errno
import os
import stat


def open_file(path, mode="rb", **options):
    """Opens a file for reading, as `open` does.

    OSError: it cannot be read, or is a device, which may never end.
    """
    kind = os.stat(path).st_mode
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise OSError(errno.EINVAL, "This is a device, not a file", os.fspath(path))
    return open(path, mode, **options)
