// Tells the page once its first picture is painted, so that the rest of the page may come. Its place in the component is
// behind shared.js.

const LOOK_MS = 30;
const told = new WeakSet(); // Streamlit calls this again when the theme changes

/** Whether a picture of ours stands there with its content, or a sentence that says why none does. */
function stands() {
  const isolated = "[data-testid=stBidiComponentIsolated]";
  const roots = [...document.querySelectorAll(`${isolated}, ${isolated} *`)].map((node) => node.shadowRoot);
  const picture = roots.map((root) => root?.querySelector(".stage, .scene")).find(Boolean);
  return picture ? Boolean(picture.dataset.id || picture.querySelector("svg text")) : Boolean(document.querySelector("[data-testid=stAlertContentError]"));
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (told.has(parentElement)) return;
  told.add(parentElement);
  const look = setInterval(() => {
    if (!leaving(data.page) && !stands()) return;
    clearInterval(look);
    const tell = () => setTimeout(() => leaving(data.page) || setTriggerValue("painted", true));
    if (document.hidden) tell(); // a tab in the background paints nothing
    else requestAnimationFrame(tell);
  }, LOOK_MS);
  return () => clearInterval(look);
}
