"""RecordIO: the bytes that MXNet writes, keys, damaged files, other processes, images' headers."""

import contextlib
import multiprocessing
import pickle

import numpy as np
import pytest

import headrace as hr
from headrace import recordio
from headrace.base import MXNetError

MAGIC = bytes.fromhex("0a23d7ce")
GOLDEN = [
    (b"abcde", "0a23d7ce 05000000 6162636465 000000"),
    (b"", "0a23d7ce 00000000"),
    (b"1234" + MAGIC + b"xy", "0a23d7ce 04000020 31323334 0a23d7ce 02000060 7879 0000"),
    (MAGIC + b"z", "0a23d7ce 00000020 0a23d7ce 01000060 7a 000000"),
    (b"1234" + MAGIC + MAGIC, "0a23d7ce 04000020 31323334 0a23d7ce 00000040 0a23d7ce 00000060"),
    (b"x" + MAGIC, "0a23d7ce 05000000 780a23d7ce 000000"),
]


def written(path, records):
    writer = recordio.MXRecordIO(str(path), "w")
    for record in records:
        writer.write(record)
    writer.close()
    return path.read_bytes()


def read_all(path):
    reader = recordio.MXRecordIO(str(path), "r")
    return list(iter(reader.read, None))


@pytest.mark.parametrize(("record", "expected"), GOLDEN)
def test_bytes_are_those_of_mxnet(record, expected, tmp_path):
    assert written(tmp_path / "one.rec", [record]) == bytes.fromhex(expected)
    assert read_all(tmp_path / "one.rec") == [record]


def test_records_come_back_whatever_they_hold(tmp_path):
    random = np.random.default_rng(0)
    records = [b"".join(random.choice([MAGIC, b"a", b"bc", b"\0\0\0\0"], size=k % 9)) for k in range(200)] + [
        random.bytes(100_000)
    ]
    written(tmp_path / "many.rec", records)
    assert read_all(tmp_path / "many.rec") == records
    assert (tmp_path / "many.rec").stat().st_size % 4 == 0


def test_reading_again_and_states(tmp_path):
    written(tmp_path / "a.rec", [b"1", b"2"])
    reader = recordio.MXRecordIO(str(tmp_path / "a.rec"), "r")
    assert reader.read() == b"1" and reader.is_open and not reader.writable
    reader.reset()
    assert reader.read() == b"1"
    again = pickle.loads(pickle.dumps(reader))
    assert again.read() == b"1" and reader.read() == b"2"
    reader.close()
    reader.close()
    assert not reader.is_open and not pickle.loads(pickle.dumps(reader)).is_open


def test_misuse_is_named(tmp_path):
    path = str(tmp_path / "a.rec")
    with pytest.raises(ValueError, match="flag must be 'r' or 'w', got 'a'"):
        recordio.MXRecordIO(path, "a")
    with pytest.raises(hr.MXNetError, match="cannot be opened: No such file"):
        recordio.MXRecordIO(path, "r")
    writer = recordio.MXRecordIO(path, "w")
    with pytest.raises(AssertionError, match="opened for writing"):
        writer.read()
    with pytest.raises(TypeError, match="a record is bytes, got str"):
        writer.write("text")
    with pytest.raises(ValueError, match="cannot be pickled"):
        pickle.dumps(writer)
    writer.close()
    with pytest.raises(AssertionError, match="opened for reading"):
        recordio.MXRecordIO(path, "r").write(b"x")


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "a.rec"
    data = written(path, [b"abcde", b"1234" + MAGIC + b"xy"])
    for length in range(1, len(data)):
        path.write_bytes(data[:length])
        if length in (16,):
            assert read_all(path) == [b"abcde"]
            continue
        with pytest.raises(hr.MXNetError, match="Invalid RecordIO File"):
            read_all(path)
    for place in (0, 16, 23, 31):  # magic numbers, and the parts that length words name
        path.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
        with pytest.raises(hr.MXNetError, match="Invalid RecordIO File"):
            read_all(path)


