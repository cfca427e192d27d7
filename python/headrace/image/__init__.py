"""Images: reading, resizing and cropping them, augmenters, and iterators over files and records of images.

For detection there are augmenters that change boxes with images, and an iterator over both, `ImageDetIter`.
"""

from .files import imdecode, imread
from .geometry import (
    _get_interp_method,  # noqa: F401 (gluoncv takes it from here)
    center_crop,
    copyMakeBorder,
    fixed_crop,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
    scale_down,
)
from .augmenters import (
    Augmenter,
    BrightnessJitterAug,
    CastAug,
    CenterCropAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    CreateAugmenter,
    ForceResizeAug,
    HorizontalFlipAug,
    HueJitterAug,
    LightingAug,
    RandomCropAug,
    RandomGrayAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SaturationJitterAug,
    SequentialAug,
    color_normalize,
)
from .iterator import ImageIter
from . import detection
from . import detection as det
from .detection import (
    CreateDetAugmenter,
    CreateMultiRandCropAugmenter,
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
    ImageDetIter,
)
from .rotation import imrotate, random_rotate
