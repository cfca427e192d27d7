"""Jobs whose ranks mpirun starts, and which have no servers."""

import os
import subprocess
import sys

import numpy
import pytest
from mismatches import assert_told_to_all, every_mismatch
from mpi_jobs import PROGRAMS, SECONDS, lines_of, needs_mpi, of_workers, text_of

from headrace import distributed, kv, nd, timeline


def launch(program, *arguments, ranks=3, through=()):
    """The finished process of a job, started by our launcher."""
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", str(ranks), sys.executable, *through]
    command += [str(PROGRAMS / f"{program}.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def test_a_process_alone_is_the_only_rank():
    code = (
        "from headrace import distributed, kv, nd\n"
        "assert not distributed.is_initialized()\n"
        "assert (distributed.rank(), distributed.size(), distributed.local_size()) == (0, 1, 1)\n"
        "assert distributed.all_reduce(nd.array([2.0])).asscalar() == 2\n"
        "assert distributed.reduce_scatter(nd.array([2.0, 3])).asnumpy().tolist() == [2, 3]\n"
        "assert distributed.all_gather(nd.array([2.0])).asnumpy().tolist() == [2]\n"
        "assert distributed.broadcast(nd.array([2.0])).asscalar() == 2\n"
        "assert distributed.broadcast_object('x') == 'x' and distributed.all_gather_object(1) == [1]\n"
        "store = kv.create('mpi'); store.init(0, nd.ones((2,))); store.push(0, nd.array([3.0, 4]))\n"
        "out = nd.zeros((2,)); store.pull(0, out=out); store.barrier()\n"
        "assert out.asnumpy().tolist() == [3, 4] and not store.is_capable('distributed')\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI"))}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=SECONDS, env=environment)


def test_the_kind_is_known():
    assert kv.is_capable("mpi", "distributed") and kv.is_capable("mpi_sharded", "distributed")
    with pytest.raises(TypeError, match="expected an array"):
        distributed.all_gather(nd)


@needs_mpi
def test_ranks_have_the_variables_that_are_asked_for():
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", "--env", "KIND=a b"]
    command += [sys.executable, "-c", "import os; print(os.environ['KIND'])"]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, job.stdout + job.stderr
    assert sorted(lines_of(job)) == ["[worker 0] a b", "[worker 1] a b"]


@needs_mpi
@pytest.mark.parametrize("own", ["", "70000"])
def test_chunks_of_sums_need_no_consent_over_tcp(own):
    name = "OMPI_MCA_btl_tcp_eager_limit"
    code = (
        "import ctypes; from headrace import distributed as d; assert d.size() == 2; d.barrier(); "
        f"c = ctypes.CDLL(None); c.getenv.restype = ctypes.c_char_p; print(c.getenv(b'{name}').decode())"
    )
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", sys.executable, "-c", code]
    environment = {key: value for key, value in os.environ.items() if key != name}
    job = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment | ({name: own} if own else {}),
    )
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers(own or str(1 << 20), 2)


@needs_mpi
def test_ranks_exchange_arrays():
    job = launch("exchanges")
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers("all as it should be")


@needs_mpi
@pytest.mark.parametrize("machines", ["0,1,0", "0,0,1,1", "0,0,1,2,1,0"])
def test_ranks_of_several_machines_exchange_arrays(machines):
    ranks = len(machines.split(","))
    job = launch("on_machines", machines, "exchanges", ranks=ranks)
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers("all as it should be", ranks)


@needs_mpi
@pytest.mark.parametrize("machines", ["0,0,1,1", "0,1,2,0,1,2"])
def test_the_bits_of_sums_over_machines_do_not_depend_on_who_is_first(machines):
    digests = set()
    ranks = len(machines.split(","))
    for runs in ("25", "25"):
        job = launch("on_machines", machines, "many_sums", runs, ranks=ranks)
        assert job.returncode == 0, text_of(job)
        digests.update(line.split("] ")[1] for line in lines_of(job))
    assert len(digests) == 1 and "digest" in digests.pop()


