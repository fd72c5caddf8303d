# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import unittest


class Paragraph:
    """Sets a text in lines of a given width, with spaces between words."""

    def __init__(self, text, width):
        self.text = text
        self.width = width

    def words(self):
        """
        The words of the text, split at any run of spaces or line breaks; a word that is longer
        than the width is cut into pieces of at most the width.
        :return: list of str
        >>> Paragraph("a  house", 3).words()
        ['a', 'hou', 'se']
        """
        pieces = []
        for word in self.text.split():
            pieces += [word[i : i + self.width] for i in range(0, len(word), self.width)]
        return pieces

    def lines(self):
        """
        The words in lines, as many in each as fit with one space between them.
        :return: list of list of str
        >>> Paragraph("to be or not", 5).lines()
        [['to', 'be'], ['or'], ['not']]
        """
        lines: list[list[str]] = []
        used = 0
        for word in self.words():
            if lines and used + 1 + len(word) <= self.width:
                lines[-1].append(word)
                used += 1 + len(word)
            else:
                lines.append([word])
                used = len(word)
        return lines

    def justify(self, words):
        """
        One line of exactly the width: the spaces are shared among the gaps, the first gaps
        getting one more where they do not come out even. A single word stands at the left.
        :param words: list of str that fit into the width
        :return: str
        """
        if len(words) == 1:
            return words[0].ljust(self.width)
        gaps = len(words) - 1
        spaces = self.width - sum(map(len, words))
        each, more = divmod(spaces, gaps)
        line = words[0]
        for number, word in enumerate(words[1:]):
            line += " " * (each + (number < more)) + word
        return line

    def centre(self, words):
        """
        One line of exactly the width with the words in its middle, one space between them; an
        odd space goes to the right.
        :param words: list of str that fit into the width
        :return: str
        """
        line = " ".join(words)
        left = (self.width - len(line)) // 2
        return " " * left + line + " " * (self.width - len(line) - left)

    def render(self, style):
        """
        The whole paragraph.
        :param style: "left" (no spaces at the end of a line), "centre", or "justify" (the last
            line as in "left")
        :return: str, the lines joined by line breaks
        :raise ValueError: for any other style
        """
        lines = self.lines()
        if style == "left":
            return "\n".join(" ".join(line) for line in lines)
        if style == "centre":
            return "\n".join(self.centre(line) for line in lines)
        if style == "justify":
            done = [self.justify(line) for line in lines[:-1]]
            return "\n".join(done + [" ".join(line) for line in lines[-1:]])
        raise ValueError(style)


class ParagraphTestWords(unittest.TestCase):
    def test_runs_of_spaces(self):
        self.assertEqual(Paragraph(" one\n two   three", 9).words(), ["one", "two", "three"])

    def test_empty(self):
        self.assertEqual(Paragraph(" \n ", 4).words(), [])

    def test_long_word(self):
        self.assertEqual(Paragraph("abcdefgh ij", 3).words(), ["abc", "def", "gh", "ij"])

    def test_exactly_the_width(self):
        self.assertEqual(Paragraph("abcd ef", 4).words(), ["abcd", "ef"])


class ParagraphTestLines(unittest.TestCase):
    def test_as_many_as_fit(self):
        self.assertEqual(Paragraph("a bb ccc d", 6).lines(), [["a", "bb"], ["ccc", "d"]])

    def test_one_space_counts(self):
        self.assertEqual(Paragraph("aaa bbb", 6).lines(), [["aaa"], ["bbb"]])

    def test_empty(self):
        self.assertEqual(Paragraph("", 5).lines(), [])

    def test_exact_fit(self):
        self.assertEqual(Paragraph("aaa bbb c", 7).lines(), [["aaa", "bbb"], ["c"]])


class ParagraphTestJustify(unittest.TestCase):
    def test_even(self):
        self.assertEqual(Paragraph("", 9).justify(["a", "b", "c"]), "a   b   c")

    def test_first_gaps_get_more(self):
        self.assertEqual(Paragraph("", 10).justify(["a", "b", "c", "d"]), "a  b  c  d")
        self.assertEqual(Paragraph("", 8).justify(["a", "b", "c", "d"]), "a  b c d")

    def test_single_word(self):
        self.assertEqual(Paragraph("", 5).justify(["ab"]), "ab   ")

    def test_full_line(self):
        self.assertEqual(Paragraph("", 5).justify(["ab", "cd"]), "ab cd")


class ParagraphTestCentre(unittest.TestCase):
    def test_odd_space_to_the_right(self):
        self.assertEqual(Paragraph("", 6).centre(["abc"]), " abc  ")

    def test_even(self):
        self.assertEqual(Paragraph("", 7).centre(["a", "b"]), "  a b  ")

    def test_full(self):
        self.assertEqual(Paragraph("", 3).centre(["abc"]), "abc")

    def test_one_left(self):
        self.assertEqual(Paragraph("", 4).centre(["abc"]), "abc ")


class ParagraphTestRender(unittest.TestCase):
    def test_left(self):
        self.assertEqual(Paragraph("to be or not", 5).render("left"), "to be\nor\nnot")

    def test_unknown(self):
        with self.assertRaises(ValueError):
            Paragraph("a", 5).render("right")

    def test_justify(self):
        text = "the old man and the sea"
        self.assertEqual(Paragraph(text, 9).render("justify"), "the   old\nman   and\nthe sea")

    def test_centre(self):
        self.assertEqual(Paragraph("ab c def", 6).render("centre"), " ab c \n def  ")

    def test_justify_one_line(self):
        self.assertEqual(Paragraph("one line", 20).render("justify"), "one line")


class ParagraphTestTogether(unittest.TestCase):
    def test_no_line_is_wider(self):
        paragraph = Paragraph("incomprehensibilities are long words and others are not", 8)
        for style in ("left", "centre", "justify"):
            lines = paragraph.render(style).split("\n")
            self.assertEqual(max(map(len, lines)), 8)
            self.assertEqual(len(lines), len(paragraph.lines()))
