// Pieces of text as cards, grouped into words. Needs shared.js.

class PiecesView {
  constructor(parent) {
    this.root = el("figure", "pieces");
    this.title = el("figcaption", "title");
    this.how = el("p", "how");
    this.words = el("div", "words");
    this.root.append(this.title, this.how, this.words);
    parent.append(this.root);
    this.selection = new Selection(); // of one card: [0, card]; of a run: [first, last]
    this.drawn = "";
    this.buttons = [];
    this.groups = []; // of each card: the number of its word in the row
    this.from = -1; // the card on which a pointer went down
    this.run = null; // what it has been drawn over since
    for (const kind of ["down", "move", "up", "cancel"]) {
      this.words.addEventListener(`pointer${kind}`, (event) => event.isPrimary && this.runs && this[kind](event));
    }
  }

  update(data) {
    setText(this.title, data.title);
    setText(this.how, data.how_to_read);
    this.how.hidden = !data.how_to_read;
    this.runs = data.runs;
    this.words.classList.toggle("runs", data.runs);
    const content = JSON.stringify([data.cards, data.clickable]);
    if (content !== this.drawn) {
      this.drawn = content;
      this.draw(data);
    }
    this.selection.adopt(data.selected ?? null, data.seen);
    this.mark();
  }

  draw({ cards, clickable }) {
    const held = this.buttons.findIndex((button) => button.matches(":focus-visible"));
    this.buttons = cards.map(([text, small, , marked], n) => {
      const card = el(clickable ? "button" : "span", marked ? "card marked" : "card");
      card.append(el("span", "text", text), ...small.map((line) => el("span", "small", line)));
      if (clickable) {
        card.type = "button";
        card.addEventListener("click", () => this.choose(this.runs ? [n, n] : [0, n]));
      }
      return card;
    });
    const groups = [];
    let last = null;
    this.groups = cards.map(([, , word], n) => {
      if (word !== last || word < 0) groups.push(el("span", "word"));
      groups.at(-1).append(this.buttons[n]);
      last = word;
      return groups.length;
    });
    this.words.replaceChildren(...groups);
    this.buttons[held]?.focus({ preventScroll: true }); // one goes on from where one is
  }

  choose(cell) {
    this.send(this.selection.choose(cell));
    this.mark();
  }

  /** The card under a pointer, or -1. A finger's events all name the card that it began on. */
  under({ clientX, clientY }) {
    return this.buttons.indexOf(this.root.getRootNode().elementFromPoint(clientX, clientY)?.closest(".card"));
  }

  down(event) {
    this.from = event.button ? -1 : this.under(event);
  }

  move(event) {
    if (this.from < 0) return;
    if (!event.buttons) return this.cancel(); // it was let go elsewhere
    // It may leave the words, or the cards be drawn anew; and the click at its end is then none of a card.
    this.words.setPointerCapture(event.pointerId);
    const to = this.under(event);
    if (to < 0) return;
    this.run = [Math.min(this.from, to), Math.max(this.from, to)];
    this.mark();
  }

  up() {
    if (this.run) this.choose(this.run);
    this.cancel();
  }

  cancel() {
    [this.from, this.run] = [-1, null];
    this.mark();
  }

  /** The chosen card; or all words of a run that is drawn just now, or was and Python does not know of yet. */
  mark() {
    const [first, last] = this.run ?? this.selection.cell ?? [];
    const place = (n) => (this.runs ? this.groups[n] : n);
    this.buttons.forEach((button, n) => {
      const chosen = place(n) >= place(this.runs ? first : last) && place(n) <= place(last);
      button.classList.toggle("chosen", chosen);
      const pressed = this.runs ? button.classList.contains("marked") : chosen;
      if (button.tagName === "BUTTON") setAttribute(button, "aria-pressed", String(pressed));
    });
  }
}

export default mount(PiecesView);
