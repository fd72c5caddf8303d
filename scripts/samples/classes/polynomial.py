# ruff: noqa: PT009 - the tests of these tasks are unittest classes
import unittest


class Polynomial:
    """A polynomial in x with integer coefficients; coefficients[i] belongs to x**i."""

    def __init__(self, coefficients):
        self.coefficients = list(coefficients)
        while self.coefficients and self.coefficients[-1] == 0:
            self.coefficients.pop()

    def degree(self):
        """
        The highest power with a coefficient other than 0; -1 for the zero polynomial.
        :return: int
        >>> Polynomial([1, 0, 3]).degree()
        2
        """
        return len(self.coefficients) - 1

    def evaluate(self, x):
        """
        The value at x.
        :param x: int
        :return: int
        """
        value = 0
        for coefficient in reversed(self.coefficients):
            value = value * x + coefficient
        return value

    def add(self, other):
        """
        The sum with another polynomial, given by its coefficients.
        :param other: list of int, lowest power first
        :return: list of int, lowest power first, without zeros at the end
        >>> Polynomial([1, 2]).add([0, -2])
        [1]
        """
        mine = self.coefficients
        length = max(len(mine), len(other))
        total = [
            (mine[i] if i < len(mine) else 0) + (other[i] if i < len(other) else 0)
            for i in range(length)
        ]
        return Polynomial(total).coefficients

    def multiply(self, other):
        """
        The product with another polynomial, given by its coefficients.
        :param other: list of int, lowest power first
        :return: list of int, lowest power first, without zeros at the end
        """
        product = [0] * (len(self.coefficients) + len(other))
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other):
                product[i + j] += a * b
        return Polynomial(product).coefficients

    def power(self, exponent):
        """
        The polynomial raised to a whole power of at least 0; the power 0 gives 1.
        :param exponent: int
        :return: list of int, lowest power first
        """
        result = [1]
        for _ in range(exponent):
            result = self.multiply(result)
        return result

    def derivative(self):
        """
        The coefficients of the first derivative.
        :return: list of int, lowest power first
        """
        return [i * c for i, c in enumerate(self.coefficients)][1:]

    def integer_roots(self, low, high):
        """
        The whole numbers from low to high, both included, at which the value is 0.
        :return: list of int in ascending order; [] for the zero polynomial
        """
        if self.degree() < 0:
            return []
        return [x for x in range(low, high + 1) if self.evaluate(x) == 0]

    def show(self):
        """
        The polynomial in writing, highest power first, such as "x^2 - 3x + 1": no coefficient of
        1 before an x, no power of 1, no terms of 0; "0" for the zero polynomial.
        :return: str
        >>> Polynomial([0, -1, 2]).show()
        '2x^2 - x'
        """
        text = ""
        for power in range(self.degree(), -1, -1):
            coefficient = self.coefficients[power]
            if coefficient == 0:
                continue
            size = abs(coefficient)
            variable = {0: "", 1: "x"}.get(power, f"x^{power}")
            term = variable if size == 1 and variable else f"{size}{variable}"
            if not text:
                text = f"-{term}" if coefficient < 0 else term
            else:
                text += f" - {term}" if coefficient < 0 else f" + {term}"
        return text or "0"


