"""mxnet.image.detection: augmenters of images with boxes, and ImageDetIter."""

import json
import random

import numpy
import pytest

from headrace import image, nd, recordio

BOXES = numpy.array([[0, 0.1, 0.2, 0.5, 0.6], [3, 0.4, 0.3, 0.9, 0.8]], numpy.float32)


def pixels(height=40, width=60, seed=0):
    return numpy.random.RandomState(seed).randint(0, 256, (height, width, 3)).astype("uint8")


def picture(**kwargs):
    return nd.array(pixels(**kwargs), dtype="uint8")


def record(label, seed=0):
    return recordio.pack_img((0, label, seed, 0), pixels(seed=seed), 3, ".png")


def write(path, labels):
    """Records of images with labels (header 2, 5 numbers for each object); the options that read them."""
    rec, idx = str(path / "a.rec"), str(path / "a.idx")
    writer = recordio.MXIndexedRecordIO(idx, rec, "w")
    for key, boxes in enumerate(labels):
        writer.write_idx(key, record([2, 5, *numpy.ravel(boxes)], key))
    writer.close()
    return {"path_imgrec": rec, "path_imgidx": idx}


def test_a_flip_turns_boxes_round():
    flipped, label = image.DetHorizontalFlipAug(1.0)(picture(), BOXES.copy())
    assert (flipped.asnumpy() == pixels()[:, ::-1]).all()
    numpy.testing.assert_allclose(label[:, 1:], [[0.5, 0.2, 0.9, 0.6], [0.1, 0.3, 0.6, 0.8]], rtol=1e-6)
    same, label = image.DetHorizontalFlipAug(0.0)(picture(), BOXES.copy())
    assert (same.asnumpy() == pixels()).all() and (label == BOXES).all()


def in_pixels(label, shape):
    height, width = shape[:2]
    return label[:, 1:5] * [width, height, width, height]


def place_of(part, whole):
    """Row and column at which an image lies in a larger one."""
    part, whole = part.asnumpy(), whole.asnumpy()
    for y in range(whole.shape[0] - part.shape[0] + 1):
        for x in range(whole.shape[1] - part.shape[1] + 1):
            if (whole[y : y + part.shape[0], x : x + part.shape[1]] == part).all():
                return y, x
    return None


def test_crops_keep_objects_where_they_are():
    random.seed(2)
    whole = picture()
    cropper = image.DetRandomCropAug(
        min_object_covered=0.4, aspect_ratio_range=(0.5, 2), area_range=(0.3, 0.7), min_eject_coverage=0.5
    )
    for _ in range(20):
        part, label = cropper(whole, BOXES.copy())
        height, width = part.shape[:2]
        assert 0.3 <= height * width / 2400 <= 0.7 and 0.45 <= width / height <= 2.1
        y, x = place_of(part, whole)
        before = in_pixels(BOXES, whole.shape) - [x, y, x, y]
        for one, box in zip(label, in_pixels(label, part.shape), strict=True):
            cut = numpy.clip(before[int(one[0] == 3)], 0, [width, height, width, height])
            numpy.testing.assert_allclose(box, cut, atol=1e-3)
            full = before[int(one[0] == 3)]
            share = (cut[2] - cut[0]) * (cut[3] - cut[1]) / ((full[2] - full[0]) * (full[3] - full[1]))
            assert share > 0.5


def test_a_crop_that_cannot_be_leaves_the_image():
    cropper = image.DetRandomCropAug(min_object_covered=2.0)
    same, label = cropper(picture(), BOXES)
    assert (same.asnumpy() == pixels()).all() and label is BOXES


def test_borders_move_boxes():
    random.seed(4)
    for pad_val, expected in (((1, 2, 3), [1, 2, 3]), (7, [7, 7, 7])):
        padded, label = image.DetRandomPadAug((0.8, 1.5), (1.5, 3.0), 50, pad_val)(picture(), BOXES.copy())
        y, x = place_of(picture(), padded)
        border = numpy.ones(padded.shape[:2], bool)
        border[y : y + 40, x : x + 60] = False
        assert (padded.asnumpy()[border] == expected).all() and 1.4 < padded.size / 7200 < 3.1
        numpy.testing.assert_allclose(
            in_pixels(label, padded.shape), in_pixels(BOXES, (40, 60)) + [x, y, x, y], rtol=1e-5
        )


