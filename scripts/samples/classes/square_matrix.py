# ruff: noqa: B905, PT009, PT027 - the tests of these tasks are unittest classes
import unittest
from fractions import Fraction


class SquareMatrix:
    """A square matrix of whole numbers, given and returned as a list of rows."""

    def __init__(self, rows):
        if any(len(row) != len(rows) for row in rows):
            raise ValueError("not square")
        self.rows = [list(row) for row in rows]

    def transpose(self):
        """
        Rows become columns.
        :return: list of list of int
        """
        return [list(column) for column in zip(*self.rows)]

    def multiply(self, other):
        """
        The product with another matrix of the same size, on its left.
        :param other: list of list of int
        :return: list of list of int
        :raise ValueError: when the sizes differ
        """
        if len(other) != len(self.rows):
            raise ValueError("sizes differ")
        columns = list(zip(*other))
        return [
            [sum(a * b for a, b in zip(row, column)) for column in columns] for row in self.rows
        ]

    def power(self, exponent):
        """
        The matrix multiplied by itself; the power 0 is the identity.
        :param exponent: int, at least 0
        :return: list of list of int
        """
        size = len(self.rows)
        result = [[int(i == j) for j in range(size)] for i in range(size)]
        for _ in range(exponent):
            result = self.multiply(result)
        return result

    def minor(self, row, column):
        """
        The matrix without one row and one column, both counted from 0.
        :return: list of list of int
        """
        return [
            [value for j, value in enumerate(line) if j != column]
            for i, line in enumerate(self.rows)
            if i != row
        ]

    def determinant(self):
        """
        The determinant; 1 for the matrix of size 0.
        :return: int
        """
        if not self.rows:
            return 1
        total = 0
        for column, value in enumerate(self.rows[0]):
            total += (-1) ** column * value * SquareMatrix(self.minor(0, column)).determinant()
        return total

    def trace(self):
        """
        The sum of the main diagonal.
        :return: int
        """
        return sum(self.rows[i][i] for i in range(len(self.rows)))

    def solve(self, right):
        """
        The solution of matrix * x = right by Cramer's rule.
        :param right: list of int
        :return: list of str, each a fraction in lowest terms such as "-1/2" or a whole number
            such as "3"; [] when there is not exactly one solution
        """
        whole = self.determinant()
        if whole == 0:
            return []
        solution = []
        for column in range(len(self.rows)):
            replaced = [
                [right[i] if j == column else value for j, value in enumerate(line)]
                for i, line in enumerate(self.rows)
            ]
            solution.append(str(Fraction(SquareMatrix(replaced).determinant(), whole)))
        return solution


class SquareMatrixTestTranspose(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(SquareMatrix([[1, 2], [3, 4]]).transpose(), [[1, 3], [2, 4]])

    def test_empty(self):
        self.assertEqual(SquareMatrix([]).transpose(), [])

    def test_three(self):
        rows = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        self.assertEqual(SquareMatrix(rows).transpose(), [[1, 4, 7], [2, 5, 8], [3, 6, 9]])

    def test_leaves_the_matrix(self):
        matrix = SquareMatrix([[0, 1], [2, 0]])
        matrix.transpose()
        self.assertEqual(matrix.rows, [[0, 1], [2, 0]])


class SquareMatrixTestMultiply(unittest.TestCase):
    def test_order_matters(self):
        a, b = [[1, 2], [3, 4]], [[0, 1], [1, 0]]
        self.assertEqual(SquareMatrix(a).multiply(b), [[2, 1], [4, 3]])
        self.assertEqual(SquareMatrix(b).multiply(a), [[3, 4], [1, 2]])

    def test_identity(self):
        self.assertEqual(
            SquareMatrix([[5, 6], [7, 8]]).multiply([[1, 0], [0, 1]]), [[5, 6], [7, 8]]
        )

    def test_sizes(self):
        with self.assertRaises(ValueError):
            SquareMatrix([[1]]).multiply([[1, 0], [0, 1]])

    def test_numbers(self):
        self.assertEqual(SquareMatrix([[-3]]).multiply([[4]]), [[-12]])


class SquareMatrixTestPower(unittest.TestCase):
    def test_fibonacci(self):
        self.assertEqual(SquareMatrix([[1, 1], [1, 0]]).power(6), [[13, 8], [8, 5]])

    def test_nought(self):
        self.assertEqual(SquareMatrix([[9, 9], [9, 9]]).power(0), [[1, 0], [0, 1]])

    def test_one(self):
        self.assertEqual(SquareMatrix([[2, 3], [4, 5]]).power(1), [[2, 3], [4, 5]])

    def test_vanishes(self):
        self.assertEqual(SquareMatrix([[0, 1], [0, 0]]).power(2), [[0, 0], [0, 0]])


class SquareMatrixTestMinor(unittest.TestCase):
    def test_middle(self):
        rows = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        self.assertEqual(SquareMatrix(rows).minor(1, 1), [[1, 3], [7, 9]])

    def test_row_then_column(self):
        self.assertEqual(SquareMatrix([[1, 2], [3, 4]]).minor(0, 1), [[3]])

    def test_single(self):
        self.assertEqual(SquareMatrix([[8]]).minor(0, 0), [])

    def test_corner(self):
        rows = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        self.assertEqual(SquareMatrix(rows).minor(2, 0), [[2, 3], [5, 6]])


class SquareMatrixTestDeterminant(unittest.TestCase):
    def test_two(self):
        self.assertEqual(SquareMatrix([[1, 2], [3, 4]]).determinant(), -2)

    def test_three(self):
        self.assertEqual(SquareMatrix([[2, 0, 1], [1, 3, 2], [0, 1, 4]]).determinant(), 21)

    def test_empty(self):
        self.assertEqual(SquareMatrix([]).determinant(), 1)

    def test_dependent_rows(self):
        self.assertEqual(SquareMatrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).determinant(), 0)

    def test_single(self):
        self.assertEqual(SquareMatrix([[-6]]).determinant(), -6)


class SquareMatrixTestTrace(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(SquareMatrix([[1, 9], [9, 3]]).trace(), 4)

    def test_empty(self):
        self.assertEqual(SquareMatrix([]).trace(), 0)

    def test_negative(self):
        self.assertEqual(SquareMatrix([[-1, 0, 0], [0, -2, 0], [0, 0, 3]]).trace(), 0)

    def test_single(self):
        self.assertEqual(SquareMatrix([[5]]).trace(), 5)


class SquareMatrixTestSolve(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(SquareMatrix([[1, 1], [1, -1]]).solve([7, 1]), ["4", "3"])

    def test_fractions(self):
        self.assertEqual(SquareMatrix([[2, 0], [0, -4]]).solve([1, 2]), ["1/2", "-1/2"])

    def test_no_solution(self):
        self.assertEqual(SquareMatrix([[1, 2], [2, 4]]).solve([1, 3]), [])

    def test_three(self):
        rows = [[2, 1, 0], [0, 1, 0], [1, 0, 3]]
        self.assertEqual(SquareMatrix(rows).solve([5, 1, 8]), ["2", "1", "2"])


class SquareMatrixTestTogether(unittest.TestCase):
    def test_determinant_of_a_product(self):
        a, b = [[1, 2, 0], [0, 1, 3], [2, 0, 1]], [[2, 1, 1], [0, 1, 0], [1, 0, 2]]
        product = SquareMatrix(SquareMatrix(a).multiply(b))
        self.assertEqual(
            product.determinant(), SquareMatrix(a).determinant() * SquareMatrix(b).determinant()
        )

    def test_not_square(self):
        with self.assertRaises(ValueError):
            SquareMatrix([[1, 2]])
