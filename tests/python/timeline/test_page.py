"""The page and the command that makes it."""

import html
import json
import re
import subprocess
import sys
import time

import pytest

from headrace import timeline


def run(*arguments, cwd=None):
    command = [sys.executable, "-m", "headrace.timeline", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)


def many_bars(count):
    """Bars of three names on four lanes, a tenth of them nested."""
    events = []
    for i in range(count):
        lane, place = i % 4, i // 4
        nested = place % 10 == 9
        begin = (place - nested) * 12 + lane + 2 * nested
        duration = 3 if nested else 10
        events.append(
            {
                "ph": "X",
                "name": f"op{i % 3}",
                "cat": "operator",
                "pid": 0,
                "tid": lane,
                "ts": begin,
                "dur": duration,
            }
        )
    return events


def test_the_page_needs_nothing_else(write_timeline, events):
    page = timeline.page(timeline.load(write_timeline(events)), title="<run> & more")
    assert "<title>&lt;run&gt; &amp; more</title>" in page
    assert not re.search(r"https?://|//[a-z]+\.|@import|src=|href=\"(?!data:)", page)
    assert "{{" not in page.split('id="data"')[0]
    assert "exp <b>" not in page  # names of a file are data, never markup
    assert json.loads(re.search(r'id="data">(.*?)</script>', page)[1])["names"][2] == "exp <b>"


def test_jupyter_shows_the_page_in_a_frame(write_timeline, events):
    page = timeline.page(timeline.load(write_timeline(events)))
    frame = page._repr_html_()
    assert "\n" not in frame
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == page


def test_the_command_writes_beside_the_timeline(write_timeline, events, tmp_path):
    path = write_timeline(events)
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {tmp_path / 'run.html'}\n"
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    assert run(path, "-o", str(tmp_path / "other.html"), "--title", "mine").returncode == 0
    assert "<h1>mine</h1>" in (tmp_path / "other.html").read_text()


def test_wrong_use_is_told(write_timeline, tmp_path):
    missing = run(str(tmp_path / "missing.json"))
    assert missing.returncode == 1
    assert "missing.json" in missing.stderr and "Traceback" not in missing.stderr
    broken = run(write_timeline([{"ph": "X", "name": "x"}]))
    assert broken.returncode == 1
    assert "event 0 of 'traceEvents': 'ts' must be a number" in broken.stderr
    path = write_timeline([])
    assert "would overwrite" in run(path, "-o", path).stderr
    assert run(path, "-o", str(tmp_path / "no" / "page.html")).returncode == 1
    assert "usage" in run("--help").stdout


def test_open_shows_the_page(write_timeline, monkeypatch, capsys):
    from headrace.timeline import __main__ as command

    shown = []
    monkeypatch.setattr(command.webbrowser, "open", lambda address: shown.append(address) or True)
    assert command.main([write_timeline([]), "--open"]) == 0
    assert shown[0].startswith("file://") and shown[0].endswith("run.html")
    monkeypatch.setattr(command.webbrowser, "open", lambda address: False)
    assert command.main([write_timeline([]), "--open"]) == 1
    assert "no browser was found" in capsys.readouterr().err


@pytest.mark.parametrize("dark", [False, True])
def test_in_the_browser(browser, write_timeline, events, tmp_path, dark):
    path = tmp_path / "run.html"
    path.write_text(timeline.page(timeline.load(write_timeline(events))))
    browser.open(path, dark=dark)
    text = browser.evaluate("document.body.innerText")
    assert "overlap" in text.lower()
    # main is busy 30 us, worker 1 50 us, together at 30 to 40
    assert "Overlap 14.3 %" in text
    rows = browser.evaluate(
        "[...document.querySelectorAll('#totals tbody tr')].map((row) => row.innerText.split('\\t'))"
    )
    assert rows[0][:4] == ["dot", "operator", "2", "60.00 µs"]
    assert browser.evaluate("headraceTimeline.view.panels.length") == 1
    browser.evaluate("document.querySelector('#totals th[data-key=count] button').click()")
    browser.picture(tmp_path / "page.png")
    assert browser.problems == []
    assert all(address.startswith(("file:", "data:")) for address in browser.requests)


def place_of(browser, lane, index):
    """The middle of a bar on the page."""
    return browser.evaluate(
        f"""(() => {{
          const {{ view }} = headraceTimeline, lane = view.timeline.lanes[{lane}];
          const stage = view.canvas.getBoundingClientRect();
          const middle = (lane.begins[{index}] + lane.ends[{index}]) / 2;
          return {{ x: stage.left + view.xAt(middle),
                   y: stage.top + view.boxOf(lane).y - view.top + lane.rowOf[{index}] * 17 + 8 }};
        }})()"""
    )


