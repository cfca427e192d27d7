"""mxnet.io.ImageDetRecordIter: records of images with objects in them, in batches."""

import numpy
import pytest

from headrace import image, io, nd, recordio
from headrace.base import MXNetError

COUNT = 5
HEAD = 4  # channels, height, width, how many numbers follow
PIXELS = numpy.random.RandomState(1).randint(0, 256, (COUNT, 12, 16, 3))
FIRST = PIXELS[0].transpose(2, 0, 1)


def label_of(objects, extra=0, header=2):
    """The numbers of a label."""
    front = [header, 5 + extra, *[7.0] * (header - 2)]
    return [float(one) for one in [*front, *numpy.ravel([[*box, *[0.5] * extra] for box in objects])]]


BOXES = [
    [(0, 0.1, 0.2, 0.5, 0.6)],
    [(1, 0.25, 0.25, 0.75, 0.5), (2, 0.5, 0.5, 1, 1)],
    [(3, 0, 0, 1, 1)],
    [(1, 0.3, 0.3, 0.4, 0.4), (4, 0.6, 0.1, 0.9, 0.9), (0, 0, 0, 0.2, 0.2)],
    [(2, 0.4, 0.4, 0.6, 0.6)],
]


def write(folder, labels=None, name="d"):
    """A file of PNG images of 16 x 12 pixels with labels; the arguments that read it."""
    labels = [label_of(boxes) for boxes in BOXES] if labels is None else labels
    records = recordio.MXRecordIO(str(folder / f"{name}.rec"), "w")
    for number, label in enumerate(labels):
        pixels = PIXELS[number % COUNT, :, :, ::-1].astype("uint8")
        records.write(recordio.pack_img((0, label, 20 + number, 0), pixels, img_fmt=".png"))
    records.close()
    return {"path_imgrec": str(folder / f"{name}.rec"), "data_shape": (3, 12, 16), "batch_size": 1}


def batches_of(images):
    return [(one.data[0].asnumpy(), one.label[0].asnumpy(), one.pad) for one in images]


def changed(folder, boxes, **options):
    """The one image of a file, and its objects, with these options."""
    arguments = write(folder, [label_of(boxes)], "one") | options
    ((data, label, _),) = batches_of(io.ImageDetRecordIter(**arguments))
    count = int(label[0, 3])
    return data[0], label[0, HEAD + 2 : HEAD + count].reshape(-1, 5)


def places_of(part, whole=FIRST):
    """Rows and columns at which a part of an image begins; images have their channels first."""
    _, rows, columns = part.shape
    for top in range(whole.shape[1] - rows + 1):
        for left in range(whole.shape[2] - columns + 1):
            if (whole[:, top : top + rows, left : left + columns] == part).all():
                yield top, left


def test_values_and_labels(tmp_path):
    images = io.ImageDetRecordIter(**write(tmp_path) | {"batch_size": 2})
    assert isinstance(images, io.MXDataIter)
    assert images.provide_data[0].shape == (2, 3, 12, 16)
    assert images.provide_label[0].shape == (2, HEAD + 17)
    first, second, last = batches_of(images)
    numpy.testing.assert_array_equal(first[0], PIXELS[:2].transpose(0, 3, 1, 2))
    front = [3, 12, 16, 7, *numpy.float32(label_of(BOXES[0]))]
    assert first[1][0].tolist() == [*front, *[-1] * 10]
    assert second[1][1][3] == 17 and (second[1][1] != -1).all()
    assert last[2] == 1 and last[1][1].tolist() == first[1][0].tolist()


def test_normalized_values(tmp_path):
    arguments = write(tmp_path) | {"mean_r": 100.5, "std_r": 50, "std_b": 2, "scale": 0.25}
    data = next(io.ImageDetRecordIter(**arguments)).data[0].asnumpy()[0]
    expected = PIXELS[0].transpose(2, 0, 1).astype("float32")
    expected[0] = (expected[0] - numpy.float32(100.5)) / 50
    expected[2] /= 2
    numpy.testing.assert_array_equal(data, expected / 4)


def test_mean_image(tmp_path):
    arguments = write(tmp_path) | {"mean_img": str(tmp_path / "mean.nd")}
    mean = PIXELS.transpose(0, 3, 1, 2).mean(0)
    for _ in range(2):  # the second time from the file
        data = next(io.ImageDetRecordIter(**arguments)).data[0].asnumpy()
        numpy.testing.assert_allclose(data[0], PIXELS[0].transpose(2, 0, 1) - mean, atol=1e-3)
    assert list(nd.load(arguments["mean_img"])) == ["mean_img"]


