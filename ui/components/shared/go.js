// Opens another page of this app. Needs leave.js.

const gone = new WeakMap(); // the latest attempt: Streamlit calls this again when the theme changes

export default function ({ data, parentElement }) {
  if (gone.get(parentElement) === data.attempt) return;
  gone.set(parentElement, data.attempt);
  const there = new URL(`./${data.page}`, location.href);
  there.search = new URLSearchParams(data.state).toString();
  document.activeElement?.blur(); // a box of Streamlit's hands over its text when one leaves it
  leaveFor(() => there, true);
}
