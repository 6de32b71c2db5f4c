"""Fifty texts that try to run as code, to break out of their place, or to reach what they should not.

Each that runs sets `window.pwned`. After the families of OWASP's cheat sheet on cross-site scripting, and of traps in
Markdown, LaTeX, JSON inside a script, CSS and file names.
"""

SET = "window.pwned=1"

PAYLOADS = (
    # Elements and event handlers
    f"<script>{SET}</script>",
    f"</script><script>{SET}</script>",
    f"<ScRiPt >{SET}</sCrIpT>",
    f"<img src=x onerror={SET}>",
    f'"><img src=x onerror="{SET}">',
    f"'><svg/onload={SET}>",
    f"<svg><script>{SET}</script></svg>",
    f"<svg><animate onbegin={SET} attributeName=x dur=1s>",
    f"<body onload={SET}>",
    f"<details open ontoggle={SET}>",
    f"<video><source onerror={SET}></video>",
    f"<input autofocus onfocus={SET}>",
    f"<iframe srcdoc='<script>parent.{SET}</script>'></iframe>",
    f"<iframe src=javascript:parent.{SET}></iframe>",
    f"<object data=javascript:{SET}></object>",
    f"<math><mtext><img src=x onerror={SET}></mtext></math>",
    f"<template><img src=x onerror={SET}></template>",
    f"<a href=javascript:{SET}>here</a>",
    f"<style>@import 'javascript:{SET}';</style>",
    f"<link rel=stylesheet href=javascript:{SET}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{SET}'>",
    f"<base href=//evil.example/><img src=x onerror={SET}>",
    f"<!--><img src=x onerror={SET}>-->",
    f"<![CDATA[<img src=x onerror={SET}>]]>",
    f"<noscript><p title='</noscript><img src=x onerror={SET}>'>",
    f"</title></textarea></style></noscript></template><img src=x onerror={SET}>",
    f"&lt;script&gt;{SET}&lt;/script&gt;",
    f"&#60;img src=x onerror={SET}&#62;",
    f"%3Cscript%3E{SET}%3C/script%3E",
    f"\\u003cscript\\u003e{SET}\\u003c/script\\u003e",
    # Inside a script, a template or JSON
    f"';{SET}//",
    f'";{SET}//',
    f"`${{{SET}}}`",
    f"\u2028{SET}\u2029",
    f"</script\t><script\n>{SET}</script >",
    f"{{{{constructor.constructor('{SET}')()}}}}",
    f'{{"__proto__": {{"pwned": 1}}}} {SET}',
    "PYTHON_PARAMS",
    "\ue000script\ue000",
    # Markdown, LaTeX, CSS
    f"[here](javascript:{SET})",
    f"![x](x\"onerror=\"{SET})",
    f"<javascript:{SET}>",
    f"$\\href{{javascript:{SET}}}{{x}}$",
    f"$$\\htmlData{{x=1}}{{x}}$$ \\url{{javascript:{SET}}}",
    f":red[<img src=x onerror={SET}>] :material/home:",
    f"| a | b |\n|---|---|\n| <img src=x onerror={SET}> | `x` |",
    "};*{background:url(javascript:window.pwned=1)}",
    # Files and addresses
    "../../../../etc/passwd",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
)  # fmt: skip