def test_widths_of_labels(tmp_path):
    arguments = write(tmp_path)
    padded = io.ImageDetRecordIter(**arguments, label_pad_width=20, label_pad_value=-2)
    assert next(padded).label[0].asnumpy()[0, HEAD + 7 :].tolist() == [-2] * 13
    with pytest.raises(MXNetError, match="label_pad_width: 16 smaller than estimated width: 17"):
        io.ImageDetRecordIter(**arguments, label_pad_width=16)
    with pytest.raises(
        MXNetError, match="record at byte .* 12-dimensional label but label_width is set to 7"
    ):
        io.ImageDetRecordIter(**arguments, label_width=7)
    with pytest.raises(MXNetError, match="pass a smaller label_pad_width"):
        io.ImageDetRecordIter(**arguments, label_pad_width=1 << 30)


def test_labels_with_more_numbers(tmp_path):
    labels = [label_of(boxes, extra=2, header=3) for boxes in BOXES[:2]]
    arguments = write(tmp_path, labels) | {"rand_mirror_prob": 1}
    label = batches_of(io.ImageDetRecordIter(**arguments))[1][1][0]
    expected = [3, 12, 16, 17, 3, 7, 7, 1, 0.25, 0.25, 0.75, 0.5, 0.5, 0.5, 2, 0, 0.5, 0.5, 1, 0.5, 0.5]
    numpy.testing.assert_allclose(label, expected)


def test_labels_from_a_list(tmp_path):
    arguments = write(tmp_path, [0.0] * COUNT)
    names = tmp_path / "d.lst"
    lines = ["\t".join(map(str, [20 + i, *label_of(boxes), "x.png"])) for i, boxes in enumerate(BOXES)]
    names.write_text("\n".join(lines) + "\n")
    labels = [
        label[0, HEAD:]
        for _, label, _ in batches_of(io.ImageDetRecordIter(**arguments, path_imglist=str(names)))
    ]
    numpy.testing.assert_allclose(labels[1][:12], label_of(BOXES[1]))
    with pytest.raises(MXNetError, match="Not enough label"):
        io.ImageDetRecordIter(**arguments)
    names.write_text("20\tx.png\n")
    with pytest.raises(MXNetError, match="line 1: expected an index, one label or more"):
        io.ImageDetRecordIter(**arguments, path_imglist=str(names))


def test_resize_modes(tmp_path):
    def size_of(**options):
        arguments = write(tmp_path) | options
        data, label, _ = batches_of(io.ImageDetRecordIter(**arguments))[0]
        return data, label[0, :3].tolist()

    assert size_of(data_shape=(3, 9, 30))[1] == [3, 9, 30]
    data, size = size_of(data_shape=(3, 20, 30), resize_mode="shrink")
    assert size == [3, 12, 16]
    numpy.testing.assert_array_equal(data[0, :, :12, :16], PIXELS[0].transpose(2, 0, 1))
    assert (data[0, :, 12:] == 0).all() and (data[0, :, :, 16:] == 0).all()
    assert size_of(data_shape=(3, 20, 8), resize_mode="shrink")[1] == [3, 6, 8]
    assert size_of(data_shape=(3, 24, 64), resize_mode="fit")[1] == [3, 24, 32]
    assert size_of(data_shape=(1, 24, 64), resize_mode="fit", resize=6)[1] == [1, 24, 32]
    shrunk = size_of(data_shape=(3, 20, 30), resize_mode="shrink", mean_r=10)[0]
    assert (shrunk[0, 0, 12:] == -10).all()


def test_objects_without_an_area_go(tmp_path):
    _, boxes = changed(tmp_path, [(0, 0.5, 0.1, 0.5, 0.9), (1, 0.1, 0.1, 0.9, 0.9), (2, 0.9, 0.1, 0.1, 0.9)])
    assert boxes[:, 0].tolist() == [1]


def test_mirror(tmp_path):
    data, boxes = changed(tmp_path, BOXES[1], rand_mirror_prob=1)
    numpy.testing.assert_array_equal(data, PIXELS[0].transpose(2, 0, 1)[:, :, ::-1])
    numpy.testing.assert_allclose(boxes, [(1, 0.25, 0.25, 0.75, 0.5), (2, 0, 0.5, 0.5, 1)])


@pytest.mark.parametrize("seed", range(4))
def test_a_border_moves_the_objects(tmp_path, seed):
    options = {"rand_pad_prob": 1, "max_pad_scale": 3, "fill_value": 9, "resize_mode": "shrink", "seed": seed}
    data, ((_, left, top, right, bottom),) = changed(
        tmp_path, [(3, 0, 0, 1, 1)], data_shape=(3, 60, 60), **options
    )
    rows, columns = 12 / (bottom - top), 16 / (right - left)
    assert rows / 12 == pytest.approx(columns / 16) and 1 < rows / 12 < 3
    assert len(list(places_of(FIRST, data))) == 1
    assert (data == 9).any()