def test_one_of_a_list_is_drawn():
    chosen = image.DetRandomSelectAug([image.DetHorizontalFlipAug(1.0)], skip_prob=0)
    assert (chosen(picture(), BOXES.copy())[1] != BOXES).any()
    for skipping in (image.DetRandomSelectAug([], 0), image.DetRandomSelectAug(chosen.aug_list, 1.0)):
        assert skipping(picture(), BOXES)[1] is BOXES
    assert json.loads(chosen.dumps()[1][0]) == ["dethorizontalflipaug", {"p": 1.0}]


def test_chance_is_that_of_mxnet():
    """Random numbers are drawn in MXNet 1.9.1's order, so seeded programs see its parts and places."""
    random.seed(5)
    part, label = image.DetRandomCropAug()(picture(), BOXES.copy())
    padded, _ = image.DetRandomPadAug()(picture(), BOXES.copy())
    assert (part.shape, label.shape, padded.shape, round(random.random(), 6)) == SEEDED


SEEDED = ((33, 37, 3), (2, 5), (69, 89, 3), 0.53004)


def test_lists_make_several_crops():
    made = image.det.CreateMultiRandCropAugmenter(
        [0.1, 0.9], area_range=[(0.1, 1.0), (0.2, 0.5)], skip_prob=0.25
    )
    assert [one.min_object_covered for one in made.aug_list] == [0.1, 0.9]
    assert [one.area_range for one in made.aug_list] == [(0.1, 1.0), (0.2, 0.5)] and made.skip_prob == 0.25
    with pytest.raises(AssertionError, match="one length, got 2 and 3"):
        image.CreateMultiRandCropAugmenter([1, 2], [(1, 2)] * 3)


@pytest.mark.parametrize("kind", [image.DetRandomCropAug, image.DetRandomPadAug])
def test_ranges_that_are_none_switch_augmenters_off(kind):
    for options in ({"area_range": (2.0, 1.0)}, {"area_range": 0}, {"aspect_ratio_range": (2, 1)}):
        with pytest.warns(UserWarning, match="due to invalid"):
            made = kind(**options)
        assert not made.enabled and made(picture(), BOXES)[1] is BOXES
    assert kind(area_range=2.0).area_range == (2.0, 2.0)


def test_wrong_members_are_refused():
    with pytest.raises(TypeError, match="an Augmenter is needed, got int"):
        image.DetBorrowAug(3)
    with pytest.raises(ValueError, match="only a DetAugmenter"):
        image.DetRandomSelectAug([image.CastAug()])
    with pytest.raises(NotImplementedError):
        image.DetAugmenter()(picture(), BOXES)


def test_the_usual_list():
    made = image.CreateDetAugmenter(
        (3, 20, 30), resize=30, rand_crop=0.5, rand_pad=0.5, rand_mirror=True, mean=True, std=True,
        brightness=0.1, contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1, rand_gray=0.1,
    )  # fmt: skip
    kinds = [type(one.augmenter if hasattr(one, "augmenter") else one).__name__ for one in made]
    assert kinds == [
        *("ResizeAug", "DetRandomSelectAug", "DetHorizontalFlipAug", "DetRandomSelectAug", "ForceResizeAug"),
        *("CastAug", "ColorJitterAug", "HueJitterAug", "LightingAug", "RandomGrayAug", "ColorNormalizeAug"),
    ]
    result, label = picture(), BOXES.copy()
    for one in made:
        result, label = one(result, label)
    assert result.shape == (20, 30, 3) and result.dtype == numpy.float32 and label.shape[1] == 5


LABELS = [BOXES, BOXES[:1], numpy.vstack([BOXES, BOXES]), BOXES[1:], BOXES]


