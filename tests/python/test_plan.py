"""`headrace.plan`: the planner of gradient sums, from Python and from a shell."""

import json
import subprocess
import sys

import pytest

from headrace import plan

MB = 10**6


def run_cli(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "headrace.plan", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("160MB", 160 * MB),
        ("160 mb", 160 * MB),
        ("64MiB", 64 * 2**20),
        ("1.5KB", 1500),
        ("1.1MB", 1_100_000),
        ("2GiB", 2**31),
        ("12", 12),
        ("0B", 0),
        (77, 77),
    ],
)
def test_parse_bytes(text, size):
    assert plan.parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "MB", "1.MB", "-1", "1e6", "160 Mbit", "1.5B", "nan", -1, "2000TB", 10**16]
)
def test_parse_bytes_refuses(text):
    with pytest.raises(ValueError, match="^plan: "):
        plan.parse_bytes(text)


@pytest.mark.parametrize(
    ("topology", "strategy", "milliseconds"),
    [
        ("pcie4", "host", 80),
        ("pcie4", "central", 60),
        ("pcie4", "sharded", 15),
        ("p3", "rings", 2 * 7 / 8 * 160 / 54),
    ],
)
def test_figures_of_the_book(topology, strategy, milliseconds):
    simulation = plan.make(topology, "160MB", strategy).simulate()
    assert simulation.seconds * 1e3 == pytest.approx(milliseconds, rel=0.003)
    assert simulation.picoseconds == pytest.approx(simulation.seconds * 1e12)


def test_steps_name_what_happens():
    made = plan.make("pcie4", 8, "central", devices=["gpu2", "gpu0"])
    first, second, third = plan.steps(made)
    assert first.kind == "copy" and (first.source, first.target) == ("gpu0", "gpu2")
    assert first.route == ["gpu0", "switch", "gpu2"] and first.target_slot == 1 and first.after == []
    assert second.kind == "reduce" and second.after == [0] and second.route == []
    assert (third.begin, third.end, third.slice) == (0, 8, 0)
    assert len(made) == 3 and made.owners == [(0, 8, "gpu2")]
    assert made.scratch_bytes("gpu2") == 8 and made.scratch_bytes("gpu0") == 0
    assert [step["kind"] for step in json.loads(made.to_json())["steps"]] == ["copy", "reduce", "copy"]
    assert str(made).splitlines()[2].split() == [
        "1",
        "reduce",
        "[0,",
        "8)",
        "gpu2[1]",
        "+>",
        "gpu2",
        "after",
        "0",
    ]


@pytest.mark.parametrize("strategy", plan.strategies())
def test_plans_sum(strategy):
    made = plan.make("p3", 4 * 11, strategy, slices=2)
    values = {name: [float(10 * i + k) for k in range(11)] for i, name in enumerate(made.devices)}
    after = made.run(values)
    expected = [sum(column) for column in zip(*values.values())]
    assert all(after[name] == expected for name in made.devices)


