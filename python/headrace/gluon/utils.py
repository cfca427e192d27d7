"""Splitting batches, clipping gradients, file helpers."""

import math
import os
import warnings

from .. import _arrays as array_tools
from .. import ndarray as nd
from .._file import replaced_file
from ..base import ArrayIndexError, ArrayTypeError, ArrayValueError
from ..context import cpu

__all__ = ["check_sha1", "clip_global_norm", "download", "replace_file", "split_and_load", "split_data"]


class HookHandle:
    """A registered hook; `detach()`, or leaving a `with` block, removes it.

    Examples
    --------
    >>> net = nn.Flatten()
    >>> handle = net.register_forward_hook(lambda block, inputs, output: print(output.shape))
    >>> y = net(nd.ones((2, 3, 4)))
    (2, 12)
    >>> handle.detach()
    >>> y = net(nd.ones((2, 3, 4)))
    """

    def __init__(self):
        self._hooks = None

    @classmethod
    def attached(cls, hooks, hook):
        """Adds `hook` to the dictionary `hooks` and returns the handle that removes it."""
        handle = cls()
        handle.attach(hooks, hook)
        return handle

    def attach(self, hooks_dict, hook):
        assert self._hooks is None, "The same handle cannot be attached twice."
        self._hooks = hooks_dict
        hooks_dict[self] = hook

    def detach(self):
        """Removes the hook; doing it twice is harmless."""
        if self._hooks is not None:
            self._hooks.pop(self, None)

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.detach()


def shape_is_known(shape):
    """Whether every dimension of `shape` is known; None, 0 and -1 mean unknown."""
    return array_tools.shape_is_known(shape)


def split_data(data, num_slice, batch_axis=0, even_split=True):
    """Splits an array along `batch_axis`, which counts from the last when negative, into a list of
    `num_slice` arrays; without `even_split` the first get one more.

    ValueError: `even_split` and the size is not a multiple of `num_slice`, or `num_slice` is less than 1.
    IndexError: no such axis.

    Examples
    --------
    >>> parts = gluon.utils.split_data(nd.arange(5), 2, even_split=False)
    >>> [part.shape for part in parts]
    [(3,), (2,)]
    """
    ndim = len(data.shape)
    if not -ndim <= batch_axis < ndim:
        raise ArrayIndexError(
            f"split_data: there is no axis {batch_axis} of data with shape {data.shape}; give batch_axis "
            f"from {-ndim} to {ndim - 1}"
        )
    if num_slice < 1:
        raise ArrayValueError(f"split_data: expected at least one slice, got num_slice={num_slice}")
    size = data.shape[batch_axis]
    if even_split and size % num_slice != 0:
        raise ValueError(
            f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along axis "
            f"{batch_axis}. Use a batch size that's a multiple of {num_slice} or set even_split=False."
        )
    if num_slice == 1:
        return [data]
    step, extra = divmod(size, num_slice)
    ends = [0]
    for i in range(num_slice):
        ends.append(ends[-1] + step + (i < extra))
    prefix = (slice(None),) * (batch_axis % ndim)
    keys = [(*prefix, slice(begin, end)) for begin, end in zip(ends, ends[1:])]
    if prefix:
        return [data[key].copy() for key in keys]
    return [data[rows] for (rows,) in keys]


def split_and_load(data, ctx_list, batch_axis=0, even_split=True):
    """`split_data` over the contexts of `ctx_list`, each slice on its context; other data become arrays
    first. ValueError: no contexts; else as split_data.

    Examples
    --------
    >>> parts = gluon.utils.split_and_load(nd.arange(4), [mx.cpu(0), mx.cpu(1)])
    >>> [part.context for part in parts], parts[1]
    ([cpu(0), cpu(1)],
    [2. 3.]
    <NDArray 2 @cpu(1)>)
    """
    if not ctx_list:
        raise ValueError("split_and_load: expected at least one context, got an empty list")
    if not isinstance(data, array_tools.NDArray):
        data = array_tools.array(data, ctx=cpu())  # slices go from the host to their contexts at once
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    slices = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(slices, ctx_list)]


def clip_global_norm(arrays, max_norm, check_isfinite=True):
    """Scales the arrays in place so that their common 2-norm is at most `max_norm`; returns the norm before.

    With `check_isfinite` the norm is a number (the call waits) and a warning tells when it is not finite;
    otherwise it is an array of one element. AssertionError: no arrays.

    Examples
    --------
    >>> gradients = [nd.array([3, 0]), nd.array([0, 4])]
    >>> float(gluon.utils.clip_global_norm(gradients, max_norm=1))
    5.0
    >>> gradients[1]
    [0.  0.8]
    <NDArray 2 @cpu(0)>
    """
    assert len(arrays) > 0, "clip_global_norm: expected at least one array, got none"
    if not all(isinstance(one, array_tools.NDArray) for one in arrays):
        raise ArrayTypeError(
            "clip_global_norm: a list of arrays is needed; of parameters their gradients, "
            "[p.grad() for p in net.collect_params().values()]"
        )
    ctx = arrays[0].ctx
    plain = [x.as_nd_ndarray() if isinstance(x, array_tools.NpArray) else x for x in arrays]
    total = None
    for x in plain:
        square = nd.square(x).sum().as_in_context(ctx).reshape((1,))
        total = square if total is None else total + square
    norm = nd.sqrt(total)
    scale = nd.minimum(max_norm / (norm + 1e-8), 1.0)
    if check_isfinite:
        norm = norm.asscalar()
        if not math.isfinite(norm):
            warnings.warn("nan or inf is detected. Clipping results will be undefined.", stacklevel=2)
    for x in plain:
        x *= scale.astype(x._dtype_name, copy=False).as_in_context(x.ctx).reshape((1,) * len(x.shape))
    return norm if check_isfinite else array_tools.in_mode(norm)


