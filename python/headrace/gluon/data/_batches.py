"""The protocol that lets a dataset and its transforms work on a whole batch at once.

A dataset may define `batch_reader()`, a transform `batch_form()`. Each returns a function, or None when a
batch can only be made item by item:

- `dataset.batch_reader()` -> `read(rows)`: the items at `rows` (1-D integer NumPy array) as *columns*;
- `transform.batch_form()` -> `apply(*columns)`: the transform of every row, as columns.

*Columns* are one array when an item is one value, and a tuple of arrays when an item is a tuple: NDArrays
of what is on an accelerator, else NumPy arrays. The first axis counts the rows. The result must equal what
stacking the single items gives; the DataLoader relies on it.
"""


def _declaring_class(cls, name):
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def _declared(obj, batch_name, *item_names):
    """The method `batch_name` of `obj`, or None.

    A subclass that redefines what happens to one item (one of `item_names`) without saying what happens to a
    batch has withdrawn the batch method that it inherits.
    """
    cls = type(obj)
    declares_batch = _declaring_class(cls, batch_name)
    declare_item = [found for found in (_declaring_class(cls, name) for name in item_names) if found]
    if declares_batch is None or not declare_item:
        return None
    if not all(issubclass(declares_batch, declares) for declares in declare_item):
        return None
    return getattr(obj, batch_name)


def batch_reader(dataset):
    """The function that reads a batch of `dataset` as columns, or None."""
    method = _declared(dataset, "batch_reader", "__getitem__")
    return method() if method else None


def batch_form(transform):
    """The function that applies `transform` to columns, or None."""
    item_names = ("forward", "hybrid_forward")
    if not hasattr(type(transform), "forward"):
        item_names = ("__call__",)
    method = _declared(transform, "batch_form", *item_names)
    return method() if method else None
