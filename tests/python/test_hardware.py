"""`headrace.hardware`: measurements of the machine, from Python and from a shell. No value is judged."""

import json
import math
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from headrace import hardware

SVG = "{http://www.w3.org/2000/svg}"


def run_cli(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "headrace.hardware", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hardware")
    done = run_cli(
        "--quick", "--json", folder / "run.json", "--plot", folder / "run.svg", "--directory", folder
    )
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(folder)) == ["run.json", "run.svg"]
    return done.stdout, json.loads((folder / "run.json").read_text()), (folder / "run.svg").read_text()


def test_every_measurement_has_a_value_or_a_reason(whole_run):
    _, report, _ = whole_run
    assert [row["name"] for row in report["measurements"]] == [row["name"] for row in hardware.descriptions()]
    for row in report["measurements"]:
        assert row["unit"] in {"s", "bytes", "bytes/s", "operations/s"}
        if row["value"] is None:
            assert row["why_not"], row
        else:
            assert row["why_not"] is None, row
            assert math.isfinite(row["value"]), row
            assert row["value"] > 0, row


def test_python_is_measured_here_and_by_no_other(whole_run):
    _, report, _ = whole_run
    values = {row["name"]: row["value"] for row in report["measurements"]}
    assert values["python_call"]
    assert values["python_operation"]


def test_latency_curve(whole_run):
    _, report, _ = whole_run
    sizes = [point["bytes"] for point in report["latency_curve"]]
    assert len(sizes) > 2
    assert sizes == sorted(sizes)
    assert all(point["seconds"] > 0 for point in report["latency_curve"])


def test_table_has_a_line_for_each(whole_run):
    text, report, _ = whole_run
    first_words = [line.split()[0] for line in text.splitlines() if line.strip()]
    for row in report["measurements"]:
        assert first_words.count(row["name"]) == 1
    for row in report["measurements"]:
        if row["why_not"]:
            assert f"not measured: {row['why_not']}" in text


def test_plot(whole_run):
    _, report, text = whole_run
    root = ElementTree.fromstring(text)
    times = [row for row in report["measurements"] if row["unit"] == "s" and row["value"] is not None]
    assert len(root.findall(f"{SVG}rect[@class='bar']")) == len(times)
    marks = sum(len({figure["seconds"] for figure in row["book"]}) for row in times)
    assert len(root.findall(f"{SVG}line[@class='book']")) == marks
    (curve,) = root.findall(f"{SVG}polyline")
    assert len(curve.get("points").split()) == len(report["latency_curve"])
    labels = {label.text for label in root.iter(f"{SVG}text")}
    assert {row["name"] for row in times} <= labels
    width, height = float(root.get("width")), float(root.get("height"))
    for bar in root.findall(f"{SVG}rect[@class='bar']"):
        assert float(bar.get("width")) >= 0
        assert float(bar.get("x")) + float(bar.get("width")) <= width
        assert float(bar.get("y")) <= height


def test_plot_of_nothing_is_a_picture():
    drawing = hardware.svg(hardware.Results())
    root = ElementTree.fromstring(drawing)
    assert drawing._repr_svg_() == drawing  # what Jupyter shows
    assert [label.text for label in root.iter(f"{SVG}text")] == ["No times were measured."]


def test_list():
    done = run_cli("--list")
    assert done.returncode == 0
    words = {line.split()[0] for line in done.stdout.splitlines()}
    for row in hardware.descriptions():
        assert {row["name"], row["subject"]} <= words


def test_only():
    done = run_cli("--quick", "--only", "mutex,calls")
    assert done.returncode == 0
    words = [line.split()[0] for line in done.stdout.splitlines() if line]
    calls = [row["name"] for row in hardware.descriptions() if row["subject"] == "calls"]
    assert words == ["here", "threads", "mutex", "calls", *calls, "book:"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "mutex,l9_latency"], "'l9_latency' is neither"),
        (["--only", ""], "'' is neither"),
        (
            ["--only", "mutex", "--plot", "x.png"],
            "--plot draws SVG: name a file that ends in .svg, got 'x.png'",
        ),
        (["--only", "mutex", "--json", "/no/such/folder/run.json"], "/no/such/folder"),
    ],
)
def test_what_cannot_be_used_is_told(arguments, message):
    done = run_cli("--quick", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_names_leave_files_alone(tmp_path):
    kept = tmp_path / "run.json"
    kept.write_text("{}")
    assert run_cli("--only", "l9_latency", "--json", kept).returncode == 2
    assert kept.read_text() == "{}"


def test_a_folder_that_cannot_be_written_is_told_and_the_rest_goes_on():
    done = run_cli("--quick", "--only", "disk,mutex", "--directory", "/no/such/folder")
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    for name in ("disk_read_4k", "disk_read_1m", "disk_write_4k"):
        assert (
            "not measured: cannot use the folder '/no/such/folder': No such file or directory" in lines[name]
        )
    assert "not measured" not in lines["mutex"]


def test_measure():
    seen = []
    results = hardware.measure(["python_call", "mutex"], quick=True, progress=seen.append)
    assert seen == ["mutex", "python_call"]
    assert [(result.name, result.unit, result.why_not) for result in results] == [
        ("mutex", "s", ""),
        ("python_call", "s", ""),
    ]
    assert repr(results[0]).startswith("<Measurement mutex: ")
    assert results.latency_curve == []
    with pytest.raises(ValueError, match="neither a measurement"):
        hardware.measure(["l9_latency"])


def test_one_processor_is_enough():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity on this system")
    program = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from headrace import hardware\n"
        "print(hardware.table(hardware.measure(['cores', 'threads', 'memory_read_all'], quick=True)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    for name in ("line_shared", "handover", "counters_together", "mutex_contended"):
        assert "not measured: needs two" in lines[name]
    assert "threads: 1" in lines["memory_read_all"]


def test_what_noise_has_inverted_is_measured_again():
    def result(name, value, note=""):
        return hardware._hardware.measured(name, value, note)

    results = [
        result("memory_read", 9e9, "by vectors"),
        result("mutex", 2e-9),
        result("memory_read_all", 5e9),
    ]
    results += [result("mutex_contended", 1e-9)]
    again = {"memory_read": 9e9, "memory_read_all": 12e9, "mutex": 3e-9, "mutex_contended": 1.5e-9}
    calls = []

    def measured(name):
        calls.append(name)
        return result(name, again[name])

    hardware._repeat_inversions(results, measured)
    assert [one.value for one in results] == [9e9, 2e-9, 12e9, 1e-9]  # the better ones
    assert calls == ["memory_read", "memory_read_all"] + ["mutex", "mutex_contended"] * 3
    assert results[0].note == "by vectors; measured again, beside memory_read_all"
    assert results[3].note == "measured again, beside mutex"


def test_what_is_in_order_is_not_measured_again():
    results = [
        hardware._hardware.measured("mutex", 1.02e-9, ""),
        hardware._hardware.measured("mutex_contended", 1e-9, ""),
    ]
    hardware._repeat_inversions(results, lambda name: pytest.fail(name))
    assert [one.note for one in results] == ["", ""]


def test_pairs_in_order_are_measurements():
    names = {row["name"] for row in hardware.descriptions()}
    assert {name for pair in hardware._IN_ORDER for name in pair} <= names