def check_sha1(filename, sha1_hash):
    """Whether the file's SHA-1 is `sha1_hash`, in hexadecimal. OSError: the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "hello.txt")
    >>> with open(path, "w") as file:
    ...     count = file.write("hello")
    >>> gluon.utils.check_sha1(path, "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d")
    True
    """
    import hashlib  # brings a library of megabytes

    digest = hashlib.sha1()
    with open(filename, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def replace_file(src, dst):
    """Moves a file over another in one step: readers see the old one or the new one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> new, old = pathlib.Path(folder.name, "new"), pathlib.Path(folder.name, "old")
    >>> sizes = new.write_text("new"), old.write_text("old")
    >>> gluon.utils.replace_file(new, old)
    >>> old.read_text(), new.exists()
    ('new', False)
    """
    os.replace(src, dst)


def _get_repo_url():
    """Where MXNet's data sets and networks are: MXNET_GLUON_REPO, which may be a folder as `file:///path`."""
    server = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com"
    return f"{os.environ.get('MXNET_GLUON_REPO', server).rstrip('/')}/"


def _get_repo_file_url(namespace, filename):
    """The URL of a file of that repository; `namespace` is its folder there."""
    return f"{_get_repo_url()}{namespace}/{filename}"


def download(url, path=None, overwrite=False, sha1_hash=None, retries=5, verify_ssl=True):
    """Fetches `url` unless the file is there already; returns the file's path.

    `path` is a file or a folder, default the current folder. A file whose SHA-1 is not `sha1_hash` is fetched
    again. OSError: it cannot be fetched, after `retries` further attempts, or has another SHA-1.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> source = pathlib.Path(folder.name, "data.txt")
    >>> size = source.write_text("1 2 3")
    >>> path = gluon.utils.download(source.as_uri(), path=os.path.join(folder.name, "copy.txt"))
    >>> pathlib.Path(path).read_text()
    '1 2 3'
    """
    assert retries >= 0, f"download: retries must be at least 0, got {retries}"
    name = url.rstrip("/").rpartition("/")[2]
    assert name, f"download: cannot tell a file name from the URL '{url}'; give path"
    target = name if path is None else os.path.expanduser(path)
    if os.path.isdir(target):
        target = os.path.join(target, name)
    if os.path.isfile(target) and not overwrite and (not sha1_hash or check_sha1(target, sha1_hash)):
        return target
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    if not verify_ssl:
        warnings.warn(
            f"Unverified HTTPS request is being made to {url}, which anybody may answer; leave verify_ssl "
            "True",
            stacklevel=2,
        )
    for attempts_left in reversed(range(retries + 1)):
        try:
            _fetch(url, target, sha1_hash, verify_ssl)
            return target
        except OSError as error:
            if attempts_left == 0:
                raise OSError(
                    f"download: cannot fetch '{url}' ({error}). Without a network, put the file at "
                    f"'{target}' by hand."
                ) from error
    return target


def _fetch(url, target, sha1_hash, verify_ssl):
    """One attempt; `target` is replaced when all has come and has the right SHA-1."""
    with replaced_file(target) as file:
        for piece in _pieces(url, verify_ssl):
            file.write(piece)
        file.flush()
        if sha1_hash and not check_sha1(file.name, sha1_hash):
            raise OSError(f"its SHA-1 is not {sha1_hash}")


def _pieces(url, verify_ssl):
    """The bytes behind a URL. Where `requests` is installed it fetches them, as in MXNet: programs set its
    certificates and proxies, and tests of programs put something else in its place.
    """
    requests = _requests() if url.startswith(("http://", "https://")) else None
    if requests is None:
        yield from _pieces_without_requests(url, verify_ssl)
        return
    with requests.get(url, stream=True, verify=verify_ssl, timeout=60) as answer:
        if answer.status_code != 200:
            raise OSError(f"the server answers {answer.status_code}")
        yield from answer.iter_content(1 << 20)


def _requests():
    try:
        import requests
    except ImportError:
        return None
    return requests


def _pieces_without_requests(url, verify_ssl):
    import ssl
    import urllib.error
    import urllib.request

    context = None if verify_ssl else ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(url, context=context, timeout=60) as source:
            while piece := source.read(1 << 20):
                yield piece
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise
