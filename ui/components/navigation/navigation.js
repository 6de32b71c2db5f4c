// Links to all pages. A click keeps the session, and with it what was typed; a new tab opens the address. Needs
// shared.js, leave.js and icons.js.

const NARROW = matchMedia("(max-width: 768px)"); // as for Streamlit's sidebar, which then lies over the page
const JUST_LEFT = 500; // milliseconds
let left = -Infinity; // when a box for text was left, as by pressing on a link: it hands over its text

document.addEventListener("focusout", ({ target }) => target.matches("input, textarea") && (left = performance.now()), true);

class NavigationView {
  constructor(host) {
    this.root = el("nav", "navigation");
    setAttribute(this.root, "aria-label", "App pages");
    this.root.addEventListener("click", (event) => this.click(event));
    host.append(this.root);
  }

  update(data) {
    this.data = data;
    const pages = data.sections.flatMap(([, pages]) => pages);
    const content = JSON.stringify(pages.map(([, page]) => page));
    if (content !== this.content) this.build(content);
    this.links.forEach((link, n) => setText(link.lastChild, pages[n][0])); // with what was answered right by now
    this.mark(data.current);
    if (this.shown !== data.current) this.show((this.shown = data.current));
  }

  build(content) {
    this.content = content;
    this.root.replaceChildren();
    for (const [title, pages] of this.data.sections) {
      const list = el("ul");
      for (const [, page] of pages) {
        const [item, link, picture] = [el("li"), el("a"), el("span", "icon", ICONS[page])];
        Object.assign(link, { href: `./${page}`, page });
        setAttribute(picture, "aria-hidden", "true");
        setAttribute(picture, "translate", "no");
        link.append(picture, el("span"));
        item.append(link);
        list.append(item);
      }
      this.root.append(el("header", "", title), list);
    }
    this.links = [...this.root.querySelectorAll("a")];
  }

  mark(current) {
    for (const link of this.links) {
      if (link.page === current) setAttribute(link, "aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /** Scroll the sidebar to a page that has been opened, if its link is out of sight. */
  show(current) {
    const sidebar = document.querySelector("[data-testid=stSidebarContent]");
    const link = this.links.find(({ page }) => page === current);
    if (!sidebar || !link) return;
    const [seen, box] = [sidebar.getBoundingClientRect(), link.getBoundingClientRect()];
    if (box.top < seen.top || box.bottom > seen.bottom) sidebar.scrollTop += box.top - seen.top - seen.height / 3;
  }

  click(event) {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    this.mark(link.page);
    if (NARROW.matches) document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
    leaveFor(() => this.address(link), performance.now() - left < JUST_LEFT);
  }

  /** Of the page, with what the address has that all pages have. */
  address(link) {
    const there = new URL(link.href);
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (this.data.along.includes(name)) there.searchParams.append(name, value);
    }
    return there;
  }
}

export default mount(NavigationView);
