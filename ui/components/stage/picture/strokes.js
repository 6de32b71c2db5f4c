// How lines, beams, the way of the memory and bars are drawn: the part of the painter that knows no columns.

const NARROWEST = 0.75; // letters are squeezed so far before a word is cut

/** Needs pen, palette, roles, tints, family, side and faint of the painter. */
class Strokes {
  text(text, x, y, { size = 12, weight = 400, align = "center", colour = this.palette.text, most = 0, halo = "" } = {}) {
    const { pen } = this;
    pen.font = `${weight} ${size}px ${this.family}`;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    const shown = most ? this.cut(text, most / NARROWEST) : text;
    const width = most || undefined;
    if (halo) {
      [pen.lineWidth, pen.strokeStyle, pen.lineJoin] = [5, halo, "round"];
      pen.strokeText(shown, x, y, width);
    }
    pen.fillStyle = colour;
    pen.fillText(shown, x, y, width);
  }

  /** How wide a piece is, written large. */
  widthOf(text) {
    this.pen.font = `400 13px ${this.family}`;
    return this.pen.measureText(text).width;
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

  lines(scene) {
    const { pen } = this;
    pen.lineCap = "butt";
    for (const line of [...scene.lines].sort((a, b) => a.strong - b.strong))
      this.line(line, line.memory ? this.roles.memory : this.roles[this.data.panels[line.panel].side]);
  }

  /** One line as far as it has grown, and the dot on it. */
  line(line, colour, alpha = 1) {
    const { pen } = this;
    const [c1, c2] = controls(line);
    pen.globalAlpha = alpha * line.alpha;
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
      pen.globalAlpha = alpha * (line.strong ? 1 : 0.55);
      pen.fillStyle = colour;
      pen.beginPath();
      pen.arc(...along(line, c1, c2, ease(line.dot)), Math.max(1.5, line.width / 2 + 1), 0, 7);
      pen.fill();
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
      this.text("memory", frame.x + 76, frame.title, { size: 12, weight: 700, align: "left", colour: this.roles.memory });
    }
  }

  bars(scene) {
    const { pen } = this;
    const { compared, rest } = scene;
    if (compared?.grown > 0) {
      pen.globalAlpha = 0.8 * compared.alpha;
      pen.strokeStyle = this.roles.target;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(compared.x, compared.y);
      pen.lineTo(compared.x, mixed(compared.y, compared.to, compared.grown));
      pen.stroke();
    }
    if (rest) {
      pen.globalAlpha = rest.alpha;
      this.text(rest.text, rest.x + rest.w / 2, rest.y + rest.h / 2, { size: 12, most: rest.w - 8 });
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
      pen.fillStyle = chosen && taken > 0.5 ? this.roles.target : this.unchosen;
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
