"""Reading timelines: what the profiler writes, what other tools write, and files that are broken."""

import json

import pytest

from headrace import np, profiler, timeline


def lane_named(read, name):
    return next(lane for lane in read.lanes if lane.name == name)


def bars_of(read, lane):
    return [
        (read.names[name], begin, duration)
        for name, begin, duration in zip(lane.names, lane.begins, lane.durations)
    ]


def test_lanes_bars_curves_and_marks(write_timeline, events):
    read = timeline.load(write_timeline(events, otherData={"lost": 3}))
    assert [lane.name for lane in read.lanes] == ["main", "worker 1"]
    assert [lane.group for lane in read.lanes] == ["host threads"] * 2
    main = bars_of(read, read.lanes[0])
    assert main == [("dot", 0, 10), ("add", 20, 20), ("exp <b>", 25, 5), ("wait", 40, 60)]
    assert [curve.name for curve in read.curves] == ["Memory: cpu/0", "Pooled memory: cpu/0"]
    assert list(read.curves[0].values) == [0, 2**20]
    assert read.marks == [{"name": "epoch", "time": 60, "clock": "real"}]
    assert read.lost == 3


def test_arrows_tie_a_bar_to_its_push(write_timeline, events):
    read = timeline.load(write_timeline(events))
    worker = lane_named(read, "worker 1")
    assert list(worker.origin_lanes) == [read.lanes.index(lane_named(read, "main"))]
    assert list(worker.origin_times) == [21]
    assert set(lane_named(read, "main").origin_lanes) == {-1}


def test_halves_make_bars(write_timeline):
    def half(phase, name, time, **others):
        return {"ph": phase, "name": name, "cat": "mine", "pid": 0, "tid": 1, "ts": time, **others}

    events = [
        half("E", "lost beginning", 0),
        half("B", "outer", 1),
        half("B", "inner", 2),
        half("E", "", 3),
        half("E", "", 5),
        half("b", "epoch", 1, id=1),
        half("b", "epoch", 2, id=2),
        half("e", "epoch", 6, id=1),
        half("e", "epoch", 9, id=2),
    ]
    read = timeline.load(write_timeline(events))
    notes = lane_named(read, "mine")
    assert (notes.kind, bars_of(read, notes)) == ("notes", [("epoch", 0, 5), ("epoch", 1, 7)])
    assert bars_of(read, lane_named(read, "thread 1")) == [("outer", 0, 4), ("inner", 1, 1)]


def test_simulated_clocks_are_apart(write_timeline, events):
    virtual = [
        {"ph": "M", "name": "process_labels", "pid": 7, "args": {"labels": "virtual time"}},
        {"ph": "X", "name": "dot", "pid": 7, "tid": 9, "ts": 0, "dur": 1},
    ]
    read = timeline.load(write_timeline(events + virtual))
    assert {lane.name: lane.clock for lane in read.lanes} == {
        "main": "real",
        "worker 1": "real",
        "thread 9": "virtual",
    }


def test_time_begins_with_the_first_record(write_timeline):
    events = [
        {"ph": "C", "name": "n", "pid": 0, "ts": 1.7e15, "args": {"value": 1}},
        {"ph": "X", "name": "dot", "pid": 0, "tid": 1, "ts": 1.7e15 + 2, "dur": 1},
        {"ph": "i", "name": "here", "pid": 0, "tid": 1, "ts": 1.7e15 + 3},
    ]
    read = timeline.load(write_timeline(events))
    assert (read.curves[0].times[0], read.lanes[0].begins[0], read.marks[0]["time"]) == (0, 2, 3)


def test_a_list_of_events_is_a_timeline(write_timeline):
    read = timeline.load(write_timeline({"traceEvents": []}))
    assert (read.lanes, read.curves) == ([], [])


def test_what_the_profiler_wrote(tmp_path):
    path = tmp_path / "run.json"
    profiler.set_config(filename=str(path))
    profiler.start()
    task = profiler.Domain("mine").new_task("epoch")
    task.start()
    x = np.ones((64, 64))
    np.dot(x, x).wait_to_read()
    task.stop()
    profiler.dump()
    read = timeline.load(str(path))
    names = {read.names[name] for lane in read.lanes for name in lane.names}
    assert {"_np_dot", "epoch"} <= names
    assert {"Memory: cpu/0", "Peak memory: cpu/0", "Pooled memory: cpu/0"} <= {c.name for c in read.curves}
    assert lane_named(read, "mine").kind == "notes"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({}, "expected an object with a list 'traceEvents'"),
        ({"traceEvents": 3}, "expected an object with a list 'traceEvents'"),
        ([[]], "event 0 .* must be an object, got list"),
        ([{"name": "x"}], "'ph' must be a text"),
        ([{"ph": "X", "name": 3}], "'name' must be a text"),
        ([{"ph": "X", "name": "x", "dur": 1}], "'ts' must be a number, got None"),
        ([{"ph": "X", "name": "x", "ts": 1, "dur": "long"}], "'dur' must be a number, got 'long'"),
        ([{"ph": "X", "name": "x", "ts": 1, "dur": -1}], "'dur' must not be negative"),
        ([{"ph": "X", "name": "x", "ts": True, "dur": 1}], "'ts' must be a number, got True"),
        ([{"ph": "X", "name": "x", "pid": [], "ts": 1, "dur": 1}], "'pid' and 'tid'"),
        ([{"ph": "C", "name": "x", "ts": 1}], "'args' of a counter must be an object"),
        ([{"ph": "C", "name": "x", "ts": 1, "args": {"a": "b"}}], "'a' must be a number"),
        ([{"ph": "M", "name": "thread_name", "args": 1}], "'args' must be an object"),
    ],
)
def test_broken_events_are_named(write_timeline, document, problem):
    with pytest.raises(timeline.TimelineError, match=problem):
        timeline.load(write_timeline(document))


@pytest.mark.parametrize(
    "text", ["", "{", "\x00\xff", "[" * 100_000, '{"traceEvents": [{"ph": "X", "ts": NaN}]}']
)
def test_files_that_are_no_json(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(timeline.TimelineError, match="broken.json"):
        timeline.load(str(path))


def test_numbers_too_large_for_a_clock(write_timeline):
    with pytest.raises(timeline.TimelineError, match="'ts' must be a number"):
        timeline.load(write_timeline(json.loads('[{"ph": "X", "name": "x", "ts": 1e999, "dur": 1}]')))
