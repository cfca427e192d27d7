"""Trains by Adam on servers; `states.py FOLDER` saves in the middle, with `resume` it goes on from there.

Arrays of 64 elements are split. Asserts that what was resumed ends where the other has.
"""

import sys

import numpy

from headrace import kv, nd, optimizer

SHAPES = {0: (2, 3), 1: (8, 8)}
STEPS = 6
folder, resumes = sys.argv[1], "resume" in sys.argv

store = kv.create("dist_sync")
store.set_optimizer(optimizer.Adam(learning_rate=0.1))
outs = {key: nd.zeros(shape) for key, shape in SHAPES.items()}


def step(number):
    for key, shape in SHAPES.items():
        gradient = numpy.sin(numpy.arange(numpy.prod(shape)) + number + store.rank).reshape(shape)
        store.push(key, nd.array(gradient))
        store.pull(key, out=outs[key])


begin = STEPS // 2 if resumes else 0
for key, shape in SHAPES.items():
    store.init(key, nd.array(numpy.load(f"{folder}/middle{key}.npy")) if resumes else nd.ones(shape))
if resumes and store.rank == 1:
    store.load_optimizer_states(f"{folder}/states")
store.barrier()
for number in range(begin, STEPS):
    if number == STEPS // 2 and not resumes:
        store.barrier()
        if store.rank == 1:
            store.save_optimizer_states(f"{folder}/states", dump_optimizer=True)
            for key, out in outs.items():
                numpy.save(f"{folder}/middle{key}.npy", out.asnumpy())
        store.barrier()
    step(number)
for key, out in outs.items():
    if not resumes and store.rank == 0:
        numpy.save(f"{folder}/end{key}.npy", out.asnumpy())
    if resumes:
        numpy.testing.assert_allclose(out.asnumpy(), numpy.load(f"{folder}/end{key}.npy"), rtol=1e-6)
store.barrier()
print("done")
