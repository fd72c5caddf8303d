# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import unittest


class RoomBooking:
    """Bookings of one room on one day, times written "HH:MM"."""

    def __init__(self, opens="08:00", closes="18:00"):
        self.opens = opens
        self.closes = closes
        self.bookings = []

    def minutes(self, time):
        """
        The minutes since midnight.
        :param time: str, "HH:MM" with two digits each, up to "24:00"
        :return: int
        :raise ValueError: when it is not a time of day
        >>> RoomBooking().minutes("08:30")
        510
        """
        hours, colon, rest = time.partition(":")
        if not colon or len(hours) != 2 or len(rest) != 2:
            raise ValueError(time)
        total = int(hours) * 60 + int(rest)
        if int(rest) > 59 or not 0 <= total <= 24 * 60:
            raise ValueError(time)
        return total

    def clock(self, minutes):
        """
        The opposite of minutes.
        :param minutes: int
        :return: str, "HH:MM"
        """
        return f"{minutes // 60:02d}:{minutes % 60:02d}"

    def is_free(self, start, end):
        """
        Whether the room is open and free from start to end. One booking may begin when another
        ends.
        :return: bool, False when end is not after start
        """
        begin, finish = self.minutes(start), self.minutes(end)
        if finish <= begin:
            return False
        if begin < self.minutes(self.opens) or finish > self.minutes(self.closes):
            return False
        return all(
            finish <= self.minutes(other) or begin >= self.minutes(until)
            for other, until, _ in self.bookings
        )

    def book(self, start, end, who):
        """
        Book the room when it is free.
        :return: bool, whether it was booked
        """
        if not self.is_free(start, end):
            return False
        self.bookings.append((start, end, who))
        self.bookings.sort()
        return True

    def cancel(self, who):
        """
        Remove all bookings of one person.
        :return: int, how many there were
        """
        kept = [booking for booking in self.bookings if booking[2] != who]
        removed = len(self.bookings) - len(kept)
        self.bookings = kept
        return removed

    def gaps(self, least=1):
        """
        The free times of the day in order, as [start, end].
        :param least: int, shorter gaps (in minutes) are left out
        :return: list of list of str
        """
        found = []
        free_from = self.minutes(self.opens)
        for start, end, _ in [*self.bookings, (self.closes, self.closes, "")]:
            if self.minutes(start) - free_from >= least:
                found.append([self.clock(free_from), start])
            free_from = self.minutes(end)
        return found

    def first_fit(self, length, who):
        """
        Book the earliest gap that is long enough, from its beginning.
        :param length: int, minutes
        :return: str, when the booking starts, or "" when nothing fits
        """
        for start, _ in self.gaps(length):
            self.book(start, self.clock(self.minutes(start) + length), who)
            return start
        return ""


class RoomBookingTestMinutes(unittest.TestCase):
    def test_morning(self):
        self.assertEqual(RoomBooking().minutes("09:05"), 545)

    def test_ends_of_the_day(self):
        self.assertEqual(RoomBooking().minutes("00:00"), 0)
        self.assertEqual(RoomBooking().minutes("24:00"), 1440)

    def test_no_such_time(self):
        for text in ("24:01", "12:60", "99:00"):
            with self.assertRaises(ValueError):
                RoomBooking().minutes(text)

    def test_no_time_at_all(self):
        for text in ("", "noon", "8:00", "0800"):
            with self.assertRaises(ValueError):
                RoomBooking().minutes(text)


class RoomBookingTestClock(unittest.TestCase):
    def test_pads(self):
        self.assertEqual(RoomBooking().clock(485), "08:05")

    def test_midnight(self):
        self.assertEqual(RoomBooking().clock(0), "00:00")

    def test_noon(self):
        self.assertEqual(RoomBooking().clock(720), "12:00")

    def test_last_minute(self):
        self.assertEqual(RoomBooking().clock(1439), "23:59")


class RoomBookingTestIsFree(unittest.TestCase):
    def test_empty_day(self):
        self.assertTrue(RoomBooking().is_free("08:00", "18:00"))

    def test_closed(self):
        self.assertFalse(RoomBooking().is_free("07:59", "09:00"))
        self.assertFalse(RoomBooking().is_free("17:00", "18:01"))

    def test_touching(self):
        room = RoomBooking()
        room.book("10:00", "11:00", "ann")
        self.assertTrue(room.is_free("09:00", "10:00"))
        self.assertTrue(room.is_free("11:00", "12:00"))

    def test_overlap(self):
        room = RoomBooking()
        room.book("10:00", "11:00", "ann")
        for start, end in (("09:30", "10:01"), ("10:59", "12:00"), ("10:15", "10:30")):
            self.assertFalse(room.is_free(start, end))

    def test_backwards(self):
        self.assertFalse(RoomBooking().is_free("10:00", "10:00"))
        self.assertFalse(RoomBooking().is_free("11:00", "10:00"))


