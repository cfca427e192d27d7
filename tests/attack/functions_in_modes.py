"""Runs functions eagerly and hybridized: of each JSON text on standard input, the results as a JSON line.

Usage: functions_in_modes.py, in the environment that is the mode.
"""

import json
import sys

import numpy
from child import Finding


def compare(ones, others, what):
    """Finding: outputs that differ in a bit, or gradients, whose sums may have another order, in more."""
    if len(ones) != len(others):
        raise Finding("wrong value", f"{what}: {others} beside {len(ones)} results")
    for one, other in zip(ones, others):
        place, is_gradient = one["place"], one["is_gradient"]
        a, b = (numpy.array(each["bits"], dtype="uint32").view("float32") for each in (one, other))
        same = (
            numpy.isclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)
            if is_gradient
            else a.view("i4") == b.view("i4")
        )
        if not same.all():
            raise Finding(
                "wrong value", f"{what}: result {place}: {a[~same][:5].tolist()} and {b[~same][:5].tolist()}"
            )


def main():
    """Answers every line."""
    from headrace import autograd, gluon, nd

    class Block(gluon.HybridBlock):
        def __init__(self, function):
            super().__init__()
            self._function = function

        def hybrid_forward(self, F, a, b, c):  # noqa: N803
            return self._function(F, a, b, c)

    def run(function):
        random = numpy.random.default_rng(7)
        arrays = [nd.array(random.standard_normal((5, 6), dtype="float32")) for _ in range(3)]
        for one in arrays:
            one.attach_grad()
        with autograd.record():
            outputs = function(*arrays)
            loss = sum((output * output).sum() for output in outputs)
        loss.backward()
        results = [(one, False) for one in outputs] + [(one.grad, True) for one in arrays]
        return [
            {"place": place, "is_gradient": flag, "bits": one.asnumpy().ravel().view("uint32").tolist()}
            for place, (one, flag) in enumerate(results)
        ]

    def answer(text):
        names = {}
        exec(text, names)
        block = Block(names["f"])
        block.hybridize()
        eager = run(lambda *arrays: names["f"](nd, *arrays))
        return {"eager": eager, "hybrid": [run(block), run(block)][1]}

    for line in sys.stdin:
        try:
            told = answer(json.loads(line))
        except Exception as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
