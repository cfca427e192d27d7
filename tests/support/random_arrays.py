"""Runs random programs over arrays and prints what each leaves behind, a line per seed.

Usage: random_arrays.py FIRST LAST THREADS

A program makes arrays and works on them through views, in place, and with calls that fail while they run, and
waits now and then. The line of a seed is a digest of the bits of all arrays, or of their errors; it must not
depend on the engine, its workers, or the threads that run other programs at the same time.
"""

import hashlib
import random
import sys
import threading

import numpy

import headrace
from headrace import np

STEPS = 60


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.side = self.random.choice((3, 20, 150))
        shape = (self.side, self.side)
        values = numpy.random.default_rng(seed)
        self.arrays = [np.array(values.random(shape, dtype=numpy.float32)) for _ in range(5)]
        self.actions = [
            *(
                self.combine,
                self.reduce,
                self.product,
                self.view,
                self.update,
                self.select,
                self.sort,
                self.cast,
            ),
            *(self.combine, self.view, self.update),  # more often
            *(self.write_rows, self.write_columns, self.write_cell),
        ]

    def any(self):
        return self.random.choice(self.arrays)

    def put(self, array):
        self.arrays[self.random.randrange(len(self.arrays))] = array

    def rows(self):
        first, last = sorted(self.random.sample(range(self.side + 1), 2))
        return slice(first, last)

    def combine(self):
        operation = self.random.choice((np.add, np.subtract, np.multiply, np.maximum, np.minimum))
        self.put(np.tanh(operation(self.any(), self.any())))

    def reduce(self):
        axis = self.random.choice((0, 1))
        part = self.random.choice((np.mean, np.max, np.min))(self.any(), axis=axis, keepdims=True)
        self.put(self.any() - part)

    def product(self):
        if self.side < 100:  # larger ones may be cut into threads, which the sums would show
            self.put(np.dot(self.any(), self.any()) / self.side)

    def view(self):
        source = self.any()
        self.put(
            self.random.choice(
                (source.T, source[::-1], source[:, ::-1], source.reshape(-1).reshape(source.shape))
            )
        )

    def update(self):
        array, factor = self.any(), self.random.random()
        match self.random.randrange(4):
            case 0:
                array += self.any()
            case 1:
                array *= factor
            case 2:
                array -= factor
            case 3:
                array[:] = self.any()

    def write_rows(self):
        rows = self.rows()
        self.any()[rows] = self.any()[rows] * 0.5

    def write_columns(self):
        columns = self.rows()
        self.any()[:, columns] = self.any()[:, columns]

    def write_cell(self):
        self.any()[self.random.randrange(self.side), self.random.randrange(self.side)] = self.random.random()

    def select(self):
        index = [self.random.randrange(self.side) for _ in range(self.side)]
        if self.random.random() < 0.05:
            index[-1] = self.side  # out of range: found when it runs
        self.put(
            np.take(self.any(), np.array(index, dtype="int32"), axis=self.random.choice((0, 1)), mode="raise")
        )

    def sort(self):
        self.put(np.sort(self.any(), axis=self.random.choice((0, 1))))

    def cast(self):
        self.put((self.any() * 100).astype("int32").astype("float32") / 100)

    def run(self):
        for _ in range(STEPS):
            self.random.choice(self.actions)()
            if self.random.random() < 0.05:
                outcome(self.any())
        digest = hashlib.sha256()
        for array in self.arrays:
            digest.update(outcome(array))
        return digest.hexdigest()


def outcome(array):
    try:
        return array.asnumpy().tobytes()
    except IndexError as error:
        return str(error).encode()


def main():
    first, last, threads = map(int, sys.argv[1:])
    digests = {}

    def work(number):
        for seed in range(first + number, last, threads):
            digests[seed] = Program(seed).run()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for seed in range(first, last):
        print(seed, digests[seed])
    while True:
        try:
            headrace.waitall()
            break
        except IndexError:
            pass  # that of an array which nobody read


if __name__ == "__main__":
    main()
