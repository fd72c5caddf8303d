# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import unittest


class RingBuffer:
    """A queue of fixed capacity that overwrites its oldest item when it is full."""

    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.slots = [None] * capacity
        self.start = 0
        self.count = 0

    def is_full(self):
        """
        Whether the next push would overwrite an item.
        :return: bool
        >>> RingBuffer(2).is_full()
        False
        """
        return self.count == len(self.slots)

    def push(self, item):
        """
        Add an item at the end; when the buffer is full the oldest item gives way.
        :param item: any value
        :return: the item that was overwritten, or None
        >>> buffer = RingBuffer(1)
        >>> buffer.push("a")
        >>> buffer.push("b")
        'a'
        """
        if self.is_full():
            lost = self.slots[self.start]
            self.slots[self.start] = item
            self.start = (self.start + 1) % len(self.slots)
            return lost
        self.slots[(self.start + self.count) % len(self.slots)] = item
        self.count += 1
        return None

    def pop(self):
        """
        Remove the oldest item and return it.
        :return: the oldest item
        :raise IndexError: with the text "empty" when there is none
        """
        if self.count == 0:
            raise IndexError("empty")
        item = self.slots[self.start]
        self.slots[self.start] = None
        self.start = (self.start + 1) % len(self.slots)
        self.count -= 1
        return item

    def items(self):
        """
        The items from the oldest to the newest; the buffer stays as it is.
        :return: list
        """
        return [self.slots[(self.start + i) % len(self.slots)] for i in range(self.count)]

    def extend(self, values):
        """
        Push several values in turn.
        :param values: iterable of values
        :return: list of the items that were overwritten, in the order in which they were lost
        >>> RingBuffer(2).extend([1, 2, 3])
        [1]
        """
        lost = []
        for value in values:
            full = self.is_full()
            item = self.push(value)
            if full:
                lost.append(item)
        return lost

    def resize(self, capacity):
        """
        Change the capacity; when it shrinks, the oldest items beyond it are dropped.
        :param capacity: int, at least 1
        :return: int, the number of dropped items
        :raise ValueError: when capacity is below 1
        """
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        kept = self.items()[-capacity:]
        dropped = self.count - len(kept)
        self.slots = kept + [None] * (capacity - len(kept))
        self.start = 0
        self.count = len(kept)
        return dropped


class RingBufferTestIsFull(unittest.TestCase):
    def test_new(self):
        self.assertFalse(RingBuffer(3).is_full())

    def test_filled(self):
        buffer = RingBuffer(2)
        buffer.push(1)
        buffer.push(2)
        self.assertTrue(buffer.is_full())

    def test_after_pop(self):
        buffer = RingBuffer(1)
        buffer.push(1)
        buffer.pop()
        self.assertFalse(buffer.is_full())

    def test_stays_full_when_overwriting(self):
        buffer = RingBuffer(1)
        buffer.push(1)
        buffer.push(2)
        self.assertTrue(buffer.is_full())


class RingBufferTestPush(unittest.TestCase):
    def test_returns_the_overwritten(self):
        buffer = RingBuffer(2)
        self.assertEqual([buffer.push(x) for x in "abc"], [None, None, "a"])

    def test_nothing_lost(self):
        self.assertIsNone(RingBuffer(4).push("x"))

    def test_overwrites_in_order(self):
        buffer = RingBuffer(3)
        self.assertEqual([buffer.push(x) for x in range(7)], [None, None, None, 0, 1, 2, 3])

    def test_after_pop_there_is_room(self):
        buffer = RingBuffer(2)
        buffer.push(1)
        buffer.push(2)
        buffer.pop()
        self.assertIsNone(buffer.push(3))
        self.assertEqual(buffer.push(4), 2)


class RingBufferTestPop(unittest.TestCase):
    def test_oldest_first(self):
        buffer = RingBuffer(3)
        for x in (5, 6, 7, 8):
            buffer.push(x)
        self.assertEqual([buffer.pop(), buffer.pop(), buffer.pop()], [6, 7, 8])

    def test_empty(self):
        with self.assertRaises(IndexError):
            RingBuffer(1).pop()

    def test_emptied(self):
        buffer = RingBuffer(2)
        buffer.push(0)
        self.assertEqual(buffer.pop(), 0)
        with self.assertRaises(IndexError):
            buffer.pop()

    def test_between_pushes(self):
        buffer = RingBuffer(2)
        buffer.push("a")
        buffer.push("b")
        self.assertEqual(buffer.pop(), "a")
        buffer.push("c")
        self.assertEqual(buffer.pop(), "b")


class RingBufferTestItems(unittest.TestCase):
    def test_wrapped(self):
        buffer = RingBuffer(3)
        for x in range(5):
            buffer.push(x)
        self.assertEqual(buffer.items(), [2, 3, 4])

    def test_empty(self):
        self.assertEqual(RingBuffer(3).items(), [])

    def test_keeps_none(self):
        buffer = RingBuffer(2)
        buffer.push(None)
        buffer.push(1)
        self.assertEqual(buffer.items(), [None, 1])

    def test_twice_the_same(self):
        buffer = RingBuffer(2)
        buffer.push(1)
        self.assertEqual(buffer.items(), buffer.items())
        self.assertEqual(buffer.pop(), 1)


class RingBufferTestExtend(unittest.TestCase):
    def test_lost(self):
        buffer = RingBuffer(2)
        self.assertEqual(buffer.extend([1, 2, 3, 4, 5]), [1, 2, 3])
        self.assertEqual(buffer.items(), [4, 5])

    def test_nothing(self):
        self.assertEqual(RingBuffer(2).extend([]), [])

    def test_a_lost_none_counts(self):
        self.assertEqual(RingBuffer(1).extend([None, 1]), [None])

    def test_fits(self):
        self.assertEqual(RingBuffer(3).extend("abc"), [])


class RingBufferTestResize(unittest.TestCase):
    def test_shrink_keeps_the_newest(self):
        buffer = RingBuffer(4)
        buffer.extend([1, 2, 3, 4, 5])
        self.assertEqual(buffer.resize(2), 2)
        self.assertEqual(buffer.items(), [4, 5])

    def test_grow(self):
        buffer = RingBuffer(2)
        buffer.extend("ab")
        self.assertEqual(buffer.resize(3), 0)
        self.assertIsNone(buffer.push("c"))
        self.assertEqual(buffer.items(), ["a", "b", "c"])

    def test_too_small(self):
        with self.assertRaises(ValueError):
            RingBuffer(2).resize(0)

    def test_room_left_after_shrinking(self):
        buffer = RingBuffer(5)
        buffer.push(1)
        self.assertEqual(buffer.resize(2), 0)
        self.assertFalse(buffer.is_full())


class RingBufferTestTogether(unittest.TestCase):
    def test_a_day_of_use(self):
        buffer = RingBuffer(3)
        self.assertEqual(buffer.extend("abcd"), ["a"])
        self.assertEqual(buffer.pop(), "b")
        self.assertEqual(buffer.resize(1), 1)
        self.assertEqual(buffer.push("e"), "d")
        self.assertEqual(buffer.items(), ["e"])

    def test_bad_capacity(self):
        with self.assertRaises(ValueError):
            RingBuffer(0)
