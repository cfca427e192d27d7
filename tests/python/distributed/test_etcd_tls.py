"""Jobs whose etcd speaks TLS, and demands the certificates of those that ask it."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from authorities import Authority
from by_hand import run_scheduler
from chaos.etcd import Etcd, needs_etcd

SECONDS = 120
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
pytestmark = [needs_etcd, needs_openssl]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(scope="module")
def etcd(authority, tmp_path_factory):
    with Etcd(tmp_path_factory.mktemp("etcd"), 1, certificates=authority.certify("etcd")) as made:
        yield made


def variables_of(folder, names=("CACERT", "CERT", "KEY")):
    files = dict(zip(("CACERT", "CERT", "KEY"), ("ca.pem", "cert.pem", "key.pem")))
    own = {f"ETCDCTL_{name}": str(folder / files[name]) for name in names}
    return {**{name: value for name, value in os.environ.items() if not name.startswith("ETCDCTL")}, **own}


def launch(addresses, variables, *command):
    line = [sys.executable, "-m", "headrace.launch", "-n", "1", "--plain", "--etcd", addresses, *command]
    return subprocess.run(line, env=variables, capture_output=True, text=True, timeout=SECONDS)


PROGRAM = "from headrace import kv; store = kv.create('dist_sync'); store.barrier(); print('it went well')"


def test_a_job_goes_well(authority, etcd):
    variables = variables_of(authority.certify("schedulers"))
    ended = launch(etcd.addresses, variables, sys.executable, "-c", PROGRAM)
    assert ended.returncode == 0 and "it went well" in ended.stdout, ended.stdout + ended.stderr


def wrong(case, authority, folder):
    """Variables, and what is said of them."""
    if case == "another authority":
        return variables_of(Authority(folder / "other").certify("schedulers")), "certificate verify failed"
    if case == "no certificate":
        return variables_of(authority.certify("nobody"), ["CACERT"]), "alert"
    return variables_of(authority.certify("late", days=-1)), "alert"


@pytest.mark.parametrize("case", ["another authority", "no certificate", "an expired certificate"])
def test_who_is_not_trusted_is_told_what_to_check(authority, etcd, tmp_path, case):
    variables, why = wrong(case, authority, tmp_path)
    hint = r"check .*have not expired .*ETCDCTL_CACERT has the authority .*ETCDCTL_CERT, ETCDCTL_KEY"
    ended = launch(etcd.addresses, variables, "true")
    assert ended.returncode != 0 and ended.stderr.startswith(
        "headrace.launch: etcd and this job do not trust"
    )
    assert re.search(f"{re.escape(etcd.addresses)}: .*{why}.*{hint}", ended.stderr), ended.stderr
    by_hand = run_scheduler({"HEADRACE_ETCD": etcd.addresses}, variables)
    address = re.escape(etcd.addresses.removeprefix("https://"))
    assert by_hand.returncode == 1, by_hand.stderr
    assert re.search(f"etcd has not answered .*{address}: .*{hint}", by_hand.stderr, re.DOTALL), (
        by_hand.stderr
    )


def test_etcd_whose_certificate_has_expired(authority, tmp_path):
    folder = authority.certify("late etcd", days=-1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serve = ["openssl", "s_server", "-quiet", "-cert", folder / "cert.pem", "-key", folder / "key.pem"]
        port = listening.getsockname()[1]
    with subprocess.Popen([*serve, "-port", str(port)], stdin=subprocess.PIPE) as etcd:
        ended = launch(f"https://127.0.0.1:{port}", variables_of(folder), "true")
        etcd.kill()
    assert f"https://127.0.0.1:{port}: " in ended.stderr and "certificate has expired" in ended.stderr


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ETCDCTL_KEY": ""}, "ETCDCTL_KEY is ''; name the files of a certificate and of its key"),
        (
            {"ETCDCTL_CACERT": "/nowhere"},
            "'/nowhere' cannot be read; ETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY",
        ),
    ],
)
def test_files_that_are_missing(authority, tmp_path, changed, message):
    folder = tmp_path / "of nobody"
    ended = run_scheduler({"HEADRACE_ETCD": "https://127.0.0.1:1"}, {**variables_of(folder), **changed})
    assert ended.returncode == 1 and message in ended.stderr, ended.stderr
