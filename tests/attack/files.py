"""Mutated and crafted files for everything that reads files: they are refused, or read, within limits."""

import importlib.util
import json
import pathlib
import re

from child import Attack, Finding, check_error, execute, namespace

NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**61 + 3, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
ODD = (  # in the place of a value of JSON
    *(
        '"(2147483648, 2147483648)"',
        '"(-1, -1)"',
        '"(9223372036854775807, 1)"',
        '"9223372036854775808"',
        '"nan"',
    ),
    *('"(4611686018427387904,)"', '"4611686018427387904"', '"None"', '"wibble"', '"foreach0"', '"_foreach"'),
    *(
        '"Reshape"',
        '"_cond"',
        '"dot"',
        '"_while_loop"',
        '"Convolution"',
        '"(3, 3)"',
        '"0"',
        '"-1"',
        '"[0, 1]"',
        '"[5]"',
    ),
    *(
        "0",
        "1",
        "2",
        "3",
        "7",
        "9",
        "-1",
        "1e400",
        "-1e308",
        "99999999999999999999999",
        "4294967297",
        "2147483647",
    ),
    *(
        "9223372036854775807",
        "-9223372036854775808",
        "1e-320",
        "null",
        "[]",
        "{}",
        '""',
        "true",
        "[[[[[]]]]]",
    ),
)
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[-0-9.eE+]+|[A-Za-z_]\w*|\s|.')
SPECIAL = ("/dev/zero", "/dev/null", ".", "/no/such/file", "/proc/self/mem", "a" * 5000, "", "nul\0")
OF_IMAGES = "path_imgrec='images.rec', data_shape=(3, 4, 5), batch_size=2"
OF_RECORDS = "path_imgrec=path, data_shape=(3, 4, 5), batch_size=2"
PICTURE = "mx.image.imread(path).asnumpy()\nmx.image.imread(path, flag=0).asnumpy()"
# What reads a file: `path`, or the bytes `data` in it.
READERS = {
    "x.params": "loaded = nd.load(path)\nread(loaded)",
    "np.params": "loaded = npx.load(path)\nread(loaded)",
    "buffer.params": "read(nd.load_frombuffer(open(path, 'rb').read()))",
    "net.params": "dense(6).load_parameters(path)",
    "dict.params": "params = dense(6).collect_params()\nparams.load(path)",
    "record": "x = nd.ones((2,))\nx.__setstate__({'handle': open(path, 'rb').read()})\nread([x])",
    "trainer.states": "t = trained()\nt.load_states(path)\nt.step(1, ignore_stale_grad=True)",
    "updater.states": "updater().set_states(open(path, 'rb').read())",
    "symbol.json": "use(sym.load(path))",
    "run-model.json": "dense(6).load(path.removesuffix('-model.json'))",
    "images": "read_batches(mx.io.MNISTIter(image=path, label='labels', batch_size=2))",
    "labels": "read_batches(mx.io.MNISTIter(image='images', label=path, batch_size=2))",
    "images.rec": f"read_batches(mx.io.ImageRecordIter({OF_RECORDS}, rand_mirror=True))",
    "objects.rec": f"read_batches(mx.io.ImageDetRecordIter({OF_RECORDS}, rand_mirror_prob=0.5))",
    "picture.jpg": PICTURE,
    "picture.png": PICTURE,
    "plain.rec": "read_records(mx.recordio.MXRecordIO(path, 'r'))",
    "plain.idx": "read_records(mx.recordio.MXIndexedRecordIO(path, 'images.rec', 'r'))",
    "images.lst": "read_batches(mx.image.ImageIter(2, (3, 4, 5), path_imglist=path, path_root='.'))",
    "labels.lst": f"read_batches(mx.io.ImageRecordIter({OF_IMAGES}, path_imglist=path))",
    "table.libsvm": "read_batches(mx.io.LibSVMIter(data_libsvm=path, data_shape=(9,), batch_size=2))",
    "sparse.params": "loaded = nd.load(path)\nread(loaded)\nread(one * 2 for one in loaded)",
    "words.vec": "words = text.embedding.CustomEmbedding(path)\nwords.get_vecs_by_tokens('a').asnumpy()",
    "table.csv": "read_batches(mx.io.CSVIter(data_csv=path, data_shape=(3,), batch_size=2))",
    "topology.json": "topology = mx.plan.load(path)\nmx.plan.make(topology, '1MB').simulate()",
    "sim-topology.json": "mx.sim.configure(topology=path)\nnd.ones((2,), ctx=mx.gpu(0)).asnumpy()",
    "run.json": "timeline.page(timeline.load(path), 'title')",
}
if importlib.util.find_spec("onnx"):
    READERS["model.onnx"] = "use(onnx.import_model(path)[0])"
TEXTS = (".json", ".csv", ".lst", ".idx", ".libsvm", ".vec")
NEIGHBOURS = ("images", "labels", "images.rec", "picture.jpg", "run-model.json")  # that other readers need


