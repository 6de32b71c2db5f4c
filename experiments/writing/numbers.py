"""Which numbers of an English sentence its German translation does not have: dates, times and prices too."""

import re

NUMBER = r"\d+(?:[.,:/]\d+)*"
TIME = r"(\d+):(15|30|45)"
CLOCK = {"15": ("viertel nach", 0), "30": ("halb", 1), "45": ("viertel vor", 1)}  # what comes before which hour
UNITS = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
).split()
TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
LARGE = {1000: "tausend", 100: "hundert"}
SPELLED = 10**6  # numbers are looked for as words below
GOES_ON = r"zehn|zig|ßig|und|hundert|tausend|\d"  # what makes another number of the letters before it
ENGLISH = {
    **{word: n for n, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)},
    **{f"{word}teen": n for n, word in enumerate("thir four fif six seven eigh nine".split(), 13)},
    **{f"{word}ty": 10 * n for n, word in enumerate("twen thir for fif six seven eigh nine".split(), 2)},
    "hundred": 100,
    "thousand": 1000,
}
ANY = f"(?:{'|'.join(sorted(ENGLISH, key=len, reverse=True))})"
# Of those in words, what cannot be a time or half of a dozen: sixty-four, two hundred and fifty, a thousand.
IN_WORDS = rf"\b(?:\w+ty-{ANY}|(?:{ANY}[ -](?:and )?)*(?:hundred|thousand)(?:[ -](?:and )?{ANY})*)\b"
ONE = r"ein(e[mnrs]?|s|mal)?\b|erste"


def missing_numbers(english: str, german: str) -> list[str]:
    """The numbers of which the German has neither the digits nor the word; in words, those over twenty.

    German may write 3.50 as 3,50, 1,000 as 1.000, 9:00 as 9, 2:30 as “halb drei”, and hours after noon up to 24.
    """
    english, german = (re.sub(r"(?<=\d)[.,:]00\b", "", text) for text in (english, german.lower()))
    wholes = {digits(number) for number in re.findall(NUMBER, german)}
    parts = set(re.findall(r"\d+", german))

    def stands(number: str) -> bool:
        if digits(number) in wholes or on_clock(number, german) or is_spelled(int(digits(number)), german):
            return True
        return all(part in parts or is_spelled(int(part), german) for part in re.findall(r"\d+", number))

    def in_day(number: str) -> str:
        return re.sub(r"^\d+", lambda hour: str((int(hour[0]) + 12) % 24), number)

    found: list[tuple[str, str]] = re.findall(rf"({NUMBER})(\s?[ap]\.?m\b)?", english, re.IGNORECASE)
    missing = [one for one, noon in found if not (stands(one) or ((noon or ":" in one) and stands(in_day(one))))]
    return missing + [one for one in re.findall(IN_WORDS, english, re.IGNORECASE) if not stands(str(value(one)))]


def value(english: str) -> int:
    """Of a number in English words."""
    thousands, rest = 0, 0
    for n in (ENGLISH.get(word, 0) for word in re.findall("[a-z]+", english.lower())):
        if n == 1000:
            thousands, rest = 1000 * max(1, rest), 0
        else:
            rest = 100 * max(1, rest) if n == 100 else rest + n
    return thousands + rest


def digits(number: str) -> str:
    return re.sub(r"\D", "", number)


def on_clock(number: str, german: str) -> bool:
    """Whether a time like 2:30 is told as “halb drei”."""
    if not (time := re.fullmatch(TIME, number)):
        return False
    before, later = CLOCK[time[2]]
    hour = (int(time[1]) + later - 1) % 12 + 1
    return bool(re.search(rf"\b{before} ({hour}|{in_letters(hour)}s?)\b", german))


def is_spelled(number: int, german: str) -> bool:
    """Whether German in small letters has a number as a word, by itself or at the start of one like dreimal."""
    if number >= SPELLED:
        return False
    return bool(re.search(rf"\b({ONE if number == 1 else in_letters(number)})(?!{GOES_ON})", german))


def in_letters(number: int) -> str:
    """A whole number under a million as a German word, a pattern: einhundert may be hundert."""
    for size, name in LARGE.items():
        if number >= size:
            many, rest = divmod(number, size)
            return ("(ein)?" if many == 1 else in_letters(many)) + name + (in_letters(rest) if rest else "")
    if number < 20:
        return UNITS[number]
    tens, unit = divmod(number, 10)
    return (f"{UNITS[unit]}und" if unit else "") + TENS[tens - 2]
