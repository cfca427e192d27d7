// One line of narrow bars as an image: thousands of them cost as much as one rectangle.
"use strict";

const TimelineStrip = (() => {
  // 0xBBGGRR of a colour in hue (degrees), saturation and lightness (percent), as the pixels of an image have it.
  function packed(hue, saturation, lightness) {
    const strength = (saturation / 100) * Math.min(lightness / 100, 1 - lightness / 100);
    const channel = (offset) => {
      const at = (offset + hue / 30) % 12;
      return Math.round(255 * (lightness / 100 - strength * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
    };
    return (channel(4) << 16) | (channel(8) << 8) | channel(0);
  }

  const packedHex = (text) => {
    const value = parseInt(text.slice(1), 16);
    return ((value & 255) << 16) | (value & 0xff00) | (value >> 16);
  };

  class Strip {
    constructor() {
      this.canvas = document.createElement("canvas");
      this.canvas.height = 1;
      this.context = this.canvas.getContext("2d");
    }

    // Begins an empty line of so many pixels.
    clear(width) {
      if (!this.image || this.image.width !== width) {
        this.canvas.width = width;
        this.image = this.context.createImageData(width, 1);
        this.pixels = new Uint32Array(this.image.data.buffer);
      }
      this.pixels.fill(0);
      this.isEmpty = true;
    }

    // Colours at least one pixel.
    add(from, to, colour, opacity) {
      const first = Math.max(0, Math.round(from)), end = Math.min(this.pixels.length, Math.max(first + 1, Math.round(to)));
      const pixel = (colour | (Math.round(opacity * 255) << 24)) >>> 0;
      for (let i = first; i < end; ++i) this.pixels[i] = pixel;
      this.isEmpty = false;
    }

    draw(context, x, y, height) {
      if (this.isEmpty) return;
      this.context.putImageData(this.image, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(this.canvas, x, y, this.pixels.length, height);
    }
  }

  return { Strip, packed, packedHex };
})();

if (typeof module !== "undefined") module.exports = TimelineStrip;
