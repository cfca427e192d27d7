// Ties picture, tables and keys together.
"use strict";

(() => {
  const { element, make } = TimelinePanels;
  const everything = TimelineModel.decode(JSON.parse(element("data").textContent));
  element("data").remove();  // decoded: the text would only take memory
  const view = new TimelineView.View(element("canvas"));
  const canvas = view.canvas;
  let timeline, search = { names: new Set(), found: [] }, at = -1;

  function select(bar) {
    view.selected = bar;
    view.arrows = bar ? TimelineModel.arrows(timeline, bar) : [];
    TimelinePanels.showDetail(timeline, bar);
    view.redraw();
  }

  function find(text) {
    search = TimelineModel.search(timeline, text);
    at = -1;
    view.matches = search.names;
    showMatches(text);
    view.redraw();
  }

  function showMatches(text = element("search").value) {
    const count = search.found.length;
    element("matches").textContent = !text.trim() ? "" : at < 0 ? `${count}` : `${at + 1} / ${count}`;
  }

  function jump(step) {
    const count = search.found.length;
    if (!count) return;
    at = at < 0 ? (step > 0 ? 0 : count - 1) : (at + step + count) % count;
    select(search.found[at]);
    view.reveal(search.found[at]);
    showMatches();
  }

  function findByName(name) {
    element("search").value = name;
    find(name);
    jump(1);
  }

  const showTables = TimelinePanels.makeTables(findByName);

  function showClock(clock) {
    timeline = TimelineModel.ofClock(everything, clock);
    view.show(timeline);
    element("stage").style.height = `min(${Math.max(view.height, 160) + 2}px, 64vh)`;
    showTables(timeline);
    select(null);
    find(element("search").value);
    for (const button of element("clocks").children) button.setAttribute("aria-pressed", button.value === clock);
  }

  function makeClocks() {
    const clocks = TimelineModel.clocks(everything);
    element("clocks").hidden = clocks.length < 2;
    element("clocks").append(...clocks.map((clock) => {
      const button = make("button", `${clock} time`, { type: "button", value: clock });
      button.addEventListener("click", () => showClock(clock));
      return button;
    }));
    showClock(clocks.includes("virtual") ? "virtual" : "real");  // a program that has both was run for the first
  }

  // The bar before or after the selected one in its row.
  function neighbour(step) {
    if (!view.selected) return;
    const { lane, index } = view.selected, row = lane.rows[lane.rowOf[index]];
    const place = TimelineModel.above(row.begins, lane.begins[index]) - 1 + step;
    if (place < 0 || place >= row.members.length) return;
    select({ lane, index: row.members[place] });
    view.reveal(view.selected);
  }

  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  function hover(event) {
    const { x, y } = point(event), bar = view.hit(x, y);
    TimelinePanels.showTooltip(timeline, bar, x, y);
    const panel = x >= TimelineView.GUTTER && y >= TimelineView.RULER ? view.boxAt(y)?.panel : null;
    if (panel) TimelinePanels.showValues(panel, view.timeAt(x), x, y);
    canvas.style.cursor = bar ? "pointer" : "";
  }

  function listenToPointer() {
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { ...point(event), moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return hover(event);
      const { x, y } = point(event);
      if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
      drag.moved = true;
      canvas.classList.add("dragged");
      TimelinePanels.showTooltip(timeline, null);
      view.pan(drag.x - x);
      view.scroll(drag.y - y);
      Object.assign(drag, { x, y });
    });
    const end = (event) => {
      if (drag && !drag.moved && event.type === "pointerup") select(view.hit(drag.x, drag.y));
      drag = null;
      canvas.classList.remove("dragged");
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => TimelinePanels.showTooltip(timeline, null));
    canvas.addEventListener("dblclick", (event) => {
      const { x, y } = point(event), bar = view.hit(x, y);
      if (bar) view.reveal(bar, true);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const pixels = event.deltaMode === 1 ? 30 : 1;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        return view.pan((event.deltaX || event.deltaY) * pixels);
      view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * pixels * 0.002))), view.timeAt(point(event).x));
    }, { passive: false });
  }

  function clear() {
    element("search").value = "";
    find("");
    select(null);
    canvas.focus();
  }

  const KEYS = {
    ArrowLeft: () => view.pan(-80), a: () => view.pan(-80), ArrowRight: () => view.pan(80), d: () => view.pan(80),
    ArrowUp: () => view.scroll(-40), ArrowDown: () => view.scroll(40),
    "+": () => view.zoom(0.7), "=": () => view.zoom(0.7), w: () => view.zoom(0.7),
    "-": () => view.zoom(1 / 0.7), s: () => view.zoom(1 / 0.7),
    0: () => view.fit(), Home: () => view.fit(),
    f: () => view.selected && view.reveal(view.selected, true),
    n: () => jump(1), N: () => jump(-1), "[": () => neighbour(-1), "]": () => neighbour(1),
    "/": () => element("search").select(), "?": () => element("help").showModal(), Escape: clear,
  };

  function listenToKeys() {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || element("help").open) return;
      if (event.target === element("search")) {
        if (event.key === "Enter") jump(event.shiftKey ? -1 : 1);
        if (event.key === "Escape") clear();
        return;
      }
      const action = KEYS[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
    element("search").addEventListener("input", (event) => find(event.target.value));
    element("next").addEventListener("click", () => jump(1));
    element("previous").addEventListener("click", () => jump(-1));
    element("fit").addEventListener("click", () => view.fit());
    element("help-button").addEventListener("click", () => element("help").showModal());
  }

  makeClocks();
  listenToPointer();
  listenToKeys();
  new ResizeObserver(() => view.resize()).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    view.readTheme();
    view.redraw();
  });
  globalThis.headraceTimeline = { view, everything };  // for the console, and for tests
})();
