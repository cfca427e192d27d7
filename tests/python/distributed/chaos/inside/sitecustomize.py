"""Of each process of a job with gates: servers and workers reach schedulers through them."""

import os

if "CHAOS_GATES" in os.environ and os.environ.get("DMLC_ROLE") in ("server", "worker"):
    gates = os.environ["CHAOS_GATES"].split(",")
    os.environ["CHAOS_PORT"] = os.environ["DMLC_PS_ROOT_PORT"]  # by which the processes of the job are found
    os.environ["DMLC_PS_ROOT_PORT"] = gates[0]
    if os.environ.get("HEADRACE_SCHEDULERS"):
        os.environ["HEADRACE_SCHEDULERS"] = ",".join(f"127.0.0.1:{gate}" for gate in gates)
