"""The command that makes records of image files."""

import numpy
import pytest

from headrace import im2rec, recordio


@pytest.fixture
def folder(tmp_path):
    """Two folders, the first with two images and a text, the second with one image."""
    for name in ("cats/b.jpg", "cats/a.jpg", "dogs/c.png", "cats/notes.txt"):
        path = tmp_path / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"the file " + name.encode())
    return tmp_path


def run(folder, *options):
    im2rec.main([str(folder / "all"), str(folder / "images"), *options])


def test_lists(folder):
    run(folder, "--list", "--recursive", "--no-shuffle")
    expected = "0\t0.000000\tcats/a.jpg\n1\t0.000000\tcats/b.jpg\n2\t1.000000\tdogs/c.png\n"
    assert (folder / "all.lst").read_text() == expected
    run(folder, "--list", "--recursive", "--train-ratio", "0.4", "--test-ratio", "0.4")
    counts = {
        name: len((folder / f"all_{name}.lst").read_text().splitlines()) for name in ("train", "test", "val")
    }
    assert counts == {"train": 1, "test": 1, "val": 1}


@pytest.mark.parametrize("threads", ["1", "3"])
def test_files_as_they_are(folder, threads, capsys):
    run(folder, "--list", "--recursive", "--no-shuffle")
    with open(folder / "all.lst", "a") as file:
        file.write("no line\n7\t2.0\tmissing.jpg\n")
    run(folder, "--pass-through", "--num-thread", threads)
    told = capsys.readouterr().err
    assert "line 4" in told and "missing.jpg" in told
    records = recordio.MXIndexedRecordIO(str(folder / "all.idx"), str(folder / "all.rec"), "r")
    assert records.keys == [0, 1, 2]
    header, content = recordio.unpack(records.read_idx(1))
    assert (header.label, header.id, content) == (0, 1, b"the file cats/b.jpg")


def test_several_labels(folder):
    (folder / "all.lst").write_text("4\t1\t2.5\tcats/a.jpg\n")
    for options, label in ((["--pack-label"], [1, 2.5]), ([], 1)):
        run(folder, "--pass-through", *options)
        record = recordio.MXRecordIO(str(folder / "all.rec"), "r").read()
        assert numpy.asarray(recordio.unpack(record)[0].label).tolist() == label


def test_wrong_arguments(folder):
    with pytest.raises(SystemExit, match="no list"):
        run(folder)
    with pytest.raises(SystemExit):
        run(folder, "--encoding", ".gif")
