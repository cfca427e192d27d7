"""What `./dev run` shows: the program of the README learns the digits and leaves a timeline."""

import json
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "examples" / "mxnet" / "train_mlp.py"


def test_an_mlp_learns_the_digits(tmp_path):
    command = [sys.executable, "-m", "headrace.mxnet", "--timeline", "run-timeline.json", str(PROGRAM)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"test accuracy: (\d\.\d\d)\n", done.stdout)
    assert found, done.stdout
    assert 0.95 <= float(found[1]) <= 1
    assert re.search(r"epoch 30/30: 100%.* 30/30 .*loss 0\.0\d\d, [\d,]+ samples/s", done.stderr)

    events = json.loads((tmp_path / "run-timeline.json").read_text())["traceEvents"]
    tasks = [event for event in events if event["ph"] == "X"]
    assert {"FullyConnected", "LayerNorm"} <= {event["name"] for event in tasks}
    assert all(event["dur"] >= 0 for event in tasks)
    lanes = {event["tid"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
    assert {event["tid"] for event in tasks} <= lanes
