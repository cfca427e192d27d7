import concurrent.futures
import multiprocessing
import os
import random
import threading
import time

import numpy
import pytest

from headrace import nd, np
from headrace.gluon.data import (
    ArrayDataset,
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    SequentialSampler,
    SimpleDataset,
    batchify,
)
from headrace.gluon.data.vision.transforms import Cast, Compose, Normalize, ToTensor

IMAGES = numpy.random.RandomState(0).randint(0, 256, (50, 6, 5, 3)).astype("uint8")
LABELS = numpy.arange(50, dtype="int32")
WORKERS = [
    pytest.param({"num_workers": 0}, id="here"),
    pytest.param({"num_workers": 2}, id="processes"),
    pytest.param({"num_workers": 2, "thread_pool": True}, id="threads"),
]


class Squares(Dataset):
    """Items one by one, with nothing for whole batches."""

    def __len__(self):
        return 23

    def __getitem__(self, idx):
        return numpy.full(3, idx * idx, "float32"), idx


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_come_in_the_order_of_the_sampler(workers, mode):
    loader = DataLoader(Squares(), 4, **workers)
    assert len(loader) == 6
    for _ in range(2):
        batches = list(loader)
        assert [len(numbers) for _, numbers in batches] == [4, 4, 4, 4, 4, 3]
        for values, numbers in batches:
            assert isinstance(values, np.ndarray) == (mode == "np")
            assert values.dtype == numpy.float32
            assert (values.asnumpy()[:, 0] == numbers.asnumpy() ** 2).all()
        assert numpy.concatenate([numbers.asnumpy() for _, numbers in batches]).tolist() == list(range(23))


@pytest.mark.parametrize("workers", WORKERS)
def test_shuffle_follows_the_seed_of_numpy(workers):
    loader = DataLoader(ArrayDataset(LABELS), 16, shuffle=True, **workers)
    numpy.random.seed(7)
    order = numpy.concatenate([batch.asnumpy() for batch in loader])
    numpy.random.seed(7)
    assert order.tolist() == numpy.random.permutation(50).tolist()


@pytest.mark.parametrize("workers", WORKERS)
def test_large_batches(workers, mode):
    """Batches large enough for shared memory, growing and shrinking, kept while further ones are read."""
    data = numpy.random.RandomState(0).rand(300, 1000)
    sizes = [3, 90, 20, 120, 60, 7]
    starts = numpy.cumsum([0, *sizes])
    rows = [list(range(start, start + size)) for start, size in zip(starts, sizes)]
    batches = list(DataLoader(ArrayDataset(data, numpy.arange(300)), batch_sampler=rows, **workers))
    for (values, numbers), wanted in zip(batches, rows, strict=True):
        assert numbers.asnumpy().tolist() == wanted
        assert (values.asnumpy() == data[wanted]).all()


def test_segments_are_used_again_but_never_while_in_use():
    data = numpy.arange(200 * 5000, dtype="float32").reshape(200, 5000)
    loader = DataLoader(ArrayDataset(data), 10, num_workers=2)
    kept = []
    for number, batch in enumerate(loader):
        if number % 3 == 0:
            kept.append((number, batch))
    for _ in range(3):
        for batch in loader:
            assert batch.shape == (10, 5000)
    for number, batch in kept:
        assert (batch.asnumpy() == data[10 * number : 10 * number + 10]).all()


