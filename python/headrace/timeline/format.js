// Numbers and names as a reader sees them.
"use strict";

const TimelineFormat = (() => {
  function formatTime(us, digits = 2) {
    const size = Math.abs(us);
    if (size === 0) return "0";
    if (size < 1) return `${(us * 1e3).toFixed(0)} ns`;
    if (size < 1e3) return `${us.toFixed(digits)} µs`;
    if (size < 1e6) return `${(us / 1e3).toFixed(digits)} ms`;
    return `${(us / 1e6).toFixed(digits)} s`;
  }

  function formatValue(value, isMemory) {
    if (!isMemory) return value.toLocaleString("en", { maximumFractionDigits: 3 });
    for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
      if (Math.abs(value) >= size) return `${(value / size).toFixed(2)} ${unit}`;
    return `${value} B`;
  }

  // One colour per name, whatever the file: programs can be compared by it. A hue, and percent to be lighter by.
  function tintOf(name) {
    let hash = 2166136261;
    for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
    return { hue: hash % 360, lighter: [0, 8, 16][(hash >>> 9) % 3] };
  }

  const percent = (share) => `${(share * 100).toFixed(1)} %`;

  return { formatTime, formatValue, tintOf, percent };
})();

if (typeof module !== "undefined") module.exports = TimelineFormat;
