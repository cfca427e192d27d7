"""np graphs that Headrace and MXNet 1.9.1 both make: calls on symbols, their arrays, and what a symbol holds.

np_graphs.json beside it is what MXNet made of them, which this program prints when MXNet's Python runs it.
"""

import json
import sys

import numpy

ARRAYS = {
    "a": numpy.sin(numpy.arange(6) * 2.5 + 1).astype("float32").reshape(2, 3),
    "b": numpy.cos(numpy.arange(6) * 1.5).astype("float32").reshape(2, 3),
    "v": numpy.array([0.5, -2, 3, 1.5], dtype="float32"),
    "w": numpy.array([1, 3], dtype="float32"),
    "q": numpy.array([10, 45], dtype="float32"),
    "i": numpy.array([1, 0], dtype="int64"),
    "c": numpy.sin(numpy.arange(12) * 1.5).astype("float32").reshape(1, 3, 4),
    "s": numpy.array([[4, 1, -2], [1, 3, 0.5], [-2, 0.5, 6]], dtype="float32"),
    "t": numpy.sin(numpy.arange(36) ** 2 * 0.7).astype("float32").reshape(3, 2, 2, 3),
}

# F is sym.np, X is sym.npx.
CALLS = """
F.linalg.norm(a)
F.linalg.norm(a, axis=1)
F.linalg.norm(a, axis=(0, 1), keepdims=True)
F.linalg.norm(a, ord=3, axis=1)
F.linalg.norm(a, ord=1, axis=(1, 0))
F.linalg.norm(a, ord='inf', axis=(0, 1), keepdims=True)
F.linalg.norm(a, ord='-inf', axis=0)
F.linalg.norm(v, ord=2)
F.linalg.norm(a, ord='fro')
F.linalg.norm(s, ord=2, axis=(0, 1))
F.linalg.norm(c, ord='nuc', axis=(1, 2))
F.linalg.svd(a)
F.linalg.pinv(a)
F.linalg.pinv(c, rcond=0.5)
F.linalg.cholesky(s)
F.linalg.inv(s)
F.linalg.det(s)
F.linalg.slogdet(s)
F.linalg.solve(s, F.ones((3, 2)))
F.linalg.tensorinv(t)
F.linalg.tensorsolve(t, F.ones((3, 2)))
F.linalg.tensorsolve(t, F.ones((2, 3)), axes=(0, 2))
F.linalg.eigvalsh(s)
F.linalg.eigvalsh(s, UPLO='U')
F.linalg.eigh(s)
F.linalg.eigvals(F.tril(s))
F.linalg.eig(F.tril(s))
F.argsort(a)
F.argsort(a, axis=0)
a.argsort(axis=None)
F.sort(a, axis=0)
F.argmax(a, axis=1)
a.argmax()
F.argmin(a)
F.take(a, i)
F.take(a, i, axis=1, mode='clip')
a.take(i, axis=0)
F.clip(a, 0, 1)
F.clip(a, None, 0.5)
a.clip(-0.25, 0.5)
F.zeros_like(a)
F.ones_like(a, dtype='float64')
F.full_like(a, 3)
F.zeros((2, 3))
F.ones((2,), dtype='int32')
F.full((2, 3), 2)
F.eye(3, k=1)
F.identity(3)
F.arange(3)
F.arange(1, 7, 2, dtype='int64')
F.linspace(0, 1, 5)
F.logspace(0, 2, 3)
F.broadcast_to(a, (4, 2, 3))
F.swapaxes(a, 0, 1)
a.swapaxes(0, 1)
F.rot90(a)
F.rot90(a, k=-1, axes=(1, 0))
F.flip(a)
F.flipud(a)
F.fliplr(a)
F.ravel(a)
a.flatten()
F.outer(w, v)
F.inner(a, b)
F.vdot(a, b)
F.tensordot(a, b, ([1], [1]))
F.atleast_2d(v)
F.pad(a, ((1, 0), (0, 2)))
F.pad(a, ((1, 0), (0, 2)), mode='edge')
F.pad(a, ((1, 1), (0, 2)), mode='reflect')
F.pad(a, ((1, 1), (2, 1)), mode='maximum')
F.average(a)
F.average(a, axis=1)
F.average(a, axis=0, weights=w)
F.average(a, weights=b, returned=True)
F.hsplit(a, 3)
F.hsplit(v, [1, 3])
F.vsplit(a, 2)
F.dsplit(c, (1,))
F.split(v, 2)
F.array_split(v, 3)
F.diff(a)
F.diff(v, n=2)
F.ediff1d(a)
F.ediff1d(a, to_begin=v, to_end=9)
F.polyval(v, a)
F.percentile(a, 30)
F.percentile(a, 30, axis=0, keepdims=True)
F.percentile(a, q, axis=1, interpolation='nearest')
F.percentile(c, 75, axis=(0, 2), interpolation='midpoint')
F.quantile(a, 0.25, interpolation='lower')
F.insert(a, 1, w, axis=1)
F.insert(v, 2, 5.0)
F.insert(a, slice(0, 2), w, axis=1)
F.insert(a, i, b, axis=0)
F.where(a > 0, a, 0.0)
F.nan_to_num(a)
F.std(a, axis=0)
F.cumsum(a, axis=1)
F.concatenate([a, b], axis=0)
F.stack([a, b])
F.einsum('ij,kj->ik', a, b)
a.sum(axis=1)
a.mean()
a.max(axis=0, keepdims=True)
F.squeeze(F.expand_dims(a, 0))
X.softmax(a, axis=0)
X.topk(a, k=2)
""".strip().splitlines()

