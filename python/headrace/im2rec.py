"""Makes lists of image files, and RecordIO files of the images in a list: `python -m headrace.im2rec`.

The options are those of MXNet's tools/im2rec.py. With `--list`, `PREFIX.lst` gets a line of index, label and
path for each image below ROOT; otherwise every list whose name begins with PREFIX becomes .rec and .idx.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import random
import sys

from . import image, recordio

__all__ = ["main"]


def _images(root, recursive, extensions):
    """Pairs of path below `root` and label: the number of the folder."""
    if not recursive:
        found = [(name, 0) for name in sorted(os.listdir(root))]
    else:
        found, folders = [], {}
        for folder, below, names in os.walk(root, followlinks=True):
            below.sort()
            for name in sorted(names):
                if pathlib.Path(name).suffix.lower() in extensions:
                    label = folders.setdefault(folder, len(folders))
                    found.append((os.path.relpath(os.path.join(folder, name), root), label))
        for folder, label in folders.items():
            print(os.path.relpath(folder, root), label)
    return [
        (path, label)
        for path, label in found
        if pathlib.Path(path).suffix.lower() in extensions and os.path.isfile(os.path.join(root, path))
    ]


def _write_list(path, items):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{index}\t{label:f}\t{name}\n" for index, (name, label) in items)


def _make_lists(args):
    items = list(enumerate(_images(args.root, args.recursive, args.exts)))
    if args.shuffle:
        random.seed(100)
        random.shuffle(items)
    size = -(-len(items) // args.chunks)
    train, test = int(size * args.train_ratio), int(size * args.test_ratio)
    for number in range(args.chunks):
        chunk = items[number * size : (number + 1) * size]
        stem = args.prefix + (f"_{number}" if args.chunks > 1 else "")
        if args.train_ratio == 1:
            _write_list(f"{stem}.lst", chunk)
            continue
        if args.test_ratio:
            _write_list(f"{stem}_test.lst", chunk[:test])
        if args.train_ratio + args.test_ratio < 1:
            _write_list(f"{stem}_val.lst", chunk[test + train :])
        _write_list(f"{stem}_train.lst", chunk[test : test + train])


def _items(path):
    """(index, labels, name) of each line; a line that is none is told on standard error and left out."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = [field.strip() for field in line.strip().split("\t")]
            try:
                if len(fields) < 3:
                    raise ValueError("index, label and path with tabs between are needed")
                yield int(fields[0]), [float(field) for field in fields[1:-1]], fields[-1]
            except ValueError as error:
                print(f"{path}, line {number}: {error}; it is left out", file=sys.stderr)


def _prepared(pixels, args):
    height, width = pixels.shape[:2]
    if args.center_crop:
        side = min(height, width)
        pixels, _ = image.center_crop(pixels, (side, side))
    return image.resize_short(pixels, args.resize, 1) if args.resize else pixels


def _record(item, args):
    """The index and the record of an image; None instead of a record where its file cannot be read."""
    index, labels, name = item
    header = recordio.IRHeader(0, labels if len(labels) > 1 and args.pack_label else labels[0], index, 0)
    path = os.path.join(args.root, name)
    try:
        content = pathlib.Path(path).read_bytes()
        if args.pass_through:
            return index, recordio.pack(header, content)
        pixels = _prepared(image.imdecode(content, int(args.color != 0), to_rgb=False), args).asnumpy()
        return index, recordio.pack_img(header, pixels, args.quality, args.encoding)
    except (OSError, RuntimeError) as error:
        print(f"{path}: {error}; it is left out", file=sys.stderr)
        return index, None


def _make_records(path, args):
    """Writes the records in the order of the list, with `num_thread` threads and few images in memory."""
    stem = os.path.splitext(path)[0]
    records, items = recordio.MXIndexedRecordIO(f"{stem}.idx", f"{stem}.rec", "w"), _items(path)
    count = 0
    with concurrent.futures.ThreadPoolExecutor(args.num_thread) as pool:
        first = itertools.islice(items, 4 * args.num_thread)
        coming = collections.deque(pool.submit(_record, item, args) for item in first)
        while coming:
            index, record = coming.popleft().result()
            coming.extend(pool.submit(_record, item, args) for item in itertools.islice(items, 1))
            if record is not None:
                records.write_idx(index, record)
                count += 1
    records.close()
    print(f"{count} records in {stem}.rec")


def _arguments(argv):
    parser = argparse.ArgumentParser(prog="headrace.im2rec", description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=os.path.abspath, help="how the names of lists and records begin")
    parser.add_argument("root", type=os.path.abspath, help="the folder with the images")
    lists = parser.add_argument_group("lists")
    lists.add_argument("--list", action="store_true", help="make lists rather than records")
    lists.add_argument("--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], help="endings of image files")
    lists.add_argument("--chunks", type=int, default=1, help="how many lists")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="share of the images for training")
    lists.add_argument("--test-ratio", type=float, default=0.0, help="share of the images for tests")
    lists.add_argument("--recursive", action="store_true", help="folders below, too: each is a label")
    lists.add_argument("--no-shuffle", dest="shuffle", action="store_false", help="keep the order of names")
    records = parser.add_argument_group("records")
    records.add_argument("--pass-through", action="store_true", help="take the files as they are")
    records.add_argument("--resize", type=int, default=0, help="pixels of the shorter side")
    records.add_argument("--center-crop", action="store_true", help="cut the square in the middle")
    records.add_argument("--quality", type=int, default=95, help="JPEG: 1 to 100; PNG: compression, 1 to 9")
    records.add_argument("--num-thread", type=int, default=1, help="threads that read and encode")
    records.add_argument("--color", type=int, default=1, choices=[0, 1], help="1: colours, 0: grey")
    records.add_argument("--encoding", default=".jpg", choices=[".jpg", ".png"], help="of the images")
    records.add_argument("--pack-label", action="store_true", help="store all labels of a line")
    args = parser.parse_args(argv)
    if args.chunks < 1 or args.num_thread < 1:
        parser.error("--chunks and --num-thread must be at least 1")
    if not os.path.isdir(args.root):
        parser.error(f"{args.root} is no folder")
    return args


def main(argv=None):
    """The command, with the arguments of `argv` or of the command line. SystemExit: they are wrong."""
    args = _arguments(argv)
    if args.list:
        _make_lists(args)
        return
    folder = args.prefix if os.path.isdir(args.prefix) else os.path.dirname(args.prefix)
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".lst")]
    paths = [path for path in paths if path.startswith(args.prefix)]
    for path in paths:
        _make_records(path, args)
    if not paths:
        sys.exit(f"im2rec: there is no list {args.prefix}*.lst; make one with --list")


if __name__ == "__main__":
    main()
