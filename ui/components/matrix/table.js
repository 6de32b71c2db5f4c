// The table of a matrix: rows, columns and cells that stay the same elements while their number allows it. Needs
// colour.js, shared.js.

// What a cell shows, beside the levels of a scale: a neutral colour, a hatch, nothing yet, what is painted behind it.
const [NEUTRAL, MASKED, UNDRAWN, PAINTED] = [-1, -2, -3, -4];

class Table {
  constructor() {
    this.node = el("table");
    setAttribute(this.node, "role", "grid");
    setAttribute(this.node, "aria-labelledby", "title");
    setAttribute(this.node, "aria-describedby", "how axes");
    const columns = el("colgroup");
    columns.append(el("col", "row-labels"), (this.span = el("col", "cells")));
    const head = el("thead");
    this.head = el("tr");
    this.head.append(el("td", "corner"));
    head.append(this.head);
    this.body = el("tbody");
    const foot = el("tfoot");
    setAttribute(foot, "aria-hidden", "true"); // every cell says its number itself
    foot.append((this.reading = el("tr")));
    this.reading.append(el("th"));
    this.node.append(columns, head, this.body, foot);
    this.height = this.width = 0;
    this.cells = []; // td elements, row by row
    this.shown = []; // what each cell shows: its level, or one of the four above
    this.named = []; // cells that have been given a sentence as their name
    this.marked = null; // the selected cell as drawn
    this.roving = [0, 0]; // the cell that Tab enters
  }

  cell([row, column]) {
    return this.cells[row * this.width + column];
  }

  inside(cell) {
    return cell && cell[0] < this.height && cell[1] < this.width;
  }

  /** [row, column] of the cell that an event happened on, or null. */
  placeOf(event) {
    const td = event.target.closest?.("tbody td");
    return td ? [td.parentNode.rowIndex - 1, td.cellIndex - 1] : null;
  }

  /** Add or remove rows and cells until the table is `height` by `width`; what stays keeps its elements. */
  fit(height, width) {
    if (height === this.height && width === this.width) return;
    const pad = (parent, count, make) => {
      while (parent.children.length > count) parent.lastChild.remove();
      while (parent.children.length < count) parent.append(make());
    };
    const header = (scope) => () => {
      const th = el("th");
      th.scope = scope;
      th.append(el("span"));
      return th;
    };
    const make = () => {
      const td = el("td");
      td.tabIndex = -1;
      return td;
    };
    const row = () => {
      const tr = el("tr");
      tr.append(header("row")());
      for (let j = 0; j < width; j++) tr.append(make());
      return tr;
    };
    this.mark(null);
    pad(this.head, width + 1, header("col"));
    pad(this.reading, width + 1, () => el("td"));
    pad(this.body, height, row);
    const cells = [];
    const shown = [];
    for (let i = 0; i < height; i++) {
      const tr = this.body.children[i];
      pad(tr, width + 1, make);
      for (let td = tr.children[1], j = 0; td; td = td.nextSibling, j++) {
        cells.push(td);
        shown.push(i < this.height && j < this.width ? this.shown[i * this.width + j] : UNDRAWN);
      }
    }
    this.span.span = width;
    Object.assign(this, { cells, shown, height, width });
    this.rowHeads = [...this.body.children].map((tr) => tr.firstChild);
    this.columnHeads = [...this.head.children].slice(1);
  }

  label(sizes, { data, rowLabels, columnLabels }) {
    const put = (th, text, full, visible) => {
      const span = th.firstChild;
      setText(span, text);
      setAttribute(span, "title", full === text ? null : full);
      span.classList.toggle("unseen", !visible);
    };
    this.columnHeads.forEach((th, j) => put(th, columnLabels[j], data.columns[j], j % sizes.every === 0));
    this.rowHeads.forEach((th, i) => put(th, rowLabels[i], data.rows[i], i % sizes.rowEvery === 0));
  }

  /**
   * Colour the cells and write `texts` into them, touching only what differs from what is there.
   *
   * levels: of each cell; texts: of each cell, or null for none; anew: whether the colours of all levels have changed
   */
  colour(levels, texts, palette, scale, anew) {
    this.named.splice(0).forEach((td) => td.removeAttribute("aria-label"));
    if (anew) this.shown.fill(UNDRAWN);
    levels.forEach((level, i) => {
      const td = this.cells[i];
      if (level !== this.shown[i]) {
        if ((level === MASKED) !== (this.shown[i] === MASKED)) td.classList.toggle("masked", level === MASKED);
        td.style.backgroundColor = level >= 0 ? scale.css[level] : level === NEUTRAL ? palette.neutral : "";
        td.style.color = level >= 0 ? scale.ink[level] : "";
        this.shown[i] = level;
      }
      if (texts || this.numbered) setText(td, texts ? texts[i] : "");
    });
    this.numbered = Boolean(texts);
  }

  /** Write a row's label and numbers below the table, each in its column; empty without a row. */
  readRow(label, texts, column) {
    const [head, ...cells] = this.reading.children;
    setText(head, label);
    cells.forEach((td, j) => {
      setText(td, texts[j] ?? "");
      td.classList.toggle("near", j === column);
    });
  }

  /** A line before the first column of every group of columns but the first. */
  divide(group) {
    const id = [group, this.height, this.width].join();
    if (id === this.divided || !(group || this.divided)) return;
    this.divided = id;
    this.cells.forEach((td, i) => {
      const j = i % this.width;
      td.classList.toggle("begins", Boolean(group && j && j % group === 0));
    });
  }

  /** Make `cell` the one that Tab enters. */
  rove(cell) {
    const before = this.cell(this.roving);
    if (before) before.tabIndex = -1;
    this.roving = cell;
    this.cell(cell).tabIndex = 0;
  }

  /** Draw the selection, or take it away with `mark(null)`. */
  mark(cell) {
    const put = (at, on) => {
      if (!this.inside(at)) return;
      const td = this.cell(at);
      td.classList.toggle("selected", on);
      setAttribute(td, "aria-selected", on ? "true" : null);
      this.rowHeads[at[0]].classList.toggle("selected", on);
      this.columnHeads[at[1]].classList.toggle("selected", on);
    };
    if (this.marked) put(this.marked, false);
    this.marked = cell;
    if (cell) put(cell, true);
  }

  /** Make the labels of a cell's row and column stand out, or no longer. */
  near(cell, on) {
    if (!this.inside(cell)) return;
    this.rowHeads[cell[0]].classList.toggle("near", on);
    this.columnHeads[cell[1]].classList.toggle("near", on);
  }

  /** Give a cell without a number its sentence as its name. */
  name(cell, sentence) {
    setAttribute(this.cell(cell), "aria-label", sentence);
    this.named.push(this.cell(cell));
  }
}
