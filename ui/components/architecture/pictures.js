// Tensors made small. Needs colour.js.

const sheet = document.createElement("canvas");

/** A picture of bytes as a data address. Few weights are drawn with gaps between them; masked ones are left out. */
function painted(bytes, kind, height, width, palette) {
  const scale = palette.scales[kind].pixels;
  const big = kind === "weight" && Math.max(height, width) <= 16;
  const [cell, gap] = big ? [12, 2] : [1, 0];
  sheet.width = width * cell;
  sheet.height = height * cell;
  const context = sheet.getContext("2d");
  const image = context.createImageData(sheet.width, sheet.height);
  const out = new Uint32Array(image.data.buffer);
  for (let i = 0; i < bytes.length; i++) {
    if (kind === "weight" && bytes[i] === 255) continue;
    const colour = scale[Math.round((bytes[i] / 254) * LEVELS)];
    const start = Math.floor(i / width) * cell * sheet.width + (i % width) * cell;
    for (let y = gap / 2; y < cell - gap / 2; y++) out.fill(colour, start + y * sheet.width + gap / 2, start + y * sheet.width + cell - gap / 2);
  }
  context.putImageData(image, 0, 0);
  return sheet.toDataURL();
}

function scaleImage(scale) {
  sheet.width = 64;
  sheet.height = 1;
  const context = sheet.getContext("2d");
  for (let i = 0; i < 64; i++) {
    context.fillStyle = scale.css[Math.round((i / 63) * LEVELS)];
    context.fillRect(i, 0, 1, 1);
  }
  return sheet.toDataURL();
}

/** Bars of up to full height, side by side. */
function bars(bytes, { x, y, w, h }) {
  const step = Math.min(w / bytes.length, 14);
  const start = x + (w - step * bytes.length) / 2;
  const wide = step > 4 ? step - 2 : step * 0.8;
  return Array.from(bytes, (byte, i) => {
    const tall = Math.max(1, (byte / 254) * h);
    return `M${(start + i * step).toFixed(2)} ${(y + h).toFixed(2)}v${-tall.toFixed(2)}h${wide.toFixed(2)}v${tall.toFixed(2)}Z`;
  }).join("");
}
