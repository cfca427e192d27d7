"""How much of two independent parts runs at the same time: host beside GPU, computing beside copying.

The GPU is simulated. Prints the times of both parts alone and together, and max(a, b) / together: 1 is ideal.
On the virtual clock the modelled machine counts, and the figures are the same on every computer. On the real
clock each part is made of operations that keep one core busy, so two cores are needed.
"""

import time

import headrace as mx
from headrace import nd, sim

REPEATS = {"virtual": 40, "real": 1000}  # spreading threads over cores takes the system a millisecond


class Clock:
    """Seconds of the clock that the simulated machine runs on."""

    def __init__(self, kind):
        sim.configure(gpus=1, topology="", clock=kind)
        self._now = sim.now if kind == "virtual" else time.perf_counter
        self._rounds = 1 if kind == "virtual" else 10

    def time(self, *parts):
        """Seconds for all parts, stated one after the other and awaited at the end."""
        mx.nd.waitall()
        begin = self._now()
        kept = [part() for part in parts]
        mx.nd.waitall()
        del kept
        return self._now() - begin

    def best(self, *parts):
        return min(self.time(*parts) for _ in range(self._rounds))


def chain(x, repeats):
    """Dependent products, each too small for a second core."""

    def run():
        y = x
        for _ in range(repeats):
            y = nd.dot(y, x)
        return y

    return run


def copies(source, target, repeats):
    def run():
        for _ in range(repeats):
            source.copyto(target)

    return run


def report(kind):
    clock = Clock(kind)
    size = 96 if kind == "real" else 500
    on_host, on_gpu = (nd.random.uniform(shape=(size, size)).as_in_context(c) for c in (mx.cpu(), mx.gpu(0)))
    far = nd.ones((1 << 20,), ctx=mx.gpu(0))
    near = nd.ones((1 << 20,))
    count = REPEATS[kind]
    pairs = {
        "host, GPU": (chain(on_host, count), chain(on_gpu, count)),
        "computing, copying to the host": (chain(on_gpu, count), copies(far, near, count // 20)),
    }
    for name, (first, second) in pairs.items():
        clock.time(first, second)  # warm-up
        a, b, together = clock.best(first), clock.best(second), clock.best(first, second)
        print(
            f"| {name} | {kind} | {a * 1e3:.2f} ms | {b * 1e3:.2f} ms | {together * 1e3:.2f} ms "
            f"| {max(a, b) / together:.3f} |"
        )


if __name__ == "__main__":
    print("| parts | clock | a | b | together | max(a, b) / together |\n|---|---|---|---|---|---|")
    for kind in ("virtual", "real"):
        report(kind)