def as_items(dataset):
    """The same items, read one by one."""
    return SimpleDataset([dataset[i] for i in range(len(dataset))])


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("as_arrays", [False, True])
def test_whole_batches_equal_single_items(workers, as_arrays, mode):
    if as_arrays:
        make = np.array if mode == "np" else nd.array
        dataset = ArrayDataset(make(IMAGES, dtype="uint8"), make(LABELS, dtype="int32"))
    else:
        dataset = ArrayDataset(IMAGES, LABELS)
    transform = Compose([ToTensor(), Normalize([0.1, 0.2, 0.3], [1, 2, 3])])
    wanted = DataLoader(ArrayDataset(np_or_nd(IMAGES, mode), LABELS).transform_first(transform), 7)
    wanted = list(DataLoader(as_items(wanted._dataset), 7))
    for batch, right in zip(
        DataLoader(dataset.transform_first(transform), 7, **workers), wanted, strict=True
    ):
        assert isinstance(batch, list)
        assert batch[0].dtype == right[0].dtype
        numpy.testing.assert_allclose(batch[0].asnumpy(), right[0].asnumpy(), rtol=1e-6)
        assert batch[1].dtype == right[1].dtype
        assert batch[1].asnumpy().tolist() == right[1].asnumpy().tolist()


def np_or_nd(host, mode):
    return (np if mode == "np" else nd).array(host, dtype=host.dtype)


class Counting(ArrayDataset):
    """Says nothing about batches, so its items must be asked for."""

    def __getitem__(self, idx):
        return super().__getitem__(idx) + 100


class Darker(ToTensor):
    def forward(self, x):
        return super().forward(x) / 2


