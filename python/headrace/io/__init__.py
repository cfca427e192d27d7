"""Data iterators of the Module API: batches with names, shapes and padding."""

from .base import *  # noqa: F403
from .base import __all__ as _base
from .detection_records import *  # noqa: F403
from .detection_records import __all__ as _detection_records
from .files import *  # noqa: F403
from .files import __all__ as _files
from .image_records import *  # noqa: F403
from .image_records import __all__ as _image_records
from .libsvm import *  # noqa: F403
from .libsvm import __all__ as _libsvm
from .ndarray_iter import *  # noqa: F403
from .ndarray_iter import __all__ as _ndarray_iter
from .wrappers import *  # noqa: F403
from .wrappers import __all__ as _wrappers

__all__ = [*_base, *_detection_records, *_files, *_image_records, *_libsvm, *_ndarray_iter, *_wrappers]
