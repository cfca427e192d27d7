"""What servers make of what somebody sends them as an optimizer."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import numpy
import pytest

from headrace import lr_scheduler, nd, optimizer, sym
from headrace.base import MXNetError
from headrace.kvstore.sent_optimizers import packed, unpacked
from headrace.kvstore.unpickling import unpickled

SECONDS = 120


class Touch:
    """Makes a file wherever it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(self.path),)


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.delenv("HEADRACE_CERTIFICATES", raising=False)


SCHEDULERS = {
    "none": lambda: None,
    "base": lambda: lr_scheduler.LRScheduler(base_lr=numpy.float64(0.25)),
    "factor": lambda: lr_scheduler.FactorScheduler(3, factor=0.5, base_lr=numpy.float32(0.1)),
    "factors": lambda: lr_scheduler.MultiFactorScheduler([2, 5], factor=0.5, warmup_steps=1),
    "polynomial": lambda: lr_scheduler.PolyScheduler(7, base_lr=float("inf")),
    "cosine": lambda: lr_scheduler.CosineScheduler(10, base_lr=0.1 + 0.2),
}


RULES = sorted(
    name
    for name, klass in optimizer.Optimizer.opt_registry.items()
    if klass.__module__.startswith("headrace.optimizer.")
)


def contents(value):
    """Types and values of what an optimizer holds, for comparisons."""
    if isinstance(value, dict):
        return {key: contents(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [contents(one) for one in value]
    if isinstance(value, lr_scheduler.LRScheduler):
        return type(value), contents(vars(value))
    return type(value), value


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("rule", RULES)
def test_named_optimizers_need_no_pickle(plain, rule, scheduler):
    made = optimizer.create(rule, lr_scheduler=SCHEDULERS[scheduler](), param_idx2name={0: "a_bias"})
    made.set_lr_mult({0: 0.5, "b": 2})
    for index in (0, "b", "b"):
        made._update_count(index)
    sent = packed(made)
    again = unpacked(sent)
    assert type(json.loads(sent)) is dict
    assert type(again) is type(made) and contents(vars(again)) == contents(vars(made))
    assert again._index_update_count is again._all_index_update_counts[0]
    assert packed(again) == sent


def test_symbols_factors_of_an_optimizer_are_plain(plain):
    symbol = sym.FullyConnected(sym.var("x", lr_mult=0.5), num_hidden=2, name="layer")
    made = optimizer.SGD(sym=symbol)
    again = unpacked(packed(made))
    assert again.lr_mult == {"x": 0.5} and again.sym_info == made.sym_info


class Unnamed(optimizer.SGD):
    pass


class Reduced(optimizer.SGD):
    def __reduce__(self):
        return optimizer.SGD, (0.5,)


def with_attribute(value):
    made = optimizer.SGD()
    made.memory = value
    return made


def endless():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "make",
    [
        lambda: Unnamed(),
        lambda: with_attribute(pathlib.Path("a")),
        lambda: with_attribute({3: [1 + 2j]}),
        lambda: with_attribute(nd.ones((2,))),
        lambda: with_attribute(endless()),
        lambda: with_attribute(10**5000),
        lambda: optimizer.SGD(lr_scheduler=print),
        lambda: optimizer.register(Reduced)(),
    ],
    ids=["class", "object", "complex", "array", "endless", "long", "scheduler", "reduce"],
)
def test_what_has_no_plain_form_is_pickled(make, monkeypatch):
    made = make()
    sent = packed(made)
    assert sent[:1] == b"\x80"
    monkeypatch.setenv("HEADRACE_CERTIFICATES", "there")
    assert isinstance(unpacked(sent), optimizer.SGD)


def form(attributes, module="headrace.optimizer.fused", name="SGD"):
    return json.dumps({"optimizer": [module, name, attributes]}).encode()


@pytest.mark.parametrize(
    "sent",
    [
        b"{",
        b"{}",
        b'{"optimizer": 3}',
        b'{"optimizer": ' + b"[" * 100000,
        form(7),
        form({"lr": {"unknown": 3}}),
        form({"lr": {"tuple": [], "dict": []}}),
        form({"lr": {"dict": [[[1], 2]]}}),
        form({"lr": {"number": ["V2000000000", 3]}}),
        form({"lr": {"number": ["object", 3]}}),
        form({"lr": {"scheduler": ["print", {}]}}),
        form({"lr": {"scheduler": ["__all__", {}]}}),
        form({"lr": {"optimizer": ["headrace.optimizer.fused", "SGD", {}]}}),
    ],
)
def test_broken_forms_are_refused(plain, sent):
    with pytest.raises(ValueError, match="kvstore set_optimizer: broken bytes"):
        unpacked(sent)


def test_optimizers_of_a_program_are_found_in_its_modules_for_who_has_a_certificate(
    plain, tmp_path, monkeypatch
):
    (tmp_path / "own_rules.py").write_text(
        "from headrace import optimizer\n@optimizer.register\nclass Walk(optimizer.SGD):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sent = form({"lr": 0.5}, "own_rules", "Walk")
    with pytest.raises(MXNetError, match="this server knows no optimizer Walk of own_rules; .* certificates"):
        unpacked(sent)
    assert "own_rules" not in sys.modules
    monkeypatch.setenv("HEADRACE_CERTIFICATES", str(tmp_path))
    made = unpacked(sent)
    assert type(made).__name__ == "Walk" and made.lr == 0.5 and made.wd == 0
    monkeypatch.delenv("HEADRACE_CERTIFICATES")
    assert packed(unpacked(packed(made))) == packed(made)  # where it is known
    monkeypatch.delitem(sys.modules, "own_rules")
    monkeypatch.setenv("HEADRACE_CERTIFICATES", str(tmp_path))
    for module in ("no_such_module", "pathlib"):
        with pytest.raises(MXNetError, match="this server knows no optimizer Walk of"):
            unpacked(form({}, module, "Walk"))


def test_pickles_of_named_optimizers_need_no_certificate(plain):
    made = with_attribute([nd.ones((2,))])
    again = unpacked(pickle.dumps(made))
    assert type(again) is optimizer.SGD and again.memory[0].asnumpy().tolist() == [1, 1]


def test_others_are_made_for_who_has_a_certificate_alone(plain, tmp_path, monkeypatch):
    sent = pickle.dumps(Touch(tmp_path / "made"))
    with pytest.raises(MXNetError, match=r"refused to make pathlib\.\S+: in a job without certificates"):
        unpickled(sent)
    assert not (tmp_path / "made").exists()
    monkeypatch.setenv("HEADRACE_CERTIFICATES", str(tmp_path))
    unpickled(sent)
    assert (tmp_path / "made").exists()


PROGRAM = """
import os, pickle, sys
from headrace import kv
from headrace.base import MXNetError
from headrace.kvstore.commands import SET_OPTIMIZER

class Exits:
    def __reduce__(self):
        return os._exit, (77,)

try:
    kv.create("dist_sync")._store.send_command(SET_OPTIMIZER, pickle.dumps(Exits()))
except MXNetError as error:
    print(error)
"""


def test_a_server_goes_on_when_a_worker_sends_what_it_refuses():
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", "-s", "1", "--plain"]
    job = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM],
        env={name: value for name, value in os.environ.items() if name != "HEADRACE_CERTIFICATES"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert job.returncode == 0, job.stdout + job.stderr
    assert "refused to make" in job.stdout and "_exit: in a job without certificates" in job.stdout, (
        job.stdout
    )
