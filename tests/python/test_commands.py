"""The package's commands with a reader that goes away, as in `python -m headrace.plan ... | head -1`."""

import json
import os
import subprocess
import sys

import pytest

COMMANDS = {
    "plan": ["plan", "--topology", "p3", "--bytes", "1MB", "--steps"],
    "plan --json": ["plan", "--topology", "pcie4", "--bytes", "1MB", "--json"],
    "plan --help": ["plan", "--help"],
    "timeline": ["timeline", "run.json"],
    "timeline --help": ["timeline", "--help"],
    "hardware": ["hardware", "--quick", "--only", "mutex"],
    "hardware --list": ["hardware", "--list"],
    "hardware --help": ["hardware", "--help"],
    "mxnet --check": ["mxnet", "--check", "program.py"],
    "mxnet --help": ["mxnet", "--help"],
    "mxnet --version": ["mxnet", "--version"],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"traceEvents": []}))
    (tmp_path / "program.py").write_text("import mxnet as mx\nmx.nd.ones((2,))\n")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_nobody_reads_the_output(command, folder):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"headrace.{COMMANDS[command][0]}", *COMMANDS[command][1:]],
            cwd=folder,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    finally:
        os.close(writer)
    assert done.stderr == ""
    # 141 is what a shell says of a program that SIGPIPE has ended; argparse drops help that nobody reads.
    assert done.returncode == (0 if "--help" in command and command != "mxnet --help" else 141)


@pytest.mark.parametrize("command", COMMANDS)
def test_somebody_reads_it(command, folder):
    done = subprocess.run(
        [sys.executable, "-m", f"headrace.{COMMANDS[command][0]}", *COMMANDS[command][1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