@pytest.mark.parametrize("last", ["pad", "discard", "roll_over"])
def test_batches_of_records(tmp_path, last):
    batches = image.ImageDetIter(2, (3, 10, 15), **write(tmp_path, LABELS), last_batch_handle=last)
    assert batches.label_shape == (4, 5) and batches.provide_label == [("label", (2, 4, 5))]
    seen = [(batch.label[0].asnumpy(), batch.pad) for batch in batches]
    assert [pad for _, pad in seen] == ([0, 0, 1] if last == "pad" else [0, 0])
    for number, labels in enumerate(LABELS[:4]):
        found = seen[number // 2][0][number % 2]
        numpy.testing.assert_array_equal(found[: len(labels)], labels)
        assert (found[len(labels) :] == -1).all()
    batches.reset()
    again = next(batches).label[0].asnumpy()
    numpy.testing.assert_array_equal(again[0, :2], LABELS[4 if last == "roll_over" else 0])
    assert next(batches).data[0].shape == (2, 3, 10, 15)


def test_samples_without_objects_are_skipped(tmp_path):
    class Losing(image.DetAugmenter):
        def __call__(self, src, label):
            return src, label[label[:, 0] == 3]

    options = write(tmp_path, LABELS)
    shrink = image.DetBorrowAug(image.ForceResizeAug((15, 10)))
    batches = image.ImageDetIter(4, (3, 10, 15), **options, aug_list=[shrink, Losing()])
    labels = next(batches).label[0].asnumpy()
    assert (labels[:, 0, 0] == 3).all()  # the second sample has no such object


def test_shapes_can_be_changed(tmp_path):
    batches = image.ImageDetIter(2, (3, 10, 15), **write(tmp_path, LABELS))
    (tmp_path / "b").mkdir()
    fewer = image.ImageDetIter(2, (3, 10, 15), **write(tmp_path / "b", LABELS[:2]))
    assert fewer.label_shape == (2, 5)
    assert batches.sync_label_shape(fewer) is fewer and fewer.provide_label == [("label", (2, 4, 5))]
    assert next(fewer).label[0].shape == (2, 4, 5)
    batches.reshape((3, 7, 8), (6, 5))
    assert batches.provide_data == [("data", (2, 3, 7, 8))] and batches.label_shape == (6, 5)
    for shape, text in (((3, 5), "reduce label count from 6 to 3"), ((6, 6), "5 vs 6"), ((6,), "length 2")):
        with pytest.raises(ValueError, match=text):
            batches.reshape(label_shape=shape)
    with pytest.raises(AssertionError, match="invalid iterator"):
        batches.sync_label_shape(3)


def test_labels_that_are_none_are_refused(tmp_path):
    bad = (
        [1, 2, 3],
        [2, 5, 0, 0.1, 0.1, 0.5, 0.5, 0.3],
        [2, 0, 0, 1, 1, 1, 1],
        [2, 5, 0, 0.5, 0.5, 0.1, 0.1],
    )
    for label in (*bad, [numpy.nan, 5, 0, 0.1, 0.1, 0.5, 0.5], [-3, 5, 0, 0.1, 0.1, 0.5, 0.5]):
        writer = recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
        writer.write(record(label))
        writer.close()
        with pytest.raises((RuntimeError, ValueError), match="ImageDetIter"):
            image.ImageDetIter(1, (3, 10, 15), path_imgrec=str(tmp_path / "a.rec"))
    recordio.MXRecordIO(str(tmp_path / "a.rec"), "w").close()
    with pytest.raises(RuntimeError, match="no image"):
        image.ImageDetIter(1, (3, 10, 15), path_imgrec=str(tmp_path / "a.rec"))


def test_boxes_can_be_looked_at(tmp_path):
    options = write(tmp_path, [BOXES[:1], BOXES])
    batches = image.ImageDetIter(1, (3, 40, 60), **options, inter_method=0)
    drawn = list(batches.draw_next(color=(255, 0, 10), thickness=1))
    assert len(drawn) == 2 and drawn[0].dtype == numpy.uint8
    rows, columns = numpy.nonzero((drawn[0] == [10, 0, 255]).all(axis=2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (8, 24, 6, 30)
    inside = numpy.s_[10:20, 10:20]
    assert (drawn[0][inside] == pixels()[inside]).all()
