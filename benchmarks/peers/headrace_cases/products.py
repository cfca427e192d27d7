"""Products of matrices, and the timed parts of the seed programs 03 and 10."""

from headrace import np, npx

from .arrays import on
from .pointwise import as_mxnet


def bfloat16(n):
    def prepare():
        x = np.random.uniform(size=(n, n)).astype("bfloat16")
        return lambda: np.dot(x, x).wait_to_read()

    return prepare


def ten_products():
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000))
        np.dot(a, a)


def ten_finished_products():
    ten_products()
    npx.waitall()


CASES = (
    {f"matmul float32 {n}": on(lambda x: np.dot(x, x), (n, n)) for n in (64, 256, 1024, 2048, 3072)}
    | {f"matmul bfloat16 {n}": bfloat16(n) for n in (256, 1024, 2048)}
    | {
        "batch_dot 64 x 128": on(lambda x: npx.batch_dot(x, x), (64, 128, 128)),
        "FullyConnected 256 x 784 x 256": on(
            lambda x, w, b: npx.fully_connected(x, w, b, num_hidden=256), (256, 784), (256, 784), (256,)
        ),
        "10 x (normal, product) (1000, 1000), not waiting": lambda: (ten_products, npx.waitall),
        "10 x (normal, product) (1000, 1000), waiting once": lambda: ten_finished_products,
        "10 x (normal, product) (1000, 1000), MXNet's numbers": lambda: as_mxnet(ten_finished_products),
    }
)
