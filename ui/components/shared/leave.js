const AT_ONCE = 300; // milliseconds in which what is being typed reaches the server
const LOOKS = 50;

/**
 * Open another page of this app in this session, as Back and Forward do: the page is just as its address says, and what
 * was typed on the one before is not lost.
 *
 * there() tells the address when it is time; waits: until what was just typed has reached the server.
 */
function leaveFor(there, waits) {
  const leave = (looks) => {
    const runs = document.querySelector(".stApp")?.dataset.testScriptState !== "notRunning";
    if (runs && looks) return setTimeout(leave, AT_ONCE / 3, looks - 1);
    const address = there();
    if (location.href !== address.href) history.pushState(null, "", address); // it does after an attempt that was lost
    dispatchEvent(new PopStateEvent("popstate"));
  };
  if (waits) setTimeout(leave, AT_ONCE, LOOKS);
  else leave(0);
}
