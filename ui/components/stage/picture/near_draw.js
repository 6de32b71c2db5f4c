// How a block seen from near is drawn, and how the picture comes near.

/** Where the picture is taken from on its way to a block, which the moment opens. */
function approach(scene, u, { width, height }) {
  const { x, y, w, h } = scene.blocks.find((one) => one.panel === scene.moment.panel && one.part === scene.moment.part);
  const share = between(u, 0, ARRIVED);
  const k = mixed(1, Math.min(3, 0.9 * Math.min(width / w, height / h)), share);
  const clamp = (value, most) => Math.min(Math.max(0, most), Math.max(0, value));
  return { k, x: clamp(share * (x + w / 2 - width / k / 2), width - width / k), y: clamp(share * (y + h / 2 - height / k / 2), height - height / k) };
}

class NearPainter {
  /** painter: of the whole machine; its pen, colours and text are used. */
  constructor(painter) {
    this.painter = painter;
    this.strips = new Map();
  }

  renew() {
    this.strips.clear();
  }

  paint(near) {
    const { painter } = this;
    const { pen, ratio, palette } = painter;
    if (near.alpha < 0.01) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.globalAlpha = near.alpha;
    pen.fillStyle = palette.ground;
    pen.fillRect(0, 0, near.width, near.height);
    painter.rect(0.5, 0.5, near.width - 1, near.height - 1, 12);
    pen.fillStyle = painter.faint(0.022);
    pen.fill();
    pen.lineWidth = 1;
    pen.strokeStyle = painter.side(near.side, 0.6);
    pen.stroke();
    for (const one of near.lines) this.line(one, near.alpha);
    for (const one of near.columns) this.column(near, one);
    for (const one of near.bars) this.bar(near, one);
    for (const one of near.pieces) painter.piece({ ...one, alpha: one.alpha * near.alpha });
    for (const one of near.crosses) this.cross(one, near.alpha);
    for (const one of near.texts) this.text(near, one);
    pen.globalAlpha = 1;
  }

  text(near, { text, x, y, role, muted, halo, alpha, ...style }) {
    const { painter } = this;
    if (alpha < 0.01) return;
    painter.pen.globalAlpha = alpha * near.alpha;
    const colour = role ? painter.roles[role] : muted ? painter.palette.muted : painter.palette.text;
    painter.text(text, x, y, { ...style, colour, halo: halo ? painter.palette.ground : "" });
  }

  line(one, alpha) {
    const { painter } = this;
    if (one.grown <= 0) return;
    if (!one.bent && !one.arrow) return painter.line(one, painter.roles[one.role], alpha);
    const { pen } = painter;
    const points = one.bent ?? [[one.x1, one.y1], [one.x2, one.y2]];
    const length = points.slice(1).reduce((sum, [x, y], n) => sum + Math.hypot(x - points[n][0], y - points[n][1]), 0);
    pen.globalAlpha = alpha * one.alpha;
    pen.strokeStyle = painter.roles[one.role];
    pen.lineWidth = one.width;
    pen.lineJoin = "round";
    pen.setLineDash([length * one.grown, length]);
    pen.beginPath();
    points.forEach(([x, y], n) => (n ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.stroke();
    pen.setLineDash([]);
    if (!one.arrow || one.grown < 1) return;
    pen.fillStyle = painter.roles[one.role];
    pen.beginPath();
    pen.moveTo(one.x2 + 2, one.y2);
    pen.lineTo(one.x2 - 6, one.y2 - 5);
    pen.lineTo(one.x2 - 6, one.y2 + 5);
    pen.fill();
  }

  bar({ alpha }, one) {
    const { pen, roles } = this.painter;
    pen.globalAlpha = alpha * one.alpha;
    pen.fillStyle = roles.source;
    pen.fillRect(one.x, one.y, one.w, one.h);
  }

  cross({ x, y, w, h }, alpha) {
    const { pen, palette } = this.painter;
    pen.globalAlpha = alpha;
    pen.strokeStyle = palette.muted;
    pen.lineWidth = 2;
    pen.beginPath();
    for (const [from, to] of [[y, y + h], [y + h, y]]) {
      pen.moveTo(x, from);
      pen.lineTo(x + w, to);
    }
    pen.stroke();
  }

  /** Numbers as colours from the foot up, in a frame of their role. */
  column(near, one) {
    const { pen, palette, roles } = this.painter;
    const { x, y, w, h, grown, role } = one;
    const alpha = near.alpha * one.alpha;
    if (alpha < 0.01) return;
    pen.globalAlpha = alpha;
    pen.lineWidth = role ? 2 : 1;
    pen.strokeStyle = role ? roles[role] : palette.border;
    pen.strokeRect(x - 2, y - 2, w + 4, h + 4);
    const strip = this.strip(near, one);
    const rows = Math.round(strip.height * grown);
    if (rows) pen.drawImage(strip, 0, strip.height - rows, strip.width, rows, x, y + h * (1 - rows / strip.height), w, (h * rows) / strip.height);
  }

  strip({ data }, { tensor, index, across }) {
    const key = [tensor, across, ...index].join();
    if (this.strips.has(key)) return this.strips.get(key);
    const values = slice(data.tensors[tensor], index);
    const { palette } = this.painter;
    const strip = stripOf(values, across, limitOf(data.tensors[tensor]), palette);
    this.strips.set(key, strip);
    return strip;
  }
}

/** Numbers as pixels, so many in a row. */
function stripOf(values, across, limit, palette) {
  const strip = document.createElement("canvas");
  [strip.width, strip.height] = [across, Math.ceil(values.length / across)];
  const pen = strip.getContext("2d");
  const image = pen.createImageData(strip.width, strip.height);
  const pixels = new Uint32Array(image.data.buffer);
  values.forEach((value, n) => {
    const level = levelOf(value, "signed", limit);
    pixels[n] = level < 0 ? palette.neutralPixel : palette.scales.signed.pixels[level];
  });
  pen.putImageData(image, 0, 0);
  return strip;
}
