// Lettering, and tokens as chips, as many as there is room for. Needs colour.js, shared.js.

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element with attributes. */
function draw(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, typeof value === "number" ? String(+value.toFixed(2)) : value);
}

function place(rect, { x, y, w, h }, round, grow = 0) {
  put(rect, { x: x - grow, y: y - grow, width: w + 2 * grow, height: h + 2 * grow, rx: round + grow });
}

/** Measures, cuts and breaks texts in one font. */
class Lettering {
  constructor(family) {
    this.family = family;
  }

  width(text, size, weight = 400) {
    pen.font = `${weight} ${size}px ${this.family}`;
    return pen.measureText(text).width;
  }

  /** `text`, cut to `width` with an ellipsis. */
  cut(text, width, size, weight) {
    if (this.width(text, size, weight) <= width) return text;
    const letters = Array.from(text);
    let low = 0;
    for (let high = letters.length; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if (this.width(letters.slice(0, middle).join("").trimEnd() + "…", size, weight) <= width) low = middle;
      else high = middle - 1;
    }
    return letters.slice(0, low).join("").trimEnd() + "…";
  }

  wrap(text, width, size) {
    const lines = [];
    for (const word of text.split(" ")) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && this.width(longer, size) <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }
}

/** Rows of [text, width] that hold as many texts as fit into `rows`; the last says how many are left out. */
function chipRows(texts, width, rows, lettering, size, inside, gap) {
  const wide = (text) => lettering.width(text, size) + 2 * inside;
  const lines = [[]];
  let used = 0;
  for (let i = 0; i < texts.length; i++) {
    const text = lettering.cut(texts[i], width - 2 * inside, size);
    const w = wide(text);
    const rest = texts.length - i - 1;
    const spare = lines.length === rows && rest ? gap + wide(`+${rest}`) : 0;
    if (used + w + spare > width && lines.length < rows && used) {
      lines.push([]);
      used = 0;
      i -= 1;
      continue;
    }
    if (used + w + spare > width && (used || rest)) {
      lines.at(-1).push([`+${rest + 1}`, wide(`+${rest + 1}`)]);
      break;
    }
    lines.at(-1).push([text, w]);
    used += w + gap;
  }
  return lines;
}

/** The tokens of one stack: their SVG nodes, and the area that they take. */
function chips({ stack, middle, tokens: box }, live, s, lettering) {
  const size = s.small;
  const [gap, inside, tall] = [4, live ? 5 : 7, live ? 17 : Math.min(s.tokens, 20)];
  const lines = chipRows(stack.tokens, box.w, live ? 2 : 1, lettering, size, inside, gap);
  const nodes = [];
  lines.forEach((line, i) => {
    const total = line.reduce((sum, [, w]) => sum + w + gap, -gap);
    let x = Math.max(box.x, Math.min(middle - total / 2, box.x + box.w - total));
    const y = box.y + i * (tall + gap) + (live ? 1 : 0);
    for (const [text, w] of line) {
      const chip = draw("rect", { class: `chip ${stack.side}` });
      place(chip, { x, y, w, h: tall }, 4);
      const words = draw("text", { class: stack.side, "text-anchor": "middle", "font-size": size });
      put(words, { x: x + w / 2, y: y + tall / 2 + size * 0.35 });
      words.textContent = text;
      nodes.push(chip, words);
      x += w + gap;
    }
  });
  return { nodes, area: { x: box.x, y: box.y - 2, w: box.w, h: lines.length * (tall + gap) + 1 } };
}
