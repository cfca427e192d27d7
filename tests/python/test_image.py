"""mxnet.image: files, sizes, augmenters and iterators."""

import base64
import json
import random
import struct
import zlib

import numpy
import pytest

from headrace import autograd, image, nd, np, np_array, recordio
from headrace.base import MXNetError

# 16 x 12 pixels (16 x, 20 y, x y mod 256), 4:2:0, as libjpeg-turbo writes them with quality 60.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNy"
    "wtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09P"
    "T09PT09PT09PT09PT09PT09PT09PT0//wAARCAAMABADASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAw"
    "QFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkK"
    "FhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmq"
    "KjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEB"
    "AQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRob"
    "HBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOE"
    "hYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+P"
    "n6/9oADAMBAAIRAxEAPwDlbTSc4+Wtm00fp8tbNnbRcfLW7Z2sXHy15EazqbhleZTVj//Z"
)


def png(pixels, depth=8, palette=None, interlaced=False):
    """A PNG file of (height, width) or (height, width, channels) integers."""
    pixels = numpy.asarray(pixels)
    height, width = pixels.shape[:2]
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    color_type = 3 if palette is not None else {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    raw = pixels.astype(">u2" if depth == 16 else "u1").reshape(height, -1)
    lines = b"".join(b"\0" + row.tobytes() for row in raw)

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced)))
    colors = b"" if palette is None else chunk(b"PLTE", bytes(palette))
    return b"\x89PNG\r\n\x1a\n" + header + colors + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


PIXELS = numpy.random.RandomState(0).randint(0, 256, (5, 7, 3))


def with_orientation(number):
    """The JPEG as a camera writes it that was held otherwise: Exif in place of the JFIF header."""
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, number, 0)
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 1) + entry + struct.pack("<I", 0)
    app1 = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
    assert JPEG[2:4] == b"\xff\xe0"
    rest = JPEG[4 + struct.unpack(">H", JPEG[4:6])[0] :]
    return JPEG[:2] + app1 + rest


def test_jpeg():
    decoded = image.imdecode(JPEG)
    assert decoded.shape == (12, 16, 3) and decoded.dtype == numpy.uint8
    assert decoded.asnumpy()[::5, ::7].tolist() == [
        [[0, 8, 0], [104, 7, 0], [220, 7, 3]],
        [[0, 98, 0], [115, 101, 36], [229, 97, 72]],
        [[10, 197, 6], [119, 198, 70], [233, 196, 141]],
    ]
    assert (image.imdecode(JPEG, to_rgb=0).asnumpy() == decoded.asnumpy()[:, :, ::-1]).all()
    grey = image.imdecode(JPEG, flag=0)
    assert grey.shape == (12, 16, 1)
    assert grey.asnumpy()[::5, ::7, 0].tolist() == [[2, 35, 70], [57, 98, 134], [119, 160, 201]]


def test_png():
    assert (image.imdecode(png(PIXELS)).asnumpy() == PIXELS).all()
    grey = PIXELS[:, :, 0]
    assert (image.imdecode(png(grey)).asnumpy() == grey[:, :, None].repeat(3, 2)).all()
    assert (image.imdecode(png(grey), flag=0).asnumpy()[:, :, 0] == grey).all()
    assert (image.imdecode(png(PIXELS * 256 + 77, depth=16)).asnumpy() == PIXELS).all()
    with_alpha = numpy.concatenate([PIXELS, PIXELS[:, :, :1]], axis=2)
    assert (image.imdecode(png(with_alpha)).asnumpy() == PIXELS).all()
    palette = numpy.arange(256 * 3) % 251
    indexed = image.imdecode(png(grey, palette=palette.astype("u1")))
    assert (indexed.asnumpy() == palette.reshape(256, 3)[grey]).all()
    luminance = PIXELS @ [0.299, 0.587, 0.114]
    assert abs(image.imdecode(png(PIXELS), flag=0).asnumpy()[:, :, 0] - luminance).max() <= 1


@pytest.mark.parametrize("number", range(1, 9))
def test_pictures_are_turned_as_the_camera_was_held(number):
    upright = image.imdecode(JPEG).asnumpy()
    expected = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: numpy.rot90(upright, -1),
        7: numpy.rot90(upright, 2).transpose(1, 0, 2),
        8: numpy.rot90(upright),
    }[number]
    turned = image.imdecode(with_orientation(number)).asnumpy()
    assert turned.shape == expected.shape and (turned == expected).all()


