"""What programs get of data in memory is theirs: changing it in place changes nothing else."""

import numpy
import pytest

from headrace import gluon, image, io, nd


@pytest.mark.parametrize("last_batch", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_of_ndarrayiter(last_batch, shuffle):
    source, labels = nd.ones((5, 3)), nd.ones((5,))
    batches = io.NDArrayIter(source, labels, 2, shuffle, last_batch)
    for batch in batches:
        batch.data[0][:] = 0
        batch.label[0][:] = 0
    assert source.asnumpy().all() and labels.asnumpy().all()


def test_batches_along_another_axis():
    values = numpy.arange(16.0).reshape(4, 4)
    batches = io.NDArrayIter(values, numpy.arange(4), 2, layout="TN")
    assert batches.provide_data[0].shape == (4, 2) and batches.provide_label[0].shape == (2,)
    first, second = batches
    assert first.data[0].asnumpy().tolist() == values[:, :2].tolist()
    assert second.data[0].asnumpy().tolist() == values[:, 2:].tolist()
    assert second.label[0].asnumpy().tolist() == [2, 3]
    longer = io.NDArrayIter(numpy.ones((7, 3)), None, 2, layout="TN", shuffle=True)
    assert [batch.data[0].shape for batch in longer] == [(7, 2), (7, 2)]


@pytest.mark.parametrize(
    "crop",
    [
        lambda x: image.fixed_crop(x, 1, 1, 4, 4),
        lambda x: image.center_crop(x, (4, 4))[0],
        lambda x: image.random_crop(x, (4, 4))[0],
        image.CenterCropAug((4, 4)),
        gluon.data.vision.transforms.CenterCrop(4),
    ],
)
def test_crops(crop):
    source = nd.ones((6, 6, 3))
    crop(source)[:] = 0
    assert source.asnumpy().all()


def test_parts_of_data_along_another_axis():
    source = nd.ones((4, 4))
    for part in gluon.utils.split_data(source, 2, batch_axis=1):
        part[:] = 0
    assert source.asnumpy().all()
