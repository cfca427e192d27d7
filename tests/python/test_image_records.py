"""mxnet.io.ImageRecordIter and its kin: records of images in batches."""

import struct

import numpy
import pytest

from headrace import io, nd, recordio
from headrace.base import MXNetError

COUNT = 7


def file_of(pixels, kind):
    """An image file of red, green and blue pixels."""
    return recordio.unpack(
        recordio.pack_img((0, 0.0, 0, 0), pixels[..., ::-1].astype("uint8"), img_fmt=kind)
    )[1]


PIXELS = numpy.random.RandomState(1).randint(0, 256, (COUNT, 6, 8, 3))


def write(folder, labels=lambda number: float(number)):
    """A file of COUNT PNG images of 8 x 6 pixels, with an index; the arguments that read it."""
    paths = {"path_imgidx": str(folder / "a.idx"), "path_imgrec": str(folder / "a.rec")}
    records = recordio.MXIndexedRecordIO(*paths.values(), "w")
    for number, pixels in enumerate(PIXELS):
        header = recordio.IRHeader(0, labels(number), 10 + number, 0)
        records.write_idx(10 + number, recordio.pack(header, file_of(pixels, ".png")))
    records.close()
    return {"path_imgrec": paths["path_imgrec"], "data_shape": (3, 6, 8), "batch_size": 3}


def passes(images, count=2):
    """Data, labels and padding of all batches of some passes."""
    batches = []
    for _ in range(count):
        batches += [(b.data[0].asnumpy(), b.label[0].asnumpy().tolist(), b.pad) for b in images]
        images.reset()
    return batches


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
def test_values(tmp_path, dtype):
    images = io.ImageRecordIter(**write(tmp_path), dtype=dtype, mean_r=100.4, scale=0.5, std_g=2)
    assert isinstance(images, io.MXDataIter)
    expected = PIXELS.transpose(0, 3, 1, 2).astype("float32")
    if dtype == "float32":
        expected[:, 0] -= numpy.float32(100.4)
        expected *= numpy.array([0.5, 0.25, 0.5], "float32").reshape(3, 1, 1)
    if dtype == "int8":
        expected[:, 0] -= 100
        expected = expected.clip(-128, 127)
    (data, labels, pad) = passes(images)[0]
    assert data.dtype == dtype and labels == [0, 1, 2] and pad == 0
    numpy.testing.assert_allclose(data, expected[:3], rtol=1e-6)
    assert images.provide_data[0].shape == (3, 3, 6, 8) and images.provide_label[0].shape == (3,)


def test_passes_go_on_after_borrowed_images(tmp_path):
    arguments = write(tmp_path)
    labels = [(labels, pad) for _, labels, pad in passes(io.ImageRecordIter(**arguments))]
    assert labels == [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2), ([2, 3, 4], 0), ([5, 6, 0], 1)]
    labels = [labels for _, labels, _ in passes(io.ImageRecordIter(**arguments, round_batch=False), 1)]
    assert labels == [[0, 1, 2], [3, 4, 5], [6, 4, 5]]
    with pytest.raises(MXNetError, match="bigger than the batch size"):
        next(io.ImageRecordIter(**arguments | {"batch_size": 20}))


@pytest.mark.parametrize("ahead", [0, 1, 9])
def test_reset_within_a_pass_begins_again(tmp_path, ahead):
    images = io.ImageRecordIter(**write(tmp_path), prefetch_buffer=ahead)
    assert next(images).label[0].asnumpy().tolist() == [0, 1, 2]
    images.reset()
    assert next(images).label[0].asnumpy().tolist() == [0, 1, 2]


def test_parts(tmp_path):
    arguments = write(tmp_path) | {"batch_size": 1}
    for index in ({}, {"path_imgidx": str(tmp_path / "a.idx")}):
        seen = []
        for part in range(3):
            images = io.ImageRecordIter(**arguments, **index, num_parts=3, part_index=part)
            seen += [labels[0] for _, labels, _ in passes(images, 1)]
        assert seen == list(range(COUNT))
    with pytest.raises(MXNetError, match="part_index"):
        io.ImageRecordIter(**arguments, num_parts=2, part_index=2)


def test_random_numbers_come_from_the_seed(tmp_path):
    arguments = write(tmp_path) | {
        "data_shape": (3, 4, 4),
        "shuffle": True,
        "rand_crop": True,
        "rand_mirror": True,
    }
    first, again = (passes(io.ImageRecordIter(**arguments, seed=4)) for _ in range(2))
    other = passes(io.ImageRecordIter(**arguments, seed=5))
    assert [one[1:] for one in first] == [one[1:] for one in again]
    assert all((one[0] == two[0]).all() for one, two in zip(first, again))
    assert any((one[0] != two[0]).any() for one, two in zip(first, other))


