"""Detection of objects: overlaps, suppression, anchors and regions, against loops and small cases."""

import numpy
import pytest

from headrace import autograd, nd, np, npx
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(3)


def corners(box, form):
    if form == "corner":
        return box
    x, y, width, height = box
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def iou(a, b):
    """Of boxes given by corners whose sides are positive."""
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def boxes(*shape, form):
    drawn = RANDOM.uniform(0.1, 1, (*shape, 4))
    if form == "corner":
        drawn[..., 2:] += drawn[..., :2]
    return drawn


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", ["corner", "center"])
def test_box_iou(form, dtype):
    a, b = boxes(2, 3, form=form), boxes(5, form=form)
    expected = [[iou(corners(one, form), corners(two, form)) for two in b] for one in a.reshape(-1, 4)]
    got = nd.contrib.box_iou(nd.array(a, dtype=dtype), nd.array(b, dtype=dtype), format=form)
    assert got.shape == (2, 3, 5) and got.asnumpy().dtype == dtype
    numpy.testing.assert_allclose(got.asnumpy().reshape(6, 5), expected, rtol=1e-5)


def test_box_iou_of_boxes_turned_inside_out_is_zero():
    got = nd.contrib.box_iou(nd.array([[1, 1, 0, 0]]), nd.array([[0, 0, 1, 1]]))
    assert got.asnumpy().tolist() == [[0]]


def test_box_iou_has_a_zero_gradient():
    x, y = (nd.array(boxes(3, form="corner")) for _ in range(2))
    x.attach_grad()
    with autograd.record():
        total = nd.contrib.box_iou(x, y).sum()
    total.backward()
    assert not x.grad.asnumpy().any()


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 5)])
def test_box_iou_refuses_other_shapes(shape):
    with pytest.raises(MXNetError, match="4 numbers"):
        nd.contrib.box_iou(nd.zeros(shape), nd.zeros((1, 4)))


# --- box_nms ------------------------------------------------------------------------------------------------


def suppressed(rows, threshold=0.5, valid=0.0, topk=-1, id_index=-1, background=-1, force=False):
    """Rows [class, score, corners] that stay, best score first, and -1 for the others; their numbers."""
    order = sorted(
        (
            i
            for i, row in enumerate(rows)
            if row[1] > valid and not (id_index >= 0 and row[id_index] == background)
        ),
        key=lambda i: -rows[i][1],
    )
    kept = []
    for i in order if topk < 0 else order[:topk]:
        same = [k for k in kept if force or id_index < 0 or rows[k][id_index] == rows[i][id_index]]
        if all(iou(rows[k][2:], rows[i][2:]) <= threshold for k in same):
            kept.append(i)
    result = numpy.full_like(rows, -1)
    result[: len(kept)] = rows[kept]
    return result, kept


def scored(*shape):
    classes = RANDOM.randint(0, 3, (*shape, 1))
    scores = numpy.round(RANDOM.rand(*shape, 1), 1)  # some are equal
    return numpy.concatenate([classes, scores, boxes(*shape, form="corner")], -1).astype("float32")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 0.1},
        {"id_index": 0},
        {"id_index": 0, "force": True},
        {"id_index": 0, "background": 1, "topk": 4},
        {"valid": 0.6},
        {"threshold": 0.0},
        {"threshold": -0.1, "id_index": 0},  # boxes that share nothing go, too
    ],
    ids=str,
)
def test_box_nms(options):
    data = scored(3, 12)
    names = {
        "threshold": "overlap_thresh",
        "valid": "valid_thresh",
        "background": "background_id",
        "force": "force_suppress",
    }
    x = nd.array(data)
    x.attach_grad()
    with autograd.record():
        got = nd.contrib.box_nms(x, **{names.get(key, key): value for key, value in options.items()})
    head = RANDOM.rand(*data.shape).astype("float32")
    got.backward(nd.array(head))
    for k, rows in enumerate(data):
        expected, kept = suppressed(rows, **options)
        numpy.testing.assert_array_equal(got[k].asnumpy(), expected)
        slope = numpy.zeros_like(rows)
        slope[kept] = head[k][: len(kept)]
        numpy.testing.assert_array_equal(x.grad[k].asnumpy(), slope)