def test_records_by_key(tmp_path):
    rec, idx = str(tmp_path / "a.rec"), str(tmp_path / "a.idx")
    writer = recordio.MXIndexedRecordIO(idx, rec, "w")
    for key in (7, 3, 5):
        writer.write_idx(key, b"record %d" % key)
    writer.close()
    assert (tmp_path / "a.idx").read_text() == "7\t0\n3\t16\n5\t32\n"
    reader = recordio.MXIndexedRecordIO(idx, rec, "r")
    assert reader.keys == [7, 3, 5] and reader.idx[3] == 16
    assert reader.read_idx(5) == b"record 5" and reader.read() is None
    reader.seek(3)
    assert reader.tell() == 16 and reader.read() == b"record 3"
    assert pickle.loads(pickle.dumps(reader)).read_idx(7) == b"record 7"
    with pytest.raises(KeyError):
        reader.read_idx(1)
    assert recordio.MXIndexedRecordIO(idx, rec, "r", key_type=str).keys == ["7", "3", "5"]
    (tmp_path / "a.idx").write_text("7 0\n")
    with pytest.raises(ValueError, match="line 1: expected key<TAB>offset"):
        recordio.MXIndexedRecordIO(idx, rec, "r")
    with pytest.raises(FileNotFoundError):
        recordio.MXIndexedRecordIO(str(tmp_path / "none.idx"), rec, "r")


def _use(reader, writer, results):
    results.put(reader.read())
    try:
        writer.write(b"x")
    except RuntimeError as error:
        results.put(str(error))


def test_after_a_fork_a_reader_begins_again_and_a_writer_refuses(tmp_path):
    written(tmp_path / "a.rec", [b"1", b"2"])
    reader = recordio.MXRecordIO(str(tmp_path / "a.rec"), "r")
    writer = recordio.MXRecordIO(str(tmp_path / "b.rec"), "w")
    assert reader.read() == b"1"
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=_use, args=(reader, writer, results))
    child.start()
    assert results.get(timeout=60) == b"1"
    assert "Forbidden operation in multiple processes" in results.get(timeout=60)
    child.join()
    assert reader.read() == b"2"


def test_headers():
    packed = recordio.pack(recordio.IRHeader(0, 7, 42, 0), b"JPEG")
    assert packed == bytes.fromhex("00000000 0000e040 2a00000000000000 0000000000000000 4a504547")
    header, data = recordio.unpack(packed)
    assert repr(header) == "HEADER(flag=0, label=7.0, id=42, id2=0)" and data == b"JPEG"
    with pytest.raises(ValueError, match="from 0 to"):
        recordio.pack((0, 7, -1, 0), b"")
    header, data = recordio.unpack(recordio.pack((9, [1, 2.5], 3, 4), b"rest"))
    assert header.flag == 2 and header.label.tolist() == [1, 2.5] and header.label.dtype == np.float32
    assert header[2:] == (3, 4) and data == b"rest"
    for record in (b"short", packed[:10], recordio.pack((0, [1, 2, 3], 0, 0), b"")[:-1]):
        with pytest.raises(ValueError, match="unpack"):
            recordio.unpack(record)


def picture(height=21, width=34, channels=3):
    """A smooth image with another slope in each channel."""
    y, x, c = np.ogrid[:height, :width, :channels]
    return (10 + 3 * x * (c + 1) // 2 + 4 * y * (3 - c) // 3).astype(np.uint8)


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (1, 1, 3), (33, 20, 3), (6, 9, 4)], ids=str)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_keeps_every_bit(shape, dtype):
    image = np.random.RandomState(3).randint(0, np.iinfo(dtype).max + 1, shape).astype(dtype)
    for level in (0, 3, 9, 95):
        header, again = recordio.unpack_img(recordio.pack_img((0, 5, 6, 7), image, level, ".PNG"))
        assert header == (0, 5, 6, 7) and again.dtype == dtype and again.flags.writeable
        np.testing.assert_array_equal(again, image[..., 0] if shape[-1] == 1 else image)


def test_jpeg_is_near_the_image():
    record = recordio.pack_img((0, [1, 2], 3, 4), picture())
    header, again = recordio.unpack_img(record)
    assert header.label.tolist() == [1, 2] and again.shape == (21, 34, 3) and again.dtype == np.uint8
    assert abs(again.astype(int) - picture()).mean() < 3
    assert len(recordio.pack_img((0, 1, 2, 3), picture(), quality=10)) < len(record)
    _, gray = recordio.unpack_img(recordio.pack_img((0, 1, 2, 3), picture()[..., 0], 100, ".jpeg"))
    assert gray.shape == (21, 34) and abs(gray.astype(int) - picture()[..., 0]).max() <= 2