def test_files_and_kinds_of_buffers(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png(PIXELS))
    for given in (path.read_bytes(), bytearray(path.read_bytes()), numpy.frombuffer(path.read_bytes(), "u1")):
        assert (image.imdecode(given).asnumpy() == PIXELS).all()
    assert (image.imread(str(path)).asnumpy() == PIXELS).all()
    assert (
        image.imdecode(nd.array(numpy.frombuffer(path.read_bytes(), "u1"), dtype="uint8")).asnumpy() == PIXELS
    ).all()
    out = nd.zeros((5, 7, 3), dtype="uint8")
    image.imread(path, out=out)
    assert (out.asnumpy() == PIXELS).all()
    with np_array(True):
        assert isinstance(image.imdecode(path.read_bytes()), np.ndarray)
    for kind in (FileNotFoundError, MXNetError):
        with pytest.raises(kind, match="imread: .*No such file or directory: .*none.png"):
            image.imread(tmp_path / "none.png")


@pytest.mark.parametrize(
    "content, error",
    [
        (b"", MXNetError),
        (b"no image", MXNetError),
        (JPEG[:100], MXNetError),
        (b"\xff\xd8\xff" + bytes(50), MXNetError),
        (png(PIXELS)[:40], MXNetError),
        (png(PIXELS)[:8], MXNetError),
        (png(PIXELS).replace(b"IDAT", b"IDAX"), MXNetError),
        (png(PIXELS)[:16] + b"\x7f\xff\xff\xff\x7f\xff\xff\xff" + png(PIXELS)[24:], MXNetError),
        ("text", ValueError),
        (3, ValueError),
    ],
)
def test_files_that_are_no_images(content, error):
    with pytest.raises(error):
        image.imdecode(content).asnumpy()


def test_what_imdecode_does_not_take():
    with pytest.raises(ValueError, match="flag"):
        image.imdecode(JPEG, flag=-1)
    with pytest.raises(TypeError, match="uint8"):
        image.imdecode(nd.array([1.0, 2.0]))


def test_nearest_area_and_linear_sizes():
    x = nd.array(numpy.arange(16).reshape(4, 4, 1) * 10, dtype="uint8")
    assert image.imresize(x, 2, 2, 0).asnumpy()[:, :, 0].tolist() == [[0, 20], [80, 100]]
    assert image.imresize(x, 2, 2, 3).asnumpy()[:, :, 0].tolist() == [[25, 45], [105, 125]]
    assert image.imresize(x, 2, 2, 1).asnumpy()[:, :, 0].tolist() == [[25, 45], [105, 125]]
    assert image.imresize(x, 8, 4, 1).asnumpy()[0, :, 0].tolist() == [0, 3, 8, 13, 18, 23, 28, 30]
    wide = (nd.arange(40 * 52 * 3).reshape((40, 52, 3)) * 7 % 251).astype("uint8")
    area = image.imresize(wide, 70, 90, 3).asnumpy()  # result 35 begins with element 26, to rounding
    assert area[0, 33:38, 0].tolist() == [9, 23, 23, 58, 71] and area.sum(dtype="int64") == 2361115
    smooth = nd.array(numpy.linspace(0, 1, 12).reshape(3, 4, 1), dtype="float32")
    for interp in range(5):
        enlarged = image.imresize(smooth, 9, 7, interp)
        assert enlarged.shape == (7, 9, 1)
        constant = image.imresize(nd.ones((3, 4, 2)) * 0.5, 9, 7, interp)
        numpy.testing.assert_allclose(constant.asnumpy(), 0.5, rtol=1e-5)


@pytest.mark.parametrize("interp", range(5))
def test_pixels_of_double_precision_are_resized_as_single_ones(interp):
    x = numpy.random.RandomState(3).uniform(0, 255, (2, 7, 6, 3))
    double = nd.image.resize(nd.array(x, dtype="float64"), size=(4, 9), interp=interp)
    assert double.dtype == numpy.float64
    single = nd.image.resize(nd.array(x, dtype="float32"), size=(4, 9), interp=interp)
    assert (double.asnumpy() == single.asnumpy()).all()


