"""Logistic regression on sparse features in several processes, none of which waits for another.

A text is the set of its words: a row of a csr matrix that is zero elsewhere. The weights of all words are on
the server, which updates them by AdaGrad as gradients come; a worker pulls and pushes those of the words in
its batch.

    python -m headrace.launch -n 2 python -m headrace.mxnet examples/mxnet/train_sparse_workers.py
"""

import argparse
import os
import tempfile

import mxnet as mx
import numpy
from mxnet import autograd, gluon, nd

WORDS, LENGTH = 50_000, 30


def write_texts(path, count, seed):
    """Texts of two writers who like other words: a line is the writer, then word:1 for each word."""
    liking = 0.5 * numpy.random.RandomState(0).normal(size=WORDS)
    random = numpy.random.RandomState(seed)
    lines = []
    for writer, likes in enumerate((liking, -liking)):
        commonness = numpy.exp(likes) / numpy.arange(1, WORDS + 1)
        words = random.choice(WORDS, (count // 2, LENGTH), p=commonness / commonness.sum())
        lines += [" ".join([str(writer), *(f"{word}:1" for word in numpy.unique(text))]) for text in words]
    random.shuffle(lines)
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines))


def train_epoch(batches, store, weight):
    """The mean loss of this worker."""
    loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    losses = []
    batches.reset()
    for batch in batches:
        texts, labels = batch.data[0], batch.label[0]
        store.row_sparse_pull("weight", out=weight, row_ids=texts.indices)
        with autograd.record():
            loss = loss_of(nd.sparse.dot(texts, weight), labels)
        loss.backward()
        store.push("weight", weight.grad)
        losses.append(loss.mean())
    return nd.concat(*losses, dim=0).mean().asscalar()


def accuracy_on(batches, store, weight):
    accuracy = mx.metric.Accuracy()
    for batch in batches:
        texts, labels = batch.data[0], batch.label[0]
        store.row_sparse_pull("weight", out=weight, row_ids=texts.indices)
        accuracy.update(labels, nd.sparse.dot(texts, weight).reshape((-1,)) > 0)
    return accuracy.get()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--texts", type=int, default=8000, help="of all workers together")
    parser.add_argument("--batch-size", type=int, default=50, help="of each worker")
    options = parser.parse_args()

    store = mx.kv.create("dist_async")
    weight = nd.zeros((WORDS, 1)).tostype("row_sparse")
    weight.attach_grad(stype="row_sparse")
    store.init("weight", weight)
    store.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1, rescale_grad=1 / options.batch_size))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "texts")

        def texts(count, seed, **part):
            write_texts(path, count, seed)
            return mx.io.LibSVMIter(
                data_libsvm=path, data_shape=(WORDS,), batch_size=options.batch_size, **part
            )

        mine = texts(options.texts, 1, num_parts=store.num_workers, part_index=store.rank)
        test = texts(1000, 2)
    for epoch in range(1, options.epochs + 1):
        loss = train_epoch(mine, store, weight)
        if store.rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}")
    store._barrier()  # the others are through their texts, too
    if store.rank == 0:
        print(f"test accuracy: {accuracy_on(test, store, weight):.3f}")


if __name__ == "__main__":
    main()
