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
            texts.push([text, box, e]);
        }
        texts.forEach(([one, a, e], n) => {
            for (const [other, b, f] of texts.slice(n + 1)) {
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (one !== other && across > 2 && down > 6 && !e.contains(f) && !f.contains(e)) out.push(`${one} on ${other}`);
            }
        });
        for (const e of root.querySelectorAll("[style*='--at'], [style*='--p:']")) {
            const { background, left } = getComputedStyle(e), of = e.offsetParent;
            const at = Number(e.style.getPropertyValue("--at")), p = e.style.getPropertyValue("--p");
            const stop = background.match(/linear-gradient\((.*?)(?:rgb|color)\([^)]*\) ([\d.]+)%/);
            if (stop && p && (stop[1] !== "to right, " || Math.abs(stop[2] - 100 * p) > 0.1)) out.push(`${stop[0]}, not ${p}`);
            const box = e.getBoundingClientRect(), home = of?.getBoundingClientRect();
            if (box.width && e.matches("button:not(:last-child)") && Math.abs((box.left + box.right) / 2 - home.left - at * home.width) > 2)
                out.push(`${e.textContent} is not at ${at}`);
        }
    }
    return out;
}
