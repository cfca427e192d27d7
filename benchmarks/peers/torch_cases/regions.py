"""Regions and windows of images."""

import torch
from torchvision import ops

BOXES, REGIONS = 4096, 256


def random_boxes(count, extent):
    corners = torch.rand(count, 2) * extent * 0.75
    return torch.cat([corners, corners + 2 + torch.rand(count, 2) * (extent * 0.25 - 2)], 1)


def nms():
    boxes, scores = random_boxes(BOXES, 800), torch.rand(BOXES)
    return lambda: boxes[ops.nms(boxes, scores, 0.5)]


def roi_align(with_gradient):
    images = torch.rand(2, 256, 50, 50, requires_grad=with_gradient)
    regions = torch.cat([torch.arange(REGIONS)[:, None] % 2, random_boxes(REGIONS, 800)], 1)
    return images, lambda: ops.roi_align(images, regions, (7, 7), 1 / 16, 2)


def align_with_gradient():
    images, function = roi_align(True)
    heads = torch.ones(REGIONS, 256, 7, 7)

    def run():
        images.grad = None
        function().backward(heads)

    return run


def windows():
    images = torch.rand(32, 64, 56, 56)
    return lambda: torch.nn.functional.unfold(images, 3, padding=1)


CASES = {
    "box_nms of 4,096 boxes": nms,
    "ROIAlign, 256 regions of (2, 256, 50, 50)": lambda: roi_align(False)[1],
    "ROIAlign, 256 regions of (2, 256, 50, 50), forward and backward": align_with_gradient,
    "im2col 3x3 of (32, 64, 56, 56)": windows,
}