class Files(Attack):
    """Mutated and crafted files for every reader."""

    programs = 2500
    taken = 0.05, 0.7

    def start(self):
        names = namespace()
        execute(ORIGINALS, names)
        if "model.onnx" in READERS:
            execute(ORIGINAL_MODEL, names)
        self._originals = {name: pathlib.Path(name).read_bytes() for name in READERS}
        self._crafted = [*_of_special_files(), *_of_limits(names["net_of_all"]())]

    def program(self, random, number):
        if number < len(self._crafted):
            return self._crafted[number]
        name = random.choice(("symbol.json", "x.params", *random.choices(tuple(READERS))))
        original = self._originals[name]
        is_text = name.endswith(TEXTS)
        data = _mutated_text(random, original.decode()) if is_text else _mutated_bytes(random, original)
        return f"path = written({name!r}, {data!r})\n{READERS[name]}"

    def subject(self, text):
        found = re.search(r"written\('([^']*)'", text)
        return found[1] if found else super().subject(text)

    def run(self, text):
        names = namespace()
        for name, data in self._originals.items():  # files that belong to the one that is read
            if name in NEIGHBOURS:
                with open(name, "wb") as file:
                    file.write(data)
        taken = execute(text, names, _check_limit if "/dev/zero" in text else check_error)
        if "sim.configure" in text:
            names["mx"].sim.configure(gpus=0, topology="")
        return taken


def _check_limit(error):
    """Finding: an endless file was read until memory was full."""
    if isinstance(error, MemoryError):
        raise Finding("reads without limit", f"{type(error).__name__}: {error}")
    check_error(error)


# Writes the files of READERS as they should be.
ORIGINALS = """
import gzip, struct
arrays = {'arg:weight': nd.ones((3, 4)), 'aux:mean': nd.zeros((4,), dtype='float64')}
arrays['idx'] = nd.arange(5, dtype='int32')
nd.save('x.params', arrays)
nd.save('buffer.params', list(arrays.values()))
npx.save('np.params', {'a': np.ones(()), 'b': np.zeros((0, 3), dtype='uint8')})
net = dense(6)
net(nd.ones((2, 6)))
net.save_parameters('net.params')
net.collect_params().save('dict.params')
net.hybridize()
net(nd.ones((2, 6)))
net.save('run')
written('record', bytes(nd.ones((2, 3)).__getstate__()['handle']))
trained().save_states('trainer.states')
one = updater()
one(0, nd.ones((2, 3)), nd.ones((2, 3)))
written('updater.states', one.get_states(dump_optimizer=True))
net_of_all().save('symbol.json')
written('images', struct.pack('>IIII', 0x803, 4, 3, 2) + bytes(range(24)))
written('labels', struct.pack('>II', 0x801, 4) + bytes(range(4)))
records = mx.recordio.MXRecordIO('images.rec', 'w')
objects = mx.recordio.MXRecordIO('objects.rec', 'w')
for number in range(3):
    pixels, kind = numpy.full((6, 5 + number, 3), 80 * number), ('.jpg', '.png')[number % 2]
    records.write(mx.recordio.pack_img((0, 1.5, number, 0), pixels, img_fmt=kind))
    label = [2, 5, number, 0.1, 0.2, 0.6, 0.9]
    objects.write(mx.recordio.pack_img((0, label, number, 0), pixels, img_fmt=kind, quality=9))
records.close()
objects.close()
picture = numpy.arange(300, dtype='uint8').reshape((10, 10, 3))
for name in ('picture.jpg', 'picture.png'):
    written(name, mx.recordio.pack_img((0, 1, 0, 0), picture, img_fmt=name[-4:])[24:])
plain = mx.recordio.MXIndexedRecordIO('plain.idx', 'plain.rec', 'w')
for number in range(3):
    plain.write_idx(number, b'record' * number)
plain.close()
written('images.lst', '0\\t1.5\\tpicture.jpg\\n1\\t2\\tpicture.png\\n2\\t3\\tpicture.jpg\\n')
written('labels.lst', '0\\t1.5\\tfirst\\n1\\t2\\tsecond\\n2\\t3\\tthird\\n')
written('table.libsvm', '1 0:1.5 3:2\\n-1 8:1e3\\n0.5 1:1 2:2 3:3\\n')
dense_of_sparse = nd.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]])
nd.save('sparse.params', [dense_of_sparse.tostype('csr'), dense_of_sparse.tostype('row_sparse')])
written('words.vec', 'a 1 2 3\\nb 4 -5e3 6\\nc 0 nan 1\\n')
written('table.csv', '1,2,3\\n4,5.5,6e3\\n-7,nan,9\\n')
written('topology.json', mx.plan.load('ethernet:2x10x2').to_json())
written('sim-topology.json', mx.plan.load('ethernet:2x10x2').to_json())
profiler.set_config(filename='run.json', profile_all=True)
profiler.set_state('run')
net(nd.ones((2, 6))).asnumpy()
profiler.set_state('stop')
profiler.dump()
"""

