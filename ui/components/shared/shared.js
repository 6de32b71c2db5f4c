// Small tools both components use. Text from the learner reaches the page through textContent alone.

/** A new element with a class and a text. */
function el(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setAttribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Where a key leads in a grid of `height` by `width`, or null if the key does not move. */
function moved([row, column], event, height, width) {
  const far = event.ctrlKey || event.metaKey;
  const to = {
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: far ? [0, 0] : [row, 0],
    End: far ? [height - 1, width - 1] : [row, width - 1],
    PageUp: [0, column],
    PageDown: [height - 1, column],
  }[event.key];
  if (!to || event.altKey) return null;
  return [Math.min(height - 1, Math.max(0, to[0])), Math.min(width - 1, Math.max(0, to[1]))];
}

/**
 * The selection, shared with Python. A click shows at once and is numbered; Python sends the number of the last choice
 * it has seen. While it has not seen the newest one (for at most 3 s), its older selection is not allowed to flash up.
 */
class Selection {
  constructor() {
    this.cell = null;
    this.count = 0;
    this.since = -Infinity;
  }
  adopt(selected, seen) {
    const waiting = seen < this.count && performance.now() - this.since < 3000;
    if (!waiting) this.cell = selected;
    if (seen > this.count) this.count = seen;
  }
  choose(cell) {
    this.cell = cell;
    this.count += 1;
    this.since = performance.now();
    return [cell[0], cell[1], this.count];
  }
}

/** One view for each place on the page: kept and updated, not rebuilt, when new data arrive. */
function mount(View) {
  const views = new WeakMap();
  return ({ data, parentElement, setTriggerValue }) => {
    const start = performance.now();
    let view = views.get(parentElement);
    if (!view) {
      view = new View(parentElement);
      view.updates = 0;
      views.set(parentElement, view);
    }
    view.send = (choice, what = "select") => setTriggerValue(what, choice);
    view.update(data);
    view.root.dataset.updates = ++view.updates;
    view.root.dataset.ms = (performance.now() - start).toFixed(2);
    return () => {
      view.close?.();
      view.root.remove();
      views.delete(parentElement);
    };
  };
}

/**
 * Back leads to the page before, with everything as it was. Streamlit makes an entry in the browser's history of every
 * cell that is chosen, and on the way to another page one more, without this page's own parameters.
 */
function tidyHistory() {
  if (history.pushState.tidy) return;
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  let acted = location.href; // the address when the learner last did something: what the page was left with
  for (const kind of ["pointerdown", "keydown", "click"]) window.addEventListener(kind, () => (acted = location.href), true);
  history.pushState = (state, unused, url) => {
    if (new URL(url, location.href).pathname === location.pathname) return replace(state, unused, url);
    if (new URL(acted).pathname === location.pathname) replace(history.state, unused, acted);
    return push(state, unused, url);
  };
  history.pushState.tidy = true;
}
tidyHistory();

/**
 * Notes where someone goes who leaves for another page: what the page before tells the server from then on would call
 * them back. The code of whatever tells may come after the click, so the first component that is there listens for all.
 */
function noteLeaving() {
  if (history.pushState.noted) return;
  history.pushState.noted = true;
  addEventListener("popstate", () => (history.pushState.going = location.pathname));
  const follow = (event) => {
    const link = event.composedPath().find((node) => typeof node.href === "string"); // of a picture it is an object
    if (link && link.target !== "_blank" && !event.ctrlKey && !event.metaKey && !event.shiftKey) history.pushState.going = link.pathname;
  };
  addEventListener("click", follow, true);
}
noteLeaving();

/** Whether someone is on the way from a page of ours to another. page: the last part of its path, "" for home */
function leaving(page) {
  const { going } = history.pushState;
  return going !== undefined && going.split("/").at(-1) !== page;
}
