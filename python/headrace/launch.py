"""`python -m headrace.launch -n 4 python train.py`: starts a program as several workers that share stores.

Beside the workers it starts servers, which hold what stores hold, and a scheduler, on this machine; they know
each other by certificates that are made for the job. With --slurm servers and workers run on the nodes of an
allocation of Slurm, with --hosts on the machines that a file names, by ssh, with --ray on the nodes of a
cluster of Ray. With --mpi it starts the workers alone, by mpirun, and they sum among themselves. With --etcd
there are several schedulers: when the one that leads is lost, another goes on with what it has left in etcd.
Each line that a process prints is shown with its name before it, when it is finished; on a terminal that of
worker 0 meanwhile, too, such as its progress bar. When a process fails, the others are ended;
the status is that of the one that failed first.
"""

import sys

from ._elastic import options_of_next
from ._job import Job, ports_of
from ._job_folders import certificates_of, checkpoints_of, timelines_of
from ._launch_options import options_of
from ._schedulers import reach_etcd
from ._screen import with_live_line
from ._shell import run_command

__all__ = ["main"]


def main(arguments):
    """Runs a job, again if it fails and may be restarted; gives its exit status."""
    options = options_of(arguments, __doc__.partition("\n\n")[2])
    if options.etcd:
        reach_etcd(options.etcd)
    cluster = _cluster(options.ray) if options.ray else None
    try:
        with with_live_line():
            return _run(options, cluster)
    finally:
        if cluster:
            cluster.leave()


def _run(options, cluster):
    with certificates_of(options) as certificates, timelines_of(options) as timelines:
        restarts, lives, awaited, present = 0, 0, 0, options
        if options.elastic:
            options.ports = ports_of(options)  # where others join it, also when it has started again
        nodes = cluster.nodes() if cluster else None
        while True:
            variables = {
                **certificates,
                **timelines,
                **checkpoints_of(options),
                "HEADRACE_RESTARTS": str(lives),
                "HEADRACE_AWAITED": str(awaited),
            }
            job = Job(present, variables, cluster)
            status, awaited = job.run(), job.awaited
            lives += 1
            if awaited:
                print("headrace.launch: the job begins anew with more workers", file=sys.stderr)
                continue
            if status == 0 or job.is_interrupted or restarts == (options.restart or 0):
                return status
            restarts += 1
            print(
                f"headrace.launch: starting the job again, {restarts} of {options.restart}", file=sys.stderr
            )
            if options.elastic:
                present = options_of_next(options, cluster, nodes)


def _cluster(address):
    from ._ray import RayCluster

    return RayCluster(address)


if __name__ == "__main__":
    run_command(main, sys.argv[1:])
