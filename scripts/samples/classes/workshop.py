# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import unittest


class Workshop:
    """Jobs that take hours and may have to wait for others; any number can be done at once."""

    def __init__(self):
        self.hours = {}
        self.needs = {}

    def add_job(self, name, hours, needs=()):
        """
        Add a job, or replace one of the same name.
        :param name: str
        :param hours: int, at least 1
        :param needs: names of the jobs that must be finished before; they may be added later
        :raise ValueError: for hours below 1
        """
        if hours < 1:
            raise ValueError(name)
        self.hours[name] = hours
        self.needs[name] = list(needs)

    def missing(self):
        """
        The jobs that are needed but have not been added.
        :return: list of str in alphabetical order
        """
        wanted = {need for needs in self.needs.values() for need in needs}
        return sorted(wanted - set(self.hours))

    def order(self):
        """
        An order in which the jobs can be done one by one; whenever several could be next, the
        first in alphabetical order is.
        :return: list of str
        :raise ValueError: with the text "missing" when a job is missing, "circle" when jobs wait
            for one another
        """
        if self.missing():
            raise ValueError("missing")
        done: list[str] = []
        while len(done) < len(self.hours):
            ready = [
                name
                for name in sorted(self.hours)
                if name not in done and all(need in done for need in self.needs[name])
            ]
            if not ready:
                raise ValueError("circle")
            done.append(ready[0])
        return done

    def starts(self):
        """
        The hour at which each job can begin at the earliest, counted from 0.
        :return: dict from name to hour
        """
        begin: dict[str, int] = {}
        for name in self.order():
            begin[name] = max((begin[n] + self.hours[n] for n in self.needs[name]), default=0)
        return begin

    def duration(self):
        """
        Hours until all jobs are finished; 0 without jobs.
        :return: int
        """
        return max((hour + self.hours[name] for name, hour in self.starts().items()), default=0)

    def slack(self, name):
        """
        By how many hours a job alone may grow before the whole takes longer.
        :return: int
        :raise KeyError: for an unknown job
        """
        begin = self.starts()
        whole = self.duration()
        latest: dict[str, int] = {}
        for job in reversed(self.order()):
            after = [latest[n] for n in self.hours if job in self.needs[n]]
            latest[job] = min(after, default=whole) - self.hours[job]
        return latest[name] - begin[name]

    def critical(self):
        """
        The jobs without slack, by the hour at which they begin, then by name.
        :return: list of str
        """
        begin = self.starts()
        tight = [name for name in self.hours if self.slack(name) == 0]
        return sorted(tight, key=lambda name: (begin[name], name))


def house():
    shop = Workshop()
    shop.add_job("walls", 5, ["base"])
    shop.add_job("base", 3)
    shop.add_job("roof", 2, ["walls"])
    shop.add_job("garden", 4, ["base"])
    return shop


class WorkshopTestAddJob(unittest.TestCase):
    def test_no_hours(self):
        with self.assertRaises(ValueError):
            Workshop().add_job("x", 0)

    def test_replaces(self):
        shop = house()
        shop.add_job("roof", 9)
        self.assertEqual(shop.starts()["roof"], 0)

    def test_any_order(self):
        shop = Workshop()
        shop.add_job("b", 1, ["a"])
        shop.add_job("a", 1)
        self.assertEqual(shop.order(), ["a", "b"])

    def test_refused_leaves_no_trace(self):
        shop = Workshop()
        with self.assertRaises(ValueError):
            shop.add_job("x", -1, ["y"])
        self.assertEqual((shop.order(), shop.missing()), ([], []))


class WorkshopTestMissing(unittest.TestCase):
    def test_sorted(self):
        shop = Workshop()
        shop.add_job("x", 1, ["q", "p"])
        self.assertEqual(shop.missing(), ["p", "q"])

    def test_nothing(self):
        self.assertEqual(house().missing(), [])

    def test_once(self):
        shop = Workshop()
        shop.add_job("x", 1, ["p"])
        shop.add_job("y", 1, ["p", "x"])
        self.assertEqual(shop.missing(), ["p"])

    def test_added_later(self):
        shop = Workshop()
        shop.add_job("x", 1, ["p"])
        shop.add_job("p", 1)
        self.assertEqual(shop.missing(), [])