# Symbols of samples; their numbers depend on the generator.
SAMPLES = """
F.random.uniform(0, 1, (2, 3))
F.random.uniform(a, 3.0)
F.random.normal(a, F.ones((2, 3)))
F.random.normal(0, 1, (2,), dtype='float64')
F.random.exponential(w)
F.random.exponential(2, (2, 3))
F.random.gamma(2.0, 3.0, (4,))
F.random.gamma(w, 2.0)
F.random.beta(1.0, 2.0, (3,))
F.random.chisquare(3.0, (3,))
F.random.gumbel(0, 1, (2, 3))
F.random.logistic(a, 1.0)
F.random.rayleigh(w, (3, 2))
F.random.weibull(w)
F.random.pareto(3.0, (2,))
F.random.power(w)
F.random.lognormal(0, 1, (2, 3))
F.random.rand(2, 3)
F.random.choice(5, (2,))
F.random.choice(2, (3,), p=w)
F.random.randint(0, 5, (2, 3))
X.random.bernoulli(0.3, size=(2, 3))
X.random.bernoulli(logit=a)
X.random.normal_n(w, 1.0, batch_shape=(4, 3))
X.random.uniform_n(0, 1, batch_shape=(4,))
""".strip().splitlines()


def made_by(mx, call):
    """The symbol of a call, which names start to count from 0 for."""
    scope = {"F": mx.sym.np, "X": mx.sym.npx, **{name: mx.sym.var(name).as_np_ndarray() for name in ARRAYS}}
    with mx.name.NameManager():
        made = eval(call, scope)
    return mx.sym.Group(list(made)) if isinstance(made, (list, tuple)) else made


def values_of(mx, symbol):
    """The outputs for ARRAYS, as NumPy arrays."""
    arrays = {name: mx.np.array(ARRAYS[name], dtype=ARRAYS[name].dtype) for name in symbol.list_arguments()}
    return [one.asnumpy() for one in symbol.bind(mx.cpu(), arrays, grad_req="null").forward()]


def listed(array):
    """dtype, shape and elements of an array, for JSON."""
    return [str(array.dtype), list(array.shape), [round(x, 7) for x in array.ravel().tolist()]]


def nodes_of(text):
    """[operator, attributes, inputs] of the nodes in a symbol's JSON that are no variables."""
    nodes = json.loads(text)["nodes"]
    return [
        [node["op"], node.get("attrs", {}), [entry[:2] for entry in node["inputs"]]]
        for node in nodes
        if node["op"] != "null"
    ]


def record(mx):
    """What MXNet makes of the calls: JSON, and for those that draw no samples outputs."""
    mx.npx.set_np()
    symbols = {call: made_by(mx, call) for call in CALLS + SAMPLES}
    return {
        call: {
            "graph": {
                key: part for key, part in json.loads(symbol.tojson()).items() if key != "node_row_ptr"
            },
            "outputs": None if call in SAMPLES else [listed(one) for one in values_of(mx, symbol)],
        }
        for call, symbol in symbols.items()
    }


if __name__ == "__main__":
    import mxnet

    made = record(mxnet)
    print("{\n" + ",\n".join(f"{json.dumps(call)}: {json.dumps(made[call])}" for call in made) + "\n}")
    sys.stdout.flush()
