"""Jobs to which things happen, with a fixed seed, and a check of what they have done.

    etcd.py        an etcd of several processes
    faults.py      what happens to the processes of a job, and when
    gates.py       cut processes off from etcd, from each other and from schedulers
    histories.py   reads what processes have written down (HEADRACE_HISTORY), and replays it
    inside/        what the processes of a job import first, where there are gates
    jobs.py        starts a job, and has happen to it what a scenario says
    processes.py   the processes of a job, as the machine knows them
    proxies.py     cuts, delays and forgets what a worker and the others say to each other
    training.py    what workers train, for them and for the replay
    worker.py      the program of the workers

Clocks are set by `tests/distributed/clock`, and servers reach each other through gates by
`tests/distributed/crossing`: libraries that the processes of a job preload.
`python tests/python/distributed/chaos --runs 50 --seed 1` runs scenarios that are chosen by chance;
`test_chaos.py`, `test_partitions.py` and `test_clocks.py` a few fixed ones.
"""
