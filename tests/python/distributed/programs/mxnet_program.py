"""An MXNet program with an optimizer whose module says `import mxnet`, as this one does."""

from headrace.mxnet import install

install()

import mxnet as mx  # noqa: E402
import mxnet_optimizers  # noqa: E402

store = mx.kv.create("dist_sync")
store.set_optimizer(mxnet_optimizers.Halving(learning_rate=1.0))
weight = mx.nd.ones((2,)) * 8
store.init(0, weight)
for _ in range(2):
    store.push(0, mx.nd.ones((2,)))
store.pull(0, out=weight)
print(weight.asnumpy().tolist())
