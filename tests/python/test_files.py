"""Files in MXNet's format: those that MXNet wrote, the bytes that we write, and broken files."""

import contextlib
import json
import os
import pathlib
import resource
import struct
import tempfile

import numpy
import pytest
import recorded
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import MXNetError, context, gluon, nd, np, npx, sym
from headrace._file import replaced_file, write_file
from headrace.util import np_array, np_shape

FOLDER = recorded.folder() / "params"
FORMAT_ERROR = "Invalid NDArray file format"

INDEX = json.loads((FOLDER / "index.json").read_text())


def load(path, mode):
    if mode == "legacy":
        return nd.load(str(path))
    with np_shape(True), np_array(True):
        return npx.load(str(path))


def expected_arrays(path):
    """The arrays of a file of expectations by name, sparse ones as dense arrays."""
    with numpy.load(path) as stored:
        return {
            name.removesuffix("|dense"): stored[name]
            for name in stored.files
            if "|" not in name or name.endswith("|dense")
        }


def check_same(array, expected):
    assert array.shape == expected.shape
    assert numpy.dtype(array.dtype) == expected.dtype
    numpy.testing.assert_array_equal(array.asnumpy(), expected)


# --- files that MXNet 1.9.1 wrote ---


@pytest.mark.parametrize("entry", INDEX["files"], ids=lambda entry: entry["file"])
def test_files_of_mxnet(entry):
    loaded = load(FOLDER / entry["file"], entry["mode"])
    expected = expected_arrays(FOLDER / entry["expect"])
    assert len(loaded) == len(expected) == entry["count"]
    if entry["holds"] == "dict":
        assert isinstance(loaded, dict)
        assert list(loaded) == entry["names"]
    else:
        assert isinstance(loaded, list)
        loaded = {str(place): array for place, array in enumerate(loaded)}
    for (name, array), wanted in zip(loaded.items(), [expected[name] for name in loaded]):
        assert isinstance(array, np.ndarray) == (entry["mode"] == "np"), name
        assert array.context.device_type in ("cpu", "cpu_pinned"), name
        check_same(array, wanted)


@pytest.mark.parametrize(
    "entry",
    [entry for entry in INDEX["refused"] if "mode" not in entry],  # a file of the other mode is welcome here
    ids=lambda entry: entry["file"],
)
def test_broken_files_are_refused(entry):
    for mode in ("legacy", "np"):
        with pytest.raises(MXNetError) as raised:
            load(FOLDER / entry["file"], mode)
        assert entry["contains"] in str(raised.value)


def test_every_version_loads_in_every_mode():
    expected = expected_arrays(FOLDER / "np_shapes.params.npz")
    for name, array in load(FOLDER / "np_shapes.params", "legacy").items():
        check_same(array, expected[name])
    for array, wanted in zip(load(FOLDER / "list.params", "np"), nd.load(str(FOLDER / "list.params"))):
        check_same(array, wanted.asnumpy())


@pytest.mark.parametrize("name", ["dict_all_dtypes", "list", "single", "empty", "names"])
def test_saving_again_gives_the_bytes_of_mxnet(name, tmp_path):
    original, copy = FOLDER / f"{name}.params", tmp_path / "copy.params"
    nd.save(str(copy), nd.load(str(original)))
    assert copy.read_bytes() == original.read_bytes()


@pytest.mark.parametrize("name", ["np_shapes", "np_list"])
def test_saving_again_in_np_mode_gives_the_bytes_of_mxnet(name, tmp_path):
    original, copy = FOLDER / f"{name}.params", tmp_path / "copy.params"
    arrays = load(original, "np")
    with np_shape(True), np_array(True):
        npx.save(str(copy), arrays)
    assert copy.read_bytes() == original.read_bytes()


# --- bytes ---

# {'x': float32 [[3, 3]]} and [float32 1.5 without dimensions].
GOLDEN_DICT = bytes.fromhex(
    "12010000000000000000000000000000"
    "0100000000000000c9fa93f900000000"
    "02000000010000000000000002000000"
    "00000000010000000000000000000000"
    "00004040000040400100000000000000"
    "010000000000000078"
)
GOLDEN_SCALAR = bytes.fromhex(
    "12010000000000000000000000000000"
    "0100000000000000cafa93f900000000"
    "00000000010000000000000000000000"
    "0000c03f0000000000000000"
)
# Bare records.
RECORD_V2 = GOLDEN_DICT[24:72]  # [[3, 3]]; the next two are [3, 3]
RECORD_V1 = bytes.fromhex("c8fa93f90100000002000000000000000100000000000000000000000000404000004040")
RECORD_V0 = bytes.fromhex("010000000200000001000000000000000000000000004040 00004040")
RECORD_ROW_SPARSE = bytes.fromhex(
    "c9fa93f9010000000200000002000000"
    "00000000020000000000000002000000"
    "04000000000000000200000000000000"
    "01000000000000000000000006000000"
    "0100000002000000000000000000803f"
    "00000040000040400000804001000000"
    "000000000300000000000000"
)
RECORD_CSR = bytes.fromhex(
    "c9fa93f9020000000100000002000000"
    "00000000020000000200000000000000"
    "03000000000000000100000000000000"
    "00000000060000000100000003000000"
    "00000000060000000100000002000000"
    "000000000000a0400000e04000000000"
    "00000000010000000000000002000000"
    "00000000020000000000000000000000"
    "00000000"
)