@pytest.mark.parametrize(
    ("with_index", "expected"),
    [
        (
            False,
            [
                [50.13, 90.15, 186.57, 73.09, 251.18, 226.54, 109.06, 131.15, 137.57],
                [161.09, 186.18, 55.54, 52.06, 113.44, 60.57],
            ],
        ),
        (
            True,
            [
                [50.13, 90.15, 186.57, 140.13, 127.15, 172.57, 239.13, 131.15, 137.57],
                [175.13, 188.15, 136.57, 183.13, 206.15, 60.57],
            ],
        ),
    ],
)
def test_seed_aug_gives_the_numbers_of_mxnet(tmp_path, with_index, expected):
    arguments = write(tmp_path) | {"data_shape": (3, 3, 4), "seed_aug": 5, "rand_crop": True}
    arguments |= {"rand_mirror": True, "max_random_illumination": 9}
    index = {"path_imgidx": str(tmp_path / "a.idx")} if with_index else {}
    images = io.ImageRecordIter(**arguments, **index)
    for of_pass in expected:
        made = [float(one) for data, _, _ in passes(images, 1) for one in data[:, 0, 0, 0]]
        numpy.testing.assert_allclose(made, of_pass, atol=0.006)


def test_labels(tmp_path):
    arguments = write(tmp_path, labels=lambda number: [number, number + 0.5])
    assert next(io.ImageRecordIter(**arguments, label_width=2)).label[0].asnumpy()[1].tolist() == [1, 1.5]
    with pytest.raises(MXNetError, match="record at byte 0: rec file provide 2-dimensional label"):
        next(io.ImageRecordIter(**arguments))
    names = tmp_path / "a.lst"
    names.write_text("".join(f"{10 + number}\t{number * 2}\tx.png\n" for number in range(COUNT)))
    listed = io.ImageRecordIter(**arguments, path_imglist=str(names))
    assert next(listed).label[0].asnumpy().tolist() == [0, 2, 4]
    names.write_text("10\tx\n")
    with pytest.raises(MXNetError, match="line 1"):
        io.ImageRecordIter(**arguments, path_imglist=str(names))


def test_mean_image(tmp_path):
    arguments = write(tmp_path) | {"mean_img": str(tmp_path / "mean.nd")}
    mean = PIXELS.transpose(0, 3, 1, 2).mean(0)
    for _ in range(2):  # the second time from the file
        data = next(io.ImageRecordIter(**arguments)).data[0].asnumpy()
        numpy.testing.assert_allclose(data, PIXELS[:3].transpose(0, 3, 1, 2) - mean, atol=1e-3)
    assert list(nd.load(arguments["mean_img"])) == ["mean_img"]
    recordio.MXRecordIO(str(tmp_path / "empty.rec"), "w").close()
    with pytest.raises(MXNetError, match="no records to make the mean image"):
        io.ImageRecordIter(
            **arguments | {"path_imgrec": str(tmp_path / "empty.rec"), "mean_img": str(tmp_path / "new.nd")}
        )


