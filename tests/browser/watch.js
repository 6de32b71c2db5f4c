// Runs in every page before its own scripts, and tells the tests what the page still waits for: see `settled` in kit.py.
//
// What Streamlit says of itself is not enough: its script is "notRunning" until the server has heard of a click, and
// again before the components of the last run are drawn.
(() => {
  const [RERUN, BY_ITSELF] = [11, 6]; // fields of BackMsg, and of the ClientState in it
  const [NEW_SESSION, FINISHED] = [4, 6]; // fields of ForwardMsg
  const EARLY = 2; // a value of FINISHED: another run follows at once
  const DROPPED_MS = 5000; // what a fragment asks that is gone is never answered: so long it is waited for
  // How often the page has asked the server to run the script, and how often to look by itself, every second.
  const runs = { asked: 0, begun: 0, finished: 0, when: 0, looks: 0, looking: false };
  const heard = new WeakSet(); // sockets
  const came = new WeakSet(); // scripts

  /** The fields of a protobuf message: of a number its value, of anything else its bytes. */
  function fields(bytes) {
    const found = new Map();
    let at = 0;
    const number = () => {
      let [value, unit] = [0, 1];
      for (; bytes[at] > 127; unit *= 128) value += (bytes[at++] - 128) * unit;
      return value + bytes[at++] * unit;
    };
    while (at < bytes.length) {
      const [tag, value] = [number(), number()];
      found.set(Math.floor(tag / 8), tag % 8 ? bytes.subarray(at, at + value) : value);
      if (tag % 8) at += value;
    }
    return found;
  }

  function hear({ data }) {
    if (!(data instanceof ArrayBuffer)) return;
    const message = fields(new Uint8Array(data));
    if (message.has(NEW_SESSION)) runs.begun = runs.asked;
    if (message.has(FINISHED) && message.get(FINISHED) !== EARLY) runs.finished = runs.begun;
  }

  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (!heard.has(this)) this.addEventListener("message", hear);
    heard.add(this);
    const asks = data instanceof Uint8Array && fields(data).get(RERUN);
    if (asks) {
      runs.looking = fields(asks).get(BY_ITSELF) === 1;
      runs[runs.looking ? "looks" : "asked"] += 1;
      if (!runs.looking) runs.when = performance.now();
    }
    return send.call(this, data);
  };
  document.addEventListener("load", ({ target }) => came.add(target), true);

  /** What is still to come, in words. */
  function pending() {
    const found = [];
    const note = (there, what) => there && found.push(what);
    const all = (selector, within = document) => [...within.querySelectorAll(selector)];
    const state = document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState;
    note(!["notRunning", runs.looking && "running"].includes(state), `the script: it is ${state}`);
    note(runs.asked > runs.begun && performance.now() - runs.when < DROPPED_MS, "the server's answer");
    note(runs.begun > runs.finished, "the end of a run");
    note(all('[data-testid="stSkeleton"]').length, "the code of an element");
    note(document.fonts.status !== "loaded", "a font");
    note(all('[data-testid="stPlotlyChart"]').some((one) => one.checkVisibility() && !one.querySelector(".main-svg")), "a chart");
    // Streamlit puts a script into the head for each component, and a new one whenever it has something to tell it.
    const hosts = all('[data-testid^="stBidiComponent"]');
    const scripts = all('script[src*="/bidi-components/"]', document.head);
    note(scripts.length < hosts.length || scripts.some((one) => !came.has(one)), "the code of a component");
    const stages = hosts.flatMap(({ shadowRoot }) => (shadowRoot ? all(".stage", shadowRoot) : []));
    note(stages.some(({ dataset, ride }) => dataset.id !== ride.id), "the numbers of a stage");
    return found;
  }

  const soon = (ms) => new Promise((go) => setTimeout(go, ms));
  const frame = () => Promise.race([new Promise(requestAnimationFrame), soon(500)]);
  const idle = () => new Promise((go) => requestIdleCallback(go, { timeout: 1000 }));

  /** Wait until nothing is to come, twice in a row; what has come is drawn in the frames between. */
  async function drawn() {
    for (let calm = 0; calm < 2; ) {
      await frame();
      await frame();
      await idle();
      calm = pending().length ? 0 : calm + 1;
    }
  }

  globalThis.watched = { runs, pending, drawn };
})();