def test_a_subclass_that_changes_items_is_read_item_by_item():
    (batch,) = DataLoader(Counting(LABELS), 50)
    assert batch.asnumpy().tolist() == (LABELS + 100).tolist()
    dataset = ArrayDataset(nd.array(IMAGES, dtype="uint8"))
    (bright,) = DataLoader(dataset.transform(ToTensor()), 50)
    (dark,) = DataLoader(dataset.transform(Darker()), 50)
    numpy.testing.assert_allclose(dark.asnumpy() * 2, bright.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("workers", WORKERS)
def test_selections(workers):
    dataset = ArrayDataset(IMAGES, LABELS).shard(4, 1).take(9).sample(SequentialSampler(4, 2))
    (batch,) = DataLoader(dataset, 10, **workers)
    assert batch[1].asnumpy().tolist() == [15, 16, 17, 18]
    odd = ArrayDataset(LABELS).filter(lambda label: label % 2)
    (batch,) = DataLoader(odd, 50, **workers)
    assert batch.asnumpy().tolist() == list(range(1, 50, 2))
    assert list(DataLoader(odd.take(0), 5, **workers)) == []


def test_arrays_and_lists_are_datasets():
    assert [b.asnumpy().tolist() for b in DataLoader([1, 2, 3], 2)] == [[1, 2], [3]]
    assert [b.shape for b in DataLoader(nd.ones((5, 2)), 3)] == [(3, 2), (2, 2)]
    assert [b.dtype for b in DataLoader(numpy.ones((2, 2)), 3)] == [numpy.float64]
    assert [b.shape for b in DataLoader(nd.ones(4), 2)] == [(2, 1), (2, 1)]


def test_last_batch():
    assert [len(b) for b in DataLoader(LABELS, 20, last_batch="discard")] == [20, 20]
    rollover = DataLoader(LABELS, 20, last_batch="rollover")
    assert [len(b) for b in rollover] == [20, 20]
    assert next(iter(rollover)).asnumpy()[:11].tolist() == [*range(40, 50), 0]


@pytest.mark.parametrize("workers", WORKERS)
def test_batchify_functions_may_give_anything(workers):
    def describe(items):
        values, numbers = zip(*items)
        return {
            "stacked": batchify.Stack()(values),
            "host": numpy.stack(values).repeat(5000, axis=1),
            "text": f"{numbers[0]}-{numbers[-1]}",
            "empty": numpy.zeros((0, 3)),
        }

    batches = list(DataLoader(Squares(), 8, batchify_fn=describe, **workers))
    assert [batch["text"] for batch in batches] == ["0-7", "8-15", "16-22"]
    for batch in batches:
        assert isinstance(batch["stacked"], nd.NDArray)
        assert isinstance(batch["host"], numpy.ndarray)
        assert batch["host"].shape[1] == 15000
        assert (batch["host"][:, 0] == batch["stacked"].asnumpy()[:, 0]).all()
        assert batch["empty"].shape == (0, 3)


@pytest.mark.parametrize("workers", WORKERS)
def test_numbers_stay_without_axes(workers, np_mode):
    for number, vector in DataLoader(
        list(range(4)), 2, batchify_fn=lambda items: (np.array(3.0), np.array(items)), **workers
    ):
        assert number.shape == () and vector.shape == (2,)


# More than a connection between two processes holds: large orders, large batches, and many of them ahead.
@pytest.mark.parametrize(("rows", "batch_size", "prefetch"), [(150_000, 50_000, 2), (1500, 1, 1200)])
def test_large_orders_and_many_of_them(rows, batch_size, prefetch):
    dataset = SimpleDataset([b"%050d" % row for row in range(rows)])
    loader = DataLoader(dataset, batch_size, num_workers=1, batchify_fn=list, prefetch=prefetch, timeout=60)
    assert [int(item) for batch in loader for item in batch] == list(range(rows))


@pytest.mark.parametrize("workers", WORKERS)
def test_rounds_may_be_left_and_nested(workers):
    loader = DataLoader(ArrayDataset(numpy.arange(40)), 4, **workers)
    for batch in loader:
        assert batch.asnumpy()[0] == 0
        break
    pairs = [(int(a.asnumpy()[0]), int(b.asnumpy()[0])) for a in loader for b in loader]
    assert pairs == [(i, j) for i in range(0, 40, 4) for j in range(0, 40, 4)]
    first, second = iter(loader), iter(loader)
    next(first)
    assert [next(second).asnumpy()[0] for _ in range(3)] == [0, 4, 8]
    assert next(first).asnumpy()[0] == 4


@pytest.mark.parametrize("workers", WORKERS)
def test_threads_may_share_a_loader(workers):
    loader = DataLoader(Squares(), 2, **workers)
    together = threading.Barrier(4)

    def read():
        together.wait()
        return [[batch[1].asnumpy().tolist() for batch in loader] for _ in range(5)]

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        reads = [threads.submit(read) for _ in range(4)]
    numbers = [list(range(begin, min(begin + 2, 23))) for begin in range(0, 23, 2)]
    assert all(one.result() == [numbers] * 5 for one in reads)


@pytest.mark.parametrize("thread_pool", [False, True])
def test_prefetch_bounds_what_is_read_ahead(thread_pool):
    asked = []

    class Watched(SequentialSampler):
        def __iter__(self):
            for number in super().__iter__():
                asked.append(number)
                yield number

    loader = DataLoader(Squares(), 1, sampler=Watched(23), num_workers=2, prefetch=3, thread_pool=thread_pool)
    rounds = iter(loader)
    assert len(asked) == 3
    next(rounds)
    assert len(asked) == 4
    assert len(list(rounds)) == 22


class Noise(Dataset):
    """Each item: the process that made it, and random numbers of Python and of NumPy."""

    def __len__(self):
        return 40

    def __getitem__(self, idx):
        time.sleep(0.005)
        return os.getpid(), random.randrange(1 << 30), numpy.random.randint(1 << 30)


def test_random_numbers_do_not_depend_on_the_worker():
    rounds = []
    for num_workers in (1, 2, 3):
        numpy.random.seed(5)
        batches = list(DataLoader(Noise(), 2, num_workers=num_workers))
        assert len({int(pid) for batch in batches for pid in batch[0].asnumpy()}) == num_workers
        rounds.append([[array.asnumpy().tolist() for array in batch[1:]] for batch in batches])
        assert numpy.random.randint(1 << 30) == numpy.random.RandomState(5).randint(1 << 30)
    assert rounds[0] == rounds[1] == rounds[2]
    drawn = [number for batch in rounds[0] for column in batch for number in column]
    assert len(set(drawn)) == len(drawn)


def test_auto_reload_starts_the_next_round_at_the_end_of_one():
    sampled = []

    class Watched(RandomSampler):
        def __iter__(self):
            sampled.append(1)
            return super().__iter__()

    loader = DataLoader(Squares(), 5, sampler=Watched(23), num_workers=1, auto_reload=True)
    assert len(list(loader)) == 5
    assert len(sampled) == 2
    assert len(list(loader)) == 5
    assert len(sampled) == 3


def test_pinned_batches():
    batch = next(iter(DataLoader(Squares(), 2, pin_memory=True)))
    assert [str(array.context) for array in batch] == ["cpu_pinned(0)"] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_size": 2, "shuffle": True, "sampler": SequentialSampler(10)},
        {"batch_size": 2, "batch_sampler": BatchSampler(SequentialSampler(10), 3)},
        {"shuffle": True, "batch_sampler": BatchSampler(SequentialSampler(10), 3)},
        {"last_batch": "keep", "batch_sampler": BatchSampler(SequentialSampler(10), 3)},
        {"batch_size": 0},
    ],
)
def test_contradictory_arguments(arguments):
    with pytest.raises(ValueError, match=r"batch_size|shuffle"):
        DataLoader(Squares(), **arguments)


