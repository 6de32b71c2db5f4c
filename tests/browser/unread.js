// Texts of components and of the app's own parts that are too small, cut, or on one another, and what is not at the
// share of its box that it is given.
() => {
    const out = [];
    const roots = [document.querySelector(".stMain"), ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot)];
    const around = (e) => (e instanceof Element ? [e, ...around(e.parentNode ?? e.getRootNode().host)] : []);
    for (const root of roots.filter(Boolean)) {
        const texts = [];
        const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const e = walk.currentNode.parentElement;
            if (!walk.currentNode.data.trim() || !e?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || /STYLE|OPTION|title/.test(e.tagName)) continue;
            if (root instanceof Element && !e.closest("[class*=tw-]")) continue;
            const up = around(e).map((one) => [one, getComputedStyle(one)]);
            if (up.some(([, { clipPath, transform, writingMode }]) => clipPath !== "none" || !/^(none|matrix\([\d.]+, 0, 0,)/.test(transform) || !/horizontal/.test(writingMode))) continue;
            const range = document.createRange();
            range.selectNodeContents(walk.currentNode);
            const text = walk.currentNode.data.trim(), box = range.getBoundingClientRect();
            if (!box.width) continue;
            const size = parseFloat(up[0][1].fontSize);
            if (size && size < 9.5) out.push(`${text}: ${size} px`);
            let home = { left: -1e5, right: 1e5, top: -1e5, bottom: 1e5 };
            for (const [one, style] of up) {
                if (/auto|scroll/.test(style.overflowX + style.overflowY)) home = null;
                if (!home) break;
                if (/hidden|clip/.test(style.overflowX) && style.textOverflow === "clip" && style.webkitLineClamp === "none" && one.tagName !== "svg") {
                    const clip = one.getBoundingClientRect();
                    if (box.left < clip.left - 2 || box.right > clip.right + 2 || box.top < clip.top - 6 || box.bottom > clip.bottom + 6) out.push(`${text} is cut`);
                }
            }
            const scrolls = up.some(([one, style]) => /auto|scroll/.test(style.overflowX) && one.scrollWidth > one.clientWidth + 1);
            if (!scrolls) texts.push([text, e.tagName === "text" ? [e.getBoundingClientRect()] : [...range.getClientRects()], e]); // the rectangles of a narrowed text are those of a wide one
        }
        texts.forEach(([one, a, e], n) => {
            for (const [other, b, f] of texts.slice(n + 1)) {
                const covers = a.some((x) => b.some((y) => Math.min(x.right, y.right) - Math.max(x.left, y.left) > 2 && Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 6));
                if (one !== other && one.length > 1 && other.length > 1 && covers && !e.contains(f) && !f.contains(e)) out.push(`${one} on ${other}`);
            }
        });
        for (const e of root.querySelectorAll("[style*='--at'], [style*='--p:']")) {
            const { background, left } = getComputedStyle(e), of = e.offsetParent;
            const at = Number(e.style.getPropertyValue("--at")), p = e.style.getPropertyValue("--p");
            const stop = background.match(/linear-gradient\((.*?)(?:rgb|color)\([^)]*\) ([\d.]+)%/);
            if (stop && p && (stop[1] !== "to right, " || Math.abs(stop[2] - 100 * p) > 0.1)) out.push(`${stop[0]}, not ${p}`);
            const box = e.getBoundingClientRect(), home = of?.getBoundingClientRect();
            const middle = (box.left + box.right) / 2;
            if (box.width && e.matches("button:not(:last-child), .tw-plot:not(.slanted) s") && Math.abs(middle - home.left - at * home.width) > 2)
                out.push(`${e.textContent} is not at ${at}`);
            if (box.width && e.matches("u") && Math.abs(home.bottom - box.bottom - at * home.height) > 2) out.push(`${e.textContent} is not as high as ${at}`);
        }
    }
    return out;
}
