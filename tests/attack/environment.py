"""Fresh interpreters: imports in every order, hostile variables, and surroundings that lack something."""

import importlib.util
import re

from child import Attack, Finding
from processes import LIMIT, run_program

# What loads libraries of its own into the process, and what it does with arrays.
NEIGHBOURS = {
    "matplotlib.pyplot": "import matplotlib; matplotlib.use('agg')\n"
    "import matplotlib.pyplot as plt\nx = np.ones(2)\n"
    "plt.plot(x, x); plt.bar(x, x); plt.barh(x, x); plt.scatter(x, x, c=x); plt.fill_between(x, x, x + 1)\n"
    "plt.quiver(x, x, x, x); plt.hist(x); plt.imshow(np.ones((2, 2))); plt.savefig('/dev/null')",
    "torch": "import torch\nassert torch.from_dlpack(np.ones(3)).sum() == 3 == torch.ones(3).sum()",
    "scipy": "import scipy.linalg, scipy.special\nassert scipy.special.erf(numpy.ones(2)).shape == (2,)",
    "pandas": "import pandas\nassert pandas.Series(np.ones(3).asnumpy()).sum() == 3",
    "PIL": "import PIL.Image\nPIL.Image.fromarray(np.ones((2, 2), dtype='uint8').asnumpy()).resize((4, 4))",
    "cv2": "import cv2\nassert cv2.resize(numpy.ones((2, 2)), (4, 4)).shape == (4, 4)",
    "sklearn": "import sklearn.svm\nsklearn.svm.SVC().fit(numpy.eye(2), [0, 1])",
    "numpy": "numpy.linalg.inv(numpy.eye(50))\nassert (numpy.ones(2) + nd.ones(2)).shape == (2,)",
}
HEADRACE = "import headrace as mx\nfrom headrace import autograd, gluon, nd, np"
WORK = """
net = gluon.nn.Dense(2)
net.initialize()
net.hybridize()
x = nd.ones((3, 4))
with autograd.record():
    loss = net(x).sum()
loss.backward()
assert nd.dot(x, nd.ones((4, 2))).asnumpy().sum() == 24 and (np.ones(3) * 2).sum() == 6
if mx.num_gpus():
    assert nd.ones((2,), ctx=mx.gpu(0)).sum().asscalar() == 2
"""
THREADS = (
    "import threading\nworker = threading.Thread(target=sum, args=([1],)); worker.start(); worker.join()"
)
VALUES = (
    *(
        "",
        "0",
        "1",
        "2",
        "-1",
        "nan",
        "text",
        " 1",
        "0x10",
        "1e9",
        "4GB",
        "-4GB",
        "99999999999999GB",
        "9" * 40,
    ),
    *(
        str(2**31),
        str(2**63 - 1),
        str(2**64),
        "serial",
        "virtual",
        "/dev/zero",
        "/dev/full",
        "/",
        "pcie4",
        "a" * 1000,
    ),
    *("ethernet:99999999x1x99999999", "\udcff\udcfe", "debug", "/no/such/folder/file"),
)
# What a shell does to a process before it begins.
SURROUNDINGS = (
    *(
        "trap '' INT",
        "trap '' PIPE",
        "trap '' CHLD",
        "ulimit -n 24",
        "ulimit -s 512",
        "ulimit -s unlimited",
        "ulimit -f 0",
    ),
    *(
        "ulimit -v 3000000",
        "exec <&-",
        "exec >&-",
        "export LC_ALL=C",
        "unset HOME PATH",
        "export TMPDIR=/no/such/folder",
    ),
    *(
        'cd "$(mktemp -d)" && rmdir "$PWD"',
        "export OMP_NUM_THREADS=0",
        "export PYTHONMALLOC=malloc",
        "umask 777",
    ),
)
LIMITED = "ulimit -v 4000000"  # KiB
SIGNALLED = """
import os, signal, threading
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
for _ in range(60): nd.dot(nd.ones((500, 500)), nd.ones((500, 500))).wait_to_read()
"""


class Environment(Attack):
    """Imports before and after other libraries, hostile variables and surroundings."""

    programs = 45
    limit = 2 * LIMIT
    memory = None

    def __init__(self):
        self._installed = [name for name in NEIGHBOURS if importlib.util.find_spec(name.partition(".")[0])]

    def notes(self):
        absent = [name for name in NEIGHBOURS if name not in self._installed]
        return [f"not installed here: {', '.join(absent)}"] if absent else []

    def start(self):
        from headrace import _core

        self._variables = [name for name, *_ in _core.config_variables()]
        texts = {name: " ".join(map(str, rest)) for name, *rest in _core.config_variables()}
        files = [name for name, text in texts.items() if "file" in text]
        self._files = [(name, path) for name in files for path in ("/dev/zero", "/", "/no/such/folder/file")]

    def program(self, random, number):
        if number < len(self._files):
            variable, value = self._files[number]
            return f"started({(HEADRACE + WORK)!r}, {{{variable!r}: {value!r}}}, {LIMITED!r})"
        environment, shell, parts = {}, "", []
        kind = random.randrange(4)
        if kind == 0:
            shell = LIMITED
            for name in random.sample(self._variables, random.choice((1, 1, 2, 3))):
                environment[name] = random.choice(VALUES)
            parts = [HEADRACE, WORK]
        elif kind == 1:
            shell = "; ".join(random.sample(SURROUNDINGS, random.choice((1, 1, 2))))
            parts = [HEADRACE, WORK]
            if shell == SURROUNDINGS[0]:
                parts.append(SIGNALLED)
        else:
            names = random.sample(self._installed, min(len(self._installed), random.choice((1, 1, 2, 3))))
            uses = [NEIGHBOURS[name] for name in names]
            imports = [f"import {name}" for name in names]
            orders = [
                [*imports, HEADRACE, *uses, WORK],
                [HEADRACE, *uses, WORK],
                [*imports, HEADRACE, WORK, *uses],
            ]
            parts = ["import numpy", *random.choice(orders)]
            if random.random() < 0.3:
                parts.insert(random.randrange(len(parts)), THREADS)
        program = "\n".join(part.strip() for part in parts)
        return f"started(r'''\n{program}\n''', {environment!r}, {shell!r})"

    def subject(self, text):
        found = re.search(r"import (\w+)", text)
        return found[1] if found else "environment"

    def run(self, text):
        names = {"started": started}
        exec(text, names)
        return True


def started(program, environment, shell):
    """Runs a program; Finding: it fails, unless a variable is refused with an error of Headrace."""
    command = ["/bin/sh", "-c", f'{shell or ":"}; exec "$@"', "sh"]
    try:
        run_program(program, environment=environment, command=command)
    except Finding as finding:
        last = finding.detail.strip().splitlines()[-1]
        finding.subject = f"{', '.join(environment) or shell or 'import'}: {last[:80]}"
        is_named = any(name in last for name in environment) and re.match(r"[\w.]*Error: ", last)
        if (
            finding.kind != "wrong status"
            or not environment
            or not (is_named or last.startswith("headrace."))
        ):
            raise
        if "MemoryError" in last:
            raise Finding("reads without limit", last) from None


ATTACK = Environment()
