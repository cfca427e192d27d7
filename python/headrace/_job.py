"""The processes of one job, from their start to their end."""

import itertools
import os
import signal
import sys
import time

from ._elastic import MOST_REPLACED, Beginning, ElasticScheduler, Replacements, line_to_join
from ._job_variables import asked_for, environment_of
from ._processes import (
    MpiRun,
    Process,
    SlurmStep,
    SlurmTask,
    SshProcess,
    address_for,
    allocated_nodes,
    hosts_reached,
    machine_of,
)
from ._rank import add_timeline
from ._schedulers import Scheduler, Schedulers, addresses_of_schedulers, ports_of_schedulers

__all__ = ["Job", "ports_of"]

_SECONDS_TO_TELL = 10  # that others have to say themselves what they lack when a process has failed
_MOST_REPLACED = 20  # servers of a job that have failed
_SCHEDULERS = 2  # with --etcd
_SECONDS_TO_END = 5  # between asking processes to end and ending them
_SECONDS_TO_COME = 2  # in which is known that a worker has come to the job that has ended since
_SECONDS_OF_LATE = 1  # that one has which others did not wait for: it may have come when all was over


def ports_of(options):
    """Where the schedulers of a job listen."""
    return ports_of_schedulers(options.port, options.schedulers or _SCHEDULERS if options.etcd else 1)


