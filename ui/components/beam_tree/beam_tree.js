// A beam search drawn from left to right: a column a step, lines from each node to the one it extends. Needs shared.js.

const WIDE = 7.8; // of a column and of a row, in rem
const TALL = 2.7;
const ROOM = 6.6; // of a node
const STATES = { kept: "kept", ended: "ended here", pruned: "dropped" };

class BeamTreeView {
  constructor(host) {
    this.root = el("figure", "tree");
    setAttribute(this.root, "role", "group");
    setAttribute(this.root, "aria-labelledby", "title");
    this.title = el("figcaption", "title");
    this.title.id = "title";
    this.how = el("p", "how");
    this.scroller = el("div", "scroller");
    this.heads = el("div", "heads");
    this.plane = el("div", "plane");
    this.plane.dataset.arrows = "move"; // the presenter's keys leave it alone
    this.scroller.append(this.heads, this.plane);
    this.readout = el("p", "readout");
    setAttribute(this.readout, "aria-live", "polite");
    this.root.append(this.title, this.how, this.scroller, this.readout);
    host.append(this.root);
    this.selection = new Selection();
    this.drawn = "";
    this.plane.addEventListener("keydown", (event) => this.move(event));
  }

  update(data) {
    setText(this.title, data.title);
    setText(this.how, data.how_to_read);
    this.columns = data.columns;
    const content = JSON.stringify(data.columns);
    const fresh = content !== this.drawn;
    if (fresh) {
      this.drawn = content;
      this.draw();
    }
    this.selection.adopt(data.selected, data.seen);
    this.mark();
    if (fresh) this.keepInView();
  }

  draw() {
    const steps = this.columns.length;
    const rows = Math.max(...this.columns.map((column) => column.length));
    for (const part of [this.heads, this.plane]) part.style.width = `${steps * WIDE}rem`;
    this.plane.style.height = `${rows * TALL}rem`;
    this.heads.replaceChildren(...this.columns.map((_, n) => el("span", "", `step ${n + 1}`)));

    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    setAttribute(svg, "viewBox", `0 0 ${steps * WIDE} ${rows * TALL}`);
    setAttribute(svg, "aria-hidden", "true");
    this.lines = [];
    this.nodes = this.columns.map((column, x) =>
      column.map(([text, total, state, parent], y) => {
        if (x > 0) {
          const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
          const [fromX, fromY] = [(x - 1) * WIDE + ROOM, parent * TALL + 1.1];
          const [toX, toY] = [x * WIDE, y * TALL + 1.1];
          const middle = (fromX + toX) / 2;
          setAttribute(line, "d", `M${fromX} ${fromY} C${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`);
          setAttribute(line, "class", state);
          svg.append(line);
          this.lines.push([line, x, y]);
        }
        const node = el("button", `node ${state}`);
        node.type = "button";
        node.tabIndex = -1;
        node.style.left = `${x * WIDE}rem`;
        node.style.top = `${y * TALL}rem`;
        node.append(el("span", "text", text), el("span", "small", this.number(total)));
        setAttribute(node, "title", `${text}: ${STATES[state]}, log-probability ${this.number(total)}`);
        node.addEventListener("click", () => {
          this.send(this.selection.choose([x, y]));
          this.mark();
        });
        return node;
      }),
    );
    this.plane.replaceChildren(svg, ...this.nodes.flat());
  }

  number(total) {
    return total.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");
  }

  /** The rows of the chosen node and of all that it extends, from the first column on. */
  path() {
    let [x, y] = this.selection.cell;
    const rows = [];
    for (; x >= 0; x--) {
      rows[x] = y;
      y = this.columns[x][y][3];
    }
    return rows;
  }

  mark() {
    const [column, row] = this.selection.cell;
    if (!this.nodes[column]?.[row]) return;
    const path = this.path();
    this.nodes.forEach((nodes, x) =>
      nodes.forEach((node, y) => {
        node.classList.toggle("on", path[x] === y);
        const chosen = x === column && y === row;
        setAttribute(node, "aria-pressed", String(chosen));
        node.tabIndex = chosen ? 0 : -1;
      }),
    );
    for (const [line, x, y] of this.lines) line.classList.toggle("on", path[x] === y);
    const [, total, state] = this.columns[column][row];
    const texts = path.map((y, x) => this.columns[x][y][0]).join(" ");
    setText(this.readout, `${texts}: ${STATES[state]}, log-probability ${this.number(total)}`);
  }

  move(event) {
    const from = this.plane.getRootNode().activeElement;
    const x = this.nodes.findIndex((nodes) => nodes.includes(from));
    if (x < 0) return;
    const to = {
      ArrowLeft: [x - 1, this.columns[x][this.nodes[x].indexOf(from)][3]],
      ArrowRight: [x + 1, 0],
      ArrowUp: [x, this.nodes[x].indexOf(from) - 1],
      ArrowDown: [x, this.nodes[x].indexOf(from) + 1],
    }[event.key];
    if (!to || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.nodes[to[0]]?.[to[1]]?.focus();
  }

  /** Scroll the chosen node into its box, never the page. */
  keepInView() {
    const node = this.nodes[this.selection.cell[0]]?.[this.selection.cell[1]];
    if (!node) return;
    const over = node.offsetLeft + node.offsetWidth - this.scroller.clientWidth;
    this.scroller.scrollLeft = Math.max(0, over + 8);
  }
}

export default mount(BeamTreeView);