def container(*records, names=()):
    """A file with these records."""
    texts = [name.encode() for name in names]
    return b"".join(
        [
            struct.pack("<QQQ", 0x112, 0, len(records)),
            *records,
            struct.pack("<Q", len(texts)),
            *(struct.pack("<Q", len(text)) + text for text in texts),
        ]
    )


def test_what_is_saved_byte_for_byte(tmp_path):
    path = tmp_path / "saved.params"
    nd.save(str(path), {"x": nd.array([[3, 3]])})
    assert path.read_bytes() == GOLDEN_DICT
    with np_shape(True), np_array(True):
        npx.save(str(path), [np.array(1.5)])
    assert path.read_bytes() == GOLDEN_SCALAR


def test_a_pickle_holds_a_bare_record():
    assert bytes(nd.array([[3, 3]]).__getstate__()["handle"]) == RECORD_V2
    assert bytes(np.array(1.5).__getstate__()["handle"]) == GOLDEN_SCALAR[24:52]


@pytest.mark.parametrize(
    "record, expected",
    [
        (RECORD_V0, [3, 3]),
        (RECORD_V1, [3, 3]),
        (RECORD_V2, [[3, 3]]),
        (RECORD_ROW_SPARSE, [[0, 0], [1, 2], [0, 0], [3, 4]]),
        (RECORD_CSR, [[0, 0, 5], [7, 0, 0]]),
    ],
    ids=["v0", "v1", "v2", "row_sparse", "csr"],
)
def test_records_of_every_kind(record, expected):
    (array,) = nd.load_frombuffer(container(record))
    check_same(array, numpy.array(expected, "float32"))
    named = nd.load_frombuffer(container(record, RECORD_V2, names=("a", "b")))
    assert list(named) == ["a", "b"]
    check_same(named["b"], numpy.array([[3, 3]], "float32"))


# --- saving and loading ---


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"]
)
def test_round_trip_of_every_dtype(dtype, tmp_path):
    path = str(tmp_path / "one.params")
    array = nd.array([[0, 1], [2, 3]]).astype(dtype)
    nd.save(path, array)
    (loaded,) = nd.load(path)
    check_same(loaded, array.asnumpy())


def test_views_are_saved_packed(tmp_path):
    path = str(tmp_path / "views.params")
    values = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
    nd.save(path, [nd.array(values)[:, ::-1, 1::2], nd.array(values)[1]])
    strided, row = nd.load(path)
    check_same(strided, values[:, ::-1, 1::2])
    check_same(row, values[1])


def test_arrays_without_dimensions_come_back_in_every_mode(tmp_path):
    path = str(tmp_path / "a")
    scalar = np.array(3.0, dtype="float32").as_nd_ndarray()
    nd.save(path, {"scalar": scalar, "ones": nd.ones(2)})
    loaded = nd.load(path)
    assert loaded["scalar"].shape == () and loaded["scalar"].asnumpy() == 3
    assert loaded["ones"].asnumpy().tolist() == [1, 1]


def test_round_trip_of_containers(tmp_path):
    path = str(tmp_path / "a file.params")
    nd.save(path, nd.array([1]))
    assert [array.asscalar() for array in nd.load(path)] == [1]
    nd.save(path, {"b": nd.array([1]), "ä.1": nd.array([2]), "": nd.array([3])})
    assert {name: array.asscalar() for name, array in nd.load(path).items()} == {"b": 1, "ä.1": 2, "": 3}
    for empty in ([], {}):
        nd.save(path, empty)
        assert nd.load(path) == []
    with np_shape(True), np_array(True):
        npx.save(path, {"none": np.zeros((0, 3)), "one": np.array(5, dtype="int64")})
        loaded = npx.load(path)
        assert loaded["none"].shape == (0, 3)
        assert loaded["one"].item() == 5


def test_arrays_return_to_their_device(tmp_path):
    path = str(tmp_path / "devices.params")
    nd.save(path, [nd.ones((2,), ctx=context.cpu(3)), nd.ones((2,))])
    assert [str(array.context) for array in nd.load(path)] == ["cpu(3)", "cpu(0)"]
    raw = bytearray((tmp_path / "devices.params").read_bytes())
    place = raw.index(struct.pack("<ii", 1, 3))
    for saved in ((2, 0), (1, -1), (77, 0), (-5, 9), (2**31 - 1, 2**31 - 1)):  # none of them is here
        raw[place : place + 8] = struct.pack("<ii", *saved)
        (tmp_path / "devices.params").write_bytes(raw)
        assert [str(array.context) for array in nd.load(path)] == ["cpu(0)", "cpu(0)"]


