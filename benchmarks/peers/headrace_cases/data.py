"""Arrays in files; one pass over 60,000 images of a byte per pixel, made into batches of tensors."""

import os
import tempfile

import numpy

from headrace import gluon, np, npx


def fifty_arrays():
    return {f"w{i}": np.ones((1024, 1024)) for i in range(50)}


def save():
    folder, arrays = tempfile.TemporaryDirectory(), fifty_arrays()
    return lambda: npx.save(os.path.join(folder.name, "params"), arrays)


def load():
    folder = tempfile.TemporaryDirectory()
    npx.save(os.path.join(folder.name, "params"), fifty_arrays())

    def run():
        for array in npx.load(os.path.join(folder.name, "params")).values():
            array.wait_to_read()

    return run


def read_images(workers):
    def prepare():
        images = numpy.random.default_rng(0).integers(0, 256, (60000, 28, 28, 1), "uint8")
        dataset = gluon.data.ArrayDataset(np.array(images, dtype="uint8"), numpy.zeros(60000, "int32"))
        tensors = dataset.transform_first(gluon.data.vision.transforms.ToTensor())
        loader = gluon.data.DataLoader(tensors, batch_size=256, num_workers=workers)

        def run():
            for x, _ in loader:
                x.wait_to_read()

        return run

    return prepare


CASES = {
    "save 200 MB": save,
    "load 200 MB": load,
    "DataLoader, 60,000 images with ToTensor, 0 workers": read_images(0),
    "DataLoader, 60,000 images with ToTensor, 2 workers": read_images(2),
}
