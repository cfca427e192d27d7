"""Data sets of image files, in folders or as records."""

import os
import warnings

from .... import image, recordio
from ..dataset import Dataset, RecordFileDataset

__all__ = ["ImageFolderDataset", "ImageRecordDataset"]


class ImageRecordDataset(RecordFileDataset):
    """Images and labels of a RecordIO file with an index: uint8 (height, width, 3), and the header's label.

    `flag`: 1 colours, 0 grey. `transform(image, label)` is applied to each item when given.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "images")
    >>> header, pixels = mx.recordio.IRHeader(0, 7, 0, 0), numpy.zeros((4, 6, 3), dtype="uint8")
    >>> file = mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> file.write_idx(0, mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> file.close()
    >>> image, label = gluon.data.vision.ImageRecordDataset(path + ".rec")[0]
    >>> image.shape, label
    ((4, 6, 3), 7.0)
    """

    def __init__(self, filename, flag=1, transform=None):
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx):
        header, content = recordio.unpack(super().__getitem__(idx))
        pixels = image.imdecode(content, self._flag)
        return (pixels, header.label) if self._transform is None else self._transform(pixels, header.label)


class ImageFolderDataset(Dataset):
    """Images in folders, one for each class: items are uint8 (height, width, 3) and the number of the folder.

    Parameters
    ----------
    root : str
        The folder of the folders. Files that are no .jpg, .jpeg or .png are left out, with a warning.
    flag : int
        1 colours, 0 grey.
    transform : callable, optional
        `transform(image, label)` is applied to each item.

    Attributes
    ----------
    synsets : list of str
        The names of the folders, in the order of their numbers.
    items : list of tuple
        Path and number of each image.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> os.mkdir(os.path.join(folder.name, "cats"))
    >>> header, pixels = mx.recordio.IRHeader(0, 0, 0, 0), numpy.zeros((4, 6, 3), dtype="uint8")
    >>> record = mx.recordio.pack_img(header, pixels, img_fmt=".png")
    >>> with open(os.path.join(folder.name, "cats", "tom.png"), "wb") as file:
    ...     written = file.write(mx.recordio.unpack(record)[1])
    >>> data = gluon.data.vision.ImageFolderDataset(folder.name)
    >>> data.synsets, data[0][0].shape
    (['cats'], (4, 6, 3))
    """

    def __init__(self, root, flag=1, transform=None):
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self._exts = [".jpg", ".jpeg", ".png"]
        self._list_images(self._root)

    def _list_images(self, root):
        folders = [name for name in sorted(os.listdir(root)) if self._is_folder(os.path.join(root, name))]
        self.synsets = folders
        self.items = [
            (path, label)
            for label, folder in enumerate(folders)
            for path in self._images_in(os.path.join(root, folder))
        ]

    @staticmethod
    def _is_folder(path):
        if os.path.isdir(path):
            return True
        warnings.warn(f"Ignoring {path}, which is not a directory.", stacklevel=5)
        return False

    def _images_in(self, folder):
        for path in (os.path.join(folder, name) for name in sorted(os.listdir(folder))):
            if os.path.splitext(path)[1].lower() in self._exts:
                yield path
            else:
                warnings.warn(f"Ignoring {path}: only {', '.join(self._exts)} are read", stacklevel=5)

    def __getitem__(self, idx):
        path, label = self.items[idx]
        pixels = image.imread(path, self._flag)
        return (pixels, label) if self._transform is None else self._transform(pixels, label)

    def __len__(self):
        return len(self.items)
