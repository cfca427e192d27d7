"""Arrays in files; one pass over 60,000 images of a byte per pixel, or 2,000 JPEG files, in batches."""

import os
import tempfile

import image_files
import numpy

from headrace import gluon, io, np, npx, recordio


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


def encode(pixels):
    return recordio.unpack(recordio.pack_img((0, 0, 0, 0), pixels[..., ::-1], quality=90))[1]


def image_folder():
    can_encode = not hasattr(recordio, "cv2") or recordio.cv2 is not None  # MXNet needs that module
    return image_files.folder(encode if can_encode else None)


def read_files(workers):
    def prepare():
        transforms = gluon.data.vision.transforms
        steps = [
            transforms.RandomResizedCrop(224),
            transforms.RandomFlipLeftRight(),
            transforms.ToTensor(),
            transforms.Normalize(image_files.MEAN, image_files.DEVIATION),
        ]
        dataset = gluon.data.vision.ImageFolderDataset(image_folder())
        dataset = dataset.transform_first(transforms.Compose(steps))
        loader = gluon.data.DataLoader(dataset, batch_size=100, shuffle=True, num_workers=workers)

        def run():
            for x, _ in loader:
                x.wait_to_read()

        return run

    return prepare


def read_records():
    folder, root = tempfile.TemporaryDirectory(), image_folder()
    path = os.path.join(folder.name, "images.rec")
    records = recordio.MXRecordIO(path, "w")
    for number in range(image_files.COUNT):
        label = number % image_files.CLASSES
        with open(os.path.join(root, f"class{label}", f"{number}.jpg"), "rb") as file:
            records.write(recordio.pack((0, label, number, 0), file.read()))
    records.close()
    channels = list(zip("rgb", image_files.MEAN, image_files.DEVIATION))
    images = io.ImageRecordIter(
        path_imgrec=path,
        data_shape=(3, 224, 224),
        batch_size=100,
        shuffle=True,
        preprocess_threads=2,
        verbose=False,
        random_resized_crop=True,
        min_random_area=0.08,
        min_aspect_ratio=3 / 4,
        max_aspect_ratio=4 / 3,
        rand_mirror=True,
        **{f"mean_{channel}": 255 * mean for channel, mean, _ in channels},
        **{f"std_{channel}": 255 * deviation for channel, _, deviation in channels},
    )

    def run(folder=folder):  # which holds the file as long
        images.reset()
        for batch in images:
            batch.data[0].wait_to_read()

    return run


CASES = {
    "save 200 MB": save,
    "load 200 MB": load,
    "DataLoader, 60,000 images with ToTensor, 0 workers": read_images(0),
    "DataLoader, 60,000 images with ToTensor, 2 workers": read_images(2),
    "DataLoader, 2,000 JPEG files cut and mirrored, 0 workers": read_files(0),
    "DataLoader, 2,000 JPEG files cut and mirrored, 2 workers": read_files(2),
    "ImageRecordIter, 2,000 JPEG files cut and mirrored": read_records,
}