CROPPING = {"rand_crop_prob": 1, "min_crop_scales": 0.3, "max_crop_scales": 0.9, "resize_mode": "shrink"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("name", "least"),
    [("min_crop_overlaps", 0.3), ("min_crop_sample_coverages", 0.5), ("min_crop_object_coverages", 0.8)],
)
def test_parts_keep_their_rule(tmp_path, name, least, seed):
    box = numpy.array([0.25, 0.25, 0.75, 0.75])
    options = CROPPING | {"max_crop_trials": 500, name: least, "seed": seed, "data_shape": (3, 60, 60)}
    arguments = write(tmp_path, [label_of([(1, *box)])]) | options
    ((data, (label,), _),) = batches_of(io.ImageDetRecordIter(**arguments))
    rows, columns = (int(one) for one in label[1:3])
    assert rows * columns < 12 * 16
    ((top, left),) = places_of(data[0, :, :rows, :columns])
    low, share = numpy.array([left / 16, top / 12]), numpy.array([columns / 16, rows / 12])
    sides = numpy.minimum(low + share, box[2:]) - numpy.maximum(low, box[:2])
    shared, area = sides.clip(0).prod(), numpy.prod(box[2:] - box[:2])
    over = {
        "min_crop_overlaps": share.prod() + area - shared,
        "min_crop_sample_coverages": share.prod(),
        "min_crop_object_coverages": area,
    }[name]
    assert shared / over > least - 0.25  # parts are of whole pixels, of which there are few
    assert label[HEAD + 3 :].min() >= 0 and label[HEAD + 3 : HEAD + 7].max() <= 1


def test_which_objects_stay(tmp_path):
    boxes = [(0, 0.4, 0.4, 0.6, 0.6), (1, 0, 0, 0.05, 0.05), (2, 0.95, 0.95, 1, 1)]
    options = CROPPING | {"min_crop_object_coverages": 0.9, "max_crop_scales": 0.5, "max_crop_trials": 2000}
    for mode in ({}, {"crop_emit_mode": "overlap", "emit_overlap_thresh": 0.5}):
        kept = {
            tuple(changed(tmp_path, boxes, **options, **mode, seed=seed)[1][:, 0].astype(int))
            for seed in range(8)
        }
        assert kept <= {(0,), (0, 1), (0, 2), (1,), (2,)} and kept != {(0, 1, 2)}


def test_a_rule_that_no_part_keeps_leaves_the_image(tmp_path):
    impossible = {"min_crop_overlaps": 0.99, "max_crop_scales": 0.2, "min_crop_scales": 0.1}
    data, boxes = changed(tmp_path, [(0, 0, 0, 1, 1)], **CROPPING | impossible)
    numpy.testing.assert_array_equal(data[:, :12, :16], PIXELS[0].transpose(2, 0, 1))
    assert boxes.tolist() == [[0, 0, 0, 1, 1]]


def test_colors(tmp_path):
    plain = PIXELS[0].transpose(2, 0, 1)
    contrast = changed(tmp_path, BOXES[0], max_random_contrast=0.5, random_contrast_prob=1)[0]
    factors = contrast[plain > 60][contrast[plain > 60] < 255] / plain[plain > 60][contrast[plain > 60] < 255]
    assert factors.std() < 0.02 and 0.5 < factors.mean() < 1.5 and abs(factors.mean() - 1) > 1e-3
    darker = changed(tmp_path, BOXES[0], max_random_illumination=60, random_illumination_prob=1)[0]
    middle = (plain.max(0) + plain.min(0)) / 2
    shift = (darker.max(0) + darker.min(0)) / 2 - middle
    inner = (middle > 70) & (middle < 185)
    assert abs(shift[inner] - numpy.median(shift)).max() <= 3 and abs(numpy.median(shift)) > 0
    for name in ("hue", "saturation"):
        options = {f"max_random_{name}": 50, f"random_{name}_prob": 1}
        assert (changed(tmp_path, BOXES[0], **options)[0] != plain).any()
        never = {f"max_random_{name}": 50, f"random_{name}_prob": 1e-9}
        numpy.testing.assert_array_equal(changed(tmp_path, BOXES[0], **never)[0], plain)


