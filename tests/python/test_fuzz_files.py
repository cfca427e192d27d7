"""Malformed symbol and parameter files raise errors; they never crash, hang, or ask for much memory."""

import subprocess
import sys
import textwrap

import pytest

RAISES = "(mx.base.MXNetError, ValueError, TypeError, KeyError, IndexError, AssertionError)"
LIMIT = 3 << 30  # bytes of address space beyond what is mapped at the start

PRELUDE = f"""
import json, random, re, resource, sys
import numpy, headrace as mx
from headrace import nd, sym
nd.ones((64, 64)).asnumpy()
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + {LIMIT}, pages + {LIMIT}))
ERRORS = {RAISES}
def net():
    x = sym.var("data", shape=(2, 3, 8, 8))
    y = sym.Convolution(x, kernel=(3, 3), num_filter=4, name="conv")
    y = sym.Pooling(sym.BatchNorm(y, name="bn"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    parts = sym.split(y, num_outputs=2, axis=1, name="split")
    y = sym.Concat(parts[0], parts[1] * 2.5, dim=1)
    y = sym.transpose(sym.Reshape(y, shape=(0, -1)), axes=(1, 0))
    out, state = sym.contrib.foreach(lambda e, s: (e + s, s * 2), y, sym.var("state", shape=(2,)))
    return sym.Group([sym.sum(out, axis=1), state])
def use(text):
    symbol = sym.fromjson(text)
    symbol.tojson()
    symbol.infer_shape_partial()
    symbol.list_arguments()
"""


def run(body, **values):
    given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + given + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_symbol_files(tmp_path):
    run(
        r"""
    random.seed(1)
    original = net().tojson()
    odd = ["-1", "1e400", "99999999999999999999999", "4294967297", "null", "[]", "{}", '""', "true"]
    odd += ["[[[[[]]]]]", '"(2147483648, 2147483648)"', '"(-1, -1)"', '"(9223372036854775807, 1)"']
    odd += ['"9223372036854775808"', '"nan"', '"None"', '"wibble"', '"foreach0"', '"_foreach"', '"Reshape"']
    odd += ['"_cond"', '"dot"', '"_while_loop"', '"Convolution"', '"(3, 3)"', '"0"', '"-1"', '"[0, 1]"']
    odd += ['"[5]"', "0", "1", "2", "3", "7", "9"]
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[-0-9.eE+]+|[][{}:,]|true|false|null', original)
    use(" ".join(tokens))
    refused = 0
    for i in range(1500):
        mutated = list(tokens)
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(mutated))
            how = random.randrange(5)
            if how == 0 and random.random() < 0.3: del mutated[at]
            elif how == 1 and random.random() < 0.3: mutated.insert(at, random.choice(mutated))
            elif how == 2: mutated[at] = random.choice(mutated)
            else:
                values = [k for k, t in enumerate(mutated) if t[0] in '"-0123456789']
                mutated[random.choice(values)] = random.choice(odd)
        text = " ".join(mutated)
        open(LAST, "w").write(text)
        try:
            use(text)
        except ERRORS:
            refused += 1
    assert 400 < refused < 1400, refused
    """,
        LAST=str(tmp_path / "last.json"),
    )


@pytest.mark.parametrize("attribute, value", [
    ("kernel", "(2147483648, 2147483648)"), ("kernel", "(0, 0)"), ("kernel", "(-1, 3)"), ("kernel", "()"),
    ("num_filter", "9223372036854775807"), ("num_filter", "-4"), ("num_filter", "0"), ("stride", "(0, 0)"),
    ("pad", "(9223372036854775807, 1)"), ("dilate", "(4611686018427387904, 1)"), ("num_group", "0"),
    ("num_group", "3"), ("layout", "NXYZ"),
])  # fmt: skip
def test_attributes_of_convolution(attribute, value):
    run(f"""
    attributes = {{"kernel": "(3, 3)", "num_filter": "4", {attribute!r}: {value!r}}}
    text = json.loads(net().tojson())
    [node] = [n for n in text["nodes"] if n["op"] == "Convolution"]
    node["attrs"] = attributes
    try:
        symbol = sym.fromjson(json.dumps(text))
        symbol.infer_shape_partial()
        symbol.eval(data=nd.ones((2, 3, 8, 8)))
    except ERRORS:
        pass
    """)


def test_nesting_and_size():
    run("""
    for text in ("[" * 200000, '{"nodes":' * 100000, "[" * 100000 + "]" * 100000, '"' + "a" * 10**6, ""):
        for whole in (text, net().tojson().replace('"inputs": []', '"inputs": ' + text, 1)):
            try:
                sym.fromjson(whole)
                raise SystemExit("taken")
            except ERRORS:
                pass
    body = {"nodes": [{"op": "null", "name": "x", "inputs": []}], "arg_nodes": [0], "heads": [[0, 0, 0]]}
    for _ in range(200):
        body = {"nodes": [{"op": "null", "name": "x", "inputs": [], "subgraphs": [body]}], "arg_nodes": [0],
                "heads": [[0, 0, 0]]}
    try:
        sym.fromjson(json.dumps(body))
        raise SystemExit("taken")
    except ERRORS:
        pass
    nodes = [{"op": "null", "name": "x", "inputs": []}]
    nodes += [{"op": "tanh", "name": f"t{i}", "inputs": [[i, 0, 0]]} for i in range(30000)]
    deep = sym.fromjson(json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[30000, 0, 0]]}))
    assert deep.infer_shape(x=(2,))[1] == [(2,)]
    """)


def test_parameter_files(tmp_path):
    run(f"""
    random.seed(2)
    path = {str(tmp_path / "file.params")!r}
    nd.save(path, {{"arg:weight": nd.ones((3, 4)), "aux:mean": nd.zeros((4,), dtype="float64"),
                   "idx": nd.arange(5, dtype="int32")}})
    original = open(path, "rb").read()
    refused = 0
    for i in range(1500):
        data = bytearray(original)
        how = random.randrange(4)
        if how == 0:
            del data[random.randrange(len(data)):]
        elif how == 1:
            for _ in range(random.randint(1, 4)):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        elif how == 2:
            at = random.randrange(len(data) - 8)
            data[at:at + 8] = random.choice([b"\\xff" * 8, b"\\x00" * 8, (1 << 62).to_bytes(8, "little"),
                                             (1 << 31).to_bytes(4, "little") * 2])
        else:
            at = random.randrange(len(data))
            data[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, 9)))
        open(path, "wb").write(data)
        try:
            loaded = nd.load(path)
            for one in (loaded.values() if isinstance(loaded, dict) else loaded):
                one.asnumpy() if not hasattr(one, "indices") else None
        except (*ERRORS, UnicodeDecodeError):
            refused += 1
    assert refused > 400, refused
    """)


def test_files_of_other_kinds(tmp_path):
    pipe = tmp_path / "pipe"
    run(f"""
    import os
    os.mkfifo({str(pipe)!r})
    for path in ("/dev/zero", {str(tmp_path)!r}, {str(pipe)!r}):
        for read in (sym.load, nd.load):
            try:
                read(path)
                raise SystemExit(f"{{path}} was read")
            except mx.base.MXNetError as error:
                assert "not a regular file" in str(error), error
    """)