class PolynomialTestDegree(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(Polynomial([4, 5, 6]).degree(), 2)

    def test_zero(self):
        self.assertEqual(Polynomial([0, 0]).degree(), -1)

    def test_trailing_zeros(self):
        self.assertEqual(Polynomial([1, 2, 0, 0]).degree(), 1)

    def test_constant(self):
        self.assertEqual(Polynomial([7]).degree(), 0)


class PolynomialTestEvaluate(unittest.TestCase):
    def test_at_two(self):
        self.assertEqual(Polynomial([1, 2, 3]).evaluate(2), 17)

    def test_at_zero(self):
        self.assertEqual(Polynomial([5, 9]).evaluate(0), 5)

    def test_negative(self):
        self.assertEqual(Polynomial([0, 0, 0, 1]).evaluate(-3), -27)

    def test_zero_polynomial(self):
        self.assertEqual(Polynomial([]).evaluate(8), 0)


class PolynomialTestAdd(unittest.TestCase):
    def test_different_lengths(self):
        self.assertEqual(Polynomial([1, 2]).add([1, 1, 1]), [2, 3, 1])

    def test_other_shorter(self):
        self.assertEqual(Polynomial([1, 2, 3]).add([4]), [5, 2, 3])

    def test_cancels(self):
        self.assertEqual(Polynomial([1, 2, 3]).add([-1, 0, -3]), [0, 2])

    def test_to_zero(self):
        self.assertEqual(Polynomial([1]).add([-1]), [])


class PolynomialTestMultiply(unittest.TestCase):
    def test_binomials(self):
        self.assertEqual(Polynomial([1, 1]).multiply([-1, 1]), [-1, 0, 1])

    def test_by_zero(self):
        self.assertEqual(Polynomial([1, 2]).multiply([]), [])

    def test_by_number(self):
        self.assertEqual(Polynomial([1, 0, 2]).multiply([3]), [3, 0, 6])

    def test_by_x(self):
        self.assertEqual(Polynomial([5, 6]).multiply([0, 1]), [0, 5, 6])


class PolynomialTestPower(unittest.TestCase):
    def test_cube(self):
        self.assertEqual(Polynomial([1, 1]).power(3), [1, 3, 3, 1])

    def test_nought(self):
        self.assertEqual(Polynomial([3, 4]).power(0), [1])

    def test_one(self):
        self.assertEqual(Polynomial([0, 2]).power(1), [0, 2])

    def test_square(self):
        self.assertEqual(Polynomial([2, -1]).power(2), [4, -4, 1])


class PolynomialTestDerivative(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(Polynomial([7, 3, 5, 2]).derivative(), [3, 10, 6])

    def test_constant(self):
        self.assertEqual(Polynomial([4]).derivative(), [])

    def test_zero(self):
        self.assertEqual(Polynomial([0]).derivative(), [])

    def test_gap(self):
        self.assertEqual(Polynomial([0, 0, 0, 0, 1]).derivative(), [0, 0, 0, 4])


class PolynomialTestIntegerRoots(unittest.TestCase):
    def test_two_roots(self):
        self.assertEqual(Polynomial([-6, 1, 1]).integer_roots(-10, 10), [-3, 2])

    def test_bounds_count(self):
        self.assertEqual(Polynomial([-1, 0, 1]).integer_roots(-1, 1), [-1, 1])

    def test_none(self):
        self.assertEqual(Polynomial([1, 0, 1]).integer_roots(-5, 5), [])

    def test_zero(self):
        self.assertEqual(Polynomial([]).integer_roots(-1, 1), [])


class PolynomialTestShow(unittest.TestCase):
    def test_example(self):
        self.assertEqual(Polynomial([1, -3, 1]).show(), "x^2 - 3x + 1")

    def test_zero(self):
        self.assertEqual(Polynomial([]).show(), "0")

    def test_leading_minus(self):
        self.assertEqual(Polynomial([2, 0, -1]).show(), "-x^2 + 2")

    def test_constants(self):
        self.assertEqual(Polynomial([1]).show(), "1")
        self.assertEqual(Polynomial([-1]).show(), "-1")

    def test_linear(self):
        self.assertEqual(Polynomial([-4, -5]).show(), "-5x - 4")


class PolynomialTestTogether(unittest.TestCase):
    def test_product_rule(self):
        product = Polynomial(Polynomial([1, 2]).multiply([3, 0, 1]))
        self.assertEqual(product.show(), "2x^3 + x^2 + 6x + 3")
        self.assertEqual(product.derivative(), [6, 2, 6])

    def test_root_of_a_square(self):
        self.assertEqual(Polynomial(Polynomial([-3, 1]).power(2)).integer_roots(0, 9), [3])
