"""Jobs to which things happen, with a fixed seed, and a check of what they have done.

    etcd.py        an etcd of several processes
    histories.py   reads what processes have written down (HEADRACE_HISTORY), and replays it
    jobs.py        starts a job, and does to its processes what a scenario says
    proxies.py     cuts, delays and forgets what a worker and the others say to each other
    worker.py      the program of the workers

`python tests/python/distributed/chaos --runs 50 --seed 1` runs scenarios that are chosen by chance;
`test_chaos.py` a few fixed ones.
"""