@needs_mpi
def test_machines_have_names_of_some_length():
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", sys.executable, "-c"]
    job = subprocess.run(
        [*command, "from headrace import distributed as d; d.init()"],
        env={**os.environ, "HEADRACE_MACHINE": "m" * 300},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert job.returncode != 0
    assert "HEADRACE_MACHINE: expected a name of less than 256 bytes, got 300" in text_of(job)


@needs_mpi
@pytest.mark.parametrize(
    ("kvstore", "optimizer", "update_on_kvstore"), [("mpi", "adam", "None"), ("dist_sync", "sgd", "False")]
)
def test_ranks_train_as_one_process(tmp_path, kvstore, optimizer, update_on_kvstore):
    program = [sys.executable, str(PROGRAMS / "train.py"), str(tmp_path), "none", optimizer]
    subprocess.run(program, check=True, timeout=SECONDS)
    alone = numpy.load(tmp_path / "0.npy")
    job = launch("train", str(tmp_path), kvstore, optimizer, update_on_kvstore)
    assert job.returncode == 0, text_of(job)
    shared = [numpy.load(tmp_path / f"{rank}.npy") for rank in range(3)]
    numpy.testing.assert_allclose(shared[0], alone, rtol=1e-4, atol=1e-5)
    assert (shared[1] == shared[0]).all() and (shared[2] == shared[0]).all()


@needs_mpi
@pytest.mark.parametrize("kind", ["mpi", "mpi_sharded"])
def test_an_overflow_on_one_rank_leaves_out_the_step_of_all(kind):
    job = launch("overflows", kind, ranks=2)
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers("all as it should be", 2)


@needs_mpi
def test_another_optimizer_on_a_rank_is_an_error_of_all():
    code = (
        "from headrace import distributed, kv, optimizer\n"
        "rate = 0.1 + distributed.rank()\n"
        "try: kv.create('mpi').set_optimizer(optimizer.SGD(learning_rate=rate))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, text_of(job)
    rates = (0.1, 1.1)
    assert sorted(lines_of(job)) == [
        f"[worker {rank}] MXNetError kvstore set_optimizer: worker {rank} has given SGD, but worker {other} "
        f"one with lr {rates[other]} in place of {rates[rank]}; give the same on all workers"
        for rank, other in ((0, 1), (1, 0))
    ]


@needs_mpi
@pytest.mark.parametrize("update_on_kvstore", ["True", "False"])
def test_ranks_with_less_data_follow_the_scale_of_losses(update_on_kvstore):
    job = launch("uneven_scaled", update_on_kvstore, ranks=2)
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers("weight 0.9975, losses times 4096.0", 2)


@needs_mpi
def test_updates_without_an_exchange_are_of_the_rank_alone():
    code = (
        "from headrace import autograd, distributed, gluon, nd\n"
        "net = gluon.nn.Dense(1, in_units=1)\n"
        "net.initialize()\n"
        "trainer = gluon.Trainer(net.collect_params(), 'sgd', kvstore='mpi', update_on_kvstore=False)\n"
        "for step in range(2 + 3 * distributed.rank()):\n"
        "    with autograd.record(): loss = net(nd.ones((1, 1)))\n"
        "    loss.backward()\n"
        "    trainer.update(1 + distributed.rank())\n"
        "distributed.shutdown()\n"
        "print('done')\n"
    )
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers("done", 2)


@needs_mpi
@pytest.mark.parametrize("update_on_kvstore", [True, False])
def test_another_batch_size_on_a_rank_is_an_error_of_all(update_on_kvstore):
    code = (
        "from headrace import autograd, distributed, gluon, nd\n"
        "net = gluon.nn.Dense(1, in_units=1)\n"
        "net.initialize()\n"
        "trainer = gluon.Trainer(net.collect_params(), 'sgd', kvstore='mpi', "
        f"update_on_kvstore={update_on_kvstore})\n"
        "try:\n"
        "    for batch_size in [1, 2, 4 + 4 * distributed.rank(), 1]:\n"
        "        with autograd.record(): loss = net(nd.ones((1, 1)))\n"
        "        loss.backward()\n"
        "        trainer.step(batch_size)\n"
        "    distributed.barrier()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, text_of(job)
    told = (
        "MXNetError distributed: rank 0 calls Trainer.step(batch_size) with gradients times 0.25, but rank 1 "
        "calls Trainer.step(batch_size) with gradients times 0.125; all ranks must make the same calls"
    )
    assert sorted(line for line in lines_of(job) if "MXNetError" in line) == of_workers(told, 2)


@needs_mpi
@pytest.mark.parametrize("machines", ["0,0,0", "0,0,1"])
def test_ranks_that_share_updates_have_the_bits_of_those_that_do_not(tmp_path, machines):
    job = launch("on_machines", machines, "shared_updates", str(tmp_path))
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers("all as it should be")


@needs_mpi
@pytest.mark.parametrize(
    ("kvstore", "update_on_kvstore"), [("mpi", "None"), ("mpi", "False"), ("horovod", "None")]
)
def test_ranks_with_less_data_take_part_in_the_steps_of_others(tmp_path, kvstore, update_on_kvstore):
    subprocess.run(
        [sys.executable, str(PROGRAMS / "uneven.py"), str(tmp_path), "none", "None"],
        check=True,
        timeout=SECONDS,
    )
    job = launch("uneven", str(tmp_path), kvstore, update_on_kvstore)
    assert job.returncode == 0, job.stdout + job.stderr
    alone = numpy.load(tmp_path / "alone.npy")
    joined = [numpy.load(tmp_path / f"{rank}.npy") for rank in range(3)]
    numpy.testing.assert_allclose(joined[0], alone, rtol=1e-4, atol=1e-5)
    assert (joined[1] == joined[0]).all() and (joined[2] == joined[0]).all()


@needs_mpi
def test_the_bits_do_not_depend_on_who_is_first_or_leaves_out_a_layer():
    digests = set()
    for update_on_kvstore in ("True", "True", "False"):
        job = launch("skips", "20", update_on_kvstore, "mpi")
        assert job.returncode == 0, text_of(job)
        digests.update(line.split("] ")[1] for line in lines_of(job))
    assert len(digests) == 1 and "digest" in digests.pop()


@needs_mpi
@every_mismatch
def test_ranks_that_do_not_agree_are_told_on_all_ranks(what, texts):
    assert_told_to_all(launch("mismatch", what), texts)


@needs_mpi
def test_who_waits_for_a_rank_that_has_ended_is_told():
    job = launch("mismatch", "end")
    seen = [line for line in job.stdout.splitlines() if "seen by" in line]
    assert len(seen) == 2 and all("rank 1 has ended, but rank" in line for line in seen), text_of(job)


@needs_mpi
@pytest.mark.parametrize(
    ("what", "status", "fate"),
    [("kill", 137, "worker 1 was ended by SIGKILL"), ("error", 1, "worker 1 ended with status 1")],
)
def test_a_rank_that_dies_ends_the_job(what, status, fate):
    job = launch("mismatch", what)
    assert job.returncode == status, text_of(job)
    assert f"headrace.launch: {fate}" in job.stderr, text_of(job)
    if what == "error":
        seen = [line for line in job.stdout.splitlines() if "seen by" in line]
        assert all("rank 1 has failed (ValueError: mine)" in line for line in seen) and seen, text_of(job)


@pytest.mark.parametrize("options", [["-s", "1"], pytest.param(["--mpi"], marks=needs_mpi)])
@pytest.mark.parametrize(("way", "status"), [("raise ValueError('mine')", 1), ("sys.exit(7)", 7)])
@pytest.mark.parametrize("waits", [True, False])
def test_the_launcher_names_the_rank_that_has_failed_and_not_those_that_were_told(
    options, way, status, waits
):
    code = (
        "import sys\n"
        "from headrace import distributed, nd\n"
        "for step in range(40):\n"
        f"    if distributed.rank() == 1 and step == 20: {way}\n"
        "    total = distributed.all_reduce(nd.ones((3000,)))\n"
        f"    if {waits} or step == 39: total.wait_to_read()\n"
    )
    command = [sys.executable, "-m", "headrace.launch", "-n", "3", *options, sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == status, text_of(job)
    assert job.stderr.splitlines()[-1] == f"headrace.launch: worker 1 ended with status {status}", text_of(
        job
    )


@needs_mpi
def test_programs_of_horovod_run_under_plain_mpirun():
    command = ["mpirun", "--oversubscribe", "-n", "2"]
    command += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command += [sys.executable, "-m", "headrace.mxnet", str(PROGRAMS / "with_horovod.py")]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, text_of(job)
    sums = [one.strip() for one in job.stdout.split("weights ")[1:]]  # mpirun may mix the ends of lines
    assert len(sums) == 2 and sums[0] == sums[1], text_of(job)


class TestErrors:
    def test_workers_need_servers(self):
        code = "from headrace import distributed; distributed.rank()"
        variables = {"DMLC_ROLE": "worker", "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "9"}
        job = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **variables, "DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": "0"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert job.returncode == 1 and "start it with -s 1 or more" in job.stderr

    def test_without_mpirun_the_package_is_named(self, tmp_path):
        job = subprocess.run(
            [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", "true"],
            env={**os.environ, "PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert job.returncode == 1 and "apt install openmpi-bin" in job.stderr

    def test_servers_and_mpi_exclude_each_other(self):
        command = [sys.executable, "-m", "headrace.launch", "--mpi", "-s", "1", "true"]
        job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert job.returncode == 2 and "not allowed with" in job.stderr


@needs_mpi
def test_one_timeline_shows_which_rank_the_others_waited_for(tmp_path):
    output = tmp_path / "job.json"
    command = [sys.executable, "-m", "headrace.launch", "--mpi", "-n", "2", "--timeline", str(output)]
    program = (
        "from headrace import distributed as d, nd; d.barrier(); d.all_reduce(nd.ones((4,))).wait_to_read()"
    )
    job = subprocess.run(
        [*command, sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS
    )
    assert job.returncode == 0, text_of(job)
    read = timeline.load(str(output))
    over = read.names.index("call is over")
    waited_for = [
        origin
        for lane in read.lanes
        for bar, origin in zip(lane.names, lane.origin_lanes)
        if bar == over and lane.name == "ranks"
    ]
    assert len(waited_for) >= 4 and -1 not in waited_for
    assert {read.lanes[origin].group.split(":")[0] for origin in waited_for} <= {"worker-0", "worker-1"}