# The same where the package onnx is.
ORIGINAL_MODEL = """
x = sym.Convolution(sym.var('data'), kernel=(3, 3), num_filter=2, name='conv')
x = sym.FullyConnected(sym.Flatten(sym.Activation(x, act_type='relu')), num_hidden=3, name='dense')
shapes = dict(zip(x.list_arguments(), x.infer_shape(data=(1, 1, 5, 5))[0]))
params = {name: nd.ones(shape) for name, shape in shapes.items() if name != 'data'}
onnx.export_model(x, params, [(1, 1, 5, 5)], numpy.float32, 'model.onnx')
"""


def _mutated_text(random, original):
    """A text with one to three of its words replaced, doubled, left out, or taken from elsewhere."""
    tokens = TOKENS.findall(original)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(tokens))
        how = random.randrange(5)
        if how == 0 and random.random() < 0.3:
            del tokens[at]
        elif how == 1 and random.random() < 0.3:
            tokens.insert(at, random.choice(tokens))
        elif how == 2:
            tokens[at] = random.choice(tokens)
        else:
            values = [place for place, token in enumerate(tokens) if token[0] in '"-0123456789']
            tokens[random.choice(values or [at])] = random.choice((*ODD, *map(str, NUMBERS)))
    return "".join(tokens)


def _mutated_bytes(random, original):
    """Bytes cut off, with bits turned, with numbers near limits, or with others put in."""
    data = bytearray(original)
    how = random.randrange(5)
    if how == 0:
        del data[random.randrange(len(data)) :]
    elif how == 1:
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif how == 2:
        at = random.randrange(len(data))
        data[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, 9)))
    else:
        width = random.choice((1, 2, 4, 4, 8, 8, 8))
        at = random.randrange(max(1, len(data) - width)) // width * width + (
            random.randrange(4) if how == 3 else 0
        )
        number = random.choice(NUMBERS) % 256**width
        data[at : at + width] = number.to_bytes(width, random.choice(("little", "little", "big")))
    return bytes(data)


def _of_special_files():
    """Programs that read what is no file."""
    for text in READERS.values():
        for path in SPECIAL if "open(" not in text else ():
            yield f"path = {path!r}\n{text}"


def _of_limits(symbol):
    """Programs with symbol files near the limits of attributes, nesting and size."""
    original = symbol.tojson()
    for attribute, value in [
        *(
            ("kernel", one)
            for one in ("(2147483648, 2147483648)", "(0, 0)", "(-1, 3)", "()", "(4611686018427387904, 4)")
        ),
        *(("num_filter", one) for one in ("9223372036854775807", "-4", "0", "4611686018427387904")),
        *(("pad", "(9223372036854775807, 1)"), ("dilate", "(4611686018427387904, 1)"), ("stride", "(0, 0)")),
        *(("num_group", "0"), ("num_group", "3"), ("layout", "NXYZ")),
    ]:
        document = json.loads(original)
        [node] = [one for one in document["nodes"] if one["op"] == "Convolution"]
        node["attrs"] = {"kernel": "(3, 3)", "num_filter": "4", attribute: value}
        yield f"use(sym.fromjson({json.dumps(document)!r}))"
    for shape in ("(4611686018427387904,)", "(2147483648, 2147483648)", "(-1, 4611686018427387904)"):
        yield f"s = graph('exp', {{}}, [{shape}])\ns.simple_bind().forward()[0].asnumpy()"
        yield f"s = graph('_zeros', {{'shape': {shape!r}}}, [])\ns.eval()[0].asnumpy()"
    inputs = '"inputs": []'
    for text in (
        "'[' * 200000",
        "'{\"nodes\":' * 100000",
        "'[' * 100000 + ']' * 100000",
        "'\"' + 'a' * 10**6",
        "''",
    ):
        yield f"refused(sym.fromjson, {text})"
        yield f"refused(sym.fromjson, {original!r}.replace({inputs!r}, '\"inputs\": ' + {text}, 1))"
    yield "\n".join(
        [
            "node = {'op': 'null', 'name': 'x', 'inputs': []}",
            "body = {'nodes': [node], 'arg_nodes': [0], 'heads': [[0, 0, 0]]}",
            "for _ in range(200): body = {**body, 'nodes': [{**node, 'subgraphs': [body]}]}",
            "refused(sym.fromjson, json.dumps(body))",
        ]
    )
    yield "\n".join(
        [
            "nodes = [{'op': 'null', 'name': 'x', 'inputs': []}]",
            "nodes += [{'op': 'tanh', 'name': f't{i}', 'inputs': [[i, 0, 0]]} for i in range(30000)]",
            "deep = sym.fromjson(json.dumps({'nodes': nodes, 'arg_nodes': [0], 'heads': [[30000, 0, 0]]}))",
            "assert deep.infer_shape(x=(2,))[1] == [(2,)]",
        ]
    )


ATTACK = Files()
