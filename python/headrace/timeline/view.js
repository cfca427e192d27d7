// Draws a timeline on a canvas: a ruler, the curves of counters, and the lanes with their bars.
"use strict";

const TimelineView = (() => {
  const { pieces, barAt } = TimelineModel;
  const { formatTime, tintOf } = TimelineFormat;
  const { Strip, packed, packedHex } = TimelineStrip;
  const GUTTER = 190, RULER = 26, BAR = 17, LANE_GAP = 5, GROUP = 22, CURVE = 64;
  const NARROW = 3, NAMED = 26;  // bars below the first width are pixels of a strip, from the second on they have names

  class View {
    constructor(canvas) {
      this.canvas = canvas;
      this.context = canvas.getContext("2d");
      this.top = 0;  // pixels scrolled down
      this.selected = null;
      this.arrows = [];
      this.matches = new Set();
      this.pending = false;
      this.strip = new Strip();
      this.readTheme();
    }

    readTheme() {
      const style = getComputedStyle(document.documentElement);
      const read = (name) => style.getPropertyValue(name).trim();
      this.theme = {
        panel: read("--panel"), ink: read("--ink"), soft: read("--soft"), line: read("--line"), lane: read("--lane"),
        accent: read("--accent"), match: read("--match"), barInk: read("--bar-ink"),
        light: parseFloat(read("--bar-light")), strong: parseFloat(read("--bar-strong")),
      };
      this.colours = new Map();
    }

    show(timeline) {
      this.timeline = timeline;
      this.full = TimelineModel.range(timeline);
      this.panels = TimelineModel.curvePanels(timeline);
      this.selected = null;
      this.arrows = [];
      this.top = 0;
      this.place();
      this.fit();
    }

    // Where everything is, from the top of the picture: curves, then lanes by group.
    place() {
      let y = RULER + 4;
      this.boxes = [];
      for (const panel of this.panels) {
        this.boxes.push({ panel, y, height: CURVE });
        y += CURVE + 10;
      }
      let group;
      for (const lane of this.timeline.lanes) {
        if (lane.group !== group) {
          group = lane.group;
          this.boxes.push({ group, y, height: GROUP });
          y += GROUP;
        }
        const height = lane.rows.length * BAR;
        this.boxes.push({ lane, y, height });
        y += height + LANE_GAP;
      }
      this.height = y + 8;
    }

    resize() {
      const { clientWidth, clientHeight } = this.canvas, ratio = devicePixelRatio || 1;
      this.width = clientWidth;
      this.visible = clientHeight;
      this.canvas.width = Math.round(clientWidth * ratio);
      this.canvas.height = Math.round(clientHeight * ratio);
      this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.scroll(0);
    }

    fit() {
      const margin = (this.full.end - this.full.begin) * 0.01;
      this.look(this.full.begin - margin, this.full.end + margin);
    }

    // Shows these times, kept within reach of what there is.
    look(begin, end) {
      const whole = this.full.end - this.full.begin;
      const span = Math.min(Math.max(end - begin, 0.01), whole * 1.2);
      const middle = Math.min(Math.max((begin + end) / 2, this.full.begin), this.full.end);
      this.begin = middle - span / 2;
      this.end = middle + span / 2;
      this.redraw();
    }

    zoom(factor, time = (this.begin + this.end) / 2) {
      this.look(time - (time - this.begin) * factor, time + (this.end - time) * factor);
    }

    pan(pixels) {
      const shift = pixels * this.perPixel();
      this.look(this.begin + shift, this.end + shift);
    }

    scroll(pixels) {
      this.top = Math.max(0, Math.min(this.top + pixels, this.height - this.visible));
      this.redraw();
    }

    perPixel() { return (this.end - this.begin) / Math.max(1, this.width - GUTTER); }
    timeAt(x) { return this.begin + (x - GUTTER) * this.perPixel(); }
    xAt(time) { return GUTTER + (time - this.begin) / this.perPixel(); }
    boxAt(y) { return this.boxes.find((box) => y + this.top >= box.y && y + this.top < box.y + box.height); }
    boxOf(lane) { return this.boxes.find((box) => box.lane === lane); }

    // The bar under a point of the canvas, or null.
    hit(x, y) {
      const box = x >= GUTTER && y >= RULER ? this.boxAt(y) : null;
      if (!box?.lane) return null;
      const row = box.lane.rows[Math.floor((y + this.top - box.y) / BAR)];
      const index = row ? barAt(row, this.timeAt(x), this.perPixel()) : -1;
      return index < 0 ? null : { lane: box.lane, index };
    }

    // Brings a bar into the picture; `closer` also makes it as wide as half of it.
    reveal({ lane, index }, closer = false) {
      const begin = lane.begins[index], end = lane.ends[index], span = this.end - this.begin;
      if (closer) this.look(begin - (end - begin) / 2 - 0.01, end + (end - begin) / 2 + 0.01);
      else if (begin < this.begin || end > this.end) this.look((begin + end - span) / 2, (begin + end + span) / 2);
      const y = this.boxOf(lane).y + lane.rowOf[index] * BAR;
      if (y - this.top < RULER || y + BAR - this.top > this.visible) this.scroll(y - this.top - this.visible / 2);
      this.redraw();
    }

    redraw() {
      if (this.pending) return;
      this.pending = true;
      requestAnimationFrame(() => {
        this.pending = false;
        this.draw();
      });
    }

    draw() {
      const { context, theme } = this;
      if (!(this.width > GUTTER)) return;  // not laid out yet, or no room
      context.font = "12px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillStyle = theme.panel;
      context.fillRect(0, 0, this.width, this.visible);
      this.drawGrid();
      context.save();
      context.beginPath();
      context.rect(0, RULER, this.width, this.visible - RULER);
      context.clip();
      for (const box of this.boxes) {
        if (box.y + box.height < this.top || box.y > this.top + this.visible) continue;
        if (box.lane) this.drawLane(box);
        else if (box.panel) TimelineCurves.draw(this, box);
        else this.drawGroup(box);
      }
      this.drawMarks();
      this.drawSelection();
      context.restore();
      this.drawScrollBar();
    }

    drawGrid() {
      const { context, theme } = this;
      const rough = this.perPixel() * 110, power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
      context.textAlign = "left";
      for (let i = Math.ceil(this.begin / step); i * step <= this.end; ++i) {
        const x = Math.round(this.xAt(i * step)) + 0.5;
        if (x < GUTTER) continue;
        context.fillStyle = theme.line;
        context.fillRect(x, 0, 1, this.visible);
        context.fillStyle = theme.soft;
        context.fillText(this.tick(i * step, step), x + 5, RULER / 2);
      }
      context.fillStyle = theme.line;
      context.fillRect(0, RULER - 1, this.width, 1);
    }

    // As many digits as tell neighbours apart.
    tick(time, step) {
      const unit = Math.abs(this.end) >= 1e6 ? 1e6 : Math.abs(this.end) >= 1e3 ? 1e3 : 1;
      const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
      return formatTime(time, Math.min(digits, 9));
    }

    drawGroup(box) {
      const { context, theme } = this;
      context.font = "600 12px system-ui, sans-serif";
      this.text(box.group, 10, box.y - this.top + box.height / 2 + 2, GUTTER - 16, theme.ink);
      context.font = "12px system-ui, sans-serif";
    }

    text(text, x, y, room, colour) {
      const { context } = this;
      context.fillStyle = colour;
      context.textAlign = "left";
      if (context.measureText(text).width > room) {
        let length = text.length;
        while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) --length;
        text = `${text.slice(0, length)}…`;
      }
      context.fillText(text, x, y);
    }

    clipToTime(y, height, draw) {
      const { context } = this;
      context.save();
      context.beginPath();
      context.rect(GUTTER, y, this.width - GUTTER, height);
      context.clip();
      draw();
      context.restore();
    }

    drawLane(box) {
      const { context, theme } = this, { lane } = box, y = box.y - this.top;
      this.text(lane.name, 18, y + BAR / 2, GUTTER - 26, theme.soft);
      context.fillStyle = theme.lane;
      context.fillRect(GUTTER, y, this.width - GUTTER, box.height);
      this.clipToTime(y, box.height, () => {
        lane.rows.forEach((row, number) => {
          const at = y + number * BAR;
          this.strip.clear(this.width - GUTTER);
          pieces(row, this.begin, this.end, this.perPixel(),
            (begin, end, bar, filled) => this.drawBar(lane, bar, this.xAt(begin), this.xAt(end), at, filled));
          this.strip.draw(context, GUTTER, at + 1, BAR - 2);
        });
      });
    }

    colourOf(name) {
      let colour = this.colours.get(name);
      if (!colour) {
        const { hue, lighter } = tintOf(this.timeline.names[name]);
        const light = this.theme.light + lighter;
        colour = { css: `hsl(${hue} ${this.theme.strong}% ${light}%)`, packed: packed(hue, this.theme.strong, light) };
        this.colours.set(name, colour);
      }
      return colour;
    }

    drawBar(lane, bar, left, right, y, filled) {
      const { context, theme } = this, name = lane.names[bar], colour = this.colourOf(name);
      const isMatch = this.matches.has(name);
      const opacity = (0.25 + 0.75 * filled) * (this.matches.size && !isMatch ? 0.25 : 1);
      if (right - left < NARROW) {
        this.strip.add(left - GUTTER, right - GUTTER, isMatch ? packedHex(theme.match) : colour.packed, opacity);
        return;
      }
      const from = Math.max(left, GUTTER - 2), width = Math.max(1, Math.min(right, this.width + 2) - from - 1);
      context.globalAlpha = opacity;
      context.fillStyle = colour.css;
      context.fillRect(from, y + 1, width, BAR - 2);
      if (isMatch) {
        context.strokeStyle = theme.match;
        context.lineWidth = 2;
        context.strokeRect(from + 1, y + 2, width - 2, BAR - 4);
      }
      if (width > NAMED) this.text(this.timeline.names[name], from + 4, y + BAR / 2 + 0.5, width - 8, theme.barInk);
      context.globalAlpha = 1;
    }

    drawMarks() {
      const { context, theme } = this;
      for (const mark of this.timeline.marks) {
        const x = this.xAt(mark.time);
        if (x < GUTTER || x > this.width) continue;
        context.fillStyle = theme.accent;
        context.fillRect(x, RULER, 1, this.visible);
        this.text(mark.name, x + 4, RULER + 8, 120, theme.accent);
      }
    }

    drawSelection() {
      if (!this.selected) return;
      const { context, theme } = this, { lane, index } = this.selected;
      this.clipToTime(RULER, this.visible - RULER, () => {
        context.strokeStyle = theme.ink;
        context.lineWidth = 2;
        const y = this.boxOf(lane).y - this.top + lane.rowOf[index] * BAR;
        const left = Math.max(this.xAt(lane.begins[index]), GUTTER - 4);
        const right = Math.min(this.xAt(lane.ends[index]), this.width + 4);
        context.strokeRect(left, y + 1, Math.max(2, right - left), BAR - 2);
        for (const arrow of this.arrows) this.drawArrow(arrow);
      });
    }

    // From the lane and moment of the push to the beginning of the bar.
    drawArrow({ from, at, to, index }) {
      const { context, theme } = this, source = this.boxOf(from), target = this.boxOf(to);
      const x1 = this.xAt(at), x2 = this.xAt(to.begins[index]);
      const y1 = source.y - this.top + BAR / 2, y2 = target.y - this.top + to.rowOf[index] * BAR + BAR / 2;
      const bend = Math.max(20, Math.abs(x2 - x1) / 2);
      context.strokeStyle = context.fillStyle = theme.accent;
      context.lineWidth = 1.5;
      context.beginPath();
      context.arc(x1, y1, 3, 0, 7);
      context.fill();
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 6, y2);
      context.stroke();
      context.beginPath();
      context.moveTo(x2, y2);
      context.lineTo(x2 - 8, y2 - 4);
      context.lineTo(x2 - 8, y2 + 4);
      context.fill();
    }

    drawScrollBar() {
      if (this.height <= this.visible) return;
      const room = this.visible - RULER, length = Math.max(24, (room * this.visible) / this.height);
      this.context.fillStyle = this.theme.soft;
      this.context.globalAlpha = 0.5;
      this.context.fillRect(this.width - 6,
        RULER + ((room - length) * this.top) / (this.height - this.visible), 4, length);
      this.context.globalAlpha = 1;
    }
  }

  return { View, GUTTER, RULER };
})();