def test_sizes_that_there_are_not():
    x = nd.zeros((4, 4, 3), dtype="uint8")
    for call in (
        lambda: image.imresize(x, 0, 3),
        lambda: image.imresize(x, 3, -1),
        lambda: image.imresize(x, 3, 3, interp=7),
        lambda: nd.image.resize(x, size=(1, 2, 3)),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        image.imresize(nd.zeros((4, 4, 3), dtype="int32"), 2, 2)
    with pytest.raises(MXNetError):
        nd.image.resize(nd.zeros((4, 4)), size=2)


def test_image_resize_of_one_side_and_of_batches():
    x = nd.array(numpy.random.RandomState(1).randint(0, 256, (2, 6, 9, 3)), dtype="uint8")
    assert nd.image.resize(x, size=3, keep_ratio=True).shape == (2, 3, 4, 3)
    assert nd.image.resize(x, size=3).shape == (2, 3, 3, 3)
    both = nd.image.resize(x, size=(4, 5), interp=2)
    for i in range(2):
        assert (both[i].asnumpy() == image.imresize(x[i], 4, 5, 2).asnumpy()).all()


def test_borders():
    x = nd.array(PIXELS, dtype="uint8")
    modes = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}
    for kind, mode in modes.items():
        expected = numpy.pad(PIXELS, ((1, 2), (3, 4), (0, 0)), mode)
        assert (image.copyMakeBorder(x, 1, 2, 3, 4, type=kind).asnumpy() == expected).all(), mode
    framed = image.copyMakeBorder(x, 1, 2, 3, 4, values=(9, 8, 7)).asnumpy()
    assert (
        framed.shape == (8, 14, 3)
        and framed[0, 0].tolist() == [9, 8, 7]
        and (framed[1:6, 3:10] == PIXELS).all()
    )
    assert image.copyMakeBorder(x, 1, 0, 0, 0, value=5).asnumpy()[0].min() == 5
    with pytest.raises(ValueError, match="type"):
        image.copyMakeBorder(x, 1, 1, 1, 1, type=9)


def test_the_operators_of_files_and_borders(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(png(PIXELS))
    read = nd._internal._cvimread
    assert (read(filename=str(path)).asnumpy() == PIXELS).all()
    assert (read(str(path), to_rgb=False).asnumpy() == PIXELS[..., ::-1]).all()
    assert read(filename=str(path), flag=0).shape == (*PIXELS.shape[:2], 1)
    with pytest.raises(MXNetError, match="couldn't open file"):
        read(filename=str(tmp_path / "none.png"))
    with pytest.raises(MXNetError):
        read(filename=str(tmp_path))
    border = nd._internal._cvcopyMakeBorder
    for dtype, value in (
        ("uint8", 255),
        ("int8", 127),
        ("int32", 300),
        ("float32", 299.5),
        ("float16", 299.5),
    ):
        x = nd.zeros((2, 3, 1), dtype=dtype)
        assert border(x, top=1, bot=0, left=0, right=2, value=299.5).asnumpy()[0, 0, 0] == value
    wide = border(nd.arange(3).reshape((1, 3, 1)), top=0, bot=0, left=7, right=8, type=4).asnumpy().ravel()
    assert wide.tolist() == numpy.pad([0, 1, 2], (7, 8), "reflect").tolist()
    with pytest.raises(ValueError):
        border(x, top=-1, bot=0, left=0, right=0)
    with pytest.raises(MXNetError, match="no edge"):
        border(nd.zeros((0, 3, 1)), top=1, bot=0, left=0, right=0, type=1)


class TestOldImdecode:
    """nd.imdecode: channels first, in OpenCV's order."""

    EXPECTED = PIXELS[..., ::-1].transpose(2, 0, 1)

    def test_values(self):
        made = nd.imdecode(png(PIXELS))
        assert made.dtype == numpy.float32 and (made.asnumpy() == self.EXPECTED).all()
        part = nd.imdecode(png(PIXELS), clip_rect=(1, 2, 4, 5))
        assert (part.asnumpy() == self.EXPECTED[:, 2:5, 1:4]).all()
        assert nd.imdecode(png(PIXELS), channels=1).shape == (1, *PIXELS.shape[:2])
        assert (nd.imdecode(png(PIXELS), channels=2).asnumpy() == self.EXPECTED[:2]).all()

    def test_out_and_mean(self):
        out = nd.zeros((2, *self.EXPECTED.shape))
        assert nd.imdecode(png(PIXELS), out=out, index=1) is out
        assert (out.asnumpy()[1] == self.EXPECTED).all() and (out.asnumpy()[0] == 0).all()
        mean = nd.full(self.EXPECTED.shape, 3, dtype="float64")
        assert (nd.imdecode(png(PIXELS), mean=mean).asnumpy() == self.EXPECTED.astype(float) - 3).all()

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ({"channels": 4}, "channels must be from 1 to the 3"),
            ({"clip_rect": (1, 2, 40, 5)}, "clip_rect"),
            ({"out": nd.zeros((3, 1, 1))}, "out must be"),
            ({"mean": nd.zeros((3, 1, 1))}, "mean must be"),
            ({"str_img": b"no image"}, "Decoding failed"),
        ],
    )
    def test_refuses(self, arguments, told):
        with pytest.raises(MXNetError, match=told):
            nd.imdecode(**{"str_img": png(PIXELS)} | arguments)


