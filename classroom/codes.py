"""Codes, secrets and texts of a class: drawn, cleaned, compared, and made harmless for a spreadsheet."""

import csv
import hashlib
import hmac
import io
import re
import secrets
import unicodedata
from collections.abc import Iterable, Sequence

# No two that look alike (0 O Q, 1 I L, 2 Z, 5 S, 6 G, 8 B, U V) and no vowels, so that no words come out.
SIGNS = "CDFHJKMNPRTWXY3479"
CODE_LENGTH = 6  # 34 million codes
MAX_MARKS = 2  # combining marks on one letter; more pile up over the lines above
_DROPPED = ("Cc", "Cf", "Cs", "Co", "Cn")  # control, direction, half a sign, private, no sign at all
_FORMULA = r"=+\-@＝＋－＠"  # what a spreadsheet takes for the beginning of a formula
# Where some spreadsheet, by its country or its setting, may begin a new cell. The line under the head of a table in
# Markdown, |---|---:|, would make cells of dashes alone: these are no formula.
_NEW_CELL = r"[,;\t\r\n]|\|(?! *-+:? *\|)"


def new_code() -> str:
    return "".join(secrets.choice(SIGNS) for _ in range(CODE_LENGTH))


def read_code(typed: str) -> str:
    """The code that somebody typed, in capitals, without spaces and hyphens; '' if it cannot be one."""
    code = "".join(typed[:40].upper().replace("-", " ").split())
    return code if len(code) == CODE_LENGTH and set(code) <= set(SIGNS) else ""


def new_secret() -> str:
    """A secret of 128 random bits that can stand in an address."""
    return secrets.token_urlsafe(16)


def hashed(secret: str) -> str:
    """What is kept of a secret: 64 hexadecimal digits. One of 128 random bits needs no slower function."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def same(secret: str, kept: str) -> bool:
    """Whether this is the secret of which the hash is kept; takes as long for every wrong one."""
    return hmac.compare_digest(hashed(secret), kept)


def clean(text: str, most: int) -> str:
    """Text in one line of at most so many signs, without signs that act instead of being seen."""
    kept = "".join(
        " " if sign.isspace() else "" if unicodedata.category(sign) in _DROPPED else sign for sign in text[: 20 * most]
    )
    shown: list[str] = []
    marks = 0
    for sign in unicodedata.normalize("NFC", " ".join(kept.split())):
        marks = marks + 1 if unicodedata.category(sign) in ("Mn", "Me") else 0
        if marks <= MAX_MARKS:
            shown.append(sign)
    return "".join(shown[:most]).strip()


def cell(text: str) -> str:
    """Text as a cell of a spreadsheet in which no program finds a formula, at whatever sign it begins a new cell.

    An apostrophe stands before each sign that would begin a formula: at the beginning, or after a sign between cells.
    """
    return re.sub(rf"((?:\A|{_NEW_CELL})[\s\"]*)(?=[{_FORMULA}])", r"\1'", text)


def as_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """Rows as a file that spreadsheets open with all their letters (UTF-8 with its mark), formulas disarmed."""
    file = io.StringIO()
    csv.writer(file).writerows([cell(text) for text in row] for row in rows)
    return b"\xef\xbb\xbf" + file.getvalue().encode("utf-8")
