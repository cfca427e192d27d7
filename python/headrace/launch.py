"""`python -m headrace.launch -n 4 python train.py`: starts a program as several workers that share stores.

Beside the workers it starts servers, which hold what stores hold, and a scheduler, on this machine; they know
each other by certificates that are made for the job. With --slurm servers and workers run on the nodes of an
allocation of Slurm, with --hosts on the machines that a file names, by ssh, with --ray on the nodes of a
cluster of Ray. With --mpi it starts the workers alone, by mpirun, and they sum among themselves. With --etcd
there are several schedulers: when the one that leads is lost, another goes on with what it has left in etcd.
Each line that a process prints is shown with its name before it. When a process fails, the others are ended;
the status is that of the one that failed first.
"""

import argparse
import itertools
import os
import signal
import sys
import time

from ._elastic import (
    MOST_REPLACED,
    ElasticScheduler,
    Replacements,
    line_to_join,
    options_of_next,
    range_of,
    with_range,
)
from ._job_folders import certificates_of, checkpoints_of, timelines_of
from ._processes import (
    MpiRun,
    Process,
    SlurmStep,
    SlurmTask,
    SshProcess,
    address_for,
    allocated_nodes,
    hosts_reached,
)
from ._rank import add_timeline
from ._schedulers import Schedulers, addresses_of_schedulers, ports_of_schedulers, reach_etcd
from ._shell import run_command

__all__ = ["main"]

_SECONDS_TO_TELL = 10  # that others have to say themselves what they lack when a process has failed
_MOST_REPLACED = 20  # servers of a job that have failed
_SCHEDULERS = 2  # with --etcd
_SECONDS_TO_END = 5  # between asking processes to end and ending them


def main(arguments):
    """Runs a job, again if it fails and may be restarted; gives its exit status."""
    parser = _parser()
    arguments = with_range(list(arguments), lambda some: parser.parse_args(some).command)
    options = parser.parse_args(arguments)
    if not options.command:
        _parser().error("name a program to run: python -m headrace.launch -n 2 python train.py")
    if options.mpi and (options.slurm or options.hosts or options.ray):
        _parser().error(
            "--slurm, --hosts and --ray are for jobs with servers; start ranks by srun or mpirun itself"
        )
    if options.mpi and options.replicas > 1:
        _parser().error("--replicas is for jobs with servers; by --mpi there are none")
    if options.mpi and (options.elastic or options.join):
        _parser().error("--elastic and --join are for jobs with servers; by --mpi there are none")
    if options.join and (options.elastic or options.slurm):
        _parser().error(
            "--join is for a job that runs already; --elastic and --slurm are what it was started with"
        )
    if options.elastic and not _is_within(options.num_workers, options.elastic):
        least, most = options.elastic
        _parser().error(
            f"-n {options.num_workers} is not among the workers of --elastic {least}:{most or ''}"
        )
    if options.mpi and options.checkpoint is not None:
        _parser().error("--checkpoint is for jobs with servers; by --mpi there are none")
    if options.mpi and options.etcd:
        _parser().error("--etcd is for jobs with schedulers; by --mpi there are none")
    if options.schedulers and not options.etcd:
        _parser().error("--schedulers needs --etcd, by which they agree on the one that leads")
    if options.etcd:
        reach_etcd(options.etcd)
    cluster = _cluster(options.ray) if options.ray else None
    try:
        return _run(options, cluster)
    finally:
        if cluster:
            cluster.leave()


def _run(options, cluster):
    with certificates_of(options) as certificates, timelines_of(options) as timelines:
        restarts, present = 0, options
        if options.elastic:
            options.ports = _ports_of(options)  # where others join it, also when it has started again
        nodes = cluster.nodes() if cluster else None
        while True:
            variables = {
                **certificates,
                **timelines,
                **checkpoints_of(options),
                "HEADRACE_RESTARTS": str(restarts),
            }
            job = Job(present, variables, cluster)
            status = job.run()
            if status == 0 or job.is_interrupted or restarts == (options.restart or 0):
                return status
            restarts += 1
            print(
                f"headrace.launch: starting the job again, {restarts} of {options.restart}", file=sys.stderr
            )
            if options.elastic:
                present = options_of_next(options, cluster, nodes)


def _ports_of(options):
    return ports_of_schedulers(options.port, options.schedulers or _SCHEDULERS if options.etcd else 1)


