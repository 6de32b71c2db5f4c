// Paints a scene on a canvas. Colours come from the theme; every column is painted once and then copied.

const rolesOf = (dark) =>
  dark
    ? { source: "#56b4e9", target: "#e09cc0", memory: "#2bc79b", focus: "#e69f00" }
    : { source: "#0072b2", target: "#a3467a", memory: "#00795a", focus: "#b36b00" };
const HUES = { embedding: "#e2607c", positions: "#8f72d8", attention: "#ef8b17", feed_forward: "#2f93d0", norm: "#a2b318", output: "#27a566" };

class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.sheets = new Map();
  }

  /** Forget what was painted for another sentence, size or theme. */
  renew(data, palette) {
    this.data = data;
    this.palette = palette;
    this.roles = rolesOf(palette.dark);
    this.sheets.clear();
    const style = getComputedStyle(this.canvas);
    this.family = style.fontFamily;
    const ground = parseColour(palette.ground);
    const text = parseColour(palette.text);
    const tint = (hue, share) => cssColour(mix(ground, parseColour(hue), share).map(Math.round));
    this.faint = (share) => cssColour(mix(ground, text, share).map(Math.round));
    this.tints = Object.fromEntries(Object.entries(HUES).map(([kind, hue]) => [kind, [tint(hue, palette.dark ? 0.2 : 0.13), tint(hue, palette.dark ? 0.07 : 0.05), tint(hue, 0.5)]]));
    this.side = (side, share) => tint(this.roles[side], share);
  }

  fit(width, height, ratio) {
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    this.ratio = ratio;
  }

  /** All columns of a tensor side by side, a pixel a number. */
  sheet(tensor, box) {
    if (this.sheets.has(tensor)) return this.sheets.get(tensor);
    const { values, shape, limit } = this.data.tensors[tensor];
    const [rows, d] = shape;
    const { across, down } = box;
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [rows * across, down];
    const image = sheet.getContext("2d").createImageData(sheet.width, down);
    const pixels = new Uint32Array(image.data.buffer);
    const { signed } = this.palette.scales;
    for (let row = 0; row < rows; row++)
      for (let i = 0; i < d; i++) {
        const level = levelOf(values[row * d + i], "signed", limit);
        pixels[Math.floor(i / across) * sheet.width + row * across + (i % across)] = level < 0 ? this.palette.neutralPixel : signed.pixels[level];
      }
    sheet.getContext("2d").putImageData(image, 0, 0);
    this.sheets.set(tensor, sheet);
    return sheet;
  }

  paint(scene, camera = { x: 0, y: 0, k: 1 }) {
    const { pen, ratio } = this;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.setTransform(ratio * camera.k, 0, 0, ratio * camera.k, -ratio * camera.k * camera.x, -ratio * camera.k * camera.y);
    pen.imageSmoothingEnabled = false;
    scene.boxes.forEach((box, n) => this.panel(scene, box, n));
    this.pipes(scene);
    for (const block of scene.blocks) this.block(scene, block);
    for (const slot of scene.slots) this.slot(slot);
    this.beams(scene);
    this.lines(scene);
    for (const block of scene.blocks) this.label(scene, block);
    for (const tile of scene.tiles) this.tile(scene, tile);
    this.memory(scene);
    this.marked(scene);
    for (const piece of scene.pieces) this.piece(piece);
    this.bars(scene);
    pen.globalAlpha = 1;
  }

  text(text, x, y, { size = 12, weight = 400, align = "center", colour = this.palette.text, most = 0, halo = "" } = {}) {
    const { pen } = this;
    pen.font = `${weight} ${size}px ${this.family}`;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    const shown = most ? this.cut(text, most) : text;
    if (halo) {
      [pen.lineWidth, pen.strokeStyle, pen.lineJoin] = [5, halo, "round"];
      pen.strokeText(shown, x, y);
    }
    pen.fillStyle = colour;
    pen.fillText(shown, x, y);
  }

  cut(text, most) {
    if (this.pen.measureText(text).width <= most) return text;
    const letters = [...text];
    while (letters.length > 1 && this.pen.measureText(`${letters.join("")}…`).width > most) letters.pop();
    return `${letters.join("")}…`;
  }

  rect(x, y, w, h, r) {
    this.pen.beginPath();
    this.pen.roundRect(x, y, w, Math.max(0, h), r);
  }

  panel(scene, box, n) {
    const { pen } = this;
    const { name, side } = this.data.panels[n];
    pen.globalAlpha = 1;
    this.rect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1, 12);
    pen.fillStyle = this.faint(0.022);
    pen.fill();
    pen.lineWidth = 1;
    pen.strokeStyle = box.active ? this.side(side, 0.6) : this.faint(0.14);
    pen.stroke();
    this.text(name.toUpperCase(), box.x + PAD + 2, box.y + 14, { size: 11, weight: 700, align: "left", colour: this.roles[side] });
    const hidden = [Math.round(box.first), box.count - box.shown - Math.round(box.first)];
    const more = [hidden[0] > 0 ? `← ${hidden[0]} more` : "", hidden[1] > 0 ? `${hidden[1]} more →` : ""].filter(Boolean).join("   ");
    if (more) this.text(more, box.x + box.w - PAD - 2, box.y + 14, { size: 11, align: "right", colour: this.palette.muted });
  }

  block(scene, { panel, part, x, y, w, h, open, works }) {
    const { pen } = this;
    const { kind } = this.data.panels[panel].parts[part];
    const [solid, pale, rim] = this.tints[kind];
    const { thin } = scene.boxes[panel];
    const bar = Math.min(h, mixed(h, thin, open));
    pen.globalAlpha = 1;
    if (open > 0.01) {
      this.rect(x, y + 1, w, h - 2, 5);
      pen.fillStyle = pale;
      pen.fill();
    }
    this.rect(x, y + 1, w, bar - 2, 4);
    pen.fillStyle = solid;
    pen.fill();
    if (works) {
      pen.lineWidth = 1;
      pen.strokeStyle = rim;
      pen.stroke();
    }
  }

  /** What stands on a block: in the middle of a closed one, at the upper edge of an open one, before its lines. */
  label(scene, { panel, part, x, y, w, h, open, works }) {
    const { label, layer } = this.data.panels[panel].parts[part];
    const bar = Math.min(h, mixed(h, scene.boxes[panel].thin, open));
    const size = Math.max(9.5, Math.min(12, bar - 3));
    const middle = y + bar / 2 + 0.5;
    this.pen.globalAlpha = 1;
    const halo = open > 0.5 ? this.tints[this.data.panels[panel].parts[part].kind][0] : "";
    if (layer) this.text(`layer ${layer}`, x + 7, middle, { size, align: "left", colour: this.palette.muted, halo });
    this.text(label, x + w / 2, middle, { size, weight: works ? 650 : 400, most: w - 2 * 48, halo });
  }

  slot({ x, y, w, h, alpha }) {
    const { pen } = this;
    pen.globalAlpha = alpha;
    pen.lineWidth = 1;
    pen.strokeStyle = this.faint(0.22);
    pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  }

  tile(scene, { panel, tensor, token, x, y, w, h, alpha, reveal }) {
    if (alpha < 0.01) return;
    const box = scene.boxes[panel];
    const rows = Math.max(1, Math.round(box.down * reveal));
    const skipped = box.down - rows;
    this.pen.globalAlpha = alpha;
    const [px, py] = [Math.round(x * this.ratio) / this.ratio, Math.round(y * this.ratio) / this.ratio];
    this.pen.drawImage(this.sheet(tensor, box), token * box.across, skipped, box.across, rows, px, py + (h * skipped) / box.down, w, (h * rows) / box.down);
  }

  /** A frame around the column that the story, or the pointer, is at. */
  marked(scene) {
    const { attention } = scene;
    if (!attention) return;
    const tile = [...scene.tiles, ...scene.slots].find((one) => one.panel === attention.panel && one.level === attention.part && one.token === attention.row && !one.added);
    if (!tile) return;
    this.pen.globalAlpha = scene.boxes[attention.panel].open.parts[attention.part];
    this.pen.lineWidth = 2;
    this.pen.strokeStyle = this.roles.focus;
    this.rect(tile.x - 2.5, tile.y - 2.5, tile.w + 5, tile.h + 5, 4);
    this.pen.stroke();
  }

  piece({ panel, text, x, y, w, h, alpha, frame, id, showId, flat, small }) {
    const { pen } = this;
    const { side } = this.data.panels[panel];
    pen.globalAlpha = alpha;
    if (frame > 0.01) {
      pen.globalAlpha = alpha * frame;
      this.rect(x + 0.5, y + 0.5, w - 1, h - 1, 6);
      pen.fillStyle = this.side(side, this.palette.dark ? 0.2 : 0.09);
      pen.fill();
      pen.lineWidth = 1;
      pen.strokeStyle = this.side(side, 0.4);
      pen.stroke();
      pen.globalAlpha = alpha;
    }
    if (flat) {
      pen.font = `400 13px ${this.family}`;
      const size = pen.measureText(text).width > w - 6 ? 11 : 13;
      this.text(text, x + w / 2, y + h / 2 + 0.5, { size, most: frame < 0.9 ? 0 : w - 3 });
    }
    else this.upright(text, x + w / 2, y + h - 5 - (1 - frame) * (h / 2 - 5), frame < 0.9 ? 0 : h - 8, frame, small);
    if (showId > 0.01) {
      pen.globalAlpha = alpha * showId;
      if (flat) this.text(id.toLocaleString("en"), x + w / 2, y - 9, { size: 11, colour: this.palette.muted });
      else this.upright(id.toLocaleString("en"), x + w / 2, y - 5, 60);
    }
  }

  /** Text that runs upwards; `turned` 0 to 1 on its way there. */
  upright(text, x, y, most, turned = 1, small = 1) {
    const { pen } = this;
    pen.save();
    pen.translate(x, y);
    pen.rotate((-turned * Math.PI) / 2);
    this.text(text, 0, 0.5, { size: mixed(13 * small, 11.5, turned), align: turned < 0.5 ? "center" : "left", most });
    pen.restore();
  }

  lines(scene) {
    const { pen } = this;
    pen.lineCap = "butt";
    for (const line of [...scene.lines].sort((a, b) => a.strong - b.strong)) {
      const colour = line.memory ? this.roles.memory : this.roles[this.data.panels[line.panel].side];
      const [c1, c2] = controls(line);
      pen.globalAlpha = line.alpha;
      pen.strokeStyle = colour;
      pen.lineWidth = line.width;
      pen.beginPath();
      if (line.grown >= 1) {
        pen.moveTo(line.x1, line.y1);
        pen.bezierCurveTo(...c1, ...c2, line.x2, line.y2);
      } else {
        pen.moveTo(line.x2, line.y2);
        for (let i = 1; i <= 12; i++) pen.lineTo(...along(line, c1, c2, 1 - (line.grown * i) / 12));
      }
      pen.stroke();
      if (line.dot > 0 && line.weight > 0.04) {
        pen.globalAlpha = line.strong ? 1 : 0.55;
        pen.fillStyle = colour;
        pen.beginPath();
        pen.arc(...along(line, c1, c2, ease(line.dot)), Math.max(1.5, line.width / 2 + 1), 0, 7);
        pen.fill();
      }
    }
  }

  beams(scene) {
    const { pen } = this;
    for (const { panel, kind, x, y1, y2, w, grown, alpha } of scene.beams) {
      if (grown <= 0) continue;
      const top = mixed(y1, y2, grown);
      pen.globalAlpha = alpha * 0.9;
      pen.fillStyle = this.tints[kind][2];
      pen.strokeStyle = this.tints[kind][2];
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x, y1);
      pen.lineTo(x, top + 5);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(x - 4, top + 6);
      pen.lineTo(x, top);
      pen.lineTo(x + 4, top + 6);
      pen.fill();
      const middle = (y1 + y2) / 2;
      if (kind !== "feed_forward" || top > middle) continue;
      const wide = Math.min(scene.boxes[panel].pitch - 2, 1.8 * w) / 2;
      const tall = Math.min(13, (y1 - y2) / 4);
      pen.beginPath(); // a network that is wider inside
      pen.moveTo(x - w / 3, middle + tall);
      pen.lineTo(x - wide, middle);
      pen.lineTo(x - w / 3, middle - tall);
      pen.lineTo(x + w / 3, middle - tall);
      pen.lineTo(x + wide, middle);
      pen.lineTo(x + w / 3, middle + tall);
      pen.closePath();
      pen.fill();
    }
  }

  pipes(scene) {
    const { pen } = this;
    pen.lineJoin = "round";
    for (const { points, filled, reads } of scene.pipes) {
      const path = () => {
        pen.beginPath();
        points.forEach(([x, y], n) => (n ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      };
      pen.globalAlpha = 1;
      pen.lineWidth = 5;
      pen.strokeStyle = this.faint(0.09);
      path();
      pen.stroke();
      if (filled <= 0) continue;
      const length = points.slice(1).reduce((sum, [x, y], n) => sum + Math.hypot(x - points[n][0], y - points[n][1]), 0);
      pen.setLineDash([length * filled, length]);
      pen.globalAlpha = reads ? 1 : 0.75;
      pen.strokeStyle = this.roles.memory;
      path();
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  /** A frame around the columns that are the memory. */
  memory(scene) {
    const { pen } = this;
    for (const { frame, filled } of scene.pipes.slice(0, 1)) {
      pen.globalAlpha = Math.min(1, 3 * filled) * frame.alpha;
      if (pen.globalAlpha < 0.01) continue;
      this.rect(frame.x, frame.y, frame.w, frame.h, 6);
      pen.lineWidth = 2;
      pen.strokeStyle = this.roles.memory;
      pen.stroke();
      this.text("memory", frame.x + frame.w, frame.y - 10, { size: 12, weight: 700, align: "right", colour: this.roles.memory });
    }
  }

  bars(scene) {
    const { pen } = this;
    const { compared } = scene;
    if (compared?.grown > 0) {
      pen.globalAlpha = 0.8 * compared.alpha;
      pen.strokeStyle = this.roles.target;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(compared.x, compared.y);
      pen.lineTo(compared.x, mixed(compared.y, compared.to, compared.grown));
      pen.stroke();
    }
    for (const { text, share, small, chosen, taken = 1, x, y, w, h, grown, alpha } of scene.bars) {
      pen.globalAlpha = alpha;
      const name = Math.min(100, 0.32 * w);
      const long = w - name - 62;
      const thick = small ? h - 4 : Math.min(16, h - 4);
      const size = small ? Math.max(9.5, Math.min(12, h - 3)) : 12.5;
      const top = y + (h - thick) / 2;
      if (small) {
        this.rect(x, y + 1, w, h - 2, 4);
        pen.fillStyle = this.tints.output[0];
        pen.fill();
      }
      this.text(text, x + name - 6, y + h / 2 + 0.5, { size, weight: chosen && taken > 0.5 ? 700 : 400, align: "right", most: name - 10 });
      pen.fillStyle = chosen && taken > 0.5 ? this.roles.target : this.side("target", 0.45);
      this.rect(x + name, top, Math.max(1.5, long * share * grown), thick, 3);
      pen.fill();
      this.text(percentOf(share), x + name + long * share * grown + 7, y + h / 2 + 0.5, { size, align: "left" });
    }
  }
}

/** The two points that bend a line. */
function controls({ x1, y1, x2, y2, side, memory }) {
  const d = memory ? Math.max(40, 0.55 * Math.abs(y2 - y1)) : 0.5 * Math.abs(y2 - y1);
  return [
    [x1, y1 + side * d],
    [x2, y2 + d],
  ];
}

/** The point of a line at q, 0 at the column that is looked at. */
function along({ x1, y1, x2, y2 }, [ax, ay], [bx, by], q) {
  const p = 1 - q;
  const [a, b, c, d] = [p ** 3, 3 * p * p * q, 3 * p * q * q, q ** 3];
  return [a * x1 + b * ax + c * bx + d * x2, a * y1 + b * ay + c * by + d * y2];
}
