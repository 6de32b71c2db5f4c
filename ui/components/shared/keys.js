// The presenter's keys: arrows, Home, and the PageUp and PageDown of a remote control. Whoever last clicked something
// presents: every key steps, whatever the click gave the focus to. Whoever came there by keyboard uses it: keys that
// move in it stay its own. A box for text keeps its keys, but for the two of the remote control.

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Home: 0 };
const MOVED_IN = "[role=grid], [role=radiogroup], [role=tablist], [role=slider], input[type=range], input[type=radio], [role=listbox], [role=menu], [data-arrows]";
const LINE = "input:not([type=checkbox], [type=radio], [type=range], [type=button], [type=submit], [type=file])";
const TEXT = "textarea, select, [contenteditable=true], [role=combobox][aria-expanded=true]";

let byKeyboard = true; // how the focus came to where it is
let leave = null;

/** Whether the key means something where it is pressed. */
function ownKey(event) {
  const within = (selector) => event.composedPath().some((node) => node.matches?.(selector));
  if (within(TEXT)) return true;
  if (within(LINE)) return !event.key.startsWith("Page");
  return byKeyboard && within(MOVED_IN);
}

export default function ({ parentElement, setTriggerValue }) {
  const point = () => (byKeyboard = false);
  const press = (event) => {
    if (["Tab", "ArrowUp", "ArrowDown"].includes(event.key)) byKeyboard = true;
    if (!(event.key in STEPS) || event.ctrlKey || event.altKey || event.metaKey || ownKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) setTriggerValue("step", STEPS[event.key]);
  };
  leave?.(); // Streamlit calls this again, without taking leave, when the theme changes
  const [kinds, options] = [{ keydown: press, pointerdown: point }, { capture: true }];
  for (const [kind, listener] of Object.entries(kinds)) document.addEventListener(kind, listener, options);
  leave = () => Object.entries(kinds).forEach(([kind, listener]) => document.removeEventListener(kind, listener, options));
  parentElement.host.dataset.listens = "true"; // from now on a key is heard
  return leave;
}
