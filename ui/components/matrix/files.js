// A figure as an SVG and as a PNG file, and how files are saved. Needs shared.js.

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

/** The same picture as a PNG file, twice as fine; the browser draws it from the SVG. */
async function asPng(figure) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([asSvg(figure)], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = el("canvas");
  const zoom = Math.min(2, 8000 / Math.max(figure.width, figure.height));
  canvas.width = figure.width * zoom;
  canvas.height = figure.height * zoom;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
