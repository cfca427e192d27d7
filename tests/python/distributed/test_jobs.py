"""Jobs of several processes on this machine, started by `python -m headrace.launch`."""

import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

import numpy
import pytest

from headrace._certificates import make_certificates
from headrace._job_variables import asked_for, environment_of
from headrace._launch_options import options_of
from headrace._ports import free_ports
from headrace._processes import command_there
from headrace.launch import main

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SECONDS = 120  # that a job may take on a busy machine


def launch(*arguments, program, workers=3, servers=2):
    """The finished process of a job."""
    command = [sys.executable, "-m", "headrace.launch", "-n", str(workers), "-s", str(servers)]
    command += [sys.executable, str(PROGRAMS / f"{program}.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def lines_of(job):
    return sorted(line for line in job.stdout.splitlines() if line)


def test_workers_share_a_store():
    job = launch("nothing", "dist_gpu", program="exchange")
    assert job.returncode == 0, job.stdout + job.stderr
    assert lines_of(job) == [f"[worker {rank}] done {rank} 3 dist_gpu" for rank in range(3)]


@pytest.mark.parametrize(
    ("kvstore", "optimizer", "update_on_kvstore"),
    [("dist_sync", "sgd", "None"), ("dist_sync_device", "adam", "None"), ("dist_sync", "sgd", "False")],
)
def test_workers_train_as_one_process(tmp_path, kvstore, optimizer, update_on_kvstore):
    program = [sys.executable, str(PROGRAMS / "train.py"), str(tmp_path), "none", optimizer]
    subprocess.run(program, check=True, timeout=SECONDS)
    alone = numpy.load(tmp_path / "0.npy")
    job = launch(str(tmp_path), kvstore, optimizer, update_on_kvstore, program="train")
    assert job.returncode == 0, job.stdout + job.stderr
    shared = [numpy.load(tmp_path / f"{rank}.npy") for rank in range(3)]
    numpy.testing.assert_allclose(shared[0], alone, rtol=1e-4, atol=1e-5)
    assert (shared[1] == shared[0]).all() and (shared[2] == shared[0]).all()


@pytest.mark.parametrize("update_on_kvstore", ["None", "False"])
def test_workers_with_less_data_take_part_in_the_steps_of_others(tmp_path, update_on_kvstore):
    subprocess.run(
        [sys.executable, str(PROGRAMS / "uneven.py"), str(tmp_path), "none", "None"],
        check=True,
        timeout=SECONDS,
    )
    job = launch(str(tmp_path), "dist_sync", update_on_kvstore, program="uneven")
    assert job.returncode == 0, job.stdout + job.stderr
    alone = numpy.load(tmp_path / "alone.npy")
    joined = [numpy.load(tmp_path / f"{rank}.npy") for rank in range(3)]
    numpy.testing.assert_allclose(joined[0], alone, rtol=1e-4, atol=1e-5)
    assert (joined[1] == joined[0]).all() and (joined[2] == joined[0]).all()


def test_the_bits_do_not_depend_on_who_is_first_or_leaves_out_a_layer():
    digests = set()
    for update_on_kvstore in ("True", "False"):
        job = launch("5", update_on_kvstore, "dist_sync", program="skips")
        assert job.returncode == 0, job.stdout + job.stderr
        digests.update(line.split("] ")[1] for line in lines_of(job))
    assert len(digests) == 1 and "digest" in digests.pop()


def test_the_bits_do_not_depend_on_what_is_sent_beside_the_kernels():
    job = launch("4", program="convolutions", workers=1, servers=1)
    assert job.returncode == 0, job.stdout + job.stderr


def test_gradients_that_programs_write_themselves_are_summed():
    code = """
import headrace as mx
from headrace import gluon
x = gluon.Parameter("x", shape=(2,)); x.initialize(mx.init.Zero())
trainer = gluon.Trainer([x], "sgd", {"learning_rate": 1}, kvstore="dist_sync", update_on_kvstore=False)
x.grad()[:] = 1 + mx.distributed.rank()
trainer.allreduce_grads()
trainer.update(1, ignore_stale_grad=True)
print(x.grad().asnumpy().tolist(), x.data().asnumpy().tolist())
"""
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    expected = [f"[worker {rank}] [3.0, 3.0] [-3.0, -3.0]" for rank in range(2)]
    assert job.returncode == 0 and lines_of(job) == expected, job.stdout + job.stderr


def test_workers_train_at_two_bits_as_one_process_that_keeps_what_each_leaves_out(tmp_path, monkeypatch):
    """By factors and rates that change on the way, of arrays some of which are split."""
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "48")
    program = [sys.executable, str(PROGRAMS / "compressed.py"), str(tmp_path), "none"]
    subprocess.run(program, check=True, timeout=SECONDS)
    job = launch(str(tmp_path), "dist_sync", program="compressed", workers=2, servers=3)
    assert job.returncode == 0, job.stdout + job.stderr
    alone, *shared = (numpy.load(tmp_path / f"{name}.npz") for name in ("alone", 0, 1))
    for array in alone.files:
        numpy.testing.assert_allclose(shared[0][array], alone[array], rtol=1e-5, atol=1e-6, err_msg=array)
        numpy.testing.assert_array_equal(shared[1][array], shared[0][array], err_msg=array)


AT_A_BARRIER = "worker 0 waits at a barrier"
IN_AN_EXCHANGE = (
    "worker 1 waits in an exchange (all_reduce, all_gather_object and the like) to which not all have come"
)


@pytest.mark.parametrize(
    ("how", "first", "second"),
    [
        ("barrier", AT_A_BARRIER, "worker 1 waits until all have pushed key 'a' as often as it has"),
        ("init", AT_A_BARRIER, "worker 1 waits for key 'c' to be inited"),
        ("rows", AT_A_BARRIER, "worker 1 waits until all have pushed key 'rows' as often as it has"),
        ("exchange", AT_A_BARRIER, IN_AN_EXCHANGE),
        ("joining", AT_A_BARRIER, IN_AN_EXCHANGE),
        ("objects", AT_A_BARRIER, IN_AN_EXCHANGE),
        (
            "keys",
            "worker 0 waits until all have pushed key 'a' as often as it has",
            "worker 1 waits until all have pushed key 'b' as often as it has",
        ),
    ],
)
def test_workers_that_wait_for_each_other_are_told_so(how, first, second):
    job = launch(how, program="standing", workers=2)
    assert job.returncode == 1
    errors = []
    for rank in range(2):
        (error,) = [
            line for line in lines_of(job) if line.startswith(f"[worker {rank}] headrace.base.MXNetError")
        ]
        errors.append(error)
    is_told = [f"none goes on: {first}; {second};" in error for error in errors]
    # On a busy machine one of them may have ended before the other one, which hears of that, is told.
    assert any(is_told) and all(told or "has ended" in error for told, error in zip(is_told, errors)), errors


def test_a_worker_that_comes_late_is_waited_for():
    job = launch("late", program="standing", workers=2)
    assert job.returncode == 0 and job.stdout.count("done") == 2, job.stdout + job.stderr


@pytest.mark.parametrize("rule", ["nadam", "lars"])
def test_what_an_optimizer_learns_stays_when_settings_change(tmp_path, rule):
    """The batches are uneven, so that each step has another rescale_grad."""
    found = []
    for kind in ("alone", "dist_sync"):
        (tmp_path / kind).mkdir()
        job = launch(str(tmp_path / kind), rule, kind, "False", program="changing")
        assert job.returncode == 0, job.stdout + job.stderr
        found.append(numpy.load(tmp_path / kind / "weights.npy"))
    numpy.testing.assert_allclose(*found, rtol=1e-6)


def test_servers_import_optimizers_of_mxnet_programs(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{PROGRAMS}:{os.environ.get('PYTHONPATH', '')}")
    job = launch(program="mxnet_program", workers=1, servers=1)
    assert job.returncode == 0, job.stdout + job.stderr
    assert "[0.5, 0.5]" in job.stdout, job.stdout  # (8 / 2 - 1) / 2 - 1


def test_workers_of_an_asynchronous_store_have_batches_of_their_own_size(tmp_path):
    job = launch("asynchronous", program="changing")
    assert job.returncode == 0, job.stdout + job.stderr
    assert "[worker 0] 0:-1.0 2:-3.0 4:-4.25 6:-5.0" in job.stdout, job.stdout
    assert "[worker 1] 1:-2.0 3:-3.25 5:-4.5" in job.stdout, job.stdout


@pytest.mark.parametrize("options", [(), ("--replicas", "2")], ids=["alone", "replicas"])
def test_the_first_batches_of_an_asynchronous_store_may_differ(options):
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "1", *options]
    program = [sys.executable, str(PROGRAMS / "first_batches.py")]
    job = subprocess.run([*command, *program], capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, job.stdout + job.stderr
    told = sorted(line.partition("] ")[2] for line in job.stdout.splitlines() if ":-" in line)
    assert told == ["0:-1.0", "1:-1.5", "2:-2.5", "3:-3.0"], job.stdout


def test_states_are_loaded_behind_what_has_been_pushed(tmp_path):
    job = launch(str(tmp_path / "states"), program="late_push", workers=2, servers=1)
    assert job.returncode == 0, job.stdout + job.stderr
    assert "[worker 0] -7.0" in job.stdout, job.stdout


def test_an_asynchronous_store_updates(tmp_path):
    job = launch(str(tmp_path), "dist_async", "sgd", program="train")
    assert job.returncode == 0, job.stdout + job.stderr
    assert all(numpy.isfinite(numpy.load(tmp_path / f"{rank}.npy")).all() for rank in range(3))
    job = launch(str(tmp_path), "dist_async", "sgd", "False", program="train")
    assert job.returncode == 1
    assert "Please set update_on_kvstore=True when training in async mode" in job.stdout


def test_states_are_resumed_on_another_number_of_servers(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "40")
    for arguments, servers in (([], 3), (["resume"], 2)):
        job = launch(str(tmp_path), *arguments, program="states", workers=2, servers=servers)
        assert job.returncode == 0, job.stdout + job.stderr


def test_what_stores_of_workers_refuse():
    job = launch(program="settings", workers=1)
    assert job.returncode == 0, job.stdout + job.stderr
    assert "[worker 0] all as it should be" in job.stdout
    assert job.stdout.count("unknown command (7, hello)") == 2  # each server says so


def seen_by_both(create, prepare=""):
    """What two workers print that make stores by `create`, prepare them and push; both see an error."""
    code = f"""
import os
from headrace import kv, nd, optimizer
from headrace.base import MXNetError
store = {create}
try:
    {prepare}
    store.init("w", nd.ones((2,)))
    out = nd.ones((2,))
    store.pushpull("w", out)
    out.wait_to_read()
except MXNetError as error:
    print("seen:", error)
"""
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    for rank in range(2):
        assert f"[worker {rank}] seen: " in job.stdout, job.stdout + job.stderr
    return job


def test_workers_that_give_different_optimizers_are_both_told():
    job = seen_by_both(
        'kv.create("dist_sync")',
        "store.set_optimizer(optimizer.SGD(learning_rate=0.1 + 0.1 * store.rank))",
    )
    given = {0: "SGD(lr=0.1)", 1: "SGD(lr=0.2)"}
    first = 0 if f"first came {given[0]}" in job.stdout else 1
    expected = f"first came {given[first]}, then {given[1 - first]}; the first is that of worker {first}, "
    expected += f"the second that of worker {1 - first}"
    assert job.stdout.count(expected) == 2, job.stdout + job.stderr


def test_workers_that_make_stores_of_different_kinds_are_both_told():
    job = seen_by_both(
        'kv.create("dist_async", staleness=2) if os.environ["DMLC_WORKER_ID"] == "1" else kv.create("dist")'
    )
    kinds = "a synchronous store", "an asynchronous store of staleness 2"
    second = 0 if f"rank 0 makes {kinds[0]}" in job.stdout else 1
    expected = (
        f"rank {second} makes {kinds[second]} where another rank makes {kinds[1 - second]}; all ranks make"
    )
    assert job.stdout.count(expected) == 2, job.stdout + job.stderr


@pytest.mark.parametrize(
    ("what", "status", "how"),
    [("kill", 128 + signal.SIGKILL, "was lost"), ("exit", 3, "has ended"), ("raise", 1, "has ended")],
)
def test_the_others_are_told_who_is_gone(what, status, how):
    job = launch(what, program="exchange")
    seen = [line for line in job.stdout.splitlines() if "seen:" in line]
    assert job.returncode in (status, 3), job.stdout + job.stderr  # who is noticed first
    assert len(seen) == 2, job.stdout
    assert all(f"key 'w': worker 1 {how} before it pushed to round 3" in line for line in seen)
    assert "headrace.launch: worker" in job.stderr


@pytest.mark.parametrize("how", [["-s", "1"], ["--mpi"]])
def test_a_worker_that_is_stopped_ends_the_job(how):
    if how == ["--mpi"] and shutil.which("mpirun") is None:
        pytest.skip("needs Open MPI")
    kind = "mpi" if how == ["--mpi"] else "dist_sync"
    code = "import os, signal; from headrace import kv, nd\n"
    code += f"s = kv.create('{kind}'); out = nd.zeros((2,)); s.init(0, out)\n"
    code += "for turn in range(1000):\n"
    code += "    if turn == 3 and s.rank == 1: os.kill(os.getpid(), signal.SIGSTOP)\n"
    code += "    s.push(0, out); s.pull(0, out=out); out.wait_to_read()"
    job = subprocess.run(
        [sys.executable, "-m", "headrace.launch", "-n", "2", *how, sys.executable, "-c", code],
        env={**os.environ, "PS_HEARTBEAT_TIMEOUT": "6"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert job.returncode == 128 + signal.SIGSTOP, job.stdout + job.stderr
    assert "headrace.launch: worker 1 had been stopped for 3 seconds, and was ended" in job.stderr


def processes_of(job):
    """{role: process numbers} of what a launcher has started."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int(re.search(r"^PPid:\s*(\d+)", (process / "status").read_text(), re.MULTILINE)[1])
            role = re.search(rb"DMLC_ROLE=(\w+)", (process / "environ").read_bytes())
        except OSError:
            continue  # it has ended meanwhile
        if parent == job.pid and role:
            found.setdefault(role[1].decode(), []).append(int(process.name))
    return found


@pytest.mark.parametrize("ends", ["interrupt", "launcher", "server", "scheduler"])
def test_a_job_ends_as_a_whole(ends):
    endless = (
        "import time; from headrace import kv, nd\ns = kv.create('dist_sync'); s.init(0, nd.ones((2,)))\n"
    )
    endless += "print('begun', flush=True); out = nd.zeros((2,))\n"
    endless += "while True: s.push(0, out); s.pull(0, out=out); out.wait_to_read(); time.sleep(0.01)"
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "1", sys.executable, "-c", endless]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        begun = 0
        while begun < 2:
            begun += "begun" in job.stdout.readline()
        processes = processes_of(job)
        assert {role: len(numbers) for role, numbers in processes.items()} == {
            "worker": 2,
            "server": 1,
            "scheduler": 1,
        }
        if ends == "interrupt":
            job.send_signal(signal.SIGTERM)
        elif ends == "launcher":
            job.kill()  # it can tell nobody
        else:
            os.kill(processes[ends][0], signal.SIGKILL)
        out, err = job.communicate(timeout=SECONDS)
    finally:
        job.kill()
    if ends == "interrupt":
        assert job.returncode == 128 + signal.SIGTERM and "interrupted" in err
    elif ends != "launcher":
        assert job.returncode == 128 + signal.SIGKILL
        assert f"{ends} was lost" in out.replace("server 0", "server") or "cannot be reached" in out
        assert f"headrace.launch: {ends}" in err and "SIGKILL" in err
    deadline = time.monotonic() + SECONDS
    while any(pathlib.Path(f"/proc/{number}").exists() for group in processes.values() for number in group):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def start_by_roles(command, **options):
    """A scheduler, a server and two workers that no launcher knows of."""
    environment = {
        **os.environ,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(free_ports(1)[0]),
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "1",
    }
    return [
        subprocess.Popen(command, env={**environment, "DMLC_ROLE": role}, text=True, **options)
        for role in ("scheduler", "server", "worker", "worker")
    ]


@pytest.mark.parametrize("waits", ["s.barrier()", "s.push(0, out); s.pull(0, out=out); out.wait_to_read()"])
def test_all_end_when_the_scheduler_is_killed(waits):
    """Whatever they wait for, and though nobody ends them."""
    code = "import mxnet as mx; s = mx.kv.create('dist_sync'); out = mx.nd.zeros((2,)); s.init(0, out)\n"
    code += f"print('begun', flush=True)\nwhile True: {waits}"
    command = [sys.executable, "-m", "headrace.mxnet", "-c", code]
    processes = start_by_roles(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for worker in processes[2:]:
            assert worker.stdout.readline() == "begun\n"
        processes[0].kill()
        _, *errors = [one.communicate(timeout=SECONDS)[1] for one in processes]
    finally:
        for one in processes:
            one.kill()
    assert all(one.returncode == 1 for one in processes[1:])
    for text in errors:
        assert "the scheduler was lost: its process at 127.0.0.1:" in text, text


def test_a_program_of_mxnet_serves_at_its_import(tmp_path):
    """As MXNet's launcher does it: every process runs the program, and DMLC_ROLE says what it is."""
    program = tmp_path / "program.py"
    program.write_text(
        "import mxnet as mx\n"
        "kv = mx.kv.create('dist_sync')\n"
        "kv.init('9', mx.nd.ones((2, 2)))\n"
        "kv.push('9', mx.nd.ones((2, 2)) * 4)\n"
        "out = mx.nd.zeros((2, 2))\n"
        "kv.pull('9', out=out)\n"
        "print(kv.rank, kv.num_workers, out.asnumpy().sum())\n"
    )
    command = [sys.executable, "-m", "headrace.mxnet", str(program)]
    processes = start_by_roles(command, stdout=subprocess.PIPE)
    outputs = [process.communicate(timeout=SECONDS)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert outputs[:2] == ["", ""]
    assert sorted(outputs[2:]) == ["0 2 32.0\n", "1 2 32.0\n"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A folder with the certificates of a job."""
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


def test_certificates_leave_nothing_to_make_more_with(certificates):
    assert sorted(file.name for file in certificates.iterdir()) == ["ca.pem", "cert.pem", "key.pem"]
    assert (certificates / "key.pem").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("options", [[], ["--plain"]])
def test_a_job_has_certificates_unless_told_otherwise(options):
    look = "import os, sys; sys.stdout.write(os.environ.get('HEADRACE_CERTIFICATES', 'none'))"
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", *options, sys.executable, "-c", look]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    folder = job.stdout.strip().removeprefix("[worker 0] ")
    assert job.returncode == 0 and (folder == "none") == bool(options), job.stdout + job.stderr
    assert not pathlib.Path(folder).exists()  # it ends with the job


def test_without_openssl_there_is_a_way_out(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="apt install openssl.*--plain"):
        main(["-n", "1", sys.executable, "-c", "pass"])


def test_a_job_takes_the_arguments_of_launchers_of_mxnet():
    look = "import os; print(os.environ['KIND'], os.environ['DMLC_NUM_SERVER'], os.environ['DMLC_ROLE'])"
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", "-s", "2", "--launcher", "local"]
    command += ["--env-server", "KIND:of servers", "--env-worker", "KIND:a:b", "--env", "KIND=of all"]
    job = subprocess.run(
        [*command, sys.executable, "-c", look], capture_output=True, text=True, timeout=SECONDS
    )
    assert job.returncode == 0 and lines_of(job) == ["[worker 0] a:b 2 worker"], job.stdout + job.stderr


def test_the_launcher_of_mxnet_starts_as_many_servers_as_workers(tmp_path):
    def servers_of(*arguments):
        return options_of([*arguments, "true"], "").num_servers

    hosts = tmp_path / "hosts"
    hosts.write_text("first\nsecond\n")
    assert servers_of("-n", "3", "-H", str(hosts)) == 3
    assert servers_of("-n", "3", "--launcher", "local") == 3
    assert servers_of("-n", "3", "--launcher", "local", "-s", "2") == 2
    assert servers_of("-n", "3") == 1


def test_all_processes_have_the_variables_that_are_asked_for(monkeypatch):
    monkeypatch.setenv("MINE", "as it is here")
    roles = ["--env-server", "KIND:of servers", "--env-worker", "KIND:of workers"]
    options = options_of(["--env", "MINE", "--env", "KIND=a=b", "--env", "EMPTY=", *roles, "true"], "")
    for role, kind in (("scheduler", "a=b"), ("server", "of servers"), ("worker", "of workers")):
        environment = environment_of(options, role, {"DMLC_ROLE": role})
        asked = {"MINE": "as it is here", "KIND": kind, "EMPTY": "", "DMLC_ROLE": role}
        assert {name: environment[name] for name in asked} == asked
        given, _ = command_there(role, 0, ["true"], environment, asked_for(options, role))
        assert {name: given.get(name) for name in asked} == asked  # on other machines, too
    without, _ = command_there("worker", 0, ["true"], environment, {})
    assert "KIND" not in without


def test_what_the_launcher_says_itself_is_not_asked_for():
    for name in ("DMLC_NUM_WORKER", "DMLC_WORKER_ID", "DMLC_ROLE", "HEADRACE_CERTIFICATES"):
        with pytest.raises(SystemExit, match=f"{name} is asked for by --env, but that is what the launcher"):
            main(["-n", "1", "--env", f"{name}=1", sys.executable, "-c", "pass"])


@pytest.mark.parametrize(("restart", "status"), [("2", 0), ("1", 7)])
def test_a_job_that_fails_is_started_again(restart, status):
    program = "import os, sys; sys.exit(7 if os.environ['HEADRACE_RESTARTS'] < '2' else 0)"
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", "--plain", "--restart", restart]
    job = subprocess.run(
        [*command, sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS
    )
    assert job.returncode == status, job.stdout + job.stderr
    assert job.stderr.count("starting the job again") == int(restart)


def test_who_has_no_certificate_is_refused(certificates, monkeypatch):
    port = free_ports(1)[0]
    for name, value in {
        **TestErrors.job,
        "DMLC_ROLE": "scheduler",
        "DMLC_PS_ROOT_PORT": str(port),
        "HEADRACE_CERTIFICATES": str(certificates),
    }.items():
        monkeypatch.setenv(name, value)
    scheduler = subprocess.Popen([sys.executable, "-m", "headrace.kvstore"])
    try:
        context = ssl.create_default_context(cafile=certificates / "ca.pem")
        context.set_alpn_protocols(["h2"])
        assert first_bytes(context, port) == b""
        context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
        assert first_bytes(context, port)
    finally:
        scheduler.kill()
        scheduler.wait()


def first_bytes(context, port):
    """What a server says to a new connection: nothing, if it refuses it."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            plain = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:  # it has not begun yet
            assert time.monotonic() < deadline
            time.sleep(0.05)
    plain.settimeout(SECONDS)
    try:
        with plain, context.wrap_socket(plain, server_hostname="headrace") as connection:
            return connection.recv(9)
    except (ssl.SSLError, ConnectionResetError):
        return b""


def start_alone(code, **variables):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


class TestErrors:
    create = "from headrace import kv; kv.create('dist_sync')"
    job = {
        "DMLC_ROLE": "worker",
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": "1",
        "DMLC_NUM_WORKER": "1",
        "DMLC_NUM_SERVER": "1",
    }

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"DMLC_ROLE": "boss"}, "DMLC_ROLE is worker, server or scheduler, got 'boss'"),
            ({"DMLC_PS_ROOT_URI": ""}, "DMLC_PS_ROOT_URI, the address of the scheduler, is missing"),
            ({"DMLC_PS_ROOT_PORT": "x"}, "DMLC_PS_ROOT_PORT is a number from 1 to 65535, got 'x'"),
            ({"DMLC_NUM_WORKER": ""}, "DMLC_NUM_WORKER is missing"),
            ({"DMLC_WORKER_ID": "4"}, "DMLC_WORKER_ID is a number from 0 to 0, got '4'"),
            ({"DMLC_NUM_SERVER": "0"}, "the job has no servers"),
            ({"DMLC_PS_ROOT_URI": "203.0.113.1"}, "without encryption"),
            ({"HEADRACE_ROUTES": "here:1"}, "HEADRACE_ROUTES is a list HOST:PORT=HOST:PORT,"),
            ({"HEADRACE_CERTIFICATES": "/nowhere"}, "'/nowhere/ca.pem' cannot be read"),
        ],
    )
    def test_of_the_environment(self, changed, message):
        ended = start_alone(self.create, **{**self.job, **changed})
        assert ended.returncode == 1 and message in ended.stderr, ended.stderr

    def test_of_commands(self, capsys):
        for arguments, message in (
            ([], "name a program to run"),
            (["-n", "0", "true"], "0 is less than 1"),
            (["--launcher", "ssh", "true"], "--launcher ssh needs --hosts FILE"),
            (["--launcher", "sge", "true"], "--launcher sge is not there; use --hosts FILE"),
            (["--env-worker", "A=1", "true"], "'A=1' is no NAME:VALUE"),
            (["--env-worker", "A=1:2", "true"], "'A=1:2' is no NAME:VALUE"),
            (["--env", "A:1", "true"], "'A:1' is no NAME or NAME=VALUE"),
            (["--env", "NOT_SET_HERE", "true"], "NOT_SET_HERE has no value here"),
            (["--mpi", "--env-worker", "A:1", "true"], "use --env, of all processes"),
            (["--p3", "true"], "--p3 is not there: every store sends first"),
            (["--sync-dst-dir", "/tmp/job", "true"], "no files are copied to other machines"),
            (["--env", "DMLC_LOCAL=1", "--ray", "auto", "true"], "DMLC_LOCAL=1 says that all processes"),
            (["--env", "DMLC_LOCAL=1", "--join", "10.0.0.1:9", "true"], "DMLC_LOCAL=1 says that all"),
        ):
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert ended.value.code == 2 and message in capsys.readouterr().err
        command = [sys.executable, "-m", "headrace.launch", "/nowhere/program"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert ended.returncode == 1 and "/nowhere/program cannot be started" in ended.stderr
        ended = subprocess.run([sys.executable, "-m", "headrace.kvstore"], capture_output=True, text=True)
        assert ended.returncode == 2 and "DMLC_ROLE" in ended.stderr
