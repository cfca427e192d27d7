"""2,000 JPEG files of 256 x 256 pixels in ten folders, that all frameworks of a run read.

The first framework that can write JPEG files makes them, in a folder for temporary files that goes when its
process ends; one that cannot finds them there.
"""

import atexit
import os
import shutil
import tempfile

import numpy

COUNT, SIDE, CLASSES = 2000, 256, 10
ROOT = os.path.join(tempfile.gettempdir(), f"headrace-benchmark-images-{os.getuid()}")
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pixels_of(number):
    """Waves of three colours with noise: files of some 20 KB, as photographs of that size have."""
    random = numpy.random.default_rng(number)
    y, x = numpy.mgrid[:SIDE, :SIDE] / SIDE
    waves = [numpy.sin(random.uniform(5, 30) * x + random.uniform(5, 30) * y) for _ in range(3)]
    return (
        (127 + 90 * numpy.stack(waves, axis=-1) + random.normal(0, 9, (SIDE, SIDE, 3)))
        .clip(0, 255)
        .astype("uint8")
    )


def folder(encode=None):
    """The folder of folders; `encode(pixels)` gives the bytes of a JPEG file.

    OSError: there is none, and nobody to make it.
    """
    if os.path.isdir(ROOT):
        return ROOT
    if encode is None:
        raise OSError(f"{ROOT} is made by a framework that writes JPEG files")
    made = tempfile.mkdtemp(dir=tempfile.gettempdir())
    for number in range(COUNT):
        path = os.path.join(made, f"class{number % CLASSES}", f"{number}.jpg")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(encode(pixels_of(number)))
    os.rename(made, ROOT)
    atexit.register(shutil.rmtree, ROOT, ignore_errors=True)
    return ROOT
