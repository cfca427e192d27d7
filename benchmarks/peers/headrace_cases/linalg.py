"""Decompositions, systems of equations, and products with sparse matrices."""

from headrace import autograd, gluon, nd, np, npx, util

SIZE = 512


def of_matrix(function, definite=False):
    def prepare():
        x = np.random.normal(size=(SIZE, SIZE))
        if definite:
            x = np.dot(x, x.T) + np.eye(SIZE)

        def run():
            function(x)
            npx.waitall()

        return run

    return prepare


def solve():
    a, b = np.random.normal(size=(SIZE, SIZE)), np.random.normal(size=(SIZE, SIZE))
    return lambda: np.linalg.solve(a, b).wait_to_read()


def csr_matrix():
    rows, columns, stored = 100_000, 10_000, 10
    values = nd.random.uniform(shape=(rows * stored,))
    starts = nd.arange(0, rows * stored + 1, stored, dtype="int64")
    places = nd.arange(stored).reshape((1, -1)) * (columns // stored) + nd.arange(rows).reshape((-1, 1)) % 100
    return nd.sparse.csr_matrix((values, places.reshape((-1,)), starts), shape=(rows, columns))


def csr_dot(width, transposed=False):
    def prepare():
        x = csr_matrix()
        y = nd.random.uniform(shape=(x.shape[0 if transposed else 1], width))
        how = {"transpose_a": True, "forward_stype": "default"} if transposed else {}
        return lambda: nd.sparse.dot(x, y, **how).wait_to_read()

    return prepare


def dot_csr():
    y = csr_matrix()
    x = nd.random.uniform(shape=(64, y.shape[0]))
    return lambda: nd.sparse.dot(x, y, forward_stype="default").wait_to_read()


def sparse_embedding():
    with util.np_array(False):  # gradients of np arrays are dense
        net = gluon.nn.Embedding(1_000_000, 64, sparse_grad=True)
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
        words = nd.floor(nd.random.uniform(0, 1_000_000, shape=(512,)))

    def run():
        with util.np_array(False):
            with autograd.record():
                y = net(words).sum()
            y.backward()
            trainer.step(512)
        nd.waitall()

    return run


CASES = {
    "potrf 512": of_matrix(np.linalg.cholesky, definite=True),
    "syevd 512": of_matrix(np.linalg.eigh, definite=True),
    "svd 512": of_matrix(np.linalg.svd),
    "solve 512": solve,
    "csr (100,000, 10,000) of 10 in a row, times (10,000, 64)": csr_dot(64),
    "the same, times (10,000, 1)": csr_dot(1),
    "the same transposed, times (100,000, 64)": csr_dot(64, transposed=True),
    "(64, 100,000) times the same": dot_csr,
    "sparse embedding step, 1 million x 64, batch 512": sparse_embedding,
}
