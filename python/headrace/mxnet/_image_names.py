"""What MXNet's `image` and `recordio` show of other modules: `cv2` is None where OpenCV is not installed."""

from .. import io, recordio
from .. import ndarray as nd
from ..util import is_np_array

try:
    import cv2
except ImportError:
    cv2 = None

__all__ = ["cv2", "io", "is_np_array", "nd", "recordio"]