def test_a_header_that_states_more_than_the_file_can_hold():
    for file, size in ((bytearray(png(PIXELS)), slice(16, 24)), (bytearray(JPEG), None)):
        if size is None:
            at = file.find(b"\xff\xc0")
            size = slice(at + 5, at + 9)
            file[size] = struct.pack(">HH", 30000, 30000)
        else:
            file[size] = struct.pack(">II", 30000, 30000)
            file[29:33] = struct.pack(">I", zlib.crc32(file[12:29]))
        with pytest.raises(MXNetError, match="cannot hold 30000 x 30000 pixels"):
            image.imdecode(bytes(file))


def test_crops():
    x = nd.array(PIXELS, dtype="uint8")
    part, place = image.center_crop(x, (3, 3))
    assert place == (2, 1, 3, 3) and (part.asnumpy() == PIXELS[1:4, 2:5]).all()
    random.seed(1)
    for _ in range(20):
        part, (x0, y0, w, h) = image.random_crop(x, (4, 2))
        assert (w, h) == (4, 2) and (part.asnumpy() == PIXELS[y0 : y0 + h, x0 : x0 + w]).all()
        part, (_, _, w, h) = image.random_size_crop(x, (4, 4), (0.2, 1.0), (0.5, 2.0))
        assert part.shape == (4, 4, 3) and 0 < w <= 7 and 0 < h <= 5
    assert image.center_crop(x, (20, 10))[0].shape == (10, 20, 3)
    assert image.scale_down((640, 480), (720, 120)) == (640, 106)
    assert image.resize_short(x, 10).shape == (10, 14, 3)
    assert image.fixed_crop(x, 1, 1, 3, 2, size=(6, 4)).shape == (4, 6, 3)


def test_augmenters_in_both_kinds_of_arrays():
    made = image.CreateAugmenter(
        (3, 4, 5),
        resize=6,
        rand_crop=True,
        rand_resize=True,
        rand_mirror=True,
        mean=True,
        std=True,
        brightness=0.1,
        contrast=0.1,
        saturation=0.1,
        hue=0.1,
        pca_noise=0.1,
        rand_gray=0.5,
        inter_method=10,
    )
    for array in (nd.array, np.array):
        x = array(PIXELS, dtype="uint8")
        for augmenter in made:
            augmenter.dumps()
            x = augmenter(x)
        assert x.shape == (4, 5, 3) and x.dtype == numpy.float32 and type(x) is type(array([1]))
        assert numpy.isfinite(x.asnumpy()).all()


def test_what_augmenters_compute():
    x = nd.array(PIXELS, dtype="float32")
    random.seed(3)
    alpha = 1 + random.uniform(-0.5, 0.5)
    luminance = PIXELS @ [0.299, 0.587, 0.114]

    def jittered(kind):
        random.seed(3)
        return kind(0.5)(x.copy()).asnumpy()

    numpy.testing.assert_allclose(jittered(image.BrightnessJitterAug), PIXELS * alpha, rtol=1e-5)
    contrast = PIXELS * alpha + luminance.mean() * (1 - alpha)
    numpy.testing.assert_allclose(jittered(image.ContrastJitterAug), contrast, rtol=1e-4)
    saturation = PIXELS * alpha + luminance[:, :, None] * (1 - alpha)
    numpy.testing.assert_allclose(jittered(image.SaturationJitterAug), saturation, rtol=1e-4)
    normal = image.ColorNormalizeAug(nd.array([1, 2, 3]), nd.array([2, 2, 4]))(x.copy()).asnumpy()
    numpy.testing.assert_allclose(normal, (PIXELS - [1, 2, 3]) / [2, 2, 4], rtol=1e-6)
    assert (image.HorizontalFlipAug(1.1)(x).asnumpy() == PIXELS[:, ::-1]).all()
    grey = image.RandomGrayAug(1.1)(x).asnumpy()
    numpy.testing.assert_allclose(grey[:, :, 2], PIXELS @ [0.21, 0.72, 0.07], rtol=1e-5)
    assert json.loads(image.ResizeAug(5, interp=1).dumps()) == ["resizeaug", {"size": 5, "interp": 1}]
    assert image.SequentialAug([image.CastAug()]).dumps()[0] == "sequentialaug"


