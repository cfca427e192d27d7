"""Arrays in files; one pass over 60,000 images of a byte per pixel, or 2,000 JPEG files, in batches."""

import io
import os
import tempfile

import image_files
import numpy
import torch


def fifty_arrays():
    return {f"w{i}": torch.ones(1024, 1024) for i in range(50)}


def save():
    folder, arrays = tempfile.TemporaryDirectory(), fifty_arrays()
    return lambda: torch.save(arrays, os.path.join(folder.name, "params"))


def load():
    folder = tempfile.TemporaryDirectory()
    torch.save(fifty_arrays(), os.path.join(folder.name, "params"))
    return lambda: torch.load(os.path.join(folder.name, "params"))


class Tensors(torch.utils.data.Dataset):
    """Items go through what torchvision's ToTensor does with an array of bytes."""

    def __init__(self, images, labels):
        self._images, self._labels = images, labels

    def __len__(self):
        return len(self._labels)

    def __getitem__(self, number):
        image = torch.from_numpy(self._images[number].transpose((2, 0, 1))).contiguous()
        return image.to(dtype=torch.get_default_dtype()).div(255), self._labels[number]


def read_images(workers):
    def prepare():
        images = numpy.random.default_rng(0).integers(0, 256, (60000, 28, 28, 1), "uint8")
        loader = torch.utils.data.DataLoader(
            Tensors(images, numpy.zeros(60000, "int32")),
            batch_size=256,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

        def run():
            for _ in loader:
                pass

        return run

    return prepare


def encode(pixels):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "jpeg", quality=90)
    return file.getvalue()


def read_files(workers):
    def prepare():
        from torchvision import datasets, transforms

        steps = [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(image_files.MEAN, image_files.DEVIATION),
        ]
        loader = torch.utils.data.DataLoader(
            datasets.ImageFolder(image_files.folder(encode), transforms.Compose(steps)),
            batch_size=100,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

        def run():
            for _ in loader:
                pass

        return run

    return prepare


CASES = {
    "save 200 MB": save,
    "load 200 MB": load,
    "DataLoader, 60,000 images with ToTensor, 0 workers": read_images(0),
    "DataLoader, 60,000 images with ToTensor, 2 workers": read_images(2),
    "DataLoader, 2,000 JPEG files cut and mirrored, 0 workers": read_files(0),
    "DataLoader, 2,000 JPEG files cut and mirrored, 2 workers": read_files(2),
    "ImageRecordIter, 2,000 JPEG files cut and mirrored": read_files(2),
}
