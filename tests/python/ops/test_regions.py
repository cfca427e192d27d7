"""Regions that a network proposes, and what is read from them: against loops and against each other."""

import numpy
import pytest

from headrace import autograd, nd, sym
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(5)


def drawn(low, high, *shape):
    return RANDOM.uniform(low, high, shape).astype("float32")


# --- Proposal -----------------------------------------------------------------------------------------------


def anchors(stride, scales, ratios):
    """Boxes around the middle of the first place, whole numbers of pixels wide and high."""
    for ratio in ratios:
        for scale in scales:
            width = numpy.floor(numpy.sqrt(numpy.floor(stride * stride / ratio)) + 0.5)
            sides = width * scale, numpy.floor(width * ratio + 0.5) * scale
            yield [(stride - 1) / 2 + way * (side - 1) / 2 for way in (-1, 1) for side in sides]


def overlap(a, b):
    """Of boxes whose corners are pixels that belong to them."""
    shared = numpy.minimum(a[2:], b[2:]) - numpy.maximum(a[:2], b[:2]) + 1
    both = numpy.prod(numpy.maximum(shared, 0))
    return both / (numpy.prod(a[2:] - a[:2] + 1) + numpy.prod(b[2:] - b[:2] + 1) - both)


def proposals(scores, offsets, image, stride, scales, ratios, most, threshold, smallest):
    height, width, scale = image
    found = []
    for y in range(scores.shape[1]):
        for x in range(scores.shape[2]):
            for k, anchor in enumerate(anchors(stride, scales, ratios)):
                low = numpy.array(anchor[:2]) + (x * stride, y * stride)
                size = numpy.array(anchor[2:]) - anchor[:2] + 1
                dx, dy, dw, dh = offsets[4 * k : 4 * k + 4, y, x]
                middle = low + (size - 1) / 2 + size * (dx, dy)
                half = (size * numpy.exp([dw, dh]) - 1) / 2
                box = numpy.concatenate([middle - half, middle + half])
                box = numpy.maximum(numpy.minimum(box, [width - 1, height - 1] * 2), 0)
                score = scores[k, y, x]
                if y >= height // stride or x >= width // stride:
                    score = -1
                if min(box[2:] - box[:2] + 1) < smallest * scale:
                    box += numpy.repeat([-0.5, 0.5], 2) * smallest * scale
                    score = -1
                found.append((score, box))
    kept = []
    for score, box in sorted(found, key=lambda pair: -pair[0]):
        if all(overlap(box, other) <= threshold for _, other in kept):
            kept.append((score, box))
    kept = (kept * most)[:most] if len(kept) < most else kept[:most]
    return numpy.array([box for _, box in kept]), numpy.array([[score] for score, _ in kept])


def test_multi_proposal_gives_the_best_boxes_of_each_image():
    scores, offsets = drawn(0, 1, 2, 8, 4, 5), drawn(-0.5, 0.5, 2, 16, 4, 5)
    images = numpy.array([[60, 70, 1], [50, 80, 1.5]], "float32")
    form = {"scales": (1, 2), "ratios": (0.5, 2), "threshold": 0.4}
    regions, marks = nd.contrib.MultiProposal(
        nd.array(scores),
        nd.array(offsets),
        nd.array(images),
        rpn_post_nms_top_n=50,
        rpn_min_size=10,
        output_score=True,
        **form,
    )
    assert regions.shape == (100, 5) and marks.shape == (100, 1)
    assert regions.asnumpy()[:, 0].tolist() == [0] * 50 + [1] * 50
    for b in range(2):
        boxes, expected = proposals(
            scores[b, 4:], offsets[b], images[b], stride=16, most=50, smallest=10, **form
        )
        own = slice(50 * b, 50 * b + 50)
        numpy.testing.assert_allclose(regions.asnumpy()[own, 1:], boxes, rtol=1e-4, atol=1e-3)
        numpy.testing.assert_allclose(marks.asnumpy()[own], expected)


def one_image(height=48):
    return nd.array(drawn(0, 1, 1, 2, 3, 3)), nd.zeros((1, 4, 3, 3)), nd.array([[height, 48, 1]])


