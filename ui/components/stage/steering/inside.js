// Inside: the numbers of one column, the weights of one head, or the likeliest pieces, to read and to ask about.

const ACROSS = 16; // numbers of a vector in a row
const PROBABILITIES = -1; // as the number of a tensor: it is too large to be sent, a step has one for every piece

class Inside {
  constructor(ride) {
    this.ride = ride;
    this.root = el("div", "inside");
    this.root.hidden = true;
    setAttribute(this.root, "role", "group");
    const bar = el("div", "bar");
    this.title = el("h3");
    this.back = el("button", "back", "← Back");
    this.back.type = "button";
    this.back.addEventListener("click", () => this.shut());
    this.heads = el("div", "heads");
    bar.append(this.back, this.title, this.heads);
    this.scroll = el("div", "scroll");
    this.table = el("table");
    setAttribute(this.table, "role", "grid");
    setAttribute(this.table, "data-arrows", "");
    this.scroll.append(this.table);
    const foot = el("div", "foot");
    this.says = el("p");
    setAttribute(this.says, "aria-live", "polite");
    this.ask = el("button", "ask", "How is it worked out?");
    this.ask.type = "button";
    this.ask.addEventListener("click", () => ride.ask(this.asked));
    foot.append(this.says, this.ask);
    this.root.append(bar, this.scroll, foot);
    this.table.addEventListener("click", (event) => this.choose(event.target.closest("td")));
    this.table.addEventListener("keydown", (event) => this.press(event));
  }

  get shown() {
    return !this.root.hidden && !this.leaving;
  }

  /** Show what was stepped into; the panel grows out of its place in the picture. */
  open(what) {
    const { data } = this.ride;
    const given = this.resolve(what, data);
    this.from = what.rect;
    this.opener = this.ride.proxies.root.getRootNode().activeElement;
    this.show(given);
    this.root.hidden = this.leaving = false;
    this.animate(what.rect, false);
    this.back.focus({ preventScroll: true });
  }

  /** A column or a head's weights, whatever was chosen. */
  resolve(what, data) {
    const { parts } = data.panels[what.panel];
    if (what.kind === "piece") {
      const shown = this.ride.scene.tiles.findLast((tile) => tile.panel === what.panel && tile.token === what.token);
      return shown ? { kind: "vector", ...pick(shown) } : { kind: "vector", panel: what.panel, token: what.token, level: 0, tensor: parts[0].result };
    }
    if (what.kind !== "block") return what;
    const part = parts[what.part];
    const row = this.rowIn(what.panel, data);
    if (part.kind === "attention") {
      const { attention } = this.ride.scene;
      const same = attention?.panel === what.panel && attention.part === what.part;
      const moment = data.moments.find((one) => one.panel === what.panel && one.part === what.part) ?? { head: 0 };
      return { kind: "weights", panel: what.panel, part: what.part, tensor: part.weights, head: same ? attention.head : moment.head, row: same ? attention.row : row };
    }
    if (part.kind === "output") return { kind: "candidates", step: this.ride.scene.bars[0]?.step ?? row };
    return { kind: "vector", panel: what.panel, token: row, level: what.part, tensor: part.result };
  }

  rowIn(panel, data) {
    const { moment } = this.ride.scene;
    if (moment.panel === panel) return rowIn(moment);
    return data.panels[panel].parts.at(-1).kind === "output" ? 0 : Math.min(1, data.panels[panel].tokens.length - 1);
  }

  show(given) {
    const { data } = this.ride;
    this.given = given;
    if (given.kind === "candidates") return this.candidates(given, data, paletteOf(this.root));
    const tensor = data.tensors[given.tensor];
    const palette = paletteOf(this.root);
    if (given.kind === "vector") this.vector(given, data, tensor, palette);
    else this.weights(given, data, tensor, palette);
  }