def test_jpeg_has_the_markers_of_baseline_files():
    file = recordio.unpack(recordio.pack_img((0, 1, 2, 3), picture(), 95))[1]
    frame = file.index(b"\xff\xc0")
    assert file[:4] == b"\xff\xd8\xff\xe0" and file[6:10] == b"JFIF" and file[-2:] == b"\xff\xd9"
    assert file[frame + 5 : frame + 9] == bytes([0, 21, 0, 34])  # height and width
    assert file[frame + 11] == 0x22  # two by two luma blocks to one of each colour


def test_colours_of_records_are_asked_for():
    alpha = np.dstack([picture(), np.full((21, 34), 9, np.uint8)])
    record = recordio.pack_img((0, 1, 2, 3), alpha, 1, ".png")
    assert recordio.unpack_img(record)[1].shape == (21, 34, 4)
    np.testing.assert_array_equal(recordio.unpack_img(record, 1)[1], picture())
    gray = recordio.unpack_img(record, iscolor=0)[1]
    assert gray.shape == (21, 34)
    assert abs(gray - picture() @ np.array([0.114, 0.587, 0.299])).max() < 1.01
    np.testing.assert_array_equal(
        hr.image.imdecode(recordio.unpack(record)[1]).asnumpy(), picture()[..., ::-1]
    )


def test_other_dtypes_are_rounded_and_cut():
    image = np.array([[-3.0, 0.5, 1.5], [254.4, 255.5, 1000.0]])
    again = recordio.unpack_img(recordio.pack_img((0, 1, 2, 3), image, 3, ".png"))[1]
    assert again.tolist() == [[0, 0, 2], [254, 255, 255]]


@pytest.mark.parametrize(
    "shape", [(4,), (2, 3, 4, 3), (4, 4, 2), (4, 4, 5), (0, 4, 3), (4, 0), (4, 4, 0)], ids=str
)
@pytest.mark.parametrize("kind", [".jpg", ".png"])
def test_what_is_no_picture_is_refused(shape, kind):
    with pytest.raises(ValueError, match="encode|pack_img"):
        recordio.pack_img((0, 1, 2, 3), np.zeros(shape, np.uint8), img_fmt=kind)


def test_other_formats_are_refused():
    with pytest.raises(ValueError, match=r"img_fmt must be \.jpg, \.jpeg or \.png, got '\.bmp'"):
        recordio.pack_img((0, 1, 2, 3), picture(), img_fmt=".bmp")
    with pytest.raises(ValueError, match="1 to 65500 pixels"):
        recordio.pack_img((0, 1, 2, 3), np.zeros((1, 65501), np.uint8))
    with pytest.raises(ValueError, match="iscolor"):
        recordio.unpack_img(recordio.pack_img((0, 1, 2, 3), picture()), 7)


@pytest.mark.parametrize("kind", [".jpg", ".png"])
def test_damaged_images_in_records_end_in_errors(kind):
    record = recordio.pack_img((0, 1, 2, 3), picture(), 5, kind)
    for end in range(24, len(record) - 40, 7):
        for iscolor in (-1, 0, 1):
            try:
                recordio.unpack_img(record[:end], iscolor)
            except MXNetError as error:
                assert "Decoding failed" in str(error)
            else:
                assert kind == ".jpg"  # the part that is there can be seen
    random = np.random.RandomState(0)
    for _ in range(200):
        bent = bytearray(record)
        for place in random.randint(24, len(record), 3):
            bent[place] = random.randint(256)
        with contextlib.suppress(MXNetError):
            recordio.unpack_img(bytes(bent))


def test_a_data_set_of_records(tmp_path):
    writer = recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w")
    for key in range(4):
        writer.write_idx(key, bytes([key]))
    writer.close()
    data = hr.gluon.data.RecordFileDataset(str(tmp_path / "a.rec"))
    assert len(data) == 4 and data[2] == b"\2"
    assert list(hr.gluon.data.DataLoader(data, 2, batchify_fn=list, num_workers=1)) == [
        [b"\0", b"\1"],
        [b"\2", b"\3"],
    ]