def test_random_numbers_come_from_the_seed(tmp_path):
    arguments = write(tmp_path) | CROPPING | {"rand_mirror_prob": 0.5, "shuffle": True, "batch_size": 2}
    first, again, other = (batches_of(io.ImageDetRecordIter(**arguments, seed=seed)) for seed in (4, 4, 5))
    for one, two in zip(first, again):
        assert (one[0] == two[0]).all() and (one[1] == two[1]).all()
    assert any((one[1] != two[1]).any() for one, two in zip(first, other))


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ([2, 5, 0, 0.1, 0.1, 0.2], "7 numbers or more, got 6"),
        ([1, 5, 0, 0.1, 0.1, 0.2, 0.2], "header of 1"),
        ([2, 4, 0, 0.1, 0.1, 0.2, 0.2], "4 numbers for each object"),
        ([1e9, 5, 0, 0.1, 0.1, 0.2, 0.2], "header of 1000000000|header of 1e"),
        ([2, 1e38, 0, 0.1, 0.1, 0.2, 0.2], "numbers for each object"),
        ([float("nan"), 5, 0, 0.1, 0.1, 0.2, 0.2], "header of nan"),
        ([2, 5, 0, 0.1, 0.1, 0.2, 0.2, 9], "whole objects"),
    ],
)
def test_labels_that_are_none(tmp_path, label, told):
    images = io.ImageDetRecordIter(**write(tmp_path, [label]), prefetch_buffer=0)
    with pytest.raises(MXNetError, match=f"d.rec', record at byte 0: .*({told})"):
        next(images).label[0].asnumpy()


def test_a_header_that_lies_about_its_labels(tmp_path):
    arguments = write(tmp_path)
    path = tmp_path / "d.rec"
    content = bytearray(path.read_bytes())
    content[8:12] = b"\xff\xff\xff\x3f"
    path.write_bytes(content)
    with pytest.raises(MXNetError, match="record at byte 0: its header says 1073741823 labels"):
        io.ImageDetRecordIter(**arguments)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"data_shape": (5, 28, 28)}, "data_shape"),
        ({"dtype": "uint8"}, "dtype must be one of float32"),
        ({"inter_method": 7}, "inter_method"),
        ({"resize_mode": "stretch"}, "force, shrink, fit"),
        ({"crop_emit_mode": "both"}, "center, overlap"),
        (
            {"num_crop_sampler": 3, "min_crop_scales": (0.1, 0.2)},
            "min_crop_scales must have one number, or 3",
        ),
        ({"min_crop_scales": 0.5, "max_crop_scales": 0.5}, "min_crop_scales and max_crop_scales"),
        ({"max_crop_scales": 1.5}, "1 at most"),
        ({"min_crop_overlaps": 0.5, "max_crop_overlaps": 0.4}, "must be in order"),
        ({"emit_overlap_thresh": -1}, "emit_overlap_thresh must be at least 0"),
        ({"data_shape": (1, 8, 8), "random_hue_prob": 0.5}, "3 channels"),
        ({"path_imgrec": "/nowhere.rec"}, "cannot be opened"),
        ({"aug_seq": "aug_default"}, "aug_seq"),
    ],
)
def test_options(tmp_path, option, told):
    with pytest.raises(MXNetError, match=told):
        io.ImageDetRecordIter(**write(tmp_path) | option)


def test_a_warning_tells_of_an_option_that_there_is_not(tmp_path):
    with pytest.warns(
        UserWarning, match="unknown options rand_mirror change nothing; known are .*rand_mirror_prob"
    ):
        assert len(list(io.ImageDetRecordIter(**write(tmp_path), rand_mirror=True))) == COUNT


def test_a_jpeg_that_ends_early_is_told_or_read(tmp_path):
    pixels = numpy.full((64, 64, 3), 90, "uint8")
    content = recordio.pack_img((0, label_of(BOXES[0]), 1, 0), pixels)
    for end in (len(content) // 2, 60, 53):
        records = recordio.MXRecordIO(str(tmp_path / "j.rec"), "w")
        records.write(content[:end])
        records.close()
        images = io.ImageDetRecordIter(
            path_imgrec=str(tmp_path / "j.rec"), data_shape=(3, 8, 8), batch_size=1, prefetch_buffer=0
        )
        try:
            assert next(images).data[0].asnumpy().shape == (1, 3, 8, 8)
        except MXNetError as error:
            assert "record at byte 0" in str(error)


def test_the_label_is_that_of_image_det_iter(tmp_path):
    arguments = write(tmp_path)
    whole = image.ImageDetIter(1, (3, 12, 16), path_imgrec=arguments["path_imgrec"])
    for (_, label, _), batch in zip(batches_of(io.ImageDetRecordIter(**arguments)), whole):
        count = int(label[0, 3])
        boxes = label[0, HEAD + 2 : HEAD + count].reshape(-1, 5)
        numpy.testing.assert_allclose(batch.label[0].asnumpy()[0, : len(boxes)], boxes)
