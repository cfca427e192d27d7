"""RecordIO: the bytes that MXNet writes, keys, damaged files, other processes, images' headers."""

import multiprocessing
import pickle

import numpy as np
import pytest

import headrace as hr
from headrace import recordio

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
    header, data = recordio.unpack(recordio.pack((9, [1, 2.5], 3, 4), b"rest"))
    assert header.flag == 2 and header.label.tolist() == [1, 2.5] and header.label.dtype == np.float32
    assert header[2:] == (3, 4) and data == b"rest"
    for record in (b"short", packed[:10], recordio.pack((0, [1, 2, 3], 0, 0), b"")[:-1]):
        with pytest.raises(ValueError, match="unpack"):
            recordio.unpack(record)


def test_images_need_opencv():
    image = np.arange(48, dtype="uint8").reshape(4, 4, 3)
    if recordio.cv2 is None:
        with pytest.raises(AssertionError, match="the module cv2 is needed"):
            recordio.pack_img((0, 1, 2, 3), image)
        with pytest.raises(AssertionError, match="the module cv2 is needed"):
            recordio.unpack_img(recordio.pack((0, 1, 2, 3), b""))
        return
    header, again = recordio.unpack_img(recordio.pack_img((0, 1, 2, 3), image, 3, ".png"))
    assert header.label == 1 and (again == image).all()


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
