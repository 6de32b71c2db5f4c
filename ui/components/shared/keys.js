// Arrow keys for the presenter. Keys pressed in a field, a grid or a group of choices keep their own meaning there.
let listening = null;

export default function ({ parentElement, setTriggerValue }) {
  const own =
    "input:not([type=checkbox]), textarea, select, [contenteditable], [role=grid], [role=radiogroup], [role=tablist], [role=group]";
  const step = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Home: 0 };
  const listen = (event) => {
    if (!(event.key in step) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.composedPath().some((node) => node.matches?.(own))) return;
    event.preventDefault();
    setTriggerValue("step", step[event.key]);
  };
  // Streamlit calls this again, without taking leave, when the theme changes: one listener is enough.
  document.removeEventListener("keydown", listening);
  document.addEventListener("keydown", (listening = listen));
  parentElement.host.dataset.listens = "true"; // from now on a key is heard
  return () => document.removeEventListener("keydown", listen);
}
