// The data of a timeline and what is computed from it; knows no page. Times are microseconds.
"use strict";

const TimelineModel = (() => {
  // Times are rounded to a nanosecond when they are written, so neighbours may seem to overlap by that much.
  const SLACK = 2e-3;
  // Categories of bars that are no work: waiting, and what the program marks itself.
  const NOT_WORK = new Set(["MXNET_C_API", "event", "scope"]);
  const LINK = "link";
  const MEMORY = "Device Storage";

  function column(text, Type) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Type(bytes.buffer);
  }

  // The first place in sorted `values` whose value exceeds `limit`.
  function above(values, limit) {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] > limit) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Bars that do not overlap, in order: one line of a lane. `filled[i]` is the time that the bars before `i` take.
  function makeRow(lane, members) {
    const begins = new Float64Array(members.length), ends = new Float64Array(members.length);
    const filled = new Float64Array(members.length + 1);
    members.forEach((index, i) => {
      begins[i] = lane.begins[index];
      ends[i] = lane.ends[index];
      filled[i + 1] = filled[i] + ends[i] - begins[i];
    });
    return { members: Int32Array.from(members), begins, ends, filled };
  }

  // Each bar goes into the first row that is free: what is nested comes below what it is nested in.
  function makeRows(lane) {
    const rows = [], lastEnds = [];
    lane.rowOf = new Uint16Array(lane.count);
    for (let i = 0; i < lane.count; ++i) {
      let row = lastEnds.findIndex((end) => end <= lane.begins[i] + SLACK);
      if (row < 0) row = rows.push([]) - 1;
      rows[row].push(i);
      lastEnds[row] = lane.ends[i];
      lane.rowOf[i] = row;
    }
    return rows.map((members) => makeRow(lane, members));
  }

  // The time that each bar takes without the bars inside it.
  function selfTimes(lane) {
    const self = Float64Array.from(lane.durations), open = [];
    for (let i = 0; i < lane.count; ++i) {
      while (open.length && lane.ends[open[open.length - 1]] <= lane.begins[i] + SLACK) open.pop();
      const outer = open[open.length - 1];
      if (outer !== undefined && lane.ends[i] <= lane.ends[outer] + SLACK) self[outer] -= lane.durations[i];
      open.push(i);
    }
    return self;
  }

  function decodeLane(raw, number) {
    const lane = {
      number, name: raw.name, group: raw.group, clock: raw.clock, kind: raw.kind,
      begins: column(raw.begins, Float64Array), durations: column(raw.durations, Float64Array),
      names: column(raw.names, Int32Array), categories: column(raw.categories, Int32Array),
      originLanes: column(raw.originLanes, Int32Array), originTimes: column(raw.originTimes, Float64Array),
    };
    lane.count = lane.begins.length;
    lane.ends = lane.begins.map((begin, i) => begin + lane.durations[i]);
    lane.rows = makeRows(lane);
    return lane;
  }

  function decode(raw) {
    return {
      names: raw.names, categories: raw.categories, lost: raw.lost, marks: raw.marks,
      lanes: raw.lanes.map(decodeLane),
      curves: raw.curves.map((curve) => ({
        ...curve, times: column(curve.times, Float64Array), values: column(curve.values, Float64Array),
      })),
    };
  }

  // The part of a timeline that one clock measures. Lanes keep their numbers.
  function ofClock(timeline, clock) {
    const same = (part) => part.clock === clock;
    return {
      ...timeline, lanes: timeline.lanes.filter(same), curves: timeline.curves.filter(same),
      marks: timeline.marks.filter(same),
    };
  }

  const clocks = (timeline) => [...new Set(timeline.lanes.concat(timeline.curves).map((part) => part.clock))];

  function range(timeline) {
    let begin = Infinity, end = -Infinity;
    for (const lane of timeline.lanes) {
      for (let i = 0; i < lane.count; ++i) {
        if (lane.begins[i] < begin) begin = lane.begins[i];
        if (lane.ends[i] > end) end = lane.ends[i];
      }
    }
    for (const curve of timeline.curves) {
      if (!curve.times.length) continue;
      begin = Math.min(begin, curve.times[0]);
      end = Math.max(end, curve.times[curve.times.length - 1]);
    }
    for (const mark of timeline.marks) {
      begin = Math.min(begin, mark.time);
      end = Math.max(end, mark.time);
    }
    if (begin > end) return { begin: 0, end: 1 };
    return { begin, end: end > begin ? end : begin + 1 };
  }

  // When an operation runs in the lane: disjoint intervals in order, [begin, end, begin, end, ...].
  function busyIntervals(timeline, lane) {
    const intervals = [];
    if (lane.kind !== "work") return intervals;
    for (let i = 0; i < lane.count; ++i) {
      if (NOT_WORK.has(timeline.categories[lane.categories[i]])) continue;
      const last = intervals.length - 1;
      if (last > 0 && lane.begins[i] <= intervals[last]) intervals[last] = Math.max(intervals[last], lane.ends[i]);
      else intervals.push(lane.begins[i], lane.ends[i]);
    }
    return intervals;
  }

  // Time with at least one busy lane, and with at least two.
  function overlap(listOfIntervals) {
    const steps = [];
    for (const intervals of listOfIntervals)
      for (let i = 0; i < intervals.length; i += 2) steps.push([intervals[i], 1], [intervals[i + 1], -1]);
    steps.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let busy = 0, one = 0, two = 0, before = 0;
    for (const [time, change] of steps) {
      if (busy >= 1) one += time - before;
      if (busy >= 2) two += time - before;
      busy += change;
      before = time;
    }
    return { one, two, ratio: one > 0 ? two / one : 0 };
  }

  // Busy and idle time of each lane of work, and the overlap of all but links: what passes a link is the work of a stream.
  function utilisation(timeline) {
    const { begin, end } = range(timeline);
    const lanes = timeline.lanes.filter((lane) => lane.kind === "work");
    const intervals = lanes.map((lane) => busyIntervals(timeline, lane));
    const rows = lanes.map((lane, number) => {
      let busy = 0;
      for (let i = 0; i < intervals[number].length; i += 2) busy += intervals[number][i + 1] - intervals[number][i];
      return { lane, busy, idle: end - begin - busy, share: busy / (end - begin) };
    });
    const isLink = (lane) => lane.count > 0 && timeline.categories[lane.categories[0]] === LINK;
    return { rows, overlap: overlap(intervals.filter((_, number) => !isLink(lanes[number]))) };
  }

  // One row per name and category.
  function totals(timeline) {
    const rows = new Map();
    for (const lane of timeline.lanes) {
      const self = selfTimes(lane);
      for (let i = 0; i < lane.count; ++i) {
        const key = lane.names[i] * timeline.categories.length + lane.categories[i];
        let row = rows.get(key);
        if (!row) {
          const name = timeline.names[lane.names[i]], category = timeline.categories[lane.categories[i]];
          rows.set(key, (row = { name, category, count: 0, total: 0, self: 0, max: 0 }));
        }
        ++row.count;
        row.total += lane.durations[i];
        row.self += lane.kind === "work" ? self[i] : lane.durations[i];
        row.max = Math.max(row.max, lane.durations[i]);
      }
    }
    return [...rows.values()].map((row) => ({ ...row, mean: row.total / row.count }));
  }

  // Bars whose name contains the text, whatever its case, by time: [{lane, index}].
  function search(timeline, text) {
    const wanted = text.trim().toLowerCase(), found = [];
    if (!wanted) return { names: new Set(), found };
    const names = new Set();
    timeline.names.forEach((name, i) => name.toLowerCase().includes(wanted) && names.add(i));
    for (const lane of timeline.lanes)
      for (let index = 0; index < lane.count; ++index) if (names.has(lane.names[index])) found.push({ lane, index });
    found.sort((a, b) => a.lane.begins[a.index] - b.lane.begins[b.index]);
    return { names, found };
  }

  // Arrows of a bar: from where it was pushed, and to the first `most` bars that were pushed while it ran.
  function arrows(timeline, { lane, index }, most = 200) {
    const found = [], byNumber = new Map(timeline.lanes.map((other) => [other.number, other]));
    const origin = byNumber.get(lane.originLanes[index]);
    if (origin) found.push({ from: origin, at: lane.originTimes[index], to: lane, index });
    for (const other of timeline.lanes) {
      for (let i = 0; i < other.count && found.length < most; ++i) {
        if (other.originLanes[i] !== lane.number || (other === lane && i === index)) continue;
        const at = other.originTimes[i];
        if (at >= lane.begins[index] && at <= lane.ends[index]) found.push({ from: lane, at, to: other, index: i });
      }
    }
    return found;
  }

  // The bar of a row at a time, or within `reach` of it; -1: none.
  function barAt(row, time, reach) {
    const place = above(row.ends, time - reach);
    return place < row.members.length && row.begins[place] <= time + reach ? row.members[place] : -1;
  }

  // What to draw of a row between two times, at most two pieces per pixel: draw(begin, end, bar, filled). A piece of
  // bars thinner than a pixel has the first one's number and the part of it that is filled; other pieces have 1.
  function pieces(row, begin, end, perPixel, draw) {
    let i = above(row.ends, begin);
    while (i < row.members.length && row.begins[i] < end) {
      if (row.ends[i] - row.begins[i] >= perPixel) {
        draw(row.begins[i], row.ends[i], row.members[i], 1);
        ++i;
        continue;
      }
      const from = begin + Math.floor((row.begins[i] - begin) / perPixel) * perPixel, to = from + perPixel;
      let next = Math.max(i + 1, above(row.ends, to));
      draw(from, to, row.members[i], Math.min(1, (row.filled[next] - row.filled[i]) / perPixel));
      i = next;
    }
  }

  // Curves that belong in one picture: those of one device's memory, or one alone.
  function curvePanels(timeline) {
    const panels = new Map();
    for (const curve of timeline.curves) {
      const isMemory = curve.category === MEMORY, split = curve.name.indexOf(": ");
      const key = isMemory && split > 0 ? `memory of ${curve.name.slice(split + 2)}` : curve.name;
      if (!panels.has(key)) panels.set(key, { name: key, isMemory, curves: [], most: 0, least: 0 });
      const panel = panels.get(key);
      const label = !isMemory ? curve.name : { Memory: "live" }[curve.name.slice(0, split)] ??
        curve.name.slice(0, split).replace(/ memory$/, "").toLowerCase();
      panel.curves.push({ ...curve, label });
      for (const value of curve.values) {
        panel.most = Math.max(panel.most, value);
        panel.least = Math.min(panel.least, value);
      }
    }
    return [...panels.values()];
  }

  // The value of a curve at a time; undefined before the first.
  const valueAt = (curve, time) => curve.values[above(curve.times, time) - 1];

  return { decode, ofClock, clocks, range, busyIntervals, overlap, utilisation, totals, search, arrows, above, barAt,
    pieces, curvePanels, valueAt };
})();

if (typeof module !== "undefined") module.exports = TimelineModel;
