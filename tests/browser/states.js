// What is in a state and would look the same out of it: chosen, open, or of a class that its neighbours have not (but
// for three by which a script finds its buttons).
() => {
    const told = "color background-color background-image border-top-color border-top-style border-top-width border-left-color border-left-width cursor box-shadow opacity visibility display font-weight font-style font-size text-decoration-line fill stroke stroke-width stroke-dasharray transform height padding-top order".split(" ");
    const look = (e) =>
        [e, ...e.querySelectorAll("*")].slice(0, 4).flatMap((one) => [null, "::before"].flatMap((part) => {
            const style = getComputedStyle(one, part);
            return told.map((name) => style.getPropertyValue(name));
        })).join();
    const named = (e, less) => [...e.classList].filter((one) => one !== less).sort().join();
    const out = new Set();
    const leave = (e, classes, attribute, name) => {
        const before = look(e), given = [e.getAttribute("class"), attribute && e.getAttribute(attribute)];
        e.setAttribute("class", classes);
        if (attribute) e.removeAttribute(attribute);
        if (look(e) === before) out.add(name);
        e.setAttribute("class", given[0] ?? "");
        if (attribute) e.setAttribute(attribute, given[1]);
    };
    const roots = [...document.querySelectorAll("[class^=tw-]"), ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot)];
    for (const root of roots.filter(Boolean)) {
        for (const attribute of ["aria-pressed", "aria-selected", "aria-current"]) {
            const e = root.querySelector(`[${attribute}]:not([${attribute}=false])`);
            const other = e && [...root.querySelectorAll(e.tagName)].find((one) => (one.getAttribute(attribute) ?? "false") === "false");
            if (other) leave(e, other.className, attribute, `${e.tagName} ${e.className} [${attribute}]`);
        }
        const seen = new Set();
        for (const e of root.querySelectorAll("[class]:not(text.written, text.asked, g, .onward, .off, .whole)")) {
            for (const name of e.classList) {
                const kind = `${e.tagName} ${named(e, name)} .${name}`;
                const isPlain = (one) => one.tagName === e.tagName && named(one) === named(e, name);
                if (seen.has(kind) || ![...(e.parentNode?.children ?? [])].some(isPlain)) continue;
                seen.add(kind);
                leave(e, named(e, name).replaceAll(",", " "), null, kind);
            }
        }
    }
    return [...out];
}
