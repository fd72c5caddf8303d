# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import re
import unittest


class RunLength:
    """Texts without digits, written shorter: "aaab" becomes "3ab"."""

    PATTERN = re.compile(r"([0-9]*)([^0-9])")

    def __init__(self, shortest=2):
        self.shortest = shortest

    def runs(self, text):
        """
        The runs of equal characters.
        :return: list of [character, length]
        >>> RunLength().runs("aab")
        [['a', 2], ['b', 1]]
        """
        found: list[list] = []
        for character in text:
            if found and found[-1][0] == character:
                found[-1][1] += 1
            else:
                found.append([character, 1])
        return found

    def longest(self, text):
        """
        The first of the longest runs.
        :return: [character, length], or ["", 0] for the empty text
        """
        best = ["", 0]
        for run in self.runs(text):
            if run[1] > best[1]:
                best = run
        return best

    def encode(self, text):
        """
        The short form. A run is written as its length and its character where it has at least
        self.shortest characters, and in full otherwise.
        :return: str
        :raise ValueError: when the text holds one of the digits 0 to 9
        """
        if re.search("[0-9]", text):
            raise ValueError("digits cannot be encoded")
        return "".join(
            f"{length}{character}" if length >= self.shortest else character * length
            for character, length in self.runs(text)
        )

    def is_code(self, code):
        """
        Whether a text can be decoded: every number is followed by a character that is no digit,
        and no number begins with 0.
        :return: bool
        """
        parts = self.PATTERN.findall(code)
        whole = "".join(number + character for number, character in parts) == code
        return whole and not any(number.startswith("0") for number, _ in parts)

    def decode(self, code):
        """
        The text of a short form.
        :return: str
        :raise ValueError: when it cannot be decoded
        """
        if not self.is_code(code):
            raise ValueError(code)
        return "".join(
            character * int(number or 1) for number, character in self.PATTERN.findall(code)
        )

    def saved(self, text):
        """
        The share of characters that encoding saves, rounded to two places; 0.0 for the empty text.
        :return: float
        """
        if not text:
            return 0.0
        return round(1 - len(self.encode(text)) / len(text), 2)


class RunLengthTestRuns(unittest.TestCase):
    def test_mixed(self):
        self.assertEqual(RunLength().runs("aabccc"), [["a", 2], ["b", 1], ["c", 3]])

    def test_empty(self):
        self.assertEqual(RunLength().runs(""), [])

    def test_comes_back(self):
        self.assertEqual(RunLength().runs("aba"), [["a", 1], ["b", 1], ["a", 1]])

    def test_case_counts(self):
        self.assertEqual(RunLength().runs("aA"), [["a", 1], ["A", 1]])


class RunLengthTestLongest(unittest.TestCase):
    def test_first_of_two(self):
        self.assertEqual(RunLength().longest("abbcc"), ["b", 2])

    def test_empty(self):
        self.assertEqual(RunLength().longest(""), ["", 0])

    def test_at_the_end(self):
        self.assertEqual(RunLength().longest("aabbb"), ["b", 3])

    def test_single(self):
        self.assertEqual(RunLength().longest("x"), ["x", 1])


class RunLengthTestEncode(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(RunLength().encode("aaab"), "3ab")

    def test_long_run(self):
        self.assertEqual(RunLength().encode("-" * 12), "12-")

    def test_shortest(self):
        self.assertEqual(RunLength(3).encode("aabbb"), "aa3b")

    def test_digits(self):
        with self.assertRaises(ValueError):
            RunLength().encode("a1")

    def test_empty(self):
        self.assertEqual(RunLength().encode(""), "")


class RunLengthTestIsCode(unittest.TestCase):
    def test_good(self):
        self.assertTrue(RunLength().is_code("3ab12c"))

    def test_number_at_the_end(self):
        self.assertFalse(RunLength().is_code("a3"))

    def test_empty(self):
        self.assertTrue(RunLength().is_code(""))

    def test_leading_zero(self):
        self.assertFalse(RunLength().is_code("03a"))
        self.assertFalse(RunLength().is_code("0a"))

    def test_zero_inside_a_number(self):
        self.assertTrue(RunLength().is_code("10a"))


class RunLengthTestDecode(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(RunLength().decode("3ab"), "aaab")

    def test_two_digits(self):
        self.assertEqual(RunLength().decode("11x"), "x" * 11)

    def test_no_numbers(self):
        self.assertEqual(RunLength().decode("abc"), "abc")

    def test_bad(self):
        for code in ("3", "a0b", "00"):
            with self.assertRaises(ValueError):
                RunLength().decode(code)

    def test_line_break(self):
        self.assertEqual(RunLength().decode("2\nx"), "\n\nx")


class RunLengthTestSaved(unittest.TestCase):
    def test_half(self):
        self.assertEqual(RunLength().saved("aaaa"), 0.5)

    def test_nothing(self):
        self.assertEqual(RunLength().saved("abc"), 0.0)

    def test_empty(self):
        self.assertEqual(RunLength().saved(""), 0.0)

    def test_rounded(self):
        self.assertEqual(RunLength().saved("aaa"), 0.33)


class RunLengthTestTogether(unittest.TestCase):
    def test_there_and_back(self):
        for shortest in (1, 2, 4):
            coder = RunLength(shortest)
            for text in ("", "a", "aabbbbcd  ee", "\n\n\n", "zzzzzzzzzzzz!"):
                code = coder.encode(text)
                self.assertTrue(coder.is_code(code))
                self.assertEqual(coder.decode(code), text)
