"""Variables of the environments of the processes of a job."""

import os

__all__ = ["asked_for", "environment_of"]


def asked_for(options, role):
    """What --env, --env-server and --env-worker say of processes of this role, by name."""
    own = {"server": options.env_server, "worker": options.env_worker}
    return {**dict(options.env), **dict(own.get(role, []))}


def environment_of(options, role, own):
    """That of the launcher, with what it is asked for, and with `own`, what it says itself.

    SystemExit: it is asked for what it says itself.
    """
    asked = asked_for(options, role)
    for name in asked:
        if name in own or name == "DMLC_WORKER_ID":
            raise SystemExit(
                f"headrace.launch: {name} is asked for by --env, but that is what the launcher itself tells "
                "processes of a job; leave it out, or, where it can be chosen, set it in the launcher's own "
                "environment"
            )
    return {**os.environ, "PYTHONUNBUFFERED": "1", **asked, **own}
