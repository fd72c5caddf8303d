# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import unittest
from collections import deque


class Stockroom:
    """Goods kept in lots; what came in first goes out first, and is valued at what it cost."""

    def __init__(self):
        self.lots = {}

    def receive(self, item, count, price):
        """
        Take a lot into stock.
        :param item: str
        :param count: int, pieces, at least 1
        :param price: int, cents a piece, at least 0
        :raise ValueError: for a count below 1 or a negative price
        """
        if count < 1 or price < 0:
            raise ValueError("count or price")
        self.lots.setdefault(item, deque()).append([count, price])

    def in_stock(self, item):
        """
        Pieces of an item in stock; 0 for an unknown item.
        :return: int
        """
        return sum(count for count, _ in self.lots.get(item, ()))

    def ship(self, item, count):
        """
        Take pieces out of the oldest lots.
        :return: int, what these pieces cost, in cents
        :raise ValueError: when there are too few, or count is below 1; then nothing is taken
        """
        if count < 1 or self.in_stock(item) < count:
            raise ValueError("count")
        cost = 0
        lots = self.lots[item]
        while count:
            taken = min(count, lots[0][0])
            cost += taken * lots[0][1]
            count -= taken
            lots[0][0] -= taken
            if lots[0][0] == 0:
                lots.popleft()
        return cost

    def value(self):
        """
        What all the pieces in stock cost, in cents.
        :return: int
        """
        return sum(count * price for lots in self.lots.values() for count, price in lots)

    def low(self, limits):
        """
        The items of which there are fewer pieces than their limit.
        :param limits: dict from item (str) to limit (int)
        :return: list of str in alphabetical order
        >>> Stockroom().low({"nut": 1, "bolt": 0})
        ['nut']
        """
        return sorted(item for item, limit in limits.items() if self.in_stock(item) < limit)

    def fill_orders(self, orders):
        """
        Ship orders in turn; an order for more than there is waits, and later ones are tried.
        :param orders: list of [item, count]
        :return: tuple of the cost of all that was shipped and the list of waiting orders
        """
        cost = 0
        waiting = []
        for item, count in orders:
            if self.in_stock(item) >= count:
                cost += self.ship(item, count)
            else:
                waiting.append([item, count])
        return cost, waiting


def stocked():
    room = Stockroom()
    room.receive("nut", 10, 3)
    room.receive("bolt", 4, 20)
    room.receive("nut", 5, 4)
    return room


class StockroomTestReceive(unittest.TestCase):
    def test_adds_up(self):
        room = stocked()
        room.receive("bolt", 6, 25)
        self.assertEqual(room.in_stock("bolt"), 10)

    def test_no_pieces(self):
        with self.assertRaises(ValueError):
            Stockroom().receive("nut", 0, 5)

    def test_negative_price(self):
        with self.assertRaises(ValueError):
            Stockroom().receive("nut", 1, -1)

    def test_for_free(self):
        room = Stockroom()
        room.receive("leaflet", 100, 0)
        self.assertEqual((room.in_stock("leaflet"), room.value()), (100, 0))


class StockroomTestInStock(unittest.TestCase):
    def test_two_lots(self):
        self.assertEqual(stocked().in_stock("nut"), 15)

    def test_unknown(self):
        self.assertEqual(stocked().in_stock("screw"), 0)

    def test_after_shipping(self):
        room = stocked()
        room.ship("nut", 11)
        self.assertEqual(room.in_stock("nut"), 4)

    def test_sold_out(self):
        room = stocked()
        room.ship("bolt", 4)
        self.assertEqual(room.in_stock("bolt"), 0)


class StockroomTestShip(unittest.TestCase):
    def test_oldest_first(self):
        self.assertEqual(stocked().ship("nut", 12), 10 * 3 + 2 * 4)

    def test_part_of_a_lot(self):
        room = stocked()
        self.assertEqual([room.ship("nut", 4), room.ship("nut", 7)], [12, 22])

    def test_too_many(self):
        room = stocked()
        with self.assertRaises(ValueError):
            room.ship("bolt", 5)
        self.assertEqual(room.in_stock("bolt"), 4)

    def test_none(self):
        with self.assertRaises(ValueError):
            stocked().ship("nut", 0)

    def test_everything(self):
        self.assertEqual(stocked().ship("nut", 15), 50)


class StockroomTestValue(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(stocked().value(), 130)

    def test_empty(self):
        self.assertEqual(Stockroom().value(), 0)

    def test_after_shipping(self):
        room = stocked()
        room.ship("nut", 12)
        self.assertEqual(room.value(), 92)

    def test_one_lot(self):
        room = Stockroom()
        room.receive("nut", 7, 11)
        self.assertEqual(room.value(), 77)


class StockroomTestLow(unittest.TestCase):
    def test_alphabetical(self):
        self.assertEqual(stocked().low({"nut": 20, "bolt": 5, "axle": 1}), ["axle", "bolt", "nut"])

    def test_at_the_limit(self):
        self.assertEqual(stocked().low({"nut": 15, "bolt": 5}), ["bolt"])

    def test_no_limits(self):
        self.assertEqual(stocked().low({}), [])

    def test_unknown_without_need(self):
        self.assertEqual(stocked().low({"screw": 0}), [])


class StockroomTestFillOrders(unittest.TestCase):
    def test_one_waits(self):
        room = stocked()
        self.assertEqual(
            room.fill_orders([["bolt", 3], ["bolt", 2], ["bolt", 1]]), (80, [["bolt", 2]])
        )

    def test_all(self):
        self.assertEqual(stocked().fill_orders([["nut", 15], ["bolt", 4]]), (130, []))

    def test_none(self):
        self.assertEqual(stocked().fill_orders([]), (0, []))

    def test_unknown_item(self):
        self.assertEqual(stocked().fill_orders([["axle", 1], ["nut", 1]]), (3, [["axle", 1]]))


class StockroomTestTogether(unittest.TestCase):
    def test_cost_and_value_balance(self):
        room = stocked()
        before = room.value()
        cost, _ = room.fill_orders([["nut", 8], ["bolt", 9], ["nut", 6]])
        self.assertEqual(before - cost, room.value())
        self.assertEqual(room.low({"nut": 2, "bolt": 4}), ["nut"])