def test_damage_is_told_with_file_and_byte(tmp_path):
    arguments = write(tmp_path)
    path = tmp_path / "a.rec"
    content = path.read_bytes()
    second = content.find(struct.pack("<I", 0xCED7230A), 4)
    for broken, told in (
        (content[:-9], "ends at byte"),
        (
            content[:second] + b"x" + content[second + 1 :],
            f"a.rec', record at byte {second}: no record begins",
        ),
        (content + b"\x0a", "not complete"),
        (content[:4] + b"\xff\xff\xff\x1f" + content[8:], "record at byte 0"),
    ):
        path.write_bytes(broken)
        with pytest.raises(MXNetError, match=told):
            io.ImageRecordIter(**arguments)
    path.write_bytes(content[: second + 40] + b"xxxx" + content[second + 44 :])
    with pytest.raises(MXNetError, match="no record|Decoding failed|damaged|a.rec"):
        # None ahead, whose errors would be left to others.
        next(io.ImageRecordIter(**arguments, prefetch_buffer=0)).data[0].asnumpy()
    (tmp_path / "a.idx").write_text("10\t0\n11\t999999\n")
    with pytest.raises(MXNetError, match="line 2"):
        io.ImageRecordIter(**arguments, path_imgidx=str(tmp_path / "a.idx"))


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"data_shape": (5, 28, 28)}, "data_shape"),
        ({"dtype": "float64"}, "dtype"),
        ({"inter_method": 7}, "inter_method"),
        (
            {"random_h": 3, "data_shape": (1, 6, 8)},
            "random_h, random_s and random_l need images of 3 channels",
        ),
        ({"random_resized_crop": True, "max_random_scale": 2}, "random_resized_crop conflicts"),
        ({"rotate_list": "10,east"}, "rotate_list must be whole numbers of degrees"),
        ({"path_imgrec": "/nowhere.rec"}, "cannot be opened"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_options(tmp_path, option, told):
    with pytest.raises(MXNetError, match=told):
        io.ImageRecordIter(**write(tmp_path) | option)


def test_options_are_texts_too(tmp_path):
    arguments = write(tmp_path)
    texts = {"data_shape": "(3, 6, 8)", "batch_size": "3", "seed": "5", "shuffle": "true", "round_batch": "0"}
    texts |= {"num_parts": "2", "part_index": "1", "label_width": "1", "mean_r": "100.4"}
    values = {
        "seed": 5,
        "shuffle": True,
        "round_batch": False,
        "num_parts": 2,
        "part_index": 1,
        "mean_r": 100.4,
    }
    for (data, labels, pad), other in zip(
        passes(io.ImageRecordIter(**arguments | texts)), passes(io.ImageRecordIter(**arguments | values))
    ):
        assert (data == other[0]).all() and (labels, pad) == other[1:]
    with pytest.raises(MXNetError, match="seed: expected a number, a shape or a truth, got the text 'five'"):
        io.ImageRecordIter(**arguments, seed="five")


def square(folder, **options):
    """The result of the one image of a file, 8 x 8 pixels of the first of PIXELS, and these."""
    pixels = PIXELS[0][[0, 1, 2, 3, 4, 5, 0, 1]]
    records = recordio.MXRecordIO(str(folder / "s.rec"), "w")
    records.write(recordio.pack((0, 0.0, 0, 0), file_of(pixels, ".png")))
    records.close()
    options = {"data_shape": (3, 8, 8), "batch_size": 1} | options
    made = next(io.ImageRecordIter(path_imgrec=str(folder / "s.rec"), **options)).data[0].asnumpy()[0]
    return made, pixels.transpose(2, 0, 1)


@pytest.mark.parametrize("options", [{"rotate": 90}, {"rotate_list": (90,)}, {"rotate_list": "90,90"}])
@pytest.mark.parametrize("inter_method", [1, 2, 4])
def test_rotation(tmp_path, options, inter_method):
    made, pixels = square(tmp_path, **options, fill_value=7, inter_method=inter_method)
    # Around the corner between the pixels of the middle: one row comes from outside.
    numpy.testing.assert_array_equal(made[:, 1:], numpy.rot90(pixels, axes=(1, 2))[:, :-1])
    numpy.testing.assert_array_equal(made[:, 0], 7)


def test_scale(tmp_path):
    made, pixels = square(tmp_path, min_random_scale=2, max_random_scale=2, data_shape=(3, 16, 16))
    numpy.testing.assert_array_equal(made[:, ::2, ::2], pixels)
    between = (pixels[:, :, :-1] + pixels[:, :, 1:]) / 2
    assert abs(made[:, ::2, 1:-1:2] - between).max() <= 0.5


def test_least_and_largest_sizes(tmp_path):
    made, pixels = square(tmp_path, min_img_size=12, data_shape=(3, 12, 12), fill_value=3)
    numpy.testing.assert_array_equal(made[:, 2:10, 2:10], pixels)
    assert (made[:, :2] == 3).all() and (made[:, :, 10:] == 3).all()
    made, _ = square(tmp_path, max_img_size=4, data_shape=(3, 4, 4))
    numpy.testing.assert_array_equal(made, pixels[:, 2:6, 2:6])


@pytest.mark.parametrize(
    "options",
    [
        {"max_rotate_angle": 40},
        {"max_shear_ratio": 0.4},
        {"min_random_scale": 0.7, "max_random_scale": 1.6},
        {"max_aspect_ratio": 0.5},
        {"random_h": 50},
        {"random_s": 90},
        {"random_l": 90},
        {"pca_noise": 0.3},
    ],
)
def test_random_changes(tmp_path, options):
    plain, _ = square(tmp_path)
    made = [square(tmp_path, **options, seed_aug=seed)[0] for seed in (1, 1, 2)]
    assert (made[0] == made[1]).all()
    assert (made[0] != made[2]).any() and (made[0] != plain).any()


def test_lightness(tmp_path):
    made, pixels = square(tmp_path, random_l=40, seed_aug=3)
    before, after = (one.max(0).astype(float) + one.min(0) for one in (pixels, made))
    shift = (after - before)[(before > 100) & (before < 400)] / 2
    assert abs(shift - numpy.median(shift)).max() <= 2 and abs(numpy.median(shift)) >= 1


def test_an_option_that_there_is_not_changes_nothing_and_is_told(tmp_path):
    with pytest.warns(
        UserWarning, match="unknown options rand_mirrored change nothing; known are .*rand_mirror"
    ):
        assert len(list(io.ImageRecordIter(**write(tmp_path), rand_mirrored=True))) == 3


def test_jpeg(tmp_path):
    records = recordio.MXRecordIO(str(tmp_path / "j.rec"), "w")
    rows, columns = numpy.mgrid[:12, :16]
    pixels = numpy.stack([columns * 16, rows * 20, numpy.full((12, 16), 90)], axis=-1)
    records.write(recordio.pack((0, 3.0, 0, 0), file_of(pixels, ".jpg")))
    records.close()
    arguments = {"path_imgrec": str(tmp_path / "j.rec"), "data_shape": (3, 12, 16), "batch_size": 1}
    data = next(io.ImageRecordUInt8Iter(**arguments)).data[0].asnumpy()[0]
    assert abs(data[0].astype(int) - columns * 16).mean() < 12
    assert abs(data[1].astype(int) - rows * 20).mean() < 12
    mirrored = next(io.ImageRecordInt8Iter(**arguments, mirror=True, mean_r=128)).data[0].asnumpy()[0, 0]
    numpy.testing.assert_array_equal(mirrored[:, ::-1], data[0].astype(int) - 128)
