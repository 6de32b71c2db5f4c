// Pieces of text as cards, grouped into words. Needs shared.js.

class PiecesView {
  constructor(parent) {
    this.root = el("figure", "pieces");
    this.title = el("figcaption", "title");
    this.how = el("p", "how");
    this.words = el("div", "words");
    this.root.append(this.title, this.how, this.words);
    parent.append(this.root);
    this.selection = new Selection();
    this.drawn = "";
    this.buttons = [];
  }

  update(data) {
    setText(this.title, data.title);
    setText(this.how, data.how_to_read);
    this.how.hidden = !data.how_to_read;
    const content = JSON.stringify([data.cards, data.clickable]);
    if (content !== this.drawn) {
      this.drawn = content;
      this.draw(data);
    }
    this.selection.adopt(data.selected ?? null, data.seen);
    this.mark();
  }

  draw({ cards, clickable }) {
    this.buttons = cards.map(([text, small, , marked], n) => {
      const card = el(clickable ? "button" : "span", marked ? "card marked" : "card");
      card.append(el("span", "text", text), ...small.map((line) => el("span", "small", line)));
      if (clickable) {
        card.type = "button";
        card.addEventListener("click", () => {
          this.send(this.selection.choose([0, n]));
          this.mark();
        });
      }
      return card;
    });
    const groups = [];
    let last = null;
    cards.forEach(([, , word], n) => {
      if (word !== last || word < 0) groups.push(el("span", "word"));
      groups.at(-1).append(this.buttons[n]);
      last = word;
    });
    this.words.replaceChildren(...groups);
  }

  mark() {
    const chosen = this.selection.cell?.[1];
    this.buttons.forEach((button, n) => {
      if (button.tagName === "BUTTON") setAttribute(button, "aria-pressed", String(n === chosen));
    });
  }
}

export default mount(PiecesView);