def test_box_nms_without_boxes_to_look_at_copies():
    data = scored(5)
    got = nd.contrib.box_nms(nd.array(data), topk=0, in_format="corner", out_format="center")
    numpy.testing.assert_array_equal(got.asnumpy(), data)


def test_box_nms_converts_formats():
    row = [[0, 0.9, 1, 2, 3, 6], [0, 0.1, 8, 8, 9, 9]]
    got = nd.contrib.box_nms(nd.array(row), out_format="center", valid_thresh=0.5)
    assert got.asnumpy().tolist() == [[0, numpy.float32(0.9), 2, 4, 2, 4], [-1] * 6]
    back = nd.contrib.box_nms(got, in_format="center")
    assert back.asnumpy()[0, 2:].tolist() == [1, 2, 3, 6]


@pytest.mark.parametrize(
    "options", [{"coord_start": 3}, {"score_index": 2}, {"id_index": 1}, {"id_index": 6}, {"score_index": -1}]
)
def test_box_nms_refuses_columns_that_overlap(options):
    with pytest.raises(MXNetError, match="coord_start|score_index|id_index"):
        nd.contrib.box_nms(nd.zeros((2, 6)), **options)


# --- matching, coding ---------------------------------------------------------------------------------------


def test_bipartite_matching():
    rows, columns = nd.contrib.bipartite_matching(
        nd.array([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]]), threshold=1e-12
    )
    assert rows.asnumpy().tolist() == [1, -1, 0]
    assert columns.asnumpy().tolist() == [2, 0]
    rows, columns = nd.contrib.bipartite_matching(
        nd.array([[[0.5, 0.6], [0.1, 0.2]]]), threshold=0.55, is_ascend=True
    )
    assert rows.asnumpy().tolist() == [[-1, 0]] and columns.asnumpy().tolist() == [[1, -1]]


def test_boxes_are_decoded_from_what_is_encoded():
    anchors, refs = boxes(1, 6, form="corner"), boxes(1, 3, form="corner")
    matches = RANDOM.randint(0, 3, (1, 6))
    stds = [0.1, 0.1, 0.2, 0.2]
    targets, masks = nd.contrib.box_encode(
        nd.array([[1, 1, 0, 1, 1, 1]]),
        nd.array(matches),
        nd.array(anchors),
        nd.array(refs),
        nd.zeros(4),
        nd.array(stds),
    )
    assert masks.asnumpy()[0, :, 0].tolist() == [1, 1, 0, 1, 1, 1]
    assert not targets.asnumpy()[0, 2].any()
    decoded = nd.contrib.box_decode(
        targets, nd.array(anchors), format="corner", **{f"std{k}": std for k, std in enumerate(stds)}
    ).asnumpy()
    for k in (0, 1, 3, 4, 5):
        numpy.testing.assert_allclose(decoded[0, k], refs[0, matches[0, k]], rtol=1e-4, atol=1e-5)


def test_a_match_that_there_is_not_is_an_error():
    one = nd.ones((1, 1))
    bad = nd.contrib.box_encode(one, one * 7, nd.ones((1, 1, 4)), nd.ones((1, 2, 4)), nd.zeros(4), nd.ones(4))
    with pytest.raises(IndexError, match="box 7"):
        bad[0].asnumpy()


# --- single-shot detectors ----------------------------------------------------------------------------------