def test_who_holds_a_temporary_file_reads_what_is_saved():
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0o640)
        nd.save(file.name, nd.array([1, 2]))
        file.seek(0)
        (loaded,) = nd.load_frombuffer(file.read())
        assert loaded.asnumpy().tolist() == [1, 2] and os.stat(file.name).st_mode & 0o777 == 0o640


def test_what_cannot_be_saved(tmp_path):
    path = str(tmp_path / "x.params")
    one = nd.array([1])
    for data in (5, (one,), None, "text"):
        with pytest.raises(ValueError):
            nd.save(path, data)
    for data in ([1], [one, numpy.ones(1)], {"a": 1}, {1: one}):
        with pytest.raises(TypeError):
            nd.save(path, data)
    with pytest.raises(TypeError):
        npx.save(path, [one])
    with pytest.raises(MXNetError):
        nd.save(str(tmp_path / "no folder" / "x.params"), one)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [str, pathlib.Path, os.fsencode])
def test_every_kind_of_name_of_a_file(tmp_path, kind):
    path = kind(str(tmp_path / "näher"))
    nd.save(path, nd.array([1]))
    assert nd.load(path)[0].asscalar() == 1
    npx.save(path, np.array([2]))
    assert npx.load(path)[0].item() == 2
    sym.var("a").save(path)
    assert sym.load(path).name == "a"
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    for save, load in (
        (net.save_parameters, net.load_parameters),
        (net.collect_params().save, net.collect_params().load),
        (trainer.save_states, trainer.load_states),
    ):
        save(path)
        load(path)
    assert os.listdir(tmp_path) == ["näher"]


def test_names_that_are_none():
    for call in (nd.load, npx.load, sym.load, sym.var("a").save, lambda name: nd.save(name, nd.ones(1))):
        with pytest.raises(TypeError, match="must be a string or a path .*, got int"):
            call(5)


def test_missing_files():
    for path in ("/nowhere/at all.params", "missing.params"):
        with pytest.raises(MXNetError) as raised:
            nd.load(path)
        assert f'Open "{path}": No such file or directory' in str(raised.value)
    with pytest.raises(MXNetError):
        nd.load("/")
    with pytest.raises(TypeError):
        nd.load(5)


# --- hostile contents ---

GOOD = [
    GOLDEN_DICT,
    GOLDEN_SCALAR,
    container(RECORD_V0, RECORD_V1, RECORD_V2, names=("a", "b", "c")),
    container(RECORD_ROW_SPARSE, RECORD_CSR),
]
GOOD_IDS = ["dict", "scalar", "versions", "sparse"]


def accept_or_refuse(data):
    """Loads bytes: they hold arrays that can be used, or an MXNetError is raised; nothing else may happen."""
    try:
        loaded = nd.load_frombuffer(data)
    except MXNetError:
        return
    for array in loaded.values() if isinstance(loaded, dict) else loaded:
        if array._is_none:  # a record may say that there is no array
            continue
        stored = array if array.stype == "default" else array.data
        assert stored.size * numpy.dtype(array.dtype).itemsize <= 2**10
        array.wait_to_read()


@pytest.mark.parametrize("data", GOOD, ids=GOOD_IDS)
def test_every_truncation_is_refused(data, tmp_path):
    for length in range(len(data)):
        with pytest.raises(MXNetError, match=FORMAT_ERROR):
            nd.load_frombuffer(data[:length])
    path = tmp_path / "short.params"
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(MXNetError, match=FORMAT_ERROR):
            nd.load(str(path))


@pytest.mark.parametrize("data", GOOD, ids=GOOD_IDS)
@pytest.mark.parametrize("value", [0, -1, 2**31 - 1, 3], ids=lambda value: f"{value:x}")
def test_every_word_replaced(data, value):
    for place in range(len(data) - 3):
        accept_or_refuse(data[:place] + struct.pack("<i", value) + data[place + 4 :])
    for place in range(len(data) - 7):
        accept_or_refuse(data[:place] + struct.pack("<q", value * 2**28) + data[place + 8 :])


@pytest.mark.parametrize("data", GOOD, ids=GOOD_IDS)
def test_flipped_bits(data):
    for place in range(len(data)):
        for bit in (0, 3, 7):
            accept_or_refuse(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(GOOD),
    st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), min_size=2, max_size=8),
    st.integers(0, 16),
)
def test_random_damage(data, changes, cut):
    damaged = bytearray(data)
    for place, byte in changes:
        damaged[place % len(data)] = byte
    accept_or_refuse(bytes(damaged[: len(data) - cut]))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_random_contents(data):
    accept_or_refuse(data)
    accept_or_refuse(GOLDEN_DICT[:24] + data)