@pytest.fixture
def pictures(tmp_path):
    """A folder of five images, all of one value each, that list and records name, too."""
    for i in range(5):
        (tmp_path / f"{i}.png").write_bytes(png(numpy.full((6, 8, 3), i * 10)))
    (tmp_path / "list.lst").write_text("".join(f"{i}\t{i}\t{i}.png\n" for i in range(5)))
    records = recordio.MXIndexedRecordIO(str(tmp_path / "r.idx"), str(tmp_path / "r.rec"), "w")
    for i in range(5):
        header = recordio.IRHeader(0, float(i), i, 0)
        records.write_idx(i, recordio.pack(header, (tmp_path / f"{i}.png").read_bytes()))
    records.close()
    return tmp_path


def sources(folder):
    listed = [[float(i), f"{i}.png"] for i in range(5)]
    return {
        "list file": {"path_imglist": str(folder / "list.lst"), "path_root": str(folder)},
        "list": {"imglist": listed, "path_root": str(folder)},
        "records": {"path_imgrec": str(folder / "r.rec")},
        "index": {"path_imgrec": str(folder / "r.rec"), "path_imgidx": str(folder / "r.idx")},
    }


@pytest.mark.parametrize("source", ["list file", "list", "records", "index"])
def test_iterators_over_every_source(pictures, source):
    batches = image.ImageIter(2, (3, 4, 4), **sources(pictures)[source])
    for _ in range(2):
        batches.reset()
        seen = [(batch.label[0].asnumpy().tolist(), batch.pad, batch.data[0].asnumpy()) for batch in batches]
        assert [label for label, _, _ in seen] == [[0, 1], [2, 3], [4, 0]]
        assert [pad for _, pad, _ in seen] == [0, 0, 1]
        assert seen[1][2].shape == (2, 3, 4, 4) and seen[1][2][1].max() == 30 == seen[1][2][1].min()


@pytest.mark.parametrize("handle, epochs", [("discard", [2, 2]), ("pad", [3, 3]), ("roll_over", [2, 3])])
def test_last_batches(pictures, handle, epochs):
    batches = image.ImageIter(2, (3, 4, 4), last_batch_handle=handle, **sources(pictures)["list"])
    for expected in epochs:
        assert len(list(batches)) == expected
        batches.reset()


def test_parts_and_shuffling(pictures):
    given = sources(pictures)["index"]
    halves = [image.ImageIter(1, (3, 4, 4), num_parts=2, part_index=part, **given) for part in range(2)]
    assert [[int(b.label[0].asscalar()) for b in half] for half in halves] == [[0, 1], [2, 3]]
    random.seed(0)
    shuffled = image.ImageIter(1, (3, 4, 4), shuffle=True, **given)
    orders = set()
    for _ in range(5):
        orders.add(tuple(int(batch.label[0].asscalar()) for batch in shuffled))
        shuffled.reset()
    assert len(orders) > 1 and all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)


def test_iterators_say_what_is_wrong(pictures):
    (pictures / "2.png").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="filename: 2.png"):
        list(image.ImageIter(5, (3, 4, 4), **sources(pictures)["list"]))
    with pytest.raises(ValueError, match="3 channels"):
        image.ImageIter(1, (1, 4, 4), imglist=[])
    with pytest.raises(AssertionError):
        image.ImageIter(1, (3, 4, 4))
    with pytest.raises(AssertionError, match="path_imgidx"):
        image.ImageIter(1, (3, 4, 4), shuffle=True, **sources(pictures)["records"])
    with pytest.raises(AssertionError, match="there is no part -1 of 2"):
        image.ImageIter(1, (3, 4, 4), num_parts=2, part_index=-1, **sources(pictures)["index"])


def test_decoding_is_asynchronous_and_has_no_gradient():
    with autograd.record():
        decoded = [image.imdecode(png(PIXELS)) for _ in range(20)]
        total = sum(one.astype("float32").sum() for one in decoded)
    assert total.asscalar() == 20 * PIXELS.sum()