def test_select_search_zoom_and_pan(browser, write_timeline, events, tmp_path):
    path = tmp_path / "run.html"
    path.write_text(timeline.page(timeline.load(write_timeline(events))))
    browser.open(path)
    worker_bar = place_of(browser, 1, 0)
    browser.click(**worker_bar)
    assert "pushed: by main, 9.000 µs before it ran" in browser.evaluate(
        "document.getElementById('detail').innerText"
    )
    assert browser.evaluate("headraceTimeline.view.arrows.length") == 1
    tooltip = browser.evaluate("document.getElementById('tooltip').innerText")
    assert tooltip.startswith("dot") and "50.000 µs" in tooltip
    browser.click(**place_of(browser, 0, 1))  # add: an arrow to what it pushed
    assert browser.evaluate("headraceTimeline.view.arrows[0].to.name") == "worker 1"

    span = "headraceTimeline.view.end - headraceTimeline.view.begin"
    before = browser.evaluate(span)
    browser.mouse("mouseWheel", **worker_bar, deltaX=0, deltaY=-300)
    browser.settle()
    assert browser.evaluate(span) < before
    began = browser.evaluate("headraceTimeline.view.begin")
    height = worker_bar["y"]
    browser.mouse("mousePressed", 700, height, button="left", clickCount=1)
    browser.mouse("mouseMoved", 600, height, button="left", buttons=1)
    browser.mouse("mouseReleased", 600, height, button="left", clickCount=1)
    assert browser.evaluate("headraceTimeline.view.begin") > began
    browser.key("0")
    assert browser.evaluate(span) == before

    browser.key("/")
    assert browser.evaluate("document.activeElement.id") == "search"
    browser.evaluate(
        "(() => { const box = document.getElementById('search');"
        " box.value = 'EXP'; box.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate("document.getElementById('matches').textContent") == "1"
    browser.key("Enter")
    assert browser.evaluate("document.querySelector('#detail b').textContent") == "exp <b>"
    browser.key("Escape")
    assert browser.evaluate("document.getElementById('detail').hidden")
    browser.key("?")
    assert browser.evaluate("document.getElementById('help').open")
    assert browser.problems == []


def test_a_hundred_thousand_bars(browser, write_timeline, tmp_path):
    """The whole is drawn with some thousand pieces, a part with its own bars: none visits all."""
    path = tmp_path / "run.html"
    path.write_text(timeline.page(timeline.load(write_timeline(many_bars(100_000)))))
    began = time.monotonic()
    browser.open(path)
    assert time.monotonic() - began < 60  # it opens at all
    assert browser.evaluate("document.getElementById('facts').innerText").find("100,000") > 0
    drawn = """(() => {
      const { view } = headraceTimeline, draw = view.drawBar;
      let count = 0;
      view.drawBar = (...parts) => { ++count; draw.apply(view, parts); };
      view.draw();
      view.drawBar = draw;
      return count;
    })()"""
    rows = browser.evaluate(
        "headraceTimeline.view.timeline.lanes.reduce((sum, lane) => sum + lane.rows.length, 0)"
    )
    whole = browser.evaluate(drawn)
    assert 1000 < whole <= 2 * 1400 * rows
    browser.evaluate("headraceTimeline.view.look(100000, 100100)")
    assert 20 < browser.evaluate(drawn) < 100
    browser.picture(tmp_path / "page.png")
    assert browser.problems == []


def test_a_timeline_with_nothing_in_it(browser, write_timeline, tmp_path):
    path = tmp_path / "run.html"
    path.write_text(timeline.page(timeline.load(write_timeline([], otherData={"lost": 7}))))
    browser.open(path)
    notice = browser.evaluate("document.getElementById('notice').innerText")
    assert "no bars" in notice and "7 older records" in notice
    for key in ("+", "-", "n", "f", "]", "ArrowLeft", "ArrowDown"):
        browser.key(key)
    assert browser.problems == []


def test_two_clocks_can_be_switched(browser, write_timeline, events, tmp_path):
    virtual = [
        {"ph": "M", "name": "process_labels", "pid": 7, "args": {"labels": "virtual time"}},
        {"ph": "X", "name": "allreduce", "cat": "operator", "pid": 7, "tid": 9, "ts": 0, "dur": 1},
    ]
    path = tmp_path / "run.html"
    path.write_text(timeline.page(timeline.load(write_timeline(events + virtual))))
    browser.open(path)
    assert "allreduce" in browser.evaluate("document.getElementById('totals').innerText")
    browser.evaluate("document.querySelector('#clocks button[value=real]').click()")
    assert "allreduce" not in browser.evaluate("document.getElementById('totals').innerText")
    assert browser.problems == []
