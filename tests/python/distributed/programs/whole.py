"""Trains arrays of 64 elements, which two servers would share, by optimizers that look at whole arrays.

Asserts that each makes of them what it makes in one process.
"""

import numpy
import own_optimizers

from headrace import kv, nd, optimizer

GRADIENT = numpy.sin(numpy.arange(64)).reshape(8, 8)

for rule in (optimizer.contrib.GroupAdaGrad(learning_rate=0.1), own_optimizers.ByNorm(learning_rate=0.1)):
    alone = nd.ones((8, 8))
    optimizer.get_updater(rule)(0, nd.array(2 * GRADIENT), alone)
    store = kv.create("dist_sync")
    store.set_optimizer(rule)
    store.init(0, nd.ones((8, 8)))
    store.push(0, nd.array(GRADIENT))
    shared = nd.zeros((8, 8))
    store.pull(0, out=shared)
    numpy.testing.assert_allclose(shared.asnumpy(), alone.asnumpy(), rtol=1e-6)
print("done")