@pytest.mark.parametrize(
    "shape", [(2**62,), (2**31, 2**31), (2**40, 2**40), (-1,), (2**33, 0, 2**33), (-(2**63),)]
)
def test_records_that_claim_to_be_huge(shape):
    for magic in (0xF993FAC9, 0xF993FACA):
        record = struct.pack("<Iii", magic, 0, len(shape)) + struct.pack(f"<{len(shape)}q", *shape)
        record += struct.pack("<iii", 1, 0, 0)
        accept_or_refuse(container(record))
        accept_or_refuse(container(record + b"\0" * 64, RECORD_V2))


@pytest.mark.parametrize("count", [2**63, 2**64 - 1, 2**40])
def test_counts_that_claim_to_be_huge(count):
    for data in (
        struct.pack("<QQQ", 0x112, 0, count) + RECORD_V2,
        container(RECORD_V2)[:-8] + struct.pack("<Q", count),
        container(RECORD_V2)[:-8] + struct.pack("<QQ", 1, count) + b"x",
    ):
        with pytest.raises(MXNetError, match=FORMAT_ERROR):
            nd.load_frombuffer(data)


@pytest.mark.parametrize(
    "indices",
    [(1, 4), (-1, 2), (2**62, 1), (3, 1), (1, 1)],
    ids=["beyond", "negative", "huge", "falling", "twice"],
)
def test_row_sparse_indices_are_checked(indices):
    accept_or_refuse(container(RECORD_ROW_SPARSE[:-16] + struct.pack("<qq", *indices)))


def test_hostile_records_in_pickles():
    for record in (b"", RECORD_V2[:-1], b"\xff" * 48, RECORD_CSR[:40]):
        array = nd.NDArray.__new__(nd.NDArray)
        with pytest.raises(MXNetError):
            array.__setstate__({"handle": record})


def test_files_of_other_kinds_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path, tmp_path / "pipe"):
        for read in (sym.load, nd.load):
            with pytest.raises(MXNetError, match="not a regular file"):
                read(str(path))


@pytest.mark.parametrize("place", ["none/x", "file/x", "folder", "n" * 250])
def test_errors_of_files_that_are_replaced_name_them(tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as caught, replaced_file(tmp_path / place) as file:
        file.write(b"some")
    assert str(caught.value).endswith(f"'{tmp_path / place}'")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_a_file_is_replaced_when_all_is_written(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="^other$"), replaced_file(path) as file:
        file.write(b"new")
        raise OSError("other")
    assert path.read_bytes() == b"old"
    with replaced_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]


@pytest.fixture
def full_disk():
    """Makes a context within which no file takes more than one byte."""

    @contextlib.contextmanager
    def full():
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return full


def writers():
    """Functions that write a file of a program, each to a path."""
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    store = hr.kv.create()
    store.set_optimizer(hr.optimizer.Adam())
    module = hr.mod.Module(hr.sym.FullyConnected(hr.sym.var("data"), num_hidden=2), label_names=[])
    module.bind([("data", (1, 3))])
    module.init_params()
    module.init_optimizer(kvstore=None)
    net.hybridize()
    net(nd.ones((1, 3)))
    return {
        "trainer": gluon.Trainer(net.collect_params(), "adam").save_states,
        "symbol": sym.var("a").save,
        "store": store.save_optimizer_states,
        "module": module.save_optimizer_states,
        "block": lambda path: net.save(path.removesuffix("-model.json")),
        "arrays": lambda path: nd.save(path, nd.ones(3)),
    }


@pytest.mark.parametrize("kind", ["trainer", "symbol", "store", "module", "block", "arrays"])
def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path, full_disk, kind):
    write, path = writers()[kind], tmp_path / "a-model.json"
    write(str(path))
    (tmp_path / "a-model.params").unlink(missing_ok=True)
    before = path.read_bytes()
    with full_disk(), pytest.raises((OSError, MXNetError)):
        write(str(path))
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]


def test_what_is_written_keeps_permissions_and_links(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(str(link), "näher")
    assert link.is_symlink() and path.read_text("utf-8") == "näher"
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_who_holds_a_file_of_several_names_or_an_empty_one_reads_what_is_written(tmp_path):
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("old")
    os.link(path, other)
    write_file(path, b"new")
    assert other.read_bytes() == b"new"
    with tempfile.NamedTemporaryFile() as file:
        write_file(file.name, b"some")
        assert file.read() == b"some"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_file("/dev/full", b"some bytes")
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/full'"):
        sym.var("x").save(str(tmp_path / "full"))