class RoomBookingTestBook(unittest.TestCase):
    def test_twice(self):
        room = RoomBooking()
        self.assertTrue(room.book("10:00", "11:00", "ann"))
        self.assertFalse(room.book("10:30", "11:30", "bob"))

    def test_around(self):
        room = RoomBooking()
        room.book("10:00", "11:00", "ann")
        self.assertFalse(room.book("09:00", "12:00", "bob"))

    def test_in_order(self):
        room = RoomBooking()
        room.book("15:00", "16:00", "bob")
        room.book("09:00", "10:00", "ann")
        self.assertEqual([booking[2] for booking in room.bookings], ["ann", "bob"])

    def test_refused_leaves_no_trace(self):
        room = RoomBooking()
        room.book("06:00", "09:00", "ann")
        self.assertTrue(room.is_free("08:00", "18:00"))


class RoomBookingTestCancel(unittest.TestCase):
    def test_all_of_one(self):
        room = RoomBooking()
        room.book("09:00", "10:00", "ann")
        room.book("10:00", "11:00", "bob")
        room.book("11:00", "12:00", "ann")
        self.assertEqual(room.cancel("ann"), 2)
        self.assertTrue(room.is_free("09:00", "10:00"))

    def test_nobody(self):
        self.assertEqual(RoomBooking().cancel("ann"), 0)

    def test_others_stay(self):
        room = RoomBooking()
        room.book("09:00", "10:00", "ann")
        room.cancel("bob")
        self.assertFalse(room.is_free("09:00", "10:00"))

    def test_twice(self):
        room = RoomBooking()
        room.book("09:00", "10:00", "ann")
        self.assertEqual([room.cancel("ann"), room.cancel("ann")], [1, 0])


class RoomBookingTestGaps(unittest.TestCase):
    def test_between(self):
        room = RoomBooking()
        room.book("09:00", "10:00", "ann")
        room.book("12:00", "17:30", "bob")
        self.assertEqual(room.gaps(), [["08:00", "09:00"], ["10:00", "12:00"], ["17:30", "18:00"]])

    def test_empty_day(self):
        self.assertEqual(RoomBooking("10:00", "12:00").gaps(), [["10:00", "12:00"]])

    def test_least(self):
        room = RoomBooking()
        room.book("08:30", "17:00", "ann")
        self.assertEqual(room.gaps(60), [["17:00", "18:00"]])
        self.assertEqual(room.gaps(61), [])

    def test_full_day(self):
        room = RoomBooking()
        room.book("08:00", "18:00", "ann")
        self.assertEqual(room.gaps(), [])


class RoomBookingTestFirstFit(unittest.TestCase):
    def test_earliest(self):
        room = RoomBooking()
        room.book("08:30", "10:00", "ann")
        self.assertEqual(room.first_fit(45, "bob"), "10:00")
        self.assertFalse(room.is_free("10:44", "10:45"))
        self.assertTrue(room.is_free("10:45", "11:00"))

    def test_nothing_fits(self):
        room = RoomBooking()
        room.book("10:00", "16:00", "ann")
        self.assertEqual(room.first_fit(121, "bob"), "")

    def test_exact(self):
        room = RoomBooking()
        room.book("08:30", "18:00", "ann")
        self.assertEqual(room.first_fit(30, "bob"), "08:00")
        self.assertEqual(room.gaps(), [])

    def test_one_after_the_other(self):
        room = RoomBooking()
        self.assertEqual(
            [room.first_fit(300, "ann"), room.first_fit(300, "bob"), room.first_fit(1, "cy")],
            ["08:00", "13:00", ""],
        )


class RoomBookingTestTogether(unittest.TestCase):
    def test_a_day(self):
        room = RoomBooking("09:00", "12:00")
        self.assertTrue(room.book("10:00", "10:30", "ann"))
        self.assertEqual(room.first_fit(90, "bob"), "10:30")
        self.assertEqual(room.cancel("ann"), 1)
        self.assertEqual(room.gaps(), [["09:00", "10:30"]])
