# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import heapq
import unittest


class RoadMap:
    """Towns and the roads between them, which go both ways and have a length."""

    def __init__(self):
        self.roads = {}

    def add_road(self, a, b, length):
        """
        Build a road; towns appear with their first road. A second road between two towns
        replaces the first one.
        :raise ValueError: for a length that is not positive, or a road from a town to itself
        """
        if length <= 0 or a == b:
            raise ValueError("no such road")
        self.roads.setdefault(a, {})[b] = length
        self.roads.setdefault(b, {})[a] = length

    def neighbours(self, town):
        """
        The towns one road away.
        :return: list of str in alphabetical order, [] for an unknown town
        """
        return sorted(self.roads.get(town, {}))

    def distances(self, start):
        """
        The length of the shortest way from a town to every town that can be reached.
        :return: dict from town to length, start itself included; {} for an unknown town
        """
        if start not in self.roads:
            return {}
        found = {}
        queue = [(0, start)]
        while queue:
            length, town = heapq.heappop(queue)
            if town in found:
                continue
            found[town] = length
            for other, more in self.roads[town].items():
                heapq.heappush(queue, (length + more, other))
        return found

    def route(self, start, end):
        """
        A shortest way; of several the one whose list of towns comes first in alphabetical order.
        :return: list of str from start to end, [] when there is no way
        >>> roads = RoadMap()
        >>> roads.add_road("ulm", "bonn", 4)
        >>> roads.route("ulm", "bonn")
        ['ulm', 'bonn']
        """
        left = self.distances(end)
        if start not in left:
            return []
        way = [start]
        while way[-1] != end:
            here = way[-1]
            for town in self.neighbours(here):
                if left[town] + self.roads[here][town] == left[here]:
                    way.append(town)
                    break
        return way

    def regions(self):
        """
        The groups of towns that can reach one another.
        :return: list of list of str: each in alphabetical order, and the lists by their first town
        """
        found = []
        seen = set()
        for town in sorted(self.roads):
            if town not in seen:
                group = sorted(self.distances(town))
                seen.update(group)
                found.append(group)
        return found

    def centre(self):
        """
        The town whose farthest reachable town is nearest; of several the first in alphabetical
        order.
        :return: str, "" when there are no towns
        """
        best = ""
        least = None
        for town in sorted(self.roads):
            farthest = max(self.distances(town).values())
            if least is None or farthest < least:
                best, least = town, farthest
        return best


def land():
    roads = RoadMap()
    for a, b, length in (
        ("a", "b", 4),
        ("a", "c", 1),
        ("c", "b", 2),
        ("b", "d", 5),
        ("x", "y", 3),
    ):
        roads.add_road(a, b, length)
    return roads


class RoadMapTestAddRoad(unittest.TestCase):
    def test_both_ways(self):
        roads = RoadMap()
        roads.add_road("p", "q", 7)
        self.assertEqual((roads.neighbours("p"), roads.neighbours("q")), (["q"], ["p"]))

    def test_no_length(self):
        for length in (0, -2):
            with self.assertRaises(ValueError):
                RoadMap().add_road("p", "q", length)

    def test_replaces(self):
        roads = land()
        roads.add_road("b", "a", 9)
        self.assertEqual(roads.roads["a"]["b"], 9)

    def test_to_itself(self):
        with self.assertRaises(ValueError):
            RoadMap().add_road("p", "p", 1)


class RoadMapTestNeighbours(unittest.TestCase):
    def test_sorted(self):
        self.assertEqual(land().neighbours("b"), ["a", "c", "d"])

    def test_unknown(self):
        self.assertEqual(land().neighbours("z"), [])

    def test_one(self):
        self.assertEqual(land().neighbours("x"), ["y"])

    def test_twice_the_same_road(self):
        roads = land()
        roads.add_road("x", "y", 8)
        self.assertEqual(roads.neighbours("y"), ["x"])


class RoadMapTestDistances(unittest.TestCase):
    def test_detour_is_shorter(self):
        self.assertEqual(land().distances("a"), {"a": 0, "c": 1, "b": 3, "d": 8})

    def test_other_region(self):
        self.assertEqual(land().distances("y"), {"y": 0, "x": 3})

    def test_unknown(self):
        self.assertEqual(land().distances("z"), {})

    def test_from_the_end(self):
        self.assertEqual(land().distances("d"), {"d": 0, "b": 5, "c": 7, "a": 8})


class RoadMapTestRoute(unittest.TestCase):
    def test_shortest(self):
        self.assertEqual(land().route("a", "d"), ["a", "c", "b", "d"])

    def test_no_way(self):
        self.assertEqual(land().route("a", "x"), [])

    def test_stay(self):
        self.assertEqual(land().route("b", "b"), ["b"])

    def test_first_in_the_alphabet(self):
        roads = RoadMap()
        for town in ("n", "m"):
            roads.add_road("k", town, 2)
            roads.add_road(town, "z", 2)
        self.assertEqual(roads.route("k", "z"), ["k", "m", "z"])

    def test_unknown(self):
        self.assertEqual(land().route("z", "z"), [])


class RoadMapTestRegions(unittest.TestCase):
    def test_two(self):
        self.assertEqual(land().regions(), [["a", "b", "c", "d"], ["x", "y"]])

    def test_none(self):
        self.assertEqual(RoadMap().regions(), [])

    def test_joined(self):
        roads = land()
        roads.add_road("y", "d", 1)
        self.assertEqual(roads.regions(), [["a", "b", "c", "d", "x", "y"]])

    def test_order(self):
        roads = RoadMap()
        roads.add_road("q", "r", 1)
        roads.add_road("z", "b", 1)
        self.assertEqual(roads.regions(), [["b", "z"], ["q", "r"]])


class RoadMapTestCentre(unittest.TestCase):
    def test_middle(self):
        roads = RoadMap()
        for a, b in ("ab", "bc", "cd", "de"):
            roads.add_road(a, b, 1)
        self.assertEqual(roads.centre(), "c")

    def test_none(self):
        self.assertEqual(RoadMap().centre(), "")

    def test_tie(self):
        roads = RoadMap()
        roads.add_road("q", "p", 6)
        self.assertEqual(roads.centre(), "p")

    def test_lengths_count(self):
        roads = RoadMap()
        roads.add_road("a", "b", 10)
        roads.add_road("b", "c", 1)
        self.assertEqual(roads.centre(), "b")


class RoadMapTestTogether(unittest.TestCase):
    def test_a_route_is_as_long_as_its_distance(self):
        roads = land()
        way = roads.route("d", "a")
        length = sum(roads.roads[way[i]][way[i + 1]] for i in range(3))
        self.assertEqual(length, roads.distances("d")["a"])
        self.assertEqual(way, ["d", "b", "c", "a"])
