// What stands around the picture: facts, tables, the tooltip and the details of the selected bar.
"use strict";

const TimelinePanels = (() => {
  const { formatTime, formatValue, tintOf, percent } = TimelineFormat;
  const element = (id) => document.getElementById(id);

  function make(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  // A table whose heads sort it. Columns: {title, key, show?, cell?}; the first column sorts by text.
  class Table {
    constructor(table, columns, key, onRow) {
      Object.assign(this, { table, columns, key, onRow, descending: true, rows: [] });
      const head = make("tr");
      for (const column of columns) {
        const cell = make("th", undefined, { scope: "col" }), button = make("button", column.title, { type: "button" });
        button.addEventListener("click", () => this.sortBy(column.key));
        cell.dataset.key = column.key;
        cell.append(button);
        head.append(cell);
      }
      table.createTHead().append(head);
      this.body = table.createTBody();
    }

    sortBy(key) {
      this.descending = key === this.key ? !this.descending : key !== this.columns[0].key;
      this.key = key;
      this.show(this.rows);
    }

    show(rows) {
      this.rows = rows;
      const order = (a, b) => {
        const [x, y] = [a[this.key], b[this.key]];
        return (typeof x === "string" ? x.localeCompare(y) : x - y) * (this.descending ? -1 : 1);
      };
      this.body.replaceChildren(...[...rows].sort(order).map((row) => this.rowOf(row)));
      for (const cell of this.table.querySelectorAll("thead th")) {
        const sorts = cell.dataset.key === this.key;
        cell.setAttribute("aria-sort", !sorts ? "none" : this.descending ? "descending" : "ascending");
        cell.firstChild.textContent =
          this.columns.find((column) => column.key === cell.dataset.key).title + (!sorts ? "" : this.descending ? " ↓" : " ↑");
      }
    }

    rowOf(row) {
      const made = make("tr");
      for (const column of this.columns) {
        const cell = make("td");
        if (column.cell) cell.append(...column.cell(row));
        else cell.textContent = column.show ? column.show(row[column.key]) : row[column.key];
        made.append(cell);
      }
      if (this.onRow) made.addEventListener("click", () => this.onRow(row));
      return made;
    }
  }

  function nameCell(row) {
    const swatch = make("span", undefined, { class: "swatch" });
    const { hue, lighter } = tintOf(row.name);
    swatch.style.background = `hsl(${hue} var(--bar-strong) calc(var(--bar-light) + ${lighter}%))`;
    return [swatch, row.name];
  }

  function shareCell(row) {
    const box = make("div", undefined, { class: "share" }), bar = make("i");
    bar.style.width = `${row.share * 100}%`;
    box.append(bar, make("span", percent(row.share)));
    return [box];
  }

  const TOTALS = [
    { title: "name", key: "name", cell: nameCell },
    { title: "category", key: "category" },
    { title: "count", key: "count", show: (count) => count.toLocaleString("en") },
    { title: "total", key: "total", show: formatTime },
    { title: "self", key: "self", show: formatTime },
    { title: "mean", key: "mean", show: formatTime },
    { title: "max", key: "max", show: formatTime },
  ];
  const LANES = [
    { title: "lane", key: "name" },
    { title: "group", key: "group" },
    { title: "bars", key: "count", show: (count) => count.toLocaleString("en") },
    { title: "busy", key: "busy", show: formatTime },
    { title: "idle", key: "idle", show: formatTime },
    { title: "busy share", key: "share", cell: shareCell },
  ];

  function makeTables(onName) {
    const totals = new Table(element("totals"), TOTALS, "total", (row) => onName(row.name));
    const lanes = new Table(element("lanes"), LANES, "busy");
    return (timeline) => {
      totals.show(TimelineModel.totals(timeline));
      const { rows, overlap } = TimelineModel.utilisation(timeline);
      lanes.show(rows.map((row) => ({ ...row, name: row.lane.name, group: row.lane.group, count: row.lane.count })));
      element("overlap").textContent = `Overlap ${percent(overlap.ratio)}: at least two lanes were busy for ` +
        `${formatTime(overlap.two)} of the ${formatTime(overlap.one)} in which at least one was.`;
      showFacts(timeline, overlap);
    };
  }

  function showFacts(timeline, overlap) {
    const { begin, end } = TimelineModel.range(timeline);
    const bars = timeline.lanes.reduce((sum, lane) => sum + lane.count, 0);
    const peaks = timeline.curves.filter((curve) => curve.name.startsWith("Peak memory: "));
    const facts = [["time", formatTime(end - begin)], ["bars", bars.toLocaleString("en")],
      ["lanes", timeline.lanes.length], ["overlap", percent(overlap.ratio)],
      ...peaks.map((curve) => [`peak of ${curve.name.slice(13)}`, formatValue(curve.values.at(-1), true)])];
    element("facts").replaceChildren(...facts.map(([title, value]) => {
      const fact = make("div");
      fact.append(make("dt", title), make("dd", value));
      return fact;
    }));
    const notices = [];
    if (!bars) notices.push("This timeline has no bars: nothing ran while it was recorded.");
    if (timeline.lost)
      notices.push(`${timeline.lost.toLocaleString("en")} older records were overwritten before the file was written: ` +
        "counts and totals are of what is left. Record a shorter stretch to see all of it.");
    element("notice").hidden = !notices.length;
    element("notice").textContent = notices.join(" ");
  }

  // The parts of a bar's description: [title, text].
  function describe(timeline, { lane, index }) {
    const parts = [["lane", `${lane.group}, ${lane.name}`], ["begins", formatTime(lane.begins[index], 3)],
      ["lasts", formatTime(lane.durations[index], 3)]];
    const category = timeline.categories[lane.categories[index]];
    if (category) parts.push(["category", category]);
    const origin = timeline.lanes.find((other) => other.number === lane.originLanes[index]);
    if (origin) parts.push(["pushed", `by ${origin.name}, ` +
      `${formatTime(lane.begins[index] - lane.originTimes[index], 3)} before it ran`]);
    return parts;
  }

  function showTooltip(timeline, bar, x, y) {
    const tooltip = element("tooltip");
    tooltip.hidden = !bar;
    if (!bar) return;
    const lines = describe(timeline, bar).flatMap(([title, text]) => [make("span", `${title} `), text, make("br")]);
    tooltip.replaceChildren(make("b", timeline.names[bar.lane.names[bar.index]]), ...lines.slice(0, -1));
    placeTooltip(tooltip, x, y);
  }

  function placeTooltip(tooltip, x, y) {
    const stage = element("stage");
    tooltip.style.left = `${Math.max(4, Math.min(x + 14, stage.clientWidth - tooltip.offsetWidth - 8))}px`;
    const below = y + 18 + tooltip.offsetHeight < stage.clientHeight;
    tooltip.style.top = `${below ? y + 18 : Math.max(4, y - tooltip.offsetHeight - 10)}px`;
  }

  function showValues(panel, time, x, y) {
    const tooltip = element("tooltip");
    const lines = panel.curves.flatMap((curve) => {
      const value = TimelineModel.valueAt(curve, time);
      const text = value === undefined ? "not known yet" : formatValue(value, panel.isMemory);
      return [make("span", `${curve.label} `), text, make("br")];
    });
    tooltip.hidden = false;
    tooltip.replaceChildren(make("b", panel.name), ...lines.slice(0, -1));
    placeTooltip(tooltip, x, y);
  }

  function showDetail(timeline, bar) {
    const detail = element("detail");
    detail.hidden = !bar;
    if (!bar) return;
    detail.replaceChildren(make("b", timeline.names[bar.lane.names[bar.index]]),
      ...describe(timeline, bar).map(([title, text]) => make("span", `${title}: ${text}`)));
  }

  return { makeTables, showTooltip, showValues, showDetail, element, make };
})();