class Job:
    """The processes of one job."""

    def __init__(self, options, variables, cluster=None):
        self._options = options
        self._variables = variables
        self._cluster = cluster
        self._nodes = cluster.nodes() if cluster else []
        self._turns = itertools.count()  # of nodes of Slurm
        self._workers, self._helpers = [], []  # a scheduler is the first helper
        self._begun = 0  # helpers with which the job has begun; the rest are in places of others
        self._told = []  # servers that have failed, of which it was said
        self._replacements = None  # of workers that have failed; None: the job is not elastic
        self._start_server = None  # function that starts one more, by number; None: there is none
        self._beginning = None  # with more workers; None: the job is not elastic
        self.awaited = 0  # workers of other launchers with which it begins anew; 0: it does not
        self.is_interrupted = False
        self._heard = signal.SIGINT  # by which it was
        self._missed_since = None  # when a worker had ended that others waited for; None: there is none
        self._is_ending = False
        self._hurries = False  # it was interrupted when it was ending: nothing is waited for any more

    def run(self):
        may_be_ignored = (signal.SIGINT, signal.SIGHUP)  # as behind nohup, or in the background of a script
        heard = [signal.SIGTERM]
        heard += [one for one in may_be_ignored if signal.getsignal(one) is not signal.SIG_IGN]
        previous = {number: signal.signal(number, self._interrupt) for number in heard}
        try:
            self._start()
            failed = self._await_workers()
            if self.awaited:
                self._helpers[0].end(signal.SIGKILL)  # first: who would join asks it no more
                return 0
            if failed is None:
                failed = self._await_helpers()
            elif not isinstance(failed, _Missed):  # for whom others have waited, who know of nothing
                self._await_ends(self._workers, _SECONDS_TO_TELL)
                failed = self._originator(failed)
        except KeyboardInterrupt:
            self.is_interrupted, failed = True, None
        finally:
            self._end_all(self._heard if self.is_interrupted else signal.SIGTERM)
            if self._beginning:
                self._beginning.end()
            for number, handler in previous.items():
                signal.signal(number, handler)
        if self.is_interrupted:
            print("headrace.launch: interrupted; all processes were ended", file=sys.stderr)
            return 128 + self._heard
        if failed is not None:
            status, how = failed.fate()
            print(f"headrace.launch: {how}", file=sys.stderr)
            return status
        return 0

    def _interrupt(self, number, frame):
        if self.is_interrupted or self._is_ending:
            self._hurries = True
            return
        self.is_interrupted, self._heard = True, number
        raise KeyboardInterrupt

    def _pause(self):
        if self.is_interrupted:  # the exception was lost: Ray's code cannot raise everywhere
            raise KeyboardInterrupt
        time.sleep(0.02)

    def _start(self):
        options = self._options
        if options.mpi:
            environment = environment_of(options, "worker", self._variables)
            self._workers.append(MpiRun(options.num_workers, options.command, environment))
            return
        if options.join:
            self._start_joining()
            return
        servers, ports = options.num_servers, options.ports or ports_of(options)
        own = {
            **self._variables,
            **addresses_of_schedulers(self._host_of_scheduler(), ports, options.etcd),
            "DMLC_NUM_WORKER": str(options.num_workers),
            "DMLC_NUM_SERVER": str(servers),
            "HEADRACE_REPLICAS": str(options.replicas),
        }
        if options.elastic:
            least, most = options.elastic
            own["HEADRACE_ELASTIC"] = f"{least}:{most or ''}"
            folder = self._variables.get("HEADRACE_CHECKPOINT")
            self._beginning = Beginning(folder)
            if not folder:
                own.pop("HEADRACE_AWAITED", None)
        serve = [sys.executable, "-m", "headrace.kvstore"]
        as_server, as_worker, as_scheduler = (
            environment_of(options, role, {**own, "DMLC_ROLE": role})
            for role in ("server", "worker", "scheduler")
        )
        if options.elastic and self._variables["HEADRACE_RESTARTS"] == "0":
            line = line_to_join(as_worker, options.command, asked_for(options, "worker"))
            print(f"headrace.launch: to join: {line}", file=sys.stderr)
        scheduler = ElasticScheduler if options.elastic else Scheduler
        as_scheduler["HEADRACE_LAUNCHER"] = "1"
        if options.etcd:
            self._helpers.append(Schedulers(scheduler, len(ports), serve, as_scheduler))
        else:
            self._helpers.append(scheduler("scheduler", serve, as_scheduler))
        if options.slurm and options.replicas == 1:
            self._helpers.append(SlurmStep("server", servers, serve, as_server))
        else:
            self._start_server = lambda number: self._process("server", number, serve, dict(as_server))
            self._helpers += map(self._start_server, range(servers * options.replicas))
        self._begun = len(self._helpers)
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
        own = {**self._variables, **self._options.join, "DMLC_ROLE": "worker", "HEADRACE_JOIN": "any"}
        environment = environment_of(self._options, "worker", own)
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
        places = [machine_of(host) for host in options.hosts or ()] or [
            node["NodeManagerAddress"] for node in self._nodes
        ]
        return os.environ.get("DMLC_PS_ROOT_URI") or address_for(places or allocated_nodes())

    def _process(self, role, number, command, environment):
        process = self._placed(role, number, command, environment)
        process.number = number
        return process

    def _placed(self, role, number, command, environment):
        if self._options.slurm:
            return SlurmTask(role, number, next(self._turns), command, environment)
        hosts = self._options.hosts
        asked = asked_for(self._options, role)
        if hosts and environment.get("HEADRACE_JOIN") == "place":  # its machine may be gone, too
            hosts = hosts_reached(hosts) or hosts
        if hosts:
            return SshProcess(hosts[number % len(hosts)], role, number, command, environment, asked)
        if self._cluster:
            node = self._nodes[number % len(self._nodes)]
            return self._cluster.process(node, role, number, command, environment, asked)
        add_timeline(environment, role, number)
        return Process(f"{role} {number}", command, environment, may_stop=role != "worker")

    def _await_workers(self):
        """The first process that fails; None: all workers have ended well."""
        while True:
            workers = self._workers
            are_over = all(worker.status() is not None for worker in workers)
            failed = self._failed() or self._missed()
            awaits = self._replacements is not None and self._replacements.are_due()
            if failed is not None or (are_over and self._workers == workers and not awaits):
                return failed
            if self._beginning and not any(worker.status() is not None for worker in workers):
                self.awaited = self._beginning.awaited(self._helpers[0])
                if self.awaited:
                    return None
            self._pause()

    def _failed(self):
        """The process whose failure ends the job; None: there is none. Where others go on that of a worker
        does not: another one takes its place.
        """
        needed = self._needed_helpers()
        if self._replacements is None or _cause(needed) is not None:
            return _cause([*self._workers, *needed])
        scheduler = self._helpers[0]
        if scheduler.is_open and scheduler.status() == 0:  # nobody was left
            self._workers = self._replacements.without_late(self._workers)
            return self._replacements.failure_of_all(self._workers, scheduler.had_others)
        others = scheduler.others or any(worker.status() is None for worker in self._workers)
        if scheduler.is_open and others:
            self._workers = self._replacements.review(self._workers)
            return None
        return _cause(self._workers)

    def _originator(self, failed):
        """Of the workers that have failed meanwhile the one that was told of nobody else's failure."""
        if failed not in self._workers:
            return failed
        ended = [worker for worker in self._workers if worker.has_failed()]
        for worker in ended:
            worker.reap()  # with its last lines
        return _cause(ended)

    def _missed(self):
        """A worker that has ended and not come to the job, which so does not begin, though others have."""
        ended = [worker for worker in self._workers if worker.status() == 0]
        if self._options.elastic or not self._helpers or not ended or not self._helpers[0].waiting:
            self._missed_since = None
            return None
        self._missed_since = self._missed_since or time.monotonic()
        return _Missed(ended[0]) if time.monotonic() - self._missed_since > _SECONDS_TO_COME else None

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

    def _has_begun(self):
        """Whether a worker has come, or may come later: helpers may have something to keep."""
        return self._options.elastic or (self._helpers and self._helpers[0].present)

    def _await_helpers(self):
        """Servers end by themselves when the workers have, unless no worker has made a store, or one has come
        in the place of another when all was over.
        """
        while self._options.elastic and self._helpers[0].others and self._helpers[0].status() is None:
            if (failed := _cause(self._needed_helpers())) is not None:
                return failed
            self._pause()
        if self._has_begun():
            self._await_ends(self._helpers[: self._begun], _SECONDS_TO_END)
        self._await_ends(self._helpers, _SECONDS_OF_LATE)
        self._start_server = None
        return _cause(self._needed_helpers())

    def _end_all(self, number):
        """Workers first: they may still save something, for which they need the helpers. Servers before the
        scheduler, whose end those that have just begun would take for a loss; where no worker has come nobody
        wants to know that they miss each other.
        """
        self._is_ending = True
        if not self._has_begun():
            for helper in self._helpers:
                if helper.status() is None:
                    helper.silence()
        for some, by in ((self._workers, number), (self._helpers[::-1], signal.SIGTERM)):
            for one in some:
                if one.status() is None:
                    one.end(by)
            self._await_ends(some, _SECONDS_TO_END)
        for one in [*self._workers, *self._helpers]:
            one.end(signal.SIGKILL)  # also what a process has started and left behind
            one.reap()

    def _await_ends(self, processes, seconds):
        """Waits until all of them have ended, at most for so long."""
        deadline = time.monotonic() + seconds
        while any(one.status() is None for one in processes) and time.monotonic() < deadline:
            if self._hurries:
                return
            time.sleep(0.02)


class _Missed:
    """A worker that others have waited for in vain."""

    def __init__(self, worker):
        self._worker = worker

    def fate(self):
        return 1, (
            f"{self._worker.name} has ended, and others wait for it: it made no store and no exchange; all "
            "workers of a job run one program"
        )


def _cause(processes):
    """The one that failed, if any: rather one that was killed than one that may have ended for want of it,
    and rather one that was told of nobody than those that were.
    """
    failed = [one for one in processes if one.has_failed()]
    return min(failed, key=lambda one: (not one.was_killed(), one.is_told), default=None)
