"""The arithmetic inside a LaTeX formula, worked out again. Shares nothing with the code that writes formulas."""

import math
import re

_KNOWN = {name: getattr(math, name) for name in ("sin", "cos", "tanh", "sqrt", "exp", "inf")} | {
    "max": max,
    "round": round,
    "ln": math.log,
}
_ROUNDED = re.compile(r"\d+\.\d+")  # a number that was shortened


def sides(formula: str) -> list[str]:
    """The parts between = and → that hold numbers only, as Python."""
    parts = re.split(r"=|\\to|\\Rightarrow", formula.replace(r"\displaystyle", ""))
    return [code for code in map(_as_python, parts) if not set(re.findall(r"[A-Za-z_\\]+", code)) - _KNOWN.keys()]


def value(code: str) -> float:
    result = eval(code, {"__builtins__": {}}, _KNOWN)
    return float(result)


def rounding(code: str) -> float:
    """How far `value` may be off because the numbers in it were shortened."""
    shortened = _ROUNDED.findall(code)
    of = eval(f"lambda n: {_ROUNDED.sub('n.pop()', code)}", {"__builtins__": {}, **_KNOWN})  # compiled once
    total, exact = 0.0, value(code)
    for at, text in enumerate(shortened):
        half = 0.5 * 10.0 ** -len(text.partition(".")[2])
        moved = []
        for by in (half, -half):
            numbers = [float(one) + by * (n == at) for n, one in enumerate(shortened)]
            moved.append(float(of(numbers[::-1])))  # read from left to right, as Python does
        total += max(abs(m - exact) for m in moved)
    return total


def agree(formula: str) -> float:
    """The value that a formula comes to.

    Raises: AssertionError, naming the formula, if its sides differ by more than rounding explains
    """
    codes = sides(formula)
    assert codes, f"no numbers in {formula}"
    *values, last = map(value, codes)
    for code, found in zip(codes, values, strict=False):
        if found != last:
            allowed = rounding(code) + rounding(codes[-1]) + 1e-5 * max(1.0, abs(last))
            assert abs(found - last) <= allowed, f"{formula}: {found} is not {last}"
    return last


def _as_python(latex: str) -> str:
    code, before = latex.replace(r"\operatorname{round}", "round"), None
    while code != before:  # from the inside out
        before = code
        code = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", code)
        code = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", code)
        code = re.sub(r"\be\^\{([^{}]*)\}", r"exp(\1)", code)
        code = re.sub(r"(\d)\^\{([^{}]*)\}", r"\1**(\2)", code)
    code = re.sub(r"\\(sin|cos|tanh|max|ln)", r"\1", code.replace(r"\cdot", "*").replace(r"\infty", "inf"))
    return re.sub(r"\\left|\\right|\\[!,;: ]", "", code).strip()
