"""What the launcher of jobs is told, and which of it does not go together."""

import argparse
import os
import re

from ._elastic import MOST_REPLACED, range_of, with_range

__all__ = ["options_of"]

_OTHER_LAUNCHERS = {  # of MXNet: what to use instead
    "mpi": "--mpi, by which workers sum without servers, or --hosts FILE, by which servers and workers are "
    "started by ssh",
    "sge": "--hosts FILE with the machines of the allocation",
    "yarn": "--hosts FILE or --slurm",
}
_REFUSED = {  # arguments of MXNet's launcher, and why there is no such thing here
    "--p3": "every store sends first what is needed first; leave it out",
    "--sync-dst-dir": "no files are copied to other machines, where processes start in the folder that has "
    "the name of this one; use one that the machines share, or copy it there before: rsync -a ./ HOST:$PWD/",
}
_NAME = "[A-Za-z_][A-Za-z0-9_]*"


def options_of(arguments, description):
    """The options of `python -m headrace.launch`. SystemExit: what is wrong with them."""
    parser = _parser(description)
    arguments = with_range(list(arguments), lambda some: parser.parse_args(some).command)
    options = parser.parse_args(arguments)
    if options.command[:1] == ["--"]:  # as many launchers have it before a program
        del options.command[0]
    _check(parser, options)
    if options.num_servers is None:
        options.num_servers = options.num_workers if options.launcher or options.hosts else 1
    return options


def _check(parser, options):
    if not options.command:
        parser.error("name a program to run: python -m headrace.launch -n 2 python train.py")
    if options.launcher in _OTHER_LAUNCHERS:
        parser.error(f"--launcher {options.launcher} is not there; use {_OTHER_LAUNCHERS[options.launcher]}")
    if options.launcher == "ssh" and not options.hosts:
        parser.error("--launcher ssh needs --hosts FILE, which names the machines")
    if options.launcher == "local" and options.hosts:
        parser.error("--launcher local starts processes here; --hosts is for ssh")
    if options.mpi and (options.env_server or options.env_worker):
        parser.error("--env-server and --env-worker are for jobs with servers; use --env, of all processes")
    if _is_local(options) and (options.slurm or options.hosts or options.ray or _joins_elsewhere(options)):
        parser.error(
            "DMLC_LOCAL=1 says that all processes run on this machine; unset it for a job on several"
        )
    if options.mpi and (options.slurm or options.hosts or options.ray):
        parser.error(
            "--slurm, --hosts and --ray are for jobs with servers; start ranks by srun or mpirun itself"
        )
    if options.mpi and options.replicas > 1:
        parser.error("--replicas is for jobs with servers; by --mpi there are none")
    if options.mpi and (options.elastic or options.join):
        parser.error("--elastic and --join are for jobs with servers; by --mpi there are none")
    if options.join and (options.elastic or options.slurm):
        parser.error(
            "--join is for a job that runs already; --elastic and --slurm are what it was started with"
        )
    if options.elastic and not _is_within(options.num_workers, options.elastic):
        least, most = options.elastic
        parser.error(f"-n {options.num_workers} is not among the workers of --elastic {least}:{most or ''}")
    if options.mpi and options.checkpoint is not None:
        parser.error("--checkpoint is for jobs with servers; by --mpi there are none")
    if options.mpi and options.etcd:
        parser.error("--etcd is for jobs with schedulers; by --mpi there are none")
    if options.schedulers and not options.etcd:
        parser.error("--schedulers needs --etcd, by which they agree on the one that leads")


def _is_local(options):
    return {**os.environ, **dict(options.env)}.get("DMLC_LOCAL") == "1"


def _joins_elsewhere(options):
    return options.join is not None and not options.join["DMLC_PS_ROOT_URI"].startswith("127.")


def _is_within(number, bounds):
    least, most = bounds
    return least <= number and (most is None or number <= most)


def _parser(description):
    parser = argparse.ArgumentParser(
        prog="python -m headrace.launch",
        description=description,
        usage="python -m headrace.launch [-n WORKERS] [-s SERVERS | --mpi] "
        "[--slurm | --hosts FILE | --ray ADDRESS] [--replicas 2] [--etcd ADDRESS] [--restart N] "
        "[--elastic [MIN[:MAX]] | --join HOST:PORT] "
        "[--checkpoint DIR] [--timeline FILE] COMMAND [ARG...]",
    )
    parser.add_argument("-n", "--num-workers", type=_at_least(1), default=2, help="workers (2)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        *("-s", "--num-servers"),
        type=_at_least(1),
        help="servers (1; where --launcher or --hosts is given as many as workers, as MXNet's does)",
    )
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
        type=_at_least(0, float),
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
    _add_those_of_mxnet(parser)
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program of a worker"
    )
    return parser


def _add_those_of_mxnet(parser):
    """Arguments of MXNet's tools/launch.py that are not there under the same name already."""
    parser.add_argument(
        "--launcher",
        choices=["local", "ssh", *_OTHER_LAUNCHERS],
        help="as MXNet's: local (here, as long as nothing else is said), or ssh, which needs --hosts",
    )
    _add_variables(parser, "--env", _variable, "NAME[=VALUE]", "all processes; as it is here without VALUE")
    for role in ("server", "worker"):
        _add_variables(parser, f"--env-{role}", _variable_of_role, "NAME:VALUE", f"{role}s")
    for name, why in _REFUSED.items():
        parser.add_argument(name, nargs="?", action=_Refuse, const=why, help=argparse.SUPPRESS)


def _add_variables(parser, option, read, metavar, whose):
    whose = f"a variable of the environment of {whose}"
    parser.add_argument(option, type=read, action="append", default=[], metavar=metavar, help=whose)


class _Refuse(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        parser.error(f"{self.option_strings[0]} is not there: {self.const}")


def _variable(text):
    found = re.fullmatch(f"({_NAME})(?:=(.*))?", text, re.DOTALL)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME or NAME=VALUE of a variable")
    name, value = found[1], os.environ.get(found[1]) if found[2] is None else found[2]
    if value is None:
        raise argparse.ArgumentTypeError(f"{name} has no value here; give it one: --env {name}=VALUE")
    return name, value


def _variable_of_role(text):
    found = re.fullmatch(f"({_NAME}):(.*)", text, re.DOTALL)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME:VALUE of a variable")
    return found[1], found[2]


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
        help="where etcd serves clients; the job goes on when a scheduler is lost, or machines of etcd. By "
        "TLS where it is https://HOST:PORT,..., with the files that ETCDCTL_CACERT, ETCDCTL_CERT and "
        "ETCDCTL_KEY name",
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
        *("--hosts", "-H", "--hostfile"),
        type=_hosts_in,
        metavar="FILE",
        help="they run on the machines that it names, one a line as [USER@]NAME[:PORT], by ssh",
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


def _at_least(least, kind=int):
    def number(text):
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number
