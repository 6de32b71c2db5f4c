// Opens another page of this app in the session that one is in, as Back and Forward do: the page is just as its address
// says, and what was typed on the one before is not lost.

const AT_ONCE = 300; // milliseconds in which what is being typed reaches the server
const LOOKS = 50;
const gone = new WeakMap(); // the latest attempt: Streamlit calls this again when the theme changes

export default function ({ data, parentElement }) {
  if (gone.get(parentElement) === data.attempt) return;
  gone.set(parentElement, data.attempt);
  const there = new URL(`./${data.page}`, location.href);
  there.search = new URLSearchParams(data.state).toString();
  const leave = (looks) => {
    const runs = document.querySelector(".stApp")?.dataset.testScriptState !== "notRunning";
    if (runs && looks) return setTimeout(leave, AT_ONCE / 3, looks - 1);
    if (location.href !== there.href) history.pushState(null, "", there); // it does after an attempt that was lost
    dispatchEvent(new PopStateEvent("popstate"));
  };
  document.activeElement?.blur(); // a box of Streamlit's hands over its text when one leaves it
  setTimeout(leave, AT_ONCE, LOOKS);
}
