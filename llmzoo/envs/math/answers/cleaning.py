r"""One spelling for what LaTeX, Unicode and keyboards spell in many ways.

In a clean text relations and operators are single characters (``≤ ∈ ∪ ± ∞ π``), fractions are
``\frac``, spacing commands are gone, and ``\text{...}`` has become ``«...»``.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from llmzoo.envs.math.answers.asking import COMMANDS
from llmzoo.envs.math.answers.expressions import FUNCTIONS, GREEK
from llmzoo.envs.math.answers.units import ABBREVIATIONS

NEW_ROW = "⏎"  # between the rows of a matrix
_CHARACTERS = {
    **dict.fromkeys("−–—‐‑﹣－", "-"),
    **dict.fromkeys("×·⋅∙", "*"),
    **dict.fromkeys("\u00a0\u2009\u202f\u2007\u2002\u2003\u3000", " "),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("\u200b\u2060\ufeff\u2061\u2062", ""),
    "÷": "/",
    "⁄": "/",
    "∕": "/",
    "＋": "+",
    "＝": "=",
    "（": "(",
    "）": ")",
    "，": ",",
    "：": ":",
    "％": "%",
    "⩽": "≤",
    "⩾": "≥",
    "º": "°",
    "√": r"\sqrt ",
    "∅": r"\emptyset ",
}
_FRACTIONS = {
    sign: Fraction(unicodedata.numeric(sign)).limit_denominator(10) for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"
}
_CHARACTERS |= {s: rf"\frac{{{f.numerator}}}{{{f.denominator}}}" for s, f in _FRACTIONS.items()}
_GREEK = (
    "α alpha β beta γ gamma δ delta ε epsilon θ theta λ lambda μ mu ρ rho σ sigma φ phi ω omega"
)
_CHARACTERS |= {s: rf"\{name} " for s, name in zip(*[iter(_GREEK.split())] * 2, strict=True)}
_TRANSLATION = str.maketrans(_CHARACTERS)
_COMMANDS = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac", "sfrac", "nicefrac"), r"\frac"),
    **dict.fromkeys(("cdot", "times", "ast"), "*"),
    "div": "/",
    **dict.fromkeys(("le", "leq", "leqslant", "leqq"), "≤"),
    **dict.fromkeys(("ge", "geq", "geqslant", "geqq"), "≥"),
    "lt": "<",
    "gt": ">",
    **dict.fromkeys(("approx", "simeq", "thickapprox"), "≈"),
    "in": "∈",
    **dict.fromkeys(("cup", "bigcup"), "∪"),
    "infty": "∞",
    "pm": "±",
    "mp": "∓",
    "pi": "π",
    **dict.fromkeys(("degree", "degrees"), "°"),
    "percent": "%",
    **dict.fromkeys(("lbrace", "lbrack"), r"\{"),
    **dict.fromkeys(("rbrace", "rbrack"), r"\}"),
    **dict.fromkeys(("vert", "lvert", "rvert", "mid"), "|"),
    "colon": ":",
    "varnothing": r"\emptyset ",
    **dict.fromkeys(("ne", "neq"), "≠"),
    **dict.fromkeys(("quad", "qquad", "enspace", "space"), " "),
    **dict.fromkeys(("dots", "ldots", "cdots"), "…"),
    **dict.fromkeys(
        """displaystyle textstyle scriptstyle limits nolimits left right big Big bigg Bigg bigl bigr Bigl
    Bigr mleft mright boldsymbol rm bf it tt mathstrut hfill newline""".split(),  # noqa: SIM905
        " ",
    ),
}
_COMMANDS["lbrack"], _COMMANDS["rbrack"] = "[", "]"
_BEFORE_LETTERS = FUNCTIONS | GREEK | {"pi", "cdot", "times", "pm", "infty"}
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_SPACING = re.compile(r"\\[!]\s*|\\[,;:> ]")
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|normal|sf|tt)?|mbox|hbox|math(?:rm|bf|it|sf|tt|bb)|operatorname)\*?"
    r"\s*\{([^{}]{0,200})\}"
)
_DOUBLED = re.compile(r"\\\\(?=[A-Za-z])")
_DEGREES = re.compile(r"\^\s*(?:\{\s*(?:\\circ|°|o)\s*\}|\\circ|°)(?![A-Za-z])")
_OVERLINE = re.compile(r"(\d*)\.(\d{0,30})\\(?:overline|bar|dot)\s*\{?\s*(\d{1,30})\}?")
_ALIGNED = re.compile(
    r"\\(?:begin|end)\s*\{(?:align|aligned|equation|gather|gathered|split)\*?\}|&"
)
_REALS = re.compile(r"\\mathbb\s*(?:\{R\}|R(?![A-Za-z]))")
_ORDINAL = re.compile(r"(?<=\d)\s*\^?\s*\{?\s*(?:st|nd|rd|th)\s*\}?(?![A-Za-z])")
_PERCENT = re.compile(r"(?<![A-Za-z])(?:percentage|percent|pct)(?![A-Za-z])(?:\s+points?)?")
_JOINING = re.compile(
    r"\s*,?\s+(?:and|or)\s+|\s*,\s*(?:and|or)\s+"
    r"|(?<=[\d)\]}])\s?(?:and|or)\s?(?=[-\d(\[\\]|[A-Za-z] ?[=(])"
)
_BRACED_COMMA = re.compile(r"(?<=\d)\s?(?:\{\s?,\s?\}|,\s?\\!)\s?(?=\d{3}(?!\d))")
# one number in groups of three digits, where brackets do not make a list of them
_GROUPS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:(?:,\d{3})+(?!\d|,\d)|(?: \d{3})+(?! ?\d))")
_LIST_OPENS = re.compile(r"[(\[]|\\\{|(?<![A-Za-z}^_\]])\{")
_LIST_CLOSES = re.compile(r"[)\]]|\\?\}")
_BLANKS = re.compile(r"\s+")
_LETTERS = re.compile(
    r"\\(?:begin|end) ?\{[^{}]*\}|«[^«»]*»|\\[A-Za-z]+|_\s*\{[^{}]*\}|[^\W\d_Α-ω]{2,}|[^\W\d_Α-ωA-Za-z]"
)
_SPELLED = {"pi": "π", "inf": "∞", "infinity": "∞", "sqrt": r"\sqrt ", "deg": "°", "in": "∈"}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")
_RAISED_SIGNS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_LOWERED_SIGNS = re.compile("[₀₁₂₃₄₅₆₇₈₉ₙ]+")
_PLAIN_TEX = re.compile(
    r"\{((?:[^{}]|\{[^{}]*\}){1,99})\\(over|choose)(?![A-Za-z])((?:[^{}]|\{[^{}]*\}){1,99})\}"
)
_UNION = re.compile(r"(?<=[)\]}]) ?U ?(?=[(\[\\{])")
_CLOCK = re.compile(r"(?<=\d:\d\d)\s*«?\s*([ap])\.?\s?m\.?\s*»?(?!\w)", re.IGNORECASE)
_SHORT_WORDS = ABBREVIATIONS | {"per", "or", "and", "not", "nor", "no", "to"}
_NOT = re.compile(r"\\not(?![A-Za-z]) ?=?")
_EMPTY = re.compile(r"\\\{ ?\\\}")
_SURROGATES = re.compile("[\ud800-\udfff\x00-\x1f]")
_ONE_SIGN = re.compile(r"\s*([A-Za-z0-9]|\(\s*[A-Za-z]\s*\)|[-+]?[\d.,/]+)\s*")


def clean(text: str) -> str:
    """``text`` in one spelling; linear in its length."""
    text = _BLANKS.sub(" ", _SURROGATES.sub(" ", text).translate(_TRANSLATION))
    if "\\" in text:
        if r"\\begin" in text:  # escaped twice
            text = text.replace(r"\\", "\\")
        if "matrix" in text or "array" in text:
            text = text.replace(r"\\", NEW_ROW)
        elif r"\begin" in text:
            text = _ALIGNED.sub(" ", text).replace(r"\\", " ")
        else:
            text = _DOUBLED.sub(r"\\", text)
        text = _BRACED_COMMA.sub("", text)
        text = text.replace(r"\%", "%").replace("{,}", ",").replace(r"\$", "$")
        text = text.replace(r"\|", "|")
        text = _REALS.sub("(-∞,∞)", text)
        text = _SPACING.sub(_thin, text)
        text = _DEGREES.sub("°", text)
        text = _TEXT.sub(_words, text)
        text = _NOT.sub("≠", text)
        text = _EMPTY.sub(r"\\emptyset ", text)
        text = _OVERLINE.sub(_repeating, text)
        text = _PLAIN_TEX.sub(_plain_tex, text)
        text = _COMMAND.sub(_command, text)
    elif "{" in text:
        text = _BRACED_COMMA.sub("", text).replace("{,}", ",")
    text = _RAISED_SIGNS.sub(lambda found: f"^{{{found[0].translate(_RAISED)}}}", text)
    text = _LOWERED_SIGNS.sub(lambda found: f"_{{{found[0].translate(_LOWERED)}}}", text)
    text = _CLOCK.sub(lambda found: f" «{found[1].lower()}m»", _UNION.sub("∪", text))
    text = text.replace("<=", "≤").replace(">=", "≥").replace("**", "^").replace("~", " ")
    text = text.replace(" != ", " ≠ ")
    text = _ORDINAL.sub("", _PERCENT.sub("%", text))
    text = _JOINING.sub(" ; ", text)
    text = _joined(_LETTERS.sub(_word, text)).rstrip(" \\").lstrip()
    return text if text.endswith("..") else text.rstrip(".").strip()


def _joined(text: str) -> str:
    """``1,234`` and ``1 234`` as ``1234``, but not in brackets, where a comma separates."""
    groups = list(_GROUPS.finditer(text))
    for found in reversed(groups):
        before = text[: found.start()]
        if len(_LIST_OPENS.findall(before)) <= len(_LIST_CLOSES.findall(before)):
            number = re.sub("[, ]", "", found[0])
            text = f"{before}{number}{text[found.end() :]}"
    return text


def _word(found: re.Match[str]) -> str:
    """Letters that are a word, and not a product of variables, as a text."""
    letters = found[0]
    if letters[0] in "«\\_":
        return letters
    if letters in _SPELLED:
        return _SPELLED[letters]
    if letters in FUNCTIONS or letters in GREEK:
        return f"\\{letters} "
    if letters[-1] == "x" and letters[:-1] in FUNCTIONS:
        return f"\\{letters[:-1]} x"
    is_ascii = letters.isascii()
    before = found.string[max(0, found.start() - 2) : found.start()]
    if is_ascii and len(letters) == 3 and before[:1].isdigit() and before[1:] == " ":
        return f"«{letters}»"  # 5 men
    if is_ascii and len(letters) < 4 and letters not in _SHORT_WORDS:
        return letters
    return f"«{letters}»"


def _thin(found: re.Match[str]) -> str:
    return "" if found[0][1] == "!" else " "


def _words(found: re.Match[str]) -> str:
    """A sign in upright letters is a sign, and/or joins, everything else stays a text."""
    inner = found[1].strip()
    if _ONE_SIGN.fullmatch(inner):
        return f" {inner} " if not inner.isdigit() else inner
    if inner[:1].isdigit():  # an amount with its unit
        return f" {inner} "
    if inner in ("and", "or", ", and", ",and", ", or"):
        return " ; "
    if not inner:
        return " "
    if _PERCENT.fullmatch(inner) or inner == "%":
        return "%"
    return f"«{inner}»"


def _repeating(found: re.Match[str]) -> str:
    r"""``0.1\overline{36}`` as a fraction."""
    whole, fixed, period = found[1] or "0", found[2], found[3]
    scale = 10 ** len(fixed)
    nines = 10 ** len(period) - 1
    if len(whole) > 100:
        return found[0]
    top = int(whole + fixed) * nines + int(period)
    return rf"\frac{{{top}}}{{{scale * nines}}}"


def _plain_tex(found: re.Match[str]) -> str:
    command = r"\frac" if found[2] == "over" else r"\binom"
    return rf"{command}{{{found[1]}}}{{{found[3]}}}"


def _command(found: re.Match[str]) -> str:
    name = found[1]
    if name in _COMMANDS or name in COMMANDS:
        return _COMMANDS.get(name, found[0])
    for length in range(len(name) - 1, 1, -1):  # a lost space, as of \\cotx
        if name[:length] in _BEFORE_LETTERS:
            return f"{_COMMANDS.get(name[:length], found[0][: length + 1])} {name[length:]}"
    return found[0]