def _is_within(number, bounds):
    least, most = bounds
    return least <= number and (most is None or number <= most)


def _cluster(address):
    from ._ray import RayCluster

    return RayCluster(address)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m headrace.launch",
        description=__doc__.partition("\n\n")[2],
        usage="python -m headrace.launch [-n WORKERS] [-s SERVERS | --mpi] "
        "[--slurm | --hosts FILE | --ray ADDRESS] [--replicas 2] [--etcd ADDRESS] [--restart N] "
        "[--elastic [MIN[:MAX]] | --join HOST:PORT] "
        "[--checkpoint DIR] [--timeline FILE] COMMAND [ARG...]",
    )
    parser.add_argument("-n", "--num-workers", type=_at_least(1), default=2, help="workers (2)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("-s", "--num-servers", type=_at_least(1), help="servers (1)")
    how.add_argument("--mpi", action="store_true", help="no servers: the workers are started by mpirun")
    _add_places(parser)
    _add_elasticity(parser)
    parser.add_argument(
        "--replicas",
        type=int,
        choices=(1, 2),
        default=1,
        help="processes for each server; with 2 one stands by, and nothing is lost with the other (1)",
    )
    _add_schedulers(parser)
    parser.add_argument(
        "--restart",
        type=_at_least(0),
        metavar="N",
        help="how often a job that fails starts anew (0), and how many workers an elastic one gets anew "
        f"({MOST_REPLACED})",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder where checkpoints of servers are saved, and where the job goes on from",
    )
    parser.add_argument(
        "--checkpoint-interval",
        type=_at_least(0),
        default=300,
        metavar="S",
        help="seconds from one checkpoint to the next (300)",
    )
    parser.add_argument(
        "--timeline",
        metavar="FILE",
        help="what all processes did when, and their messages: a page, or with the ending .json the data",
    )
    parser.add_argument(
        "--plain", action="store_true", help="processes speak without certificates and encryption"
    )
    parser.add_argument("--launcher", choices=["local"], default="local", help="where processes run: here")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program of a worker"
    )
    return parser


def _add_elasticity(parser):
    """Options of jobs whose workers come and go."""
    parser.add_argument(
        "--elastic",
        type=range_of,
        metavar="MIN[:MAX]",
        help="workers may come and go: the job goes on as long as MIN are there (1)",
    )
    parser.add_argument(
        "--join",
        type=_addresses,
        metavar="HOST:PORT,...",
        help="workers for an elastic job that runs already: where its schedulers are",
    )
    parser.add_argument(
        "--certificates", metavar="DIR", help="folder of the certificates of the job, as for --join"
    )


def _add_schedulers(parser):
    parser.set_defaults(ports=None)
    parser.add_argument("--port", type=int, default=0, help="of the scheduler; one that is free unless given")
    parser.add_argument(
        "--etcd",
        metavar="HOST:PORT,...",
        help="where etcd serves clients; the job goes on when a scheduler is lost, or machines of etcd",
    )
    parser.add_argument(
        "--schedulers", type=_at_least(1), metavar="N", help="schedulers with --etcd, of which one leads (2)"
    )