  vector(given, data, tensor, palette) {
    const { panel, token, level, tensor: number } = given;
    const name = data.panels[panel].tokens[token];
    const added = data.panels[panel].parts.some((part) => part.added === number);
    setText(this.title, `${name}: ${added ? "position" : titleOf(data, panel, level)}, ${tensor.shape[1]} numbers`);
    setAttribute(this.root, "aria-label", this.title.textContent);
    this.heads.replaceChildren(this.pieces(given, tokensAt(data, panel, this.ride.scene.moment)));
    const values = vectorOf(tensor, token);
    const limit = limitOf(tensor);
    const rows = [];
    for (let first = 0; first < values.length; first += ACROSS) {
      const row = el("tr");
      setAttribute(row, "role", "row");
      const label = el("th", "", `${first + 1}`);
      label.scope = "row";
      row.append(label);
      for (let i = first; i < Math.min(first + ACROSS, values.length); i++) row.append(this.cell(values[i], levelOf(values[i], "signed", limit), palette.scales.signed, [number, token, i]));
      rows.push(row);
    }
    this.fill(rows, given.at ?? largest(values));
  }

  /** A list of the pieces that are there: the same number of another one's column is a choice away. */
  pieces(given, tokens) {
    const list = el("select", "speed");
    setAttribute(list, "aria-label", "Piece");
    tokens.forEach((text, token) => {
      const option = el("option", "", `${token + 1} ${text}`);
      option.value = token;
      list.append(option);
    });
    list.value = given.token;
    list.addEventListener("change", () => {
      this.show({ ...given, token: Number(list.value), at: this.asked[2] });
      this.heads.firstChild.focus();
    });
    return list;
  }

  /** The likeliest pieces of a step, with their probabilities. */
  candidates({ step }, data, palette) {
    const { candidates, chosen } = data.steps[step];
    setText(this.title, `${data.counts} ${step + 1}: the likeliest pieces, and how likely each is. 0.25 is 25%. All others together: ${percentOf(restOf(data.steps[step]))}`);
    setAttribute(this.root, "aria-label", this.title.textContent);
    this.heads.replaceChildren();
    const rows = candidates.map(([text, share, id], n) => {
      const row = el("tr", n === chosen ? "marked" : "");
      setAttribute(row, "role", "row");
      const label = el("th", "", text);
      label.scope = "row";
      row.append(label, this.cell(share, levelOf(share, "weight", 1), palette.scales.weight, [PROBABILITIES, step, id]));
      return row;
    });
    this.fill(rows, chosen);
  }

  weights(given, data, tensor, palette) {
    const { panel, part, head, row } = given;
    const { memory } = data.panels[panel].parts[part];
    const { moment } = this.ride.scene;
    const rows = tokensAt(data, panel, moment);
    const columns = tokensAt(data, memory < 0 ? panel : memory, moment);
    setText(this.title, `${titleOf(data, panel, part)}: who looks (row) at whom (column). 0.25 is 25%`);
    setAttribute(this.root, "aria-label", this.title.textContent);
    this.heads.replaceChildren(...Array.from({ length: tensor.shape[0] }, (_, n) => this.head(n, n === head, given)));
    const top = el("tr");
    setAttribute(top, "role", "row");
    top.append(el("th", "", "looks at →"), ...columns.map((text) => {
      const label = el("th", "column");
      label.scope = "col";
      label.append(el("span", "", text));
      return label;
    }));
    const body = rows.map((text, r) => {
      const line = el("tr", r === row ? "marked" : "");
      setAttribute(line, "role", "row");
      const label = el("th", "", text);
      label.scope = "row";
      line.append(label);
      columns.forEach((_, c) => {
        const weight = weightOf(tensor, head, r, c);
        line.append(this.cell(weight, levelOf(weight, "weight", 1), palette.scales.weight, [given.tensor, head, r, c]));
      });
      return line;
    });
    const at = given.column ?? largest(columns.map((_, c) => weightOf(tensor, head, row, c)));
    this.fill([top, ...body], row * columns.length + at);
  }

  head(n, chosen, given) {
    const button = el("button", "head", `${n + 1}`);
    button.type = "button";
    setAttribute(button, "aria-label", `Head ${n + 1}`);
    setAttribute(button, "aria-pressed", String(chosen));
    button.addEventListener("click", () => {
      this.ride.heads[`${given.panel}.${given.part}`] = n;
      this.show({ ...given, head: n });
      this.heads.children[n].focus();
      this.ride.draw();
    });
    return button;
  }

  cell(value, level, scale, index) {
    const cell = el("td", "", shortNumber(value));
    setAttribute(cell, "role", "gridcell");
    cell.tabIndex = -1;
    if (level >= 0) cell.style.cssText = `background:${scale.css[level]};color:${scale.ink[level]}`;
    Object.assign(cell, { index, value });
    return cell;
  }

  fill(rows, at) {
    this.table.replaceChildren(...rows);
    this.choose(this.table.querySelectorAll("td[role=gridcell]")[at], false);
  }

  choose(cell, focus = true) {
    if (!cell?.index) return;
    const { data } = this.ride;
    this.table.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    for (const one of this.table.querySelectorAll("[tabindex='0']")) one.tabIndex = -1;
    setAttribute(cell, "aria-selected", "true");
    cell.tabIndex = 0;
    if (focus) cell.focus();
    this.asked = cell.index;
    const { given } = this;
    const shown = cell.textContent;
    const share = percentOf(cell.value);
    if (given.kind === "candidates") return setText(this.says, `${cell.parentElement.cells[0].textContent}: ${shown}, or ${share}`);
    if (given.kind === "vector") return setText(this.says, `${data.panels[given.panel].tokens[given.token]}, number ${cell.index[2] + 1} of ${data.tensors[given.tensor].shape[1]}: ${shown}`);
    const [, head, row, column] = cell.index;
    const { memory } = data.panels[given.panel].parts[given.part];
    const columns = data.panels[memory < 0 ? given.panel : memory].tokens;
    setText(this.says, `Head ${head + 1}: “${data.panels[given.panel].tokens[row]}” takes ${shown}, or ${share}, from “${columns[column]}”`);
  }

  press(event) {
    const cell = event.target.closest("td[role=gridcell]");
    if (!cell) return;
    if (event.key === "Enter") return this.ask.click();
    const rows = [...this.table.rows].map((row) => [...row.querySelectorAll("td[role=gridcell]")]).filter((row) => row.length);
    const row = rows.findIndex((one) => one.includes(cell));
    const to = moved([row, rows[row].indexOf(cell)], event, rows.length, rows[0].length);
    if (!to) return;
    event.preventDefault();
    this.choose(rows[to[0]][Math.min(to[1], rows[to[0]].length - 1)]);
  }

  animate(rect, away) {
    if (this.ride.calm.matches || !rect) return null;
    const { width, height } = this.ride.view();
    const small = { transform: `translate(${rect.x}px, ${rect.y}px) scale(${rect.w / width}, ${rect.h / height})`, opacity: 0 };
    const whole = { transform: "none", opacity: 1 };
    return this.root.animate(away ? [whole, small] : [small, { opacity: 0.9, offset: 0.6 }, whole], { duration: CAMERA_MS, easing: "ease-in-out" });
  }

  /** Back to the whole machine. */
  shut(moving = true) {
    if (!this.shown) return;
    this.leaving = true;
    const done = () => {
      if (this.leaving) this.root.hidden = true; // else it was opened again meanwhile
      this.leaving = false;
    };
    const play = moving && this.animate(this.from, true);
    if (play) play.onfinish = done;
    else done();
    this.ride.moveCamera(null);
    this.ride.draw();
    // Who pressed Play stays there.
    if (moving && this.root.contains(this.root.getRootNode().activeElement)) (this.opener ?? this.ride.controls.play).focus?.({ preventScroll: true });
  }
}

const pick = ({ panel, token, level, tensor }) => ({ panel, token, level, tensor });

/** Where the largest value by size is. */
const largest = (values) => values.reduce((best, value, n) => (Math.abs(value) > Math.abs(values[best]) ? n : best), 0);
