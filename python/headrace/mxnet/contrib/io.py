"""Gluon's data loaders for Module."""

from ...io import DataDesc, DataIter
from ...ndarray import zeros

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """An iterator over the batches (data, label) of a gluon.data.DataLoader.

    A last batch with fewer rows is filled up with zeros; `getpad()` tells how many.

    Examples
    --------
    >>> from headrace.mxnet.contrib.io import DataLoaderIter
    >>> data = gluon.data.ArrayDataset(nd.ones((5, 3)), nd.zeros((5,)))
    >>> batches = DataLoaderIter(gluon.data.DataLoader(data, batch_size=2))
    >>> [(batch.data[0].shape, batch.pad) for batch in batches]
    [((2, 3), 0), ((2, 3), 0), ((2, 3), 1)]
    """

    def __init__(self, loader, data_name="data", label_name="softmax_label", dtype="float32"):
        data, label = next(iter(loader))
        super().__init__(data.shape[0])
        self._loader, self.dtype = loader, dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self.reset()

    def reset(self):
        self._batches, self._current = iter(self._loader), None

    def iter_next(self):
        self._current = next(self._batches, None)
        return self._current is not None

    def getdata(self):
        return [self._filled_up(self._current[0])]

    def getlabel(self):
        return [self._filled_up(self._current[1])]

    def getpad(self):
        return self.batch_size - self._current[0].shape[0]

    def getindex(self):
        return None

    def _filled_up(self, array):
        if not self.getpad():
            return array.astype(self.dtype)
        whole = zeros((self.batch_size, *array.shape[1:]), dtype=self.dtype, ctx=array.ctx)
        whole[: array.shape[0]] = array.astype(self.dtype)
        return whole
