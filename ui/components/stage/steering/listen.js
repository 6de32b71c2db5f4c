// What the stage hears: the pointer, the keys, the size of its place, and whether anyone looks.

/** The pointer, the keys, the size, and whether anyone looks. Returns a function that ends all that. */
function listen(stage) {
  const { canvas, root } = stage;
  const size = () => {
    stage.fit();
    stage.draw();
  };
  const resize = new ResizeObserver(size);
  resize.observe(canvas);
  // What stands above may come late, such as a line on a doubtful translation: then there is less room below it.
  let top = null;
  const moved = new ResizeObserver(() => {
    const now = stage.top();
    if (now !== top) size();
    top = now;
  });
  const page = document.querySelector("[data-testid=stMainBlockContainer]");
  if (page) moved.observe(page);
  addEventListener("resize", size);
  const hide = () => document.hidden && stage.playing && stage.setPlaying(false);
  const press = (event) => pressed(stage, event);
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.x) / stage.zoom, (event.clientY - box.y) / stage.zoom];
  };
  const over = (event) => {
    if (!stage.data || stage.inside.shown) return;
    const what = thingAt(stage.scene, ...place(event));
    canvas.style.cursor = what ? "pointer" : "";
    setAttribute(canvas, "title", what?.kind === "block" ? toLesson(stage.data, what) : "");
    const focus = what?.token !== undefined ? { panel: what.panel, token: what.token } : null;
    if (JSON.stringify(focus) === JSON.stringify(stage.focus)) return;
    stage.focus = focus;
    if (!stage.playing) stage.draw();
  };
  const leave = () => {
    stage.focus = null;
    if (!stage.playing) stage.draw();
  };
  canvas.addEventListener("pointermove", over);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("click", (event) => stage.data && stage.enter(thingAt(stage.scene, ...place(event))));
  document.addEventListener("visibilitychange", hide);
  document.addEventListener("keydown", press, true);
  root.addEventListener("fullscreenchange", () => stage.draw());
  return () => {
    resize.disconnect();
    moved.disconnect();
    removeEventListener("resize", size);
    cancelAnimationFrame(stage.zooming);
    document.removeEventListener("visibilitychange", hide);
    document.removeEventListener("keydown", press, true);
  };
}

/**
 * Keys act when the focus is on the stage or on nothing, never while one types. With the focus on nothing, Page Up,
 * Page Down, Home and End scroll the page, unless someone presents.
 */
function pressed(stage, event) {
  if (!stage.data || event.ctrlKey || event.altKey || event.metaKey) return;
  const path = event.composedPath();
  const here = path.includes(stage.root);
  const presents = stage.presenting || document.fullscreenElement;
  const shown = stage.root.getBoundingClientRect().bottom > 120 && (presents || !/^(Page|Home|End)/.test(event.key));
  const heard = stage.clip ? !stage.small && event.key === " " : shown;
  if (!here && !(onNothing() && heard)) return;
  const target = path[0];
  const typed = target.matches?.("select, textarea, input:not([type=range])");
  if (event.key === "Escape" && stage.inside.shown) stage.inside.shut();
  else if (typed) return;
  else if (here && stage.inside.root.contains(target)) return;
  else if (here && target.matches?.("[data-arrows], [data-arrows] *")) return;
  else if (event.key === " " && target.matches?.("button, summary")) return;
  else if (!act(stage, event.key)) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Whether the focus is on nothing in particular: a click on the page itself gives it to the part that scrolls. */
function onNothing() {
  const { activeElement, body } = document;
  return !activeElement || activeElement === body || activeElement.matches("[data-testid=stMain], main");
}

function act(stage, key) {
  const play = { " ": () => stage.toggle() };
  const move = {
    ArrowRight: () => stage.step(1),
    ArrowLeft: () => stage.step(-1),
    Home: () => stage.go(stage.from),
    End: () => stage.go(stage.to),
  };
  const leap = { PageDown: () => stage.stop(1), PageUp: () => stage.stop(-1) };
  // Of a clip that fills the screen, all but the space bar are the presenter's, who goes on to the next part.
  const keys = stage.clip ? { ...play, ...(stage.small ? move : {}) } : { ...play, ...move, ...leap };
  keys[key]?.();
  return key in keys;
}