def _add_places(parser):
    """Options that say on which machines processes run; none: on this one."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--slurm", action="store_true", help="servers and workers run on the nodes of this allocation"
    )
    where.add_argument(
        "--hosts", type=_hosts_in, metavar="FILE", help="they run on the machines that it names, one a line"
    )
    where.add_argument(
        "--ray", metavar="ADDRESS", help="they run on the nodes of this cluster of Ray; auto: the one here"
    )


def _hosts_in(path):
    try:
        with open(path) as file:
            hosts = [line.partition("#")[0].strip() for line in file]
    except OSError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    hosts = [host for host in hosts if host]
    if not hosts:
        raise argparse.ArgumentTypeError(f"{path} names no machine")
    return hosts


def _addresses(text):
    """Variables that tell a process where the schedulers of a job are."""
    for address in text.split(","):
        host, separator, port = address.rpartition(":")
        if not (separator and host and port.isdecimal()):
            raise argparse.ArgumentTypeError(f"{address!r} is no HOST:PORT of a scheduler")
    host, _, port = text.partition(",")[0].rpartition(":")
    own = {"DMLC_PS_ROOT_URI": host, "DMLC_PS_ROOT_PORT": port}
    return {**own, "HEADRACE_SCHEDULERS": text} if "," in text else own


def _at_least(least):
    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


class Job:
    """The processes of one job."""

    def __init__(self, options, variables, cluster=None):
        self._options = options
        self._variables = variables
        self._cluster = cluster
        self._nodes = cluster.nodes() if cluster else []
        self._turns = itertools.count()  # of nodes of Slurm
        self._workers, self._helpers = [], []  # a scheduler is the first helper
        self._told = []  # servers that have failed, of which it was said
        self._replacements = None  # of workers that have failed; None: the job is not elastic
        self._start_server = None  # function that starts one more, by number; None: there is none
        self.is_interrupted = False

    def run(self):
        previous = signal.signal(signal.SIGTERM, _interrupt)
        try:
            self._start()
            failed = self._await_workers()
            if failed is None:
                failed = self._await_helpers()
            else:
                _await_ends(self._workers, _SECONDS_TO_TELL)
        except KeyboardInterrupt:
            self.is_interrupted, failed = True, None
        finally:
            self._end_all(signal.SIGINT if self.is_interrupted else signal.SIGTERM)
            signal.signal(signal.SIGTERM, previous)
        if self.is_interrupted:
            print("headrace.launch: interrupted; all processes were ended", file=sys.stderr)
            return 128 + signal.SIGINT
        if failed is not None:
            status, how = failed.fate()
            print(f"headrace.launch: {how}", file=sys.stderr)
            return status
        return 0

    def _start(self):
        options = self._options
        if options.mpi:
            self._workers.append(MpiRun(options.num_workers, options.command, self._variables))
            return
        if options.join:
            self._start_joining()
            return
        servers = options.num_servers or 1
        environment = {
            **os.environ,
            **self._variables,
            **addresses_of_schedulers(
                self._host_of_scheduler(), options.ports or _ports_of(options), options.etcd
            ),
            "DMLC_NUM_WORKER": str(options.num_workers),
            "DMLC_NUM_SERVER": str(servers),
            "HEADRACE_REPLICAS": str(options.replicas),
            "PYTHONUNBUFFERED": "1",
        }
        if options.elastic:
            least, most = options.elastic
            environment["HEADRACE_ELASTIC"] = f"{least}:{most or ''}"
            if self._variables["HEADRACE_RESTARTS"] == "0":
                line = line_to_join(environment, options.command)
                print(f"headrace.launch: to join: {line}", file=sys.stderr)
        serve = [sys.executable, "-m", "headrace.kvstore"]
        as_server, as_worker = ({**environment, "DMLC_ROLE": role} for role in ("server", "worker"))
        as_scheduler = {**environment, "DMLC_ROLE": "scheduler"}
        scheduler = ElasticScheduler if options.elastic else Process
        if options.etcd:
            self._helpers.append(
                Schedulers(scheduler, options.schedulers or _SCHEDULERS, serve, as_scheduler)
            )
        else:
            self._helpers.append(scheduler("scheduler", serve, as_scheduler))
        if options.slurm and options.replicas == 1:
            self._helpers.append(SlurmStep("server", servers, serve, as_server))
        else:
            self._start_server = lambda number: self._process("server", number, serve, dict(as_server))
            self._helpers += map(self._start_server, range(servers * options.replicas))
        if options.slurm and not options.elastic:
            self._workers.append(SlurmStep("worker", options.num_workers, options.command, as_worker))
            return
        for number in range(options.num_workers):
            self._workers.append(self._worker(number, {**as_worker, "DMLC_WORKER_ID": str(number)}))
        if options.elastic:
            self._replacements = Replacements(
                lambda number: self._worker(
                    number, {**as_worker, "DMLC_WORKER_ID": str(number), "HEADRACE_JOIN": "place"}
                ),
                MOST_REPLACED if options.restart is None else options.restart,
            )

    def _start_joining(self):
        environment = {
            **os.environ,
            **self._variables,
            **self._options.join,
            "DMLC_ROLE": "worker",
            "HEADRACE_JOIN": "any",
            "PYTHONUNBUFFERED": "1",
        }
        for number in range(self._options.num_workers):
            self._workers.append(self._worker(number, dict(environment)))

    def _worker(self, number, environment):
        command = self._options.command
        try:
            return self._process("worker", number, command, environment)
        except OSError as error:
            raise SystemExit(f"headrace.launch: {command[0]} cannot be started: {error}") from None

    def _host_of_scheduler(self):
        options = self._options
        if not (options.slurm or options.hosts or options.ray):
            return "127.0.0.1"
        places = options.hosts or [node["NodeManagerAddress"] for node in self._nodes]
        return os.environ.get("DMLC_PS_ROOT_URI") or address_for(places or allocated_nodes())

    def _process(self, role, number, command, environment):
        process = self._placed(role, number, command, environment)
        process.number = number
        return process

    def _placed(self, role, number, command, environment):
        if self._options.slurm:
            return SlurmTask(role, number, next(self._turns), command, environment)
        hosts = self._options.hosts
        if hosts and environment.get("HEADRACE_JOIN") == "place":  # its machine may be gone, too
            hosts = hosts_reached(hosts) or hosts
        if hosts:
            return SshProcess(hosts[number % len(hosts)], role, number, command, environment)
        if self._cluster:
            node = self._nodes[number % len(self._nodes)]
            return self._cluster.process(node, role, number, command, environment)
        add_timeline(environment, role, number)
        return Process(f"{role} {number}", command, environment, may_stop=role != "worker")

    def _await_workers(self):
        """The first process that fails; None: all workers have ended well."""
        while True:
            workers = self._workers
            are_over = all(worker.status() is not None for worker in workers)
            failed = self._failed()
            awaits = self._replacements is not None and self._replacements.are_due()
            if failed is not None or (are_over and self._workers == workers and not awaits):
                return failed
            time.sleep(0.02)

    def _failed(self):
        """The process whose failure ends the job; None: there is none. Where others go on that of a worker
        does not: another one takes its place.
        """
        of_helpers = _cause(self._needed_helpers())
        if self._replacements is None or of_helpers is not None:
            return _cause([*self._workers, *self._needed_helpers()])
        scheduler = self._helpers[0]
        if scheduler.is_open and scheduler.status() == 0:  # nobody was left
            self._workers = self._replacements.without_late(self._workers)
            return None
        others = scheduler.others or any(worker.status() is None for worker in self._workers)
        if scheduler.is_open and others:
            self._workers = self._replacements.review(self._workers)
            return None
        return _cause(self._workers)

    def _needed_helpers(self):
        """Those whose failure ends the job. That of a server does not where another process may go on in its
        place; when none does, workers fail.
        """
        if self._options.replicas == 1:
            return self._helpers
        for one in self._helpers[1:]:
            if not one.has_failed() or one in self._told:
                continue
            self._told.append(one)
            replaces = self._start_server is not None and len(self._told) <= _MOST_REPLACED
            how = "another one takes its place" if replaces else "the job goes on without it"
            print(f"headrace.launch: {one.fate()[1]}; {how}", file=sys.stderr)
            if replaces:
                self._helpers.append(self._start_server(len(self._helpers) - 1))
        return self._helpers[:1]

    def _await_helpers(self):
        """Servers end by themselves when the workers have, unless no worker has made a store."""
        while self._options.elastic and self._helpers[0].others and self._helpers[0].status() is None:
            if (failed := _cause(self._needed_helpers())) is not None:
                return failed
            time.sleep(0.02)
        _await_ends(self._helpers, _SECONDS_TO_END)
        self._start_server = None
        return _cause(self._needed_helpers())

    def _end_all(self, number):
        everybody = [*self._workers, *self._helpers]
        for one in everybody:
            if one.status() is None:
                one.end(number)
        _await_ends(everybody, _SECONDS_TO_END)
        for one in everybody:
            one.end(signal.SIGKILL)  # also what a process has started and left behind
            one.reap()


def _cause(processes):
    """The one that failed, if any: rather one that was killed than one that may have ended for want of it."""
    failed = [one for one in processes if one.has_failed()]
    return next((one for one in failed if one.was_killed()), failed[0] if failed else None)


def _await_ends(processes, seconds):
    """Waits until all of them have ended, at most for so long."""
    deadline = time.monotonic() + seconds
    while any(one.status() is None for one in processes) and time.monotonic() < deadline:
        time.sleep(0.02)


def _interrupt(number, frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    run_command(main, sys.argv[1:])