def test_proposal_is_multi_proposal_of_one_image_and_has_a_zero_gradient():
    arrays, form = one_image(), {"scales": (2,), "ratios": (1,), "rpn_post_nms_top_n": 7}
    arrays[0].attach_grad()
    with autograd.record():
        regions = nd.contrib.Proposal(*arrays, **form)
    regions.backward()
    assert regions.asnumpy().tolist() == nd.contrib.MultiProposal(*arrays, **form).asnumpy().tolist()
    assert not arrays[0].grad.asnumpy().any()


def test_corners_are_moved_with_iou_loss():
    scores, offsets, image = one_image()
    form = {"scales": (1,), "ratios": (1,), "rpn_post_nms_top_n": 9, "rpn_min_size": 1, "iou_loss": True}
    boxes = nd.contrib.Proposal(scores, offsets + 3, image, **form).asnumpy()[:, 1:]
    best = scores.asnumpy()[0, 1].argmax()
    first = numpy.array([best % 3 * 16, best // 3 * 16])
    expected = numpy.minimum(numpy.concatenate([first + 3, first + 18]), 47)
    assert boxes[0].tolist() == expected.tolist()


def test_proposal_refuses_several_images_other_anchors_and_larger_images():
    form = {"scales": (1,), "ratios": (1,)}
    two = [nd.concat(x, x, dim=0) for x in one_image()]
    with pytest.raises(MXNetError, match="take MultiProposal"):
        nd.contrib.Proposal(*two, **form)
    with pytest.raises(MXNetError, match="cls_prob of 24 channels, got 2"):
        nd.contrib.Proposal(*one_image())
    with pytest.raises(MXNetError, match="more than 3 x 3 places"):
        nd.contrib.Proposal(*one_image(height=64), **form).asnumpy()


def test_symbols_of_proposals_know_their_shapes():
    net = sym.contrib.Proposal(
        sym.var("scores"), sym.var("offsets"), sym.var("image"), output_score=True, name="rpn"
    )
    assert net.list_outputs() == ["rpn_output", "rpn_score"]
    arguments, results, _ = net.infer_shape(scores=(1, 24, 5, 6))
    assert arguments == [(1, 24, 5, 6), (1, 48, 5, 6), (1, 3)] and results == [(300, 5), (300, 1)]


# --- PSROIPooling -------------------------------------------------------------------------------------------


def sensitive_means(data, rois, scale, channels, cells, groups):
    height, width = data.shape[2:]
    result = numpy.zeros((len(rois), channels, cells, cells))
    for r, (image, *corners) in enumerate(rois):
        left, top, right, bottom = numpy.floor(numpy.array(corners) + 0.5)
        low = numpy.array([top, left]) * scale
        size = numpy.maximum(numpy.array([bottom + 1, right + 1]) * scale - low, 0.1) / cells
        for y, x in numpy.ndindex(cells, cells):
            begin = numpy.clip(numpy.floor(low + size * (y, x)), 0, (height, width)).astype(int)
            end = numpy.clip(numpy.ceil(low + size * (y + 1, x + 1)), 0, (height, width)).astype(int)
            for channel in range(channels):
                plane = (channel * groups + y * groups // cells) * groups + x * groups // cells
                part = data[int(image), plane, begin[0] : end[0], begin[1] : end[1]]
                result[r, channel, y, x] = part.mean() if part.size else 0
    return result


@pytest.mark.parametrize("cells, groups", [(3, 0), (2, 3), (4, 2)])
def test_cells_of_psroi_pooling_read_channels_of_their_own(cells, groups):
    grid = groups or cells
    data = drawn(-1, 1, 2, 2 * grid * grid, 7, 9)
    rois = numpy.concatenate([[[0], [1], [1], [0]], drawn(0, 20, 4, 4)], axis=1)
    rois[3, 1:] = 40, 40, 50, 50  # outside of the image
    got = nd.contrib.PSROIPooling(
        nd.array(data), nd.array(rois), spatial_scale=0.5, output_dim=2, pooled_size=cells, group_size=groups
    )
    expected = sensitive_means(data, rois, 0.5, 2, cells, grid)
    numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-4, atol=1e-6)
    assert not got.asnumpy()[3].any()


def test_psroi_pooling_refuses_too_few_channels():
    with pytest.raises(MXNetError, match="as many channels, got 7"):
        nd.contrib.PSROIPooling(
            nd.zeros((1, 7, 4, 4)), nd.zeros((1, 5)), spatial_scale=1, output_dim=2, pooled_size=2
        )


# --- RROIAlign ----------------------------------------------------------------------------------------------


def turned(data, middle_x, middle_y, width, height, degrees, image=0, **attrs):
    roi = nd.array([[image, middle_x, middle_y, width, height, degrees]])
    return nd.contrib.RROIAlign(data, roi, **{"pooled_size": (2, 3), "spatial_scale": 1, **attrs})


@pytest.mark.parametrize("ratio", [-1, 2])
def test_a_region_that_is_not_turned_is_that_of_roi_align(ratio):
    data = nd.array(drawn(-1, 1, 2, 3, 9, 11))
    got = turned(data, 5, 4, 6, 3, 0, image=1, spatial_scale=0.5, sampling_ratio=ratio)
    box = nd.array([[1, 2, 2.5, 8, 5.5]])
    straight = nd.contrib.ROIAlign(data, box, pooled_size=(2, 3), spatial_scale=0.5, sample_ratio=ratio)
    numpy.testing.assert_allclose(got.asnumpy(), straight.asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_quarter_turn_of_the_region_turns_the_result():
    data = nd.array(drawn(-1, 1, 1, 2, 9, 9))
    straight = turned(data, 4, 4, 6, 4, 0).asnumpy()
    of_turned = turned(nd.array(numpy.rot90(data.asnumpy(), axes=(2, 3)).copy()), 4, 4, 6, 4, 90).asnumpy()
    numpy.testing.assert_allclose(of_turned, straight, rtol=1e-4, atol=1e-5)


def test_rroi_align_of_an_image_that_there_is_not_is_zero():
    assert not turned(nd.ones((2, 1, 5, 5)), 2, 2, 3, 3, 30, image=2).asnumpy().any()


# --- mrcnn_mask_target --------------------------------------------------------------------------------------


def mask_targets(**changed):
    arrays = {
        "rois": numpy.sort(drawn(0, 8, 2, 3, 2, 2), axis=2).reshape(2, 3, 4),
        "gt_masks": drawn(0, 1, 2, 4, 9, 8),
        "matches": numpy.array([[0, 3, 1], [2, 2, 4]]),
        "cls_targets": numpy.array([[0, 1, 2], [1, -1, 0]]),
    }
    form = {"num_rois": 3, "num_classes": 3, "mask_size": (5, 4), **changed}
    return arrays, nd.contrib.mrcnn_mask_target(*(nd.array(x) for x in arrays.values()), **form)


@pytest.mark.parametrize("ratio", [2, -1])
@pytest.mark.parametrize("aligned", [False, True])
def test_mask_targets_are_the_masks_under_the_regions(aligned, ratio):
    arrays, (targets, weights) = mask_targets(aligned=aligned, sample_ratio=ratio)
    assert targets.shape == weights.shape == (2, 3, 3, 5, 4)
    for b, n in numpy.ndindex(2, 3):
        mask, box = arrays["matches"][b, n], arrays["rois"][b, n]
        expected = numpy.zeros((5, 4))
        if mask < 4:
            plane, roi = nd.array(arrays["gt_masks"][b : b + 1, mask : mask + 1]), nd.array([[0, *box]])
            form = {"pooled_size": (5, 4), "spatial_scale": 1, "sample_ratio": ratio, "aligned": aligned}
            expected = nd.contrib.ROIAlign(plane, roi, **form).asnumpy()[0, 0]
        for k in range(3):
            numpy.testing.assert_allclose(targets[b, n, k].asnumpy(), expected, rtol=1e-5, atol=1e-6)
            assert (weights[b, n, k].asnumpy() == (arrays["cls_targets"][b, n] == k)).all()


def test_mask_targets_refuse_another_number_of_regions():
    with pytest.raises(MXNetError, match="num_rois is 2"):
        mask_targets(num_rois=2)


def test_mask_targets_of_regions_turned_inside_out_are_zero():
    form = {"num_rois": 1, "num_classes": 1, "mask_size": (2, 2), "aligned": True, "sample_ratio": -1}
    targets, _ = nd.contrib.mrcnn_mask_target(
        nd.array([[[3, 3, -1e30, 1]]]), nd.ones((1, 1, 4, 4)), nd.zeros((1, 1)), nd.zeros((1, 1)), **form
    )
    assert not targets.asnumpy().any()
