"""The sums and copies of a key-value store, which keeps the sum of each key."""

import torch

KEYS, ELEMENTS = 100, 1 << 18


def arrays():
    return [[torch.ones(ELEMENTS) for _ in range(2)] for _ in range(KEYS)]


def pushpull(in_place):
    gradients, stored = arrays(), [torch.zeros(ELEMENTS) for _ in range(KEYS)]
    outs = gradients if in_place else arrays()

    def run():
        for (first, second), total, targets in zip(gradients, stored, outs):
            torch.add(first, second, out=total)
            for target in targets:
                target.copy_(total)

    return run


CASES = {
    f"kvstore {kind}, pushpull 100 x 1 MB of 2 contexts{suffix}": lambda in_place=in_place: pushpull(in_place)
    for kind in ("local", "device")
    for suffix, in_place in ((", in place", True), ("", False))
}
