// Draws the curves of counters into the picture of a view.
"use strict";

const TimelineCurves = (() => {
  const { above } = TimelineModel;
  const { formatValue } = TimelineFormat;
  const DASHES = [[], [5, 3], [2, 3]];
  const HUES = [210, 350, 160];

  function draw(view, box) {
    const { context, theme } = view, { panel } = box, y = box.y - view.top;
    view.text(panel.name, 10, y + 10, TimelineView.GUTTER - 16, theme.ink);
    view.text(`up to ${formatValue(panel.most, panel.isMemory)}`, 10, y + 26, TimelineView.GUTTER - 16, theme.soft);
    context.fillStyle = theme.lane;
    context.fillRect(TimelineView.GUTTER, y, view.width - TimelineView.GUTTER, box.height);
    const scale = (box.height - 4) / Math.max(panel.most - panel.least, 1e-9);
    const yAt = (value) => y + box.height - 2 - (value - panel.least) * scale;
    view.clipToTime(y, box.height, () => panel.curves.forEach((curve, i) => drawCurve(view, curve, i, yAt)));
    if (panel.curves.length > 1) drawLegend(view, panel, y);
  }

  function drawLegend(view, panel, y) {
    const { context, theme } = view;
    let x = 10;
    panel.curves.forEach((curve, i) => {
      context.setLineDash(DASHES[i % DASHES.length]);
      context.strokeStyle = colourOf(i);
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x, y + 48);
      context.lineTo(x + 14, y + 48);
      context.stroke();
      context.setLineDash([]);
      view.text(curve.label, x + 17, y + 48, 60, theme.soft);
      x += 22 + context.measureText(curve.label).width;
    });
  }

  const colourOf = (number) => `hsl(${HUES[number % HUES.length]} 65% 50%)`;

  // A step line; where a pixel has many steps, from their least to their largest value.
  function drawCurve(view, curve, number, yAt) {
    const { context } = view, perPixel = view.perPixel(), { times, values } = curve;
    let i = Math.max(0, above(times, view.begin) - 1);
    context.beginPath();
    context.setLineDash(DASHES[number % DASHES.length]);
    context.strokeStyle = colourOf(number);
    context.lineWidth = 1.5;
    let x = view.xAt(times[i]);
    context.moveTo(x, yAt(values[i]));
    while (i < times.length && times[i] <= view.end) {
      const next = Math.max(i + 1, above(times, times[i] + perPixel));
      let least = values[i], most = values[i];
      for (let j = i + 1; j < next; ++j) {
        least = Math.min(least, values[j]);
        most = Math.max(most, values[j]);
      }
      x = view.xAt(times[i]);
      context.lineTo(x, yAt(values[i]));
      if (least !== most) {
        context.lineTo(x, yAt(most));
        context.lineTo(x, yAt(least));
        context.lineTo(x, yAt(values[next - 1]));
      }
      context.lineTo(next < times.length ? view.xAt(times[next]) : view.width, yAt(values[next - 1]));
      i = next;
    }
    context.stroke();
    context.setLineDash([]);
  }

  return { draw };
})();
