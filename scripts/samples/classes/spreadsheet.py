# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import re
import unittest


class Spreadsheet:
    """Cells named like "B3" that hold whole numbers or sums such as "=A1+B2-7"."""

    NAME = re.compile(r"[A-Z][1-9][0-9]*")

    def __init__(self):
        self.cells = {}

    def set(self, name, content):
        """
        Fill a cell.
        :param name: str, a capital letter and a number from 1
        :param content: int, or str that begins with "="
        :raise ValueError: for a bad name, or a str that does not begin with "="
        """
        if not self.NAME.fullmatch(name):
            raise ValueError(name)
        if isinstance(content, str) and not content.startswith("="):
            raise ValueError(content)
        self.cells[name] = content

    def terms(self, formula):
        """
        The terms of a formula with their signs.
        :param formula: str such as "=A1-7"
        :return: list of [sign (1 or -1), cell name or number as str]
        >>> Spreadsheet().terms("=A1-7")
        [[1, 'A1'], [-1, '7']]
        """
        found = []
        for sign, term in re.findall(r"([+-]?)\s*([A-Z]?[0-9]+)", formula):
            found.append([-1 if sign == "-" else 1, term])
        return found

    def references(self, name):
        """
        The cells that a cell's formula names, without repetition, in alphabetical order.
        :return: list of str, [] for a number and for an empty cell
        """
        content = self.cells.get(name, 0)
        if not isinstance(content, str):
            return []
        return sorted({term for _, term in self.terms(content) if self.NAME.fullmatch(term)})

    def is_circular(self, name):
        """
        Whether the value of a cell depends on the cell itself, or on one that does so.
        :return: bool
        """

        def leads_back(cell, path):
            if cell in path:
                return True
            return any(leads_back(other, [*path, cell]) for other in self.references(cell))

        return leads_back(name, [])

    def value(self, name):
        """
        The value of a cell; an empty cell counts 0.
        :return: int
        :raise ValueError: with the text "circular" when it depends on itself
        """
        if self.is_circular(name):
            raise ValueError("circular")
        content = self.cells.get(name, 0)
        if not isinstance(content, str):
            return content
        total = 0
        for sign, term in self.terms(content):
            total += sign * (self.value(term) if self.NAME.fullmatch(term) else int(term))
        return total

    def dependents(self, name):
        """
        The cells whose formulas name a cell directly, in alphabetical order.
        :return: list of str
        """
        return sorted(cell for cell in self.cells if name in self.references(cell))

    def column_total(self, letter):
        """
        The sum of the values of all filled cells of a column.
        :param letter: str, a capital letter
        :return: int
        """
        return sum(self.value(name) for name in self.cells if name[0] == letter)


def sheet():
    cells = Spreadsheet()
    cells.set("A1", 10)
    cells.set("A2", "=A1+5")
    cells.set("B1", "=A2-A1-1")
    cells.set("C1", "=A2+A2")
    return cells


class SpreadsheetTestSet(unittest.TestCase):
    def test_number(self):
        cells = Spreadsheet()
        cells.set("Z99", 3)
        self.assertEqual(cells.value("Z99"), 3)

    def test_bad_name(self):
        for name in ("", "a1", "A0", "A", "AB1", "A1 "):
            with self.assertRaises(ValueError):
                Spreadsheet().set(name, 1)

    def test_bad_content(self):
        with self.assertRaises(ValueError):
            Spreadsheet().set("A1", "12")

    def test_again(self):
        cells = sheet()
        cells.set("A1", 20)
        self.assertEqual(cells.value("A2"), 25)


class SpreadsheetTestTerms(unittest.TestCase):
    def test_signs(self):
        self.assertEqual(Spreadsheet().terms("=A1+B22-7"), [[1, "A1"], [1, "B22"], [-1, "7"]])

    def test_leading_minus(self):
        self.assertEqual(Spreadsheet().terms("=-3"), [[-1, "3"]])

    def test_spaces(self):
        self.assertEqual(Spreadsheet().terms("= A1 - 4"), [[1, "A1"], [-1, "4"]])

    def test_nothing(self):
        self.assertEqual(Spreadsheet().terms("="), [])


class SpreadsheetTestReferences(unittest.TestCase):
    def test_sorted(self):
        self.assertEqual(sheet().references("B1"), ["A1", "A2"])

    def test_number(self):
        self.assertEqual(sheet().references("A1"), [])

    def test_empty(self):
        self.assertEqual(sheet().references("D4"), [])

    def test_once(self):
        self.assertEqual(sheet().references("C1"), ["A2"])


class SpreadsheetTestIsCircular(unittest.TestCase):
    def test_not(self):
        self.assertFalse(sheet().is_circular("B1"))

    def test_itself(self):
        cells = Spreadsheet()
        cells.set("A1", "=A1+1")
        self.assertTrue(cells.is_circular("A1"))

    def test_round_about(self):
        cells = sheet()
        cells.set("A1", "=B1")
        self.assertTrue(cells.is_circular("A1"))

    def test_leads_into_a_circle(self):
        cells = sheet()
        cells.set("D1", "=D2")
        cells.set("D2", "=D2")
        self.assertTrue(cells.is_circular("D1"))
        self.assertFalse(cells.is_circular("A2"))


class SpreadsheetTestValue(unittest.TestCase):
    def test_formula(self):
        self.assertEqual((sheet().value("A2"), sheet().value("B1")), (15, 4))

    def test_twice_the_same(self):
        self.assertEqual(sheet().value("C1"), 30)

    def test_empty(self):
        self.assertEqual(Spreadsheet().value("A1"), 0)

    def test_circular(self):
        cells = sheet()
        cells.set("A1", "=C1")
        with self.assertRaises(ValueError):
            cells.value("A2")

    def test_names_empty_cells(self):
        cells = Spreadsheet()
        cells.set("A1", "=B1-3")
        self.assertEqual(cells.value("A1"), -3)


class SpreadsheetTestDependents(unittest.TestCase):
    def test_direct_only(self):
        self.assertEqual(sheet().dependents("A1"), ["A2", "B1"])

    def test_none(self):
        self.assertEqual(sheet().dependents("C1"), [])

    def test_several(self):
        self.assertEqual(sheet().dependents("A2"), ["B1", "C1"])

    def test_prefix_is_another_cell(self):
        cells = Spreadsheet()
        cells.set("B1", "=A11")
        self.assertEqual((cells.dependents("A1"), cells.dependents("A11")), ([], ["B1"]))


class SpreadsheetTestColumnTotal(unittest.TestCase):
    def test_column(self):
        self.assertEqual(sheet().column_total("A"), 25)

    def test_empty(self):
        self.assertEqual(sheet().column_total("Q"), 0)

    def test_formula(self):
        self.assertEqual(sheet().column_total("C"), 30)

    def test_circular(self):
        cells = sheet()
        cells.set("B2", "=B2")
        with self.assertRaises(ValueError):
            cells.column_total("B")


class SpreadsheetTestTogether(unittest.TestCase):
    def test_change_runs_through(self):
        cells = sheet()
        cells.set("A1", -2)
        self.assertEqual([cells.value(n) for n in ("A2", "B1", "C1")], [3, 4, 6])
        self.assertEqual(cells.column_total("A"), 1)
        cells.set("A2", "=B1")
        self.assertTrue(cells.is_circular("C1"))