def test_anchors_lie_around_every_place():
    got = nd.contrib.MultiBoxPrior(nd.zeros((1, 3, 2, 4)), sizes=(0.5, 0.25), ratios=(1, 4)).asnumpy()
    assert got.shape == (1, 2 * 4 * 3, 4)
    place = got.reshape(2, 4, 3, 4)[1, 2]
    expected = []
    for size, ratio in ((0.5, 1), (0.25, 1), (0.5, 4)):
        width, height = size * 2 / 4 * numpy.sqrt(ratio) / 2, size / numpy.sqrt(ratio) / 2
        expected.append([0.625 - width, 0.75 - height, 0.625 + width, 0.75 + height])
    numpy.testing.assert_allclose(place, expected, rtol=1e-6)
    cut = npx.multibox_prior(np.zeros((1, 3, 2, 4)), sizes=(0.9,), clip=True).asnumpy()
    assert cut.min() == 0 and cut.max() == 1


ANCHORS = [[[0.1, 0.08, 0.52, 0.92], [0.55, 0.2, 0.9, 0.88], [0, 0, 0.2, 0.2], [0.15, 0.1, 0.5, 0.9]]]
LABELS = [[[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88], [-1, -1, -1, -1, -1]]]


def test_anchors_take_the_objects_that_they_share_most_with():
    offsets, masks, kinds = nd.contrib.MultiBoxTarget(
        nd.array(ANCHORS), nd.array(LABELS), nd.zeros((1, 3, 4))
    )
    assert kinds.asnumpy().tolist() == [[1, 2, 0, 1]]
    assert masks.asnumpy().reshape(4, 4)[:, 0].tolist() == [1, 1, 0, 1]
    offsets = offsets.asnumpy().reshape(4, 4)
    assert not offsets[:3].any()
    width, height = 0.35, 0.8
    expected = [
        (0.31 - 0.325) / width / 0.1,
        0,
        numpy.log(0.42 / width) / 0.2,
        numpy.log(0.84 / height) / 0.2,
    ]
    numpy.testing.assert_allclose(offsets[3], expected, rtol=1e-4, atol=1e-5)


def test_mining_takes_the_hardest_anchors_for_the_background():
    scores = nd.array(
        [[[0, 0, 5, 0], [0, 0, 0, 5], [0, 0, 0, 0]]]
    )  # of anchor 3 the network is sure: an object
    anchors = nd.array([[*ANCHORS[0][:3], [0.7, 0, 0.9, 0.1]]])
    _, _, kinds = nd.contrib.MultiBoxTarget(
        anchors, nd.array(LABELS), scores, negative_mining_ratio=0.5, ignore_label=-5
    )
    assert kinds.asnumpy().tolist() == [[1, 2, -5, 0]]


def test_labels_that_are_minus_one_in_part_are_an_error():
    bad = nd.contrib.MultiBoxTarget(nd.array(ANCHORS), nd.array([[[-1, 0, 0, 1, 1]]]), nd.zeros((1, 2, 4)))
    with pytest.raises(MXNetError, match="class -1"):
        bad[2].asnumpy()


def test_detections_are_the_best_boxes_of_their_classes():
    probabilities = nd.array([[[0, 0, 0, 1], [0.9, 0.8, 0.7, 0], [0.1, 0.2, 0.3, 0]]])
    anchors = nd.array([[[0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.5, 0.6], [0.6, 0.6, 1.2, 0.9], [0, 0, 1, 1]]])
    got = nd.contrib.MultiBoxDetection(probabilities, nd.zeros((1, 16)), anchors).asnumpy()[0]
    numpy.testing.assert_allclose(got[0], [0, 0.9, 0.1, 0.1, 0.5, 0.5], rtol=1e-6)
    assert got[1, 0] == -1  # shares four fifths with the first
    numpy.testing.assert_allclose(got[2], [0, 0.7, 0.6, 0.6, 1, 0.9], rtol=1e-6)
    assert got[3].tolist() == [-1] * 6
    both = nd.contrib.MultiBoxDetection(probabilities, nd.zeros((1, 16)), anchors, nms_threshold=0.9)
    assert both.asnumpy()[0, :, 0].tolist() == [0, 0, 0, -1]


