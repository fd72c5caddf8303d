r"""Normalises LaTeX, Unicode and keyboard notation to one spelling.

In a clean text relations and operators are single characters (``≤ ∈ ∪ ∖ ± ∞ π``), fractions are
``\frac``, spacing commands are gone, and ``\text{...}`` has become ``«...»``.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from llmzoo.envs.math.answers.expressions import FUNCTIONS, GREEK
from llmzoo.envs.math.answers.units import ABBREVIATIONS

NEW_ROW = "⏎"  # between the rows of a matrix
_CHARACTERS = {
    sign: spelled
    for signs, spelled in {
        **{"−–—‐‑﹣－": "-", "×·⋅∙": "*", "÷⁄∕": "/", "＋": "+", "＝": "=", "（": "(", "）": ")"},
        **{"，": ",", "：": ":", "％": "%", "⩽": "≤", "⩾": "≥", "º": "°", "‘’′": "'", "“”": '"'},
        **{"\u00a0\u2009\u202f\u2007\u2002\u2003\u3000": " ", "\u200b\u2060\ufeff\u2061\u2062": ""},
        **{"√": r"\sqrt ", "∅": r"\emptyset "},
    }.items()
    for sign in signs
}
for _sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒":
    _part = Fraction(unicodedata.numeric(_sign)).limit_denominator(10)
    _CHARACTERS[_sign] = rf"\frac{{{_part.numerator}}}{{{_part.denominator}}}"
_GREEK = "αalpha βbeta γgamma δdelta εepsilon θtheta λlambda μmu ρrho σsigma φphi ωomega"
_CHARACTERS |= {name[0]: rf"\{name[1:]} " for name in _GREEK.split()}
_TRANSLATION = str.maketrans(_CHARACTERS)
_COMMANDS = {
    name: sign
    for sign, names in {
        r"\frac": "dfrac tfrac cfrac sfrac nicefrac",
        **{"*": "cdot times ast", "/": "div", "±": "pm", "∓": "mp", "π": "pi", "∞": "infty"},
        **{"≤": "le leq leqslant leqq", "≥": "ge geq geqslant geqq", "<": "lt", ">": "gt"},
        **{
            "≈": "approx simeq thickapprox",
            "≠": "ne neq",
            "∈": "in",
            "∪": "cup bigcup",
            "∖": "setminus smallsetminus backslash",
        },
        **{"°": "degree degrees", "%": "percent", ":": "colon", r"\emptyset ": "varnothing"},
        **{r"\{": "lbrace", r"\}": "rbrace", "[": "lbrack", "]": "rbrack"},
        **{"|": "vert lvert rvert mid", "…": "dots ldots cdots"},
        " ": """quad qquad enspace space displaystyle textstyle scriptstyle limits nolimits left right
        big Big bigg Bigg bigl bigr Bigl Bigr mleft mright boldsymbol rm bf it tt""",
    }.items()
    for name in names.split()
}
_BEFORE_LETTERS = FUNCTIONS | GREEK | {"pi", "cdot", "times", "infty", "quad"}
_KNOWN = {*_COMMANDS, *FUNCTIONS, *GREEK, "coth", "lnot", "lneq"}
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|normal|sf|tt)?|mbox|hbox|math(?:rm|bf|it|sf|tt|bb)|operatorname)\*?"
    r"\s*\{([^{}]{0,200})\}"
)
_REPEATING = re.compile(r"(\d{0,99})\.(\d{0,30})\\(?:overline|bar|dot)\s*\{?\s*(\d{1,30})\}?")
_PLAIN_TEX = re.compile(
    r"\{((?:[^{}]|\{[^{}]*\}){1,99})\\(over|choose)(?![A-Za-z])((?:[^{}]|\{[^{}]*\}){1,99})\}"
)
_ALIGNED = re.compile(
    r"\\(?:begin|end)\s*\{(?:align|aligned|equation|gather|gathered|split)\*?\}|&|\\\\"
)
_BRACED_COMMA = re.compile(r"(?<=\d)\s?(?:\{\s?,\s?\}|,\s?\\!)\s?(?=\d{3}(?!\d))")
_LATEX: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), spelled)
    for pattern, spelled in (
        (r"\\([%$|])", r"\1"),
        (r"\\mathbb\s*(?:\{R\}|R(?![A-Za-z]))", "(-∞,∞)"),
        (r"\\!\s*", ""),
        (r"\\[,;:> ]", " "),
        (r"\^\s*(?:\{\s*(?:\\circ|°|o)\s*\}|\\circ|°)(?![A-Za-z])", "°"),
        (r"\\not(?![A-Za-z]) ?=?", "≠"),
        (r"\\\{ ?\\\}", r"\\emptyset "),
    )
)
_PERCENT = re.compile(r"(?<![A-Za-z])(?:percentage|percent|pct)(?![A-Za-z])(?:\s+points?)?")
_KEYBOARD: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), spelled)
    for pattern, spelled in (
        ("<=", "≤"),
        (">=", "≥"),
        (r" != ", " ≠ "),
        (r"\*\*", "^"),
        ("~", " "),
        (r"(?<=[)\]}]) ?U ?(?=[(\[\\{])", "∪"),
        (r"(?<=\d:\d\d)\s*«?\s*([aApP])\.?\s?[mM]\.?\s*»?(?!\w)", r" «\1m»"),
        (_PERCENT.pattern, "%"),
        (r"(?<=\d)\s*\^?\s*\{?\s*(?:st|nd|rd|th)\s*\}?(?![A-Za-z])", ""),
        (
            r"\s*,?\s+(?:and|or)\s+|\s*,\s*(?:and|or)\s+"
            r"|(?<=[\d)\]}])\s?(?:and|or)\s?(?=[-\d(\[\\]|[A-Za-z] ?[=(])",
            " ; ",
        ),
    )
)
# one number in groups of three digits; in brackets the groups are a list
_GROUPS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:(?:,\d{3})+(?!\d|,\d)|(?: \d{3})+(?! ?\d))")
_LIST_OPENS = re.compile(r"[(\[]|\\\{|(?<![A-Za-z}^_\]])\{")
_LIST_CLOSES = re.compile(r"[)\]]|\\?\}")
_BLANKS = re.compile("[\ud800-\udfff\x00-\x1f\\s]+")
_LETTERS = re.compile(
    r"\\(?:begin|end) ?\{[^{}]*\}|«[^«»]*»|\\[A-Za-z]+|_\s*\{[^{}]*\}|[^\W\d_Α-ω]{2,}|[^\W\d_Α-ωA-Za-z]"
)
_SPELLED = {"pi": "π", "inf": "∞", "infinity": "∞", "sqrt": r"\sqrt ", "deg": "°", "in": "∈"}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")
_SMALL = re.compile("([⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+)|[₀₁₂₃₄₅₆₇₈₉ₙ]+")
# a power before an index, as v^2_0
_INDEX_LAST = re.compile(
    r"(?<![A-Za-z\\])([A-Za-z]|\\[A-Za-z]+)\s?\^\s?(\{[^{}]{1,40}\}|\d{1,9}|[A-Za-z])"
    r"\s?_\s?(\{[^{}]{1,40}\}|[A-Za-z\d])"
)
_SHORT_WORDS = ABBREVIATIONS | {"per", "or", "and", "not", "nor", "no", "to"}
_ONE_SIGN = re.compile(r"\s*([A-Za-z0-9]|\(\s*[A-Za-z]\s*\)|[-+]?[\d.,/]+)\s*")


def clean(text: str) -> str:
    """``text`` in one spelling; linear in its length."""
    text = _BLANKS.sub(" ", text.translate(_TRANSLATION))
    if "\\" in text:
        text = _without_latex(text)
    elif "{" in text:
        text = _BRACED_COMMA.sub("", text).replace("{,}", ",")
    text = _INDEX_LAST.sub(r"\1_\3^\2", _SMALL.sub(_spell_script, text))
    for pattern, spelled in _KEYBOARD:
        text = pattern.sub(spelled, text)
    text = _join_digit_groups(_LETTERS.sub(_mark_word, text)).rstrip(" \\").lstrip()
    return text if text.endswith("..") else text.rstrip(".").strip()


def _without_latex(text: str) -> str:
    if r"\\begin" in text:  # escaped twice
        text = text.replace(r"\\", "\\")
    if "matrix" in text or "array" in text:
        text = text.replace(r"\\", NEW_ROW)
    elif r"\begin" in text:
        text = _ALIGNED.sub(" ", text)
    else:
        text = re.sub(r"\\\\(?=[A-Za-z])", r"\\", text)
    text = _BRACED_COMMA.sub("", text).replace("{,}", ",")
    for pattern, spelled in _LATEX:
        text = pattern.sub(spelled, text)
    text = _REPEATING.sub(_spell_repeating, _TEXT.sub(_spell_text, text))
    text = _PLAIN_TEX.sub(_spell_plain_tex, text)
    return _COMMAND.sub(_spell_command, text)


def _join_digit_groups(text: str) -> str:
    """``1,234`` and ``1 234`` as ``1234``, but not in brackets, where a comma separates."""
    for match in reversed(list(_GROUPS.finditer(text))):
        before = text[: match.start()]
        if len(_LIST_OPENS.findall(before)) <= len(_LIST_CLOSES.findall(before)):
            text = before + re.sub("[, ]", "", match[0]) + text[match.end() :]
    return text


def _spell_script(match: re.Match[str]) -> str:
    table, sign = (_RAISED, "^") if match[1] else (_LOWERED, "_")
    return f"{sign}{{{match[0].translate(table)}}}"


def _mark_word(match: re.Match[str]) -> str:
    """Letters as a text if they are a word, and unchanged if they are a product of variables."""
    letters = match[0]
    if letters[0] in "«\\_":
        return letters
    if letters in _SPELLED:
        return _SPELLED[letters]
    if letters in FUNCTIONS or letters in GREEK:
        return f"\\{letters} "
    if letters[-1] == "x" and letters[:-1] in FUNCTIONS:
        return f"\\{letters[:-1]} x"
    before = match.string[max(0, match.start() - 2) : match.start()]
    is_counted = len(letters) == 3 and before[:1].isdigit() and before[1:] == " "  # 5 men
    is_product = letters.isascii() and len(letters) < 4 and letters not in _SHORT_WORDS
    return letters if is_product and not is_counted else f"«{letters}»"


def _spell_text(match: re.Match[str]) -> str:
    """``\\text{...}``: a sign stays a sign, and/or become a separator, everything else a text."""
    inner = match[1].strip()
    if inner.isdigit():
        return inner
    if not inner or inner[0].isdigit() or _ONE_SIGN.fullmatch(inner):
        return f" {inner} "
    if inner.strip(", ") in ("and", "or"):
        return " ; "
    return "%" if inner == "%" or _PERCENT.fullmatch(inner) else f"«{inner}»"


def _spell_repeating(match: re.Match[str]) -> str:
    r"""``0.1\overline{36}`` as a fraction."""
    whole, fixed, period = match[1] or "0", match[2], match[3]
    nines = 10 ** len(period) - 1
    return rf"\frac{{{int(whole + fixed) * nines + int(period)}}}{{{10 ** len(fixed) * nines}}}"


def _spell_plain_tex(match: re.Match[str]) -> str:
    command = r"\frac" if match[2] == "over" else r"\binom"
    return f"{command}{{{match[1]}}}{{{match[3]}}}"


def _spell_command(match: re.Match[str]) -> str:
    name = match[1]
    if name in _KNOWN:
        return _COMMANDS.get(name, match[0])
    for length in range(len(name) - 1, 1, -1):  # a lost space, as of \\cotx
        if name[:length] in _BEFORE_LETTERS:
            return f"{_COMMANDS.get(name[:length], match[0][: length + 1])} {name[length:]}"
    return match[0]
