"""Runs another program of this folder on made-up machines.

on_machines.py MACHINES PROGRAM [ARGUMENT...]: `0,1,0` puts ranks 0 and 2 on one machine, rank 1 on another.
"""

import os
import pathlib
import sys

machines, program, *arguments = sys.argv[1:]
name = machines.split(",")[int(os.environ["OMPI_COMM_WORLD_RANK"])]
path = pathlib.Path(__file__).with_name(f"{program}.py")
os.execve(sys.executable, [sys.executable, path, *arguments], {**os.environ, "HEADRACE_MACHINE": name})