class WorkshopTestOrder(unittest.TestCase):
    def test_alphabetical_where_free(self):
        self.assertEqual(house().order(), ["base", "garden", "walls", "roof"])

    def test_circle(self):
        shop = house()
        shop.add_job("base", 3, ["roof"])
        with self.assertRaises(ValueError):
            shop.order()

    def test_missing(self):
        shop = house()
        shop.add_job("party", 1, ["guests"])
        with self.assertRaises(ValueError):
            shop.order()

    def test_empty(self):
        self.assertEqual(Workshop().order(), [])

    def test_freed_jobs_come_at_once(self):
        shop = Workshop()
        for name, needs in (("c", []), ("a", ["c"]), ("d", [])):
            shop.add_job(name, 1, needs)
        self.assertEqual(shop.order(), ["c", "a", "d"])


class WorkshopTestStarts(unittest.TestCase):
    def test_after_the_last_need(self):
        shop = house()
        shop.add_job("party", 1, ["garden", "roof"])
        self.assertEqual(
            shop.starts(), {"base": 0, "garden": 3, "walls": 3, "roof": 8, "party": 10}
        )

    def test_free_jobs(self):
        shop = Workshop()
        shop.add_job("a", 4)
        shop.add_job("b", 5)
        self.assertEqual(shop.starts(), {"a": 0, "b": 0})

    def test_empty(self):
        self.assertEqual(Workshop().starts(), {})

    def test_chain(self):
        shop = Workshop()
        shop.add_job("a", 4)
        shop.add_job("b", 5, ["a"])
        self.assertEqual(shop.starts()["b"], 4)


class WorkshopTestDuration(unittest.TestCase):
    def test_longest_way(self):
        self.assertEqual(house().duration(), 10)

    def test_empty(self):
        self.assertEqual(Workshop().duration(), 0)

    def test_at_once(self):
        shop = Workshop()
        shop.add_job("a", 4)
        shop.add_job("b", 7)
        self.assertEqual(shop.duration(), 7)

    def test_a_late_short_job(self):
        shop = house()
        shop.add_job("flag", 1, ["roof"])
        self.assertEqual(shop.duration(), 11)


class WorkshopTestSlack(unittest.TestCase):
    def test_can_wait(self):
        self.assertEqual(house().slack("garden"), 3)

    def test_cannot_wait(self):
        self.assertEqual([house().slack(name) for name in ("base", "walls", "roof")], [0, 0, 0])

    def test_unknown(self):
        with self.assertRaises(KeyError):
            house().slack("pool")

    def test_passed_on(self):
        shop = house()
        shop.add_job("hedge", 1, ["garden"])
        self.assertEqual((shop.slack("garden"), shop.slack("hedge")), (2, 2))


class WorkshopTestCritical(unittest.TestCase):
    def test_by_start(self):
        self.assertEqual(house().critical(), ["base", "walls", "roof"])

    def test_empty(self):
        self.assertEqual(Workshop().critical(), [])

    def test_two_ways(self):
        shop = Workshop()
        shop.add_job("z", 2)
        shop.add_job("y", 2)
        shop.add_job("x", 1)
        self.assertEqual(shop.critical(), ["y", "z"])

    def test_alone(self):
        shop = Workshop()
        shop.add_job("x", 1)
        self.assertEqual(shop.critical(), ["x"])


class WorkshopTestTogether(unittest.TestCase):
    def test_a_slower_garden(self):
        shop = house()
        shop.add_job("garden", 4 + shop.slack("garden"), ["base"])
        self.assertEqual(shop.duration(), 10)
        self.assertEqual(shop.critical(), ["base", "garden", "walls", "roof"])
        self.assertEqual(shop.order(), ["base", "garden", "walls", "roof"])
