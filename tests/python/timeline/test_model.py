"""What the page computes, without a page: the model under Node.js."""

import json
import pathlib
import subprocess

import pytest

from headrace import timeline
from headrace.timeline._page import data_of

MODEL = pathlib.Path(timeline.__file__).parent / "model.js"


@pytest.fixture
def model(node, write_timeline):
    """Evaluates an expression over `timeline`, the decoded events, and `model`."""

    def evaluate(events, expression):
        data = data_of(timeline.load(write_timeline(events)))
        program = f"""
            const model = require({json.dumps(str(MODEL))});
            const timeline = model.decode({data});
            console.log(JSON.stringify({expression}));
        """
        done = subprocess.run([node, "-"], input=program, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return evaluate


def bar(name, begin, duration, tid=1, category="operator"):
    return {"ph": "X", "name": name, "cat": category, "pid": 0, "tid": tid, "ts": begin, "dur": duration}


def test_nested_bars_lie_below(model):
    events = [bar("a", 0, 10), bar("b", 1, 3), bar("c", 2, 1), bar("d", 4, 6.001), bar("e", 10, 1)]
    assert model(events, "[...timeline.lanes[0].rowOf]") == [0, 1, 2, 1, 0]


def test_totals_and_self_times(model):
    events = [bar("a", 0, 10), bar("b", 1, 3), bar("c", 2, 1), bar("a", 20, 2), bar("b", 0, 5, tid=2)]
    rows = {row["name"]: row for row in model(events, "model.totals(timeline)")}
    assert rows["a"] == {
        "name": "a", "category": "operator", "count": 2, "total": 12, "self": 9, "max": 10, "mean": 6,
    }  # fmt: skip
    assert (rows["b"]["total"], rows["b"]["self"], rows["c"]["self"]) == (8, 7, 1)


def test_busy_idle_and_overlap(model):
    events = [
        bar("a", 0, 10),
        bar("inside", 2, 3),
        bar("wait", 10, 30, category="MXNET_C_API"),
        bar("helps", 15, 5),
        bar("b", 5, 15, tid=2),
        bar("c", 40, 10, tid=3),
    ]
    used = model(
        events,
        "((used) => ({...used, rows: used.rows.map((r) => [r.busy, r.idle])}))(model.utilisation(timeline))",
    )
    assert used["rows"] == [[15, 35], [15, 35], [10, 40]]
    # at least one: 0..20 and 40..50; two: 5..10 and 15..20
    assert used["overlap"] == {"one": 30, "two": 10, "ratio": pytest.approx(1 / 3)}


def test_links_are_busy_but_do_not_overlap_the_streams_that_use_them(model):
    events = [
        bar("copy", 0, 10),
        bar("copy", 2, 8, tid=2, category="link"),
        bar("copy", 2, 8, tid=3, category="link"),
        bar("dot", 6, 10, tid=4),
    ]
    used = model(
        events, "((used) => ({...used, rows: used.rows.map((r) => r.busy)}))(model.utilisation(timeline))"
    )
    assert used["rows"] == [10, 8, 8, 10]
    assert used["overlap"] == {"one": 16, "two": 4, "ratio": 0.25}


def test_strips_have_the_colours_of_bars(node):
    """Pixels are written by hand, rectangles by the browser: both must mean the same colour."""
    program = f"""
        const {{ packed, packedHex }} = require({json.dumps(str(MODEL.parent / "strip.js"))});
        const text = (colour) => [colour & 255, (colour >> 8) & 255, colour >> 16];
        const colours = [packed(0, 100, 50), packed(120, 100, 25), packed(240, 50, 50), packedHex("#d9480f")];
        console.log(JSON.stringify(colours.map(text)));
    """
    done = subprocess.run([node, "-"], input=program, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == [[255, 0, 0], [0, 128, 0], [64, 64, 191], [217, 72, 15]]


def test_nothing_overlaps_nothing(model):
    assert model([], "model.utilisation(timeline)") == {
        "rows": [],
        "overlap": {"one": 0, "two": 0, "ratio": 0},
    }


def test_search_is_by_time_and_case_blind(model):
    events = [bar("Dot", 5, 1), bar("add", 0, 1), bar("_np_dot", 3, 1, tid=2)]
    found = model(events, "model.search(timeline, ' DOT ').found.map(({lane, index}) => lane.begins[index])")
    assert found == [3, 5]
    assert model(events, "model.search(timeline, ' ').found") == []


def test_pieces_are_few_and_complete(model):
    """Thin bars are merged, wide ones kept, and together they fill what the bars fill."""
    events = [bar("thin", i * 0.02, 0.01) for i in range(5000)] + [
        bar("wide", 200, 50),
        bar("later", 1000, 5),
    ]
    pieces = model(
        events,
        "((out) => (model.pieces(timeline.lanes[0].rows[0], 0, 400, 1, (...p) => out.push(p)), out))([])",
    )
    wide = [piece for piece in pieces if piece[1] - piece[0] > 1.5]
    assert [piece[:2] for piece in wide] == [[200, 250]]
    assert 100 <= len(pieces) - 1 <= 102
    thin = [(end - begin) * filled for begin, end, _, filled in pieces if end - begin < 1.5]
    assert sum(thin) == pytest.approx(50, rel=0.02)


def test_bars_are_found_by_binary_search(model):
    events = [bar("x", i * 10, 5) for i in range(1000)]
    at = "[0, 4.9, 7, 5003, 9999].map((time) => model.barAt(timeline.lanes[0].rows[0], time, 0.5))"
    assert model(events, at) == [0, 0, -1, 500, -1]


def test_memory_of_a_device_is_one_panel(model):
    def counter(name, value, category="Device Storage"):
        return {"ph": "C", "name": name, "cat": category, "pid": 0, "ts": 1, "args": {"value": value}}

    events = [
        counter("Memory: cpu/0", 5),
        counter("Peak memory: cpu/0", 9),
        counter("Memory: gpu/0", 7),
        counter("images", -2, "training"),
    ]
    panels = model(
        events,
        "model.curvePanels(timeline).map((p) => [p.name, p.most, p.least, p.curves.map((c) => c.label)])",
    )
    assert panels == [
        ["memory of cpu/0", 9, 0, ["live", "peak"]],
        ["memory of gpu/0", 7, 0, ["live"]],
        ["images", 0, -2, ["images"]],
    ]


def test_values_between_samples(model):
    events = [{"ph": "C", "name": "n", "pid": 0, "ts": t, "args": {"value": t * 2}} for t in (0, 3)]
    values = model(events, "[-1, 0, 2, 3, 9].map((time) => model.valueAt(timeline.curves[0], time) ?? null)")
    assert values == [None, 0, 0, 6, 6]
