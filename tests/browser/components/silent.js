// The lines of the stylesheets of all components without which nothing that they apply to would look otherwise.
() => {
    // What a visitor does becomes an attribute, which can be set.
    const acts = /(?<!:):(hover|focus-visible|focus|checked|disabled)(?![\w-])/g;
    const rgba = (text) => {
        const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
        const full = text.startsWith("color(") ? 255 : 1;
        return [...[red, green, blue].map((part) => part * alpha * full), 255 * alpha];
    };
    const plain = /^(rgba?|color)\([^()]*\)$/;
    const differ = (one, other) =>
        plain.test(one) && plain.test(other)
            ? Math.hypot(...rgba(one).map((part, n) => part - rgba(other)[n])) > 9
            : one !== other;
    const around = (e) => (e instanceof Element ? [e, ...around(e.parentNode)] : []);
    const matched = (root, selector) => {
        const there = [...root.querySelectorAll(selector)].map((e) => [e, []]);
        if (there.length) return there;
        const given = selector.replace(/:not\([^)]*\)/g, "").match(/data-is-[\w-]+/g) ?? [];
        const bare = selector.replace(/(?<!:not\()\[data-is-[\w-]+\]/g, "");
        return given.length ? [...root.querySelectorAll(bare)].map((e) => [e, given]) : [];
    };
    const matters = (rule, name, [e, given]) => {
        const set = [...around(e), e.previousElementSibling ?? e].flatMap((node) => given.map((one) => [node, one]));
        for (const [node, one] of set) node.setAttribute(one, "");
        const part = rule.selectorText.match(/::[\w-]+/)?.[0];
        const before = rule.style.cssText, names = [...rule.style];
        rule.style.removeProperty(name);
        const gone = names.filter((one) => ![...rule.style].includes(one));
        const look = () => gone.map((one) => getComputedStyle(e, part).getPropertyValue(one));
        const left = look();
        rule.style.cssText = before;
        const seen = look();
        for (const [node, one] of set) node.removeAttribute(one);
        return seen.some((one, n) => differ(one, left[n]));
    };
    const silent = [];
    const walk = (rules, root) => {
        for (const rule of rules) {
            if (rule.media && !matchMedia(rule.media.mediaText).matches) continue;
            // Of a state: what is more than a tag or a class. Parts of sliders no script can look at.
            if (!/(^| )(?!col)[^ ]*[\w\])](\.|\[|:(?!:))[^ ]*$/.test(rule.selectorText ?? "") || /::-/.test(rule.selectorText)) continue;
            rule.selectorText = rule.selectorText.replace(acts, "[data-is-$1]");
            const found = matched(root, rule.selectorText.replace(/::[\w-]+/g, "")).filter(([e]) => e.checkVisibility()).slice(0, 8);
            const given = rule.style.cssText.matchAll(/([\w-]+): ((?:[^;()]|\((?:[^()]|\([^()]*\))*\))+);/g);
            for (const [line, name] of found.length ? given : [])
                if (!/: (none|0|inherit);$/.test(line) && !found.some((one) => matters(rule, name, one))) silent.push(`${rule.selectorText} { ${line} }`);
        }
    };
    for (const { shadowRoot } of document.querySelectorAll("*")) {
        if (!shadowRoot) continue;
        for (const act of ["checked", "disabled"])
            for (const e of shadowRoot.querySelectorAll(`:${act}`)) e.setAttribute(`data-is-${act}`, "");
        for (const style of shadowRoot.querySelectorAll("style")) walk(style.sheet.cssRules, shadowRoot);
        for (const sheet of shadowRoot.adoptedStyleSheets) walk(sheet.cssRules, shadowRoot);
    }
    return silent;
}
