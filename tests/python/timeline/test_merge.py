"""Timelines of several processes as one: clocks, names and messages."""

import json
import subprocess
import sys

import pytest

from headrace import np, profiler, timeline

from .conftest import arrow, bar, name_of


@pytest.fixture
def write(tmp_path):
    """Writes a file of a process that began at `steady` and `unix` microseconds; returns its path."""

    def write_file(name, events, machine="one", steady=0.0, unix=0.0):
        clock = {"machine": machine, "steady_ns": steady * 1e3, "unix_ns": unix * 1e3}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"traceEvents": events, "otherData": {"lost": 1, "clock": clock}}))
        return str(path)

    return write_file


def message(phase, key, time, tid=1):
    return {"ph": phase, "name": "request", "cat": "message", "id": key, "pid": 0, "tid": tid, "ts": time}


def process(*events):
    return [name_of("process", 0, "host threads"), name_of("thread", 0, "main", 1), *events]


def begins(document):
    return {event["name"]: event["ts"] for event in document["traceEvents"] if event["ph"] == "X"}


def test_processes_of_one_machine_share_a_clock(write):
    paths = [
        write("worker-0", process(bar("a", 10, 5)), steady=1000, unix=7),
        write("worker-1", process(bar("b", 10, 5)), steady=1300, unix=9_000_000),
    ]
    document = timeline.merge(paths)
    assert begins(document) == {"a": 10, "b": 310}
    assert document["otherData"]["lost"] == 2
    read = timeline.read(document)
    assert [(lane.group, lane.name) for lane in read.lanes] == [
        ("worker-0: host threads", "main"),
        ("worker-1: host threads", "main"),
    ]


def test_without_messages_the_time_of_day_counts_between_machines(write):
    paths = [
        write("worker-0", process(bar("a", 0, 5)), "one", steady=50, unix=1000),
        write("worker-1", process(bar("b", 0, 5)), "two", steady=90_000, unix=1400),
    ]
    assert begins(timeline.merge(paths)) == {"a": 0, "b": 400}


def test_messages_both_ways_set_clocks_right(write):
    # The second began 300 later; its clock says 5000. A message takes 20, both ways, some longer.
    first = process(bar("a", 0, 900), message("s", "x", 400), message("s", "y", 500), message("f", "z", 620))
    second = process(bar("b", 0, 900), message("f", "x", 120), message("f", "y", 270), message("s", "z", 300))
    paths = [write("worker-0", first, "one", unix=0), write("worker-1", second, "two", unix=5000)]
    assert begins(timeline.merge(paths)) == {"a": 0, "b": 300}


def test_clocks_are_known_over_others(write):
    # The worker of the second machine has no messages with the first; the server that has shares its clock.
    worker = process(bar("a", 0, 900), message("s", "x", 400), message("f", "z", 620))
    server = process(bar("b", 0, 900), message("f", "x", 120), message("s", "z", 300))
    paths = [
        write("worker-0", worker, "one"),
        write("worker-1", process(bar("c", 0, 1)), "two", steady=70, unix=123_456),
        write("server-0", server, "two", steady=20, unix=123_406),
    ]
    assert begins(timeline.merge(paths)) == {"a": 0, "b": 300, "c": 350}


def test_messages_are_arrows_from_process_to_process(write):
    own = arrow(1, (1, 5), (1, 30))
    paths = [
        write("worker-0", process(bar("push", 0, 10), bar("later", 30, 5), message("s", "m", 6), *own)),
        write(
            "server-0", process(bar("serve push", 40, 10), message("f", "m", 41), *arrow(1, (1, 0), (1, 40)))
        ),
    ]
    read = timeline.read(timeline.merge(paths))
    worker, server = read.lanes
    assert list(server.origin_lanes) == [0] and list(server.origin_times) == [6]
    assert list(worker.origin_lanes) == [-1, 0] and list(worker.origin_times) == [0, 5]


def test_of_several_senders_the_last_is_the_one_that_was_waited_for(write):
    def rank(ready, begin):
        over = bar("call is over", 100 - begin, 10)
        return process(
            bar("all_reduce", 0, 5), over, message("s", "c", ready), message("f", "c", 101 - begin)
        )

    paths = [
        write("worker-0", rank(3, 0)),
        write("worker-1", rank(4, 50), steady=50),
        write("worker-2", rank(1, 20), steady=20),
    ]
    read = timeline.read(timeline.merge(paths))
    assert [list(lane.origin_lanes) for lane in read.lanes] == [[-1, 1]] * 3
    assert read.lanes[2].origin_times[1] == 54


def test_simulated_clocks_keep_their_zero(write):
    labels = {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "virtual time"}}
    events = process(bar("real", 0, 1), labels, bar("simulated", 7, 1, pid=1))
    paths = [write("a", process(bar("first", 0, 1))), write("b", events, steady=500)]
    assert begins(timeline.merge(paths)) == {"first": 0, "real": 500, "simulated": 7}


def test_files_that_cannot_be_laid_over_others_are_named(write, tmp_path):
    good = write("good", process(bar("a", 0, 1)))
    for name, text, expected in [
        ("cut", '{"traceEvents": [', "cut.json: not a JSON file"),
        ("list", "[]", "list.json: no timeline"),
        ("numbers", '{"traceEvents": [1]}', "numbers.json: no timeline"),
        ("old", '{"traceEvents": [{"ph": "X"}]}', "old.json: it does not say when it began"),
        (
            "words",
            '{"traceEvents": [{"ph": "X"}], "otherData": {"clock": {"steady_ns": "x"}}}',
            "words.json: 'steady_ns' of its clock must be a number, got 'x'",
        ),
    ]:
        (tmp_path / f"{name}.json").write_text(text)
        with pytest.raises(timeline.TimelineError, match=expected):
            timeline.merge([good, str(tmp_path / f"{name}.json")])
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    assert len(timeline.merge([good, str(tmp_path / "empty.json")])["traceEvents"]) == 3


def test_the_command_writes_one_page_or_one_file(tmp_path):
    paths = []
    for number in range(2):
        paths.append(str(tmp_path / f"worker-{number}.json"))
        profiler.set_config(filename=paths[-1])
        profiler.start()
        (np.ones((2, 2)) * 2).wait_to_read()
        profiler.dump()
    profiler.set_config()

    def run(*arguments):
        command = [sys.executable, "-m", "headrace.timeline", *paths, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    done = run("-o", str(tmp_path / "job.html"), "--title", "Two workers")
    assert done.returncode == 0, done.stderr
    assert "Two workers" in (tmp_path / "job.html").read_text()
    assert run("-o", str(tmp_path / "job.json")).returncode == 0
    groups = {lane.group for lane in timeline.load(str(tmp_path / "job.json")).lanes}
    assert groups == {"worker-0: host threads", "worker-1: host threads"}
    refused = run()
    assert refused.returncode == 2 and "name the page of several timelines with -o" in refused.stderr
    assert run("-o", paths[0]).returncode == 2
