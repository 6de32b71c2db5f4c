// Draws a scene's panels as SVG, and what lies between two of its frames.

const SVG = "http://www.w3.org/2000/svg";
const LETTER = 6.6; // pixels that a letter takes, about

/** Draws into an element and keeps what stood there: the nth thing drawn is the nth node, changed in place. */
class Pen {
  constructor(svg) {
    this.svg = svg;
  }
  begin() {
    this.n = 0;
  }
  put(tag, given, text) {
    let node = this.svg.children[this.n];
    if (node?.tagName !== tag) {
      const fresh = document.createElementNS(SVG, tag);
      fresh.given = {};
      if (node) node.replaceWith(fresh);
      else this.svg.append(fresh);
      node = fresh;
    }
    this.n += 1;
    for (const name of Object.keys(node.given)) if (!(name in given)) node.removeAttribute(name);
    for (const [name, value] of Object.entries(given)) if (node.given[name] !== value) node.setAttribute(name, value);
    node.given = given;
    if (node.style.length) node.removeAttribute("style"); // what the node was before may have been coloured
    if (text !== undefined) setText(node, text);
    return node;
  }
  text(x, y, text, kind = "", anchor = "start", more = {}) {
    return this.put("text", { x: round(x), y: round(y), class: kind, "text-anchor": anchor, ...more }, text);
  }
  /** A text cut where its room ends; a number is narrowed, since a part of it would be another number. */
  fitted(x, y, text, room, kind = "", anchor = "middle", more = {}) {
    const most = Math.max(1, Math.floor(room / LETTER));
    const narrow = /^[−<>]?[\d.,]+%?$/.test(text) && [...text].length > most;
    if (narrow) return this.text(x, y, text, kind, anchor, { textLength: round(room), lengthAdjust: "spacingAndGlyphs", ...more });
    const short = [...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text;
    return this.text(x, y, short, kind, anchor, more);
  }
  box(x, y, width, height, kind, radius = 0) {
    const size = { width: round(Math.max(0, width)), height: round(Math.max(0, height)) };
    return this.put("rect", { x: round(x), y: round(y), ...size, rx: radius, class: kind });
  }
  end() {
    while (this.svg.children.length > this.n) this.svg.lastChild.remove();
  }
}

const round = (value) => Math.round(value * 10) / 10;

/** What lies between two frames that are built alike: numbers move, texts are those of the second. */
function between(a, b, t) {
  if (t >= 1 || a === undefined || a === null || typeof a !== typeof b) return b;
  if (typeof b === "number") return a + (b - a) * t;
  if (Array.isArray(b)) return Array.isArray(a) && a.length === b.length ? b.map((one, n) => between(a[n], one, t)) : b;
  if (b && typeof b === "object") return Object.fromEntries(Object.entries(b).map(([name, one]) => [name, between(a[name], one, t)]));
  return b;
}