def test_halves_of_a_sum():
    half = plan.make("pcie4", 16, "sharded", collective="reduce")
    after = half.run({name: [1.0, 2.0, 3.0, 4.0] for name in half.devices})
    assert [after[name][begin // 4] for begin, _, name in half.owners] == [4.0, 8.0, 12.0, 16.0]
    whole = plan.make("pcie4", "160MB", "sharded").simulate().seconds
    parts = [plan.make("pcie4", "160MB", "sharded", collective=c) for c in ("reduce", "broadcast")]
    assert sum(part.simulate().seconds for part in parts) == pytest.approx(whole)


def test_the_best_plan_is_the_best_row():
    rows = plan.compare("p3", "160MB")
    assert [row["strategy"] for row in rows] == list(plan.strategies())
    (best,) = [row for row in rows if row["best"]]
    assert best["sliced"]["seconds"] == min(row["sliced"]["seconds"] for row in rows)
    made = plan.make("p3", "160MB")
    assert made.strategy == best["strategy"] == "bidirectional_rings"
    assert made.simulate().seconds == best["sliced"]["seconds"]
    (one,) = plan.compare("p3", "160MB", "ring")
    assert one == {**next(row for row in rows if row["strategy"] == "ring"), "best": True}


def test_simulation_tells_of_links():
    made = plan.make("pcie4", "160MB", "sharded")
    simulation = made.simulate()
    busy, passed = simulation.links["gpu0>switch"]
    assert passed == 240 * MB and busy == pytest.approx(0.015)
    assert simulation.links["cpu0>switch"] == (0, 0)
    assert len(simulation.intervals) == len(made)
    assert max(end for _, end in simulation.intervals) == pytest.approx(simulation.seconds)
    events = json.loads(simulation.chrome_trace())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    assert sum(event["ph"] == "X" for event in events) == 2 * sum(s.kind == "copy" for s in plan.steps(made))


def test_topologies():
    topology = plan.load("p3")
    assert topology.name == "p3" and topology.default_devices == [f"gpu{i}" for i in range(8)]
    assert topology.devices == ["cpu0", "cpu1", *topology.default_devices]
    assert topology.route("gpu0", "gpu4") == ["gpu0", "gpu4"]
    again = plan.Topology.from_json(topology.to_json())
    assert again.to_json() == topology.to_json()
    assert repr(again) == "<Topology p3: 10 devices, 31 links>"
    with pytest.raises(ValueError, match="no device 'gpu8'"):
        topology.route("gpu0", "gpu8")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"strategy": "star"}, "no strategy 'star'"),
        ({"devices": ["gpu7"]}, "no device 'gpu7'"),
        ({"devices": []}, "no devices"),
        ({"devices": ["gpu0", "gpu0"]}, "listed twice"),
        ({"root": "gpu9"}, "no device 'gpu9'"),
        ({"strategy": "central", "root": "cpu0"}, "the root cpu0 is not among the devices"),
        ({"slices": 0}, "slices"),
        ({"slices": -3}, "slices"),
        ({"slices": 10**30}, "slices"),
        ({"element_bytes": 0}, "element_bytes"),
        ({"collective": "gather"}, "no collective operation"),
    ],
)
def test_what_cannot_be_made(arguments, text):
    with pytest.raises(ValueError, match=text):
        plan.make("pcie4", "1MB", **arguments)


def test_wrong_types():
    for arguments in ({"size": 1.5}, {"slices": 2.0}, {"element_bytes": None}):
        with pytest.raises(TypeError):
            plan.make(**{"topology": "pcie4", "size": 64, **arguments})


def test_errors_of_files_and_buffers(tmp_path):
    with pytest.raises(OSError, match="neither a preset"):
        plan.load(str(tmp_path / "missing.json"))
    with pytest.raises(ValueError, match="no JSON"):
        plan.Topology.from_json("nonsense")
    with pytest.raises(ValueError, match="must have 4 floats or none, got 1"):
        plan.make("pcie4", 16, "ring").run({"gpu0": [1.0]})
    with pytest.raises(RuntimeError, match="which nothing has written"):
        plan.make("pcie4", 16, "ring").run({})


def test_table():
    done = run_cli("--topology", "pcie4", "--bytes", "160MB")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "allreduce of 160 MB on pcie4: gpu0, gpu1, gpu2, gpu3"
    rows = {line.replace("*", " ").split()[0]: line for line in lines[3:]}
    assert list(rows) == list(plan.strategies())
    for strategy, time in (("host", "80.004 ms"), ("central", "60.004 ms"), ("sharded", "15.004 ms")):
        assert time in rows[strategy]
    assert [name for name, line in rows.items() if line.startswith("*")] == ["sharded"]


def test_the_title_names_some_of_many_devices():
    done = run_cli("--topology", "ethernet:40x10", "--bytes", "3MB", "--strategy", "sharded")
    assert done.returncode == 0, done.stderr
    title = done.stdout.splitlines()[0]
    assert title.startswith("allreduce of 3 MB on ethernet:40x10: node0/gpu0, node1/gpu0, ")
    assert title.endswith(", node15/gpu0 and 24 more")


def test_json_and_steps():
    done = run_cli("--topology", "ethernet:3x10", "--bytes", "3MB", "--json", "--steps", "--strategy", "tree")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["best"] == "tree" and answer["bytes"] == 3 * MB
    assert answer["devices"] == [f"node{i}/gpu0" for i in range(3)]
    (row,) = answer["strategies"]
    assert row["sliced"]["steps"] == len(answer["steps"])


