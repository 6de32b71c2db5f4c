// A figure as the text of an SVG file, as a canvas for a PNG file, and how files are saved. Needs shared.js.

/** Save `blob` under `name`, without whatever a file system could take for more than a name. */
function save(blob, name, kind) {
  const link = el("a");
  link.href = URL.createObjectURL(blob);
  const plain = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 80);
  link.download = `${plain || "matrix"}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function asSvg({ width, height, ground, family, shapes }) {
  const safe = (text) =>
    String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "�");
  const n = (value) => Number(value.toFixed(2));
  const draw = {
    rect: (s) =>
      `<rect x="${n(s.x)}" y="${n(s.y)}" width="${n(s.w)}" height="${n(s.h)}" rx="${s.round}" fill="${safe(s.fill)}"` +
      (s.stroke ? ` stroke="${safe(s.stroke)}" stroke-width="${s.line}"/>` : "/>"),
    lines: (s) => `<path d="${s.lines.map((l) => `M${n(l[0])} ${n(l[1])}L${n(l[2])} ${n(l[3])}`).join("")}" stroke="${safe(s.stroke)}"/>`,
    text: (s) =>
      `<text x="${n(s.x)}" y="${n(s.y)}" font-size="${s.size}" fill="${safe(s.fill)}" text-anchor="${s.anchor}"` +
      ` font-weight="${s.weight}" dominant-baseline="central"` +
      (s.turn ? ` transform="rotate(${s.turn} ${n(s.x)} ${n(s.y)})"` : "") + `>${safe(s.text)}</text>`,
  };
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="${safe(family)}"><rect width="100%" height="100%" fill="${safe(ground)}"/>` +
    shapes.map((s) => draw[s.kind](s)).join("") + "</svg>"
  );
}

function asCanvas({ width, height, ground, family, shapes }) {
  const canvas = document.createElement("canvas");
  const zoom = Math.min(2, 8000 / Math.max(width, height));
  canvas.width = width * zoom;
  canvas.height = height * zoom;
  const c = canvas.getContext("2d");
  c.scale(zoom, zoom);
  c.fillStyle = ground;
  c.fillRect(0, 0, width, height);
  c.textBaseline = "middle";
  const draw = {
    rect(s) {
      c.beginPath();
      c.roundRect(s.x, s.y, s.w, s.h, s.round);
      if (s.fill !== "none") {
        c.fillStyle = s.fill;
        c.fill();
      }
      if (s.stroke) {
        c.strokeStyle = s.stroke;
        c.lineWidth = s.line;
        c.stroke();
      }
    },
    lines(s) {
      c.beginPath();
      for (const [x1, y1, x2, y2] of s.lines) {
        c.moveTo(x1, y1);
        c.lineTo(x2, y2);
      }
      c.strokeStyle = s.stroke;
      c.lineWidth = 1;
      c.stroke();
    },
    text(s) {
      c.save();
      c.translate(s.x, s.y);
      c.rotate((s.turn * Math.PI) / 180);
      c.font = `${s.weight} ${s.size}px ${family}`;
      c.textAlign = s.anchor === "middle" ? "center" : s.anchor;
      c.fillStyle = s.fill;
      c.fillText(s.text, 0, 0);
      c.restore();
    },
  };
  for (const shape of shapes) draw[shape.kind](shape);
  return canvas;
}
