"""The profiler: timelines and tables of what ran."""

import json

import pytest

from headrace import base, np, npx, profiler


@pytest.fixture
def options(tmp_path):
    before = dict(profiler._config)
    profiler.set_config(filename=str(tmp_path / "timeline.json"), aggregate_stats=True)
    yield tmp_path / "timeline.json"
    profiler.stop()
    profiler._config.update(before)


def work():
    x = np.ones((64, 64))
    (np.dot(x, x) + 1).wait_to_read()


def test_timeline_names_what_ran_while_recording(options):
    profiler.start()
    work()
    profiler.pause()
    np.exp(np.ones((3,))).wait_to_read()
    profiler.resume()
    work()
    profiler.dump()
    names = [event["name"] for event in json.loads(options.read_text())["traceEvents"]]
    assert names.count("_np_dot") == 2
    assert "_npi_exp" not in names


def test_table_counts_and_resets(options):
    profiler.set_state("run")
    for _ in range(3):
        work()
    npx.waitall()
    table = profiler.dumps(reset=True)
    row = next(line for line in table.splitlines() if line.split()[:1] == ["_np_dot"])
    assert row.split()[1] == "3"
    work()
    assert (
        next(line for line in profiler.dumps().splitlines() if line.startswith("_np_dot")).split()[1] == "1"
    )


def test_wrong_use_is_refused(options):
    with pytest.raises(base.MXNetError, match="no option 'colour'"):
        profiler.set_config(colour=True)
    with pytest.raises(ValueError, match="'run' or 'stop'"):
        profiler.set_state("maybe")
    with pytest.raises(ValueError, match="'table'"):
        profiler.dumps(format="json")
    profiler.set_config(aggregate_stats=False)
    with pytest.raises(base.MXNetError, match="aggregate_stats=True"):
        profiler.dumps()