def test_options_reach_the_plan(tmp_path):
    trace = tmp_path / "trace.json"
    done = run_cli(
        *("--topology", "ethernet:4x10", "--bytes", "1MB", "--strategy", "parameter_server", "--json"),
        *("--devices", "node0/gpu0,node1/gpu0", "--servers", "node2/cpu0,node3/cpu0", "--slices", "2"),
        *("--collective", "reduce", "--trace", str(trace)),
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["devices"] == ["node0/gpu0", "node1/gpu0"] and answer["collective"] == "reduce"
    assert answer["strategies"][0]["sliced"]["slices"] == 2
    # 1 MB in frames from each worker through links of 1.25 GB/s, half to each server, in two slices of 22 us.
    assert answer["strategies"][0]["sliced"]["seconds"] == pytest.approx(
        1e6 * 1538 / 1448 / 1.25e9 + 2 * 22e-6
    )
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"}
    assert names == {f"node{w}/gpu0 to node{s}/cpu0" for w in (0, 1) for s in (2, 3)}


def test_frames_are_on_the_wire_and_take_time():
    link = {"between": ["gpu0", "gpu1"], "bandwidth": 1e6}
    spec = {"devices": [{"name": "gpu0"}, {"name": "gpu1"}], "links": [link]}
    plain = plan.Topology.from_json(json.dumps(spec))
    link["frame"] = {"payload": 1000, "overhead": 250}
    framed = plan.Topology.from_json(json.dumps(spec))
    runs = [plan.make(topology, 8000, "central").simulate() for topology in (plain, framed)]
    assert [run.links["gpu1>gpu0"][1] for run in runs] == [8000, 8000]
    assert [run.wire_bytes for run in runs] == [
        {"gpu0>gpu1": 8000, "gpu1>gpu0": 8000},
        {"gpu0>gpu1": 10000, "gpu1>gpu0": 10000},
    ]
    assert [run.seconds for run in runs] == [pytest.approx(0.016), pytest.approx(0.02)]
    assert json.loads(framed.to_json())["links"][0]["frame"] == link["frame"]


def test_own_topology(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(
        json.dumps(
            {
                "name": "two",
                "devices": [{"name": "gpu0"}, {"name": "gpu1", "reduce_bandwidth": 4e9}],
                "links": [{"between": ["gpu0", "gpu1"], "bandwidth": 1e9, "duplex": "shared"}],
            }
        )
    )
    done = run_cli("--topology", str(file), "--bytes", "4MB", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["strategy"]: row for row in json.loads(done.stdout)["strategies"]}
    assert rows["host"]["obstacle"] == "the topology has no CPU" and "whole" not in rows["host"]
    assert rows["central"]["whole"]["seconds"] == pytest.approx(8e-3)
    # gpu1 needs a millisecond to add 4 MB.
    (row,) = plan.compare(str(file), "4MB", "central", root="gpu1")
    assert row["whole"]["seconds"] == pytest.approx(9e-3)
    table = run_cli("--topology", str(file), "--bytes", "4MB").stdout
    assert "the topology has no CPU" in table


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "required: --topology, --bytes"),
        (("--topology", "pci5", "--bytes", "1MB"), "'pci5' is neither a preset (pcieN, p3, ethernet:"),
        (("--topology", "ethernet:9", "--bytes", "1MB"), "must be ethernet:NODESxGBITS"),
        (("--topology", "pcie4", "--bytes", "many"), "'many' is no number of bytes"),
        (("--topology", "pcie4", "--bytes", "1MB", "--devices", "gpu0,gpu8"), "no device 'gpu8'"),
        (("--topology", "pcie4", "--bytes", "1MB", "--devices", ""), "no device ''"),
        (("--topology", "pcie4", "--bytes", "1MB", "--slices", "0"), "slices"),
        (("--topology", "pcie4", "--bytes", "1MB", "--slices", "99999999999"), "slices"),
        (("--topology", "pcie4", "--bytes", "1MB", "--strategy", "star"), "invalid choice: 'star'"),
        (("--topology", "pcie4", "--bytes", "1MB", "--trace", "/no/such/folder/x.json"), "/no/such/folder"),
        (("--topology", "pcie4", "--bytes", "1MB", "--strategy", "tree", "--root", "cpu0"), "the root cpu0"),
    ],
)
def test_command_line_errors(arguments, text):
    done = run_cli(*arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_everything():
    text = run_cli("--help").stdout
    for name in (*plan.strategies(), *plan.presets(), "--trace", "--devices"):
        assert name in text
