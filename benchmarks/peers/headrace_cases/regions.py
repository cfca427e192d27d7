"""Regions and windows of images."""

from headrace import autograd, nd

BOXES, REGIONS = 4096, 256


def random_boxes(count, extent):
    corners = nd.random.uniform(0, extent * 0.75, shape=(count, 2))
    return nd.concat(corners, corners + nd.random.uniform(2, extent * 0.25, shape=(count, 2)), dim=1)


def nms():
    boxes = nd.concat(nd.random.uniform(shape=(BOXES, 1)), random_boxes(BOXES, 800), dim=1)
    found = {"overlap_thresh": 0.5, "coord_start": 1, "score_index": 0, "id_index": -1}
    return lambda: nd.contrib.box_nms(boxes, **found).wait_to_read()


def roi_align():
    images, regions = nd.random.uniform(shape=(2, 256, 50, 50)), random_boxes(REGIONS, 800)
    regions = nd.concat(nd.arange(REGIONS).reshape((-1, 1)) % 2, regions, dim=1)
    settings = {"pooled_size": (7, 7), "spatial_scale": 1 / 16, "sample_ratio": 2}
    return images, lambda: nd.contrib.ROIAlign(images, regions, **settings)


def align():
    _, function = roi_align()
    return lambda: function().wait_to_read()


def align_with_gradient():
    images, function = roi_align()
    images.attach_grad()

    def run():
        with autograd.record():
            y = function()
        y.backward()
        nd.waitall()

    return run


def windows():
    images = nd.random.uniform(shape=(32, 64, 56, 56))
    settings = {"kernel": (3, 3), "stride": (1, 1), "dilate": (1, 1), "pad": (1, 1)}
    return lambda: nd.im2col(images, **settings).wait_to_read()


CASES = {
    "box_nms of 4,096 boxes": nms,
    "ROIAlign, 256 regions of (2, 256, 50, 50)": align,
    "ROIAlign, 256 regions of (2, 256, 50, 50), forward and backward": align_with_gradient,
    "im2col 3x3 of (32, 64, 56, 56)": windows,
}