def test_timeout_must_be_positive():
    with pytest.raises(AssertionError, match="timeout must be positive"):
        DataLoader(Squares(), 2, timeout=0)


def test_no_process_is_left_behind():
    loader = DataLoader(Squares(), 4, num_workers=2)
    list(loader)
    before = [child for child in multiprocessing.active_children() if child.name.startswith("DataLoader")]
    assert len(before) >= 2
    mine = loader._worker_pool._members
    processes = [member.process for member in mine]
    del loader, mine
    for process in processes:
        process.join(5)
        assert process.exitcode == 0


@pytest.mark.parametrize("workers", [WORKERS[0], WORKERS[2]])
@pytest.mark.parametrize("made", [ArrayDataset, lambda *arrays: list(zip(*arrays))], ids=["columns", "items"])
def test_arrays_stay_on_their_device(at, workers, made):
    where = at(0)
    images = nd.array(IMAGES, dtype="uint8", ctx=where)
    batches = list(DataLoader(made(images, LABELS), 16, **workers))
    assert [x.context for x, _ in batches] == [where] * 4
    assert (numpy.concatenate([x.asnumpy() for x, _ in batches]) == IMAGES).all()
    assert numpy.concatenate([y.asnumpy() for _, y in batches]).tolist() == LABELS.tolist()


def test_what_is_written_to_an_array_of_a_device_is_seen(at):
    images = nd.array(IMAGES, dtype="uint8", ctx=at(0))
    loader = DataLoader(images, 16)
    images[:] = 255 - images
    assert (next(iter(loader)).asnumpy() == 255 - IMAGES[:16]).all()


def test_rows_on_a_device_are_found_as_on_the_host(at, mode):
    vector = (np if mode == "np" else nd).array(numpy.arange(5), dtype="float32", ctx=at(0))
    (batch,) = DataLoader(SimpleDataset(vector), batch_sampler=[[-1, 3]])
    assert type(batch) is type(vector)
    assert batch.asnumpy().tolist() == ([4, 3] if mode == "np" else [[4], [3]])
    with pytest.raises(IndexError, match="out of bounds"):
        list(DataLoader(SimpleDataset(vector), batch_sampler=[[0, 5]]))


def test_transforms_of_images_on_a_device(at):
    steps = Compose([ToTensor(), Normalize(0.5, 0.25), Cast("float16")])
    images = nd.array(IMAGES, dtype="uint8", ctx=at(0))
    (batch,) = DataLoader(ArrayDataset(images).transform(steps), len(IMAGES))
    expected = numpy.stack([steps(nd.array(image, dtype="uint8")).asnumpy() for image in IMAGES])
    assert batch.context == at(0)
    assert numpy.allclose(batch.asnumpy(), expected, atol=2e-3)