# --- regions ------------------------------------------------------------------------------------------------

IMAGE = numpy.arange(48, dtype="float32").reshape(1, 1, 6, 8)


@pytest.mark.parametrize("scale, expected", [(1.0, [14, 16, 26, 28]), (0.7, [7, 9, 19, 21])])
def test_the_largest_elements_of_regions(scale, expected):
    image = nd.array(numpy.arange(48).reshape(1, 1, 8, 6))
    image.attach_grad()
    with autograd.record():
        got = nd.ROIPooling(image, nd.array([[0, 0, 0, 4, 4]]), pooled_size=(2, 2), spatial_scale=scale)
    got.backward(nd.array([[[[1, 2], [3, 4]]]]))
    assert got.asnumpy().reshape(-1).tolist() == expected
    slope = numpy.zeros(48)
    slope[expected] = [1, 2, 3, 4]
    assert image.grad.asnumpy().reshape(-1).tolist() == slope.tolist()


def test_regions_of_images_that_there_are_not_are_zero():
    regions = nd.array([[-1, 0, 0, 3, 3], [1, 0, 0, 3, 3], [numpy.nan, 0, 0, 3, 3], [0, 90, 90, 95, 95]])
    for function in (nd.ROIPooling, nd.contrib.ROIAlign):
        assert not function(nd.array(IMAGE), regions, pooled_size=(2, 2), spatial_scale=1.0).asnumpy().any()


def test_samples_between_elements_of_a_plane_lie_on_it():
    regions = numpy.array([[0, 1, 1, 5, 4], [0, 2.5, 0.5, 6.5, 3.5]], "float32")
    got = nd.contrib.ROIAlign(
        nd.array(IMAGE), nd.array(regions), pooled_size=(3, 2), spatial_scale=1.0
    ).asnumpy()
    for region, result in zip(regions, got):
        x = region[1] + (numpy.arange(2) + 0.5) * (region[3] - region[1]) / 2
        y = region[2] + (numpy.arange(3) + 0.5) * (region[4] - region[2]) / 3
        numpy.testing.assert_allclose(result[0], y[:, None] * 8 + x, rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"sample_ratio": 2}, {"position_sensitive": True}, {"aligned": True}], ids=str
)
def test_gradients_of_samples_are_their_transpose(options):
    regions = nd.array([[0, 1, 1, 5, 4], [1, 2.5, 0.5, 6.5, 3.5], [0, 1, 1, 4, 4]])

    def sampled(image):
        return nd.contrib.ROIAlign(image, regions, pooled_size=(2, 2), spatial_scale=0.9, **options)

    image, other = (nd.array(RANDOM.randn(2, 4, 6, 8)) for _ in range(2))
    image.attach_grad()
    with autograd.record():
        result = sampled(image)
    head = nd.array(RANDOM.randn(*result.shape))
    result.backward(head)
    left, right = (sampled(other) * head).sum().asscalar(), (image.grad * other).sum().asscalar()
    assert left == pytest.approx(right, rel=1e-4)


def test_regions_without_end_and_empty_ones_are_errors():
    def sampled(region, **options):
        return nd.contrib.ROIAlign(
            nd.array(IMAGE), nd.array([[0, *region]]), pooled_size=(2, 2), spatial_scale=1.0, **options
        )

    with pytest.raises(ValueError, match="samples"):
        sampled([0, 0, 1e9, 1e9]).asnumpy()
    with pytest.raises(MXNetError, match="empty"):
        sampled([3, 3, 3, 3], aligned=True).asnumpy()
    with pytest.raises(ValueError, match="pooled_size"):
        nd.contrib.ROIAlign(nd.array(IMAGE), nd.zeros((1, 5)), pooled_size=(0, 2), spatial_scale=1.0)
