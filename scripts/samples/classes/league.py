# ruff: noqa: PT009 - the tests of these tasks are unittest classes
import unittest


class League:
    """A football league: three points for a win, one for a draw."""

    def __init__(self, teams):
        self.teams = list(teams)
        self.results = []

    def add_result(self, home, away, home_goals, away_goals):
        """
        Write down a match. Two teams meet at most once at each one's home.
        :return: bool, False when a team is unknown, both are the same, goals are negative, or the
            match has been played already
        """
        if home not in self.teams or away not in self.teams or home == away:
            return False
        if home_goals < 0 or away_goals < 0:
            return False
        if any((h, a) == (home, away) for h, a, _, _ in self.results):
            return False
        self.results.append((home, away, home_goals, away_goals))
        return True

    def matches_of(self, team):
        """
        The matches of a team from its own side, in the order in which they were added.
        :return: list of [opponent, own goals, the opponent's goals]
        """
        found = []
        for home, away, home_goals, away_goals in self.results:
            if team == home:
                found.append([away, home_goals, away_goals])
            elif team == away:
                found.append([home, away_goals, home_goals])
        return found

    def form(self, team, last=5):
        """
        The team's last results as letters, W for a win, D for a draw, L for a loss, the newest at
        the end.
        :return: str of at most last letters
        """
        letters = ""
        for _, own, others in self.matches_of(team):
            letters += "W" if own > others else "D" if own == others else "L"
        return letters[-last:] if last > 0 else ""

    def points(self, team):
        """
        Three points for each win and one for each draw.
        :return: int
        """
        letters = self.form(team, max(1, len(self.results)))
        return 3 * letters.count("W") + letters.count("D")

    def goal_difference(self, team):
        """
        Goals scored minus goals received.
        :return: int
        """
        return sum(own - others for _, own, others in self.matches_of(team))

    def table(self):
        """
        The teams by points, then by goal difference (highest first), then by name.
        :return: list of [team, points, goal difference]
        """
        rows = [[team, self.points(team), self.goal_difference(team)] for team in self.teams]
        return sorted(rows, key=lambda row: (-row[1], -row[2], row[0]))

    def to_play(self):
        """
        The matches that are still missing: every pair of teams meets at each one's home.
        :return: list of [home, away] in the order of the teams
        """
        played = {(home, away) for home, away, _, _ in self.results}
        return [
            [home, away]
            for home in self.teams
            for away in self.teams
            if home != away and (home, away) not in played
        ]

    def champion(self):
        """
        The first team of the table, once every match has been played.
        :return: str, "" before the end
        """
        if self.to_play():
            return ""
        return self.table()[0][0]


def season():
    league = League(["ajax", "bern", "como"])
    league.add_result("ajax", "bern", 2, 0)
    league.add_result("bern", "como", 1, 1)
    league.add_result("como", "ajax", 0, 3)
    return league


class LeagueTestAddResult(unittest.TestCase):
    def test_good(self):
        self.assertTrue(League(["a", "b"]).add_result("a", "b", 0, 0))

    def test_unknown(self):
        self.assertFalse(season().add_result("ajax", "oslo", 1, 0))
        self.assertFalse(season().add_result("oslo", "ajax", 1, 0))

    def test_same(self):
        self.assertFalse(season().add_result("ajax", "ajax", 1, 0))

    def test_negative(self):
        self.assertFalse(season().add_result("bern", "ajax", 1, -1))

    def test_again(self):
        league = season()
        self.assertFalse(league.add_result("ajax", "bern", 5, 5))
        self.assertTrue(league.add_result("bern", "ajax", 5, 5))


class LeagueTestMatchesOf(unittest.TestCase):
    def test_own_side_first(self):
        self.assertEqual(season().matches_of("ajax"), [["bern", 2, 0], ["como", 3, 0]])

    def test_none(self):
        self.assertEqual(League(["a", "b"]).matches_of("a"), [])

    def test_home_and_away(self):
        self.assertEqual(season().matches_of("bern"), [["ajax", 0, 2], ["como", 1, 1]])

    def test_unknown(self):
        self.assertEqual(season().matches_of("oslo"), [])


class LeagueTestForm(unittest.TestCase):
    def test_letters(self):
        self.assertEqual(season().form("bern"), "LD")

    def test_last(self):
        self.assertEqual(season().form("como", 1), "L")

    def test_none(self):
        self.assertEqual(League(["a", "b"]).form("b"), "")

    def test_nought(self):
        self.assertEqual(season().form("ajax", 0), "")

    def test_wins(self):
        self.assertEqual(season().form("ajax"), "WW")


class LeagueTestPoints(unittest.TestCase):
    def test_wins(self):
        self.assertEqual(season().points("ajax"), 6)

    def test_draws(self):
        self.assertEqual((season().points("bern"), season().points("como")), (1, 1))

    def test_none(self):
        self.assertEqual(League(["a", "b"]).points("a"), 0)

    def test_more_than_five_matches(self):
        teams = ["a", "b", "c", "d", "e"]
        league = League(teams)
        for other in teams[1:]:
            league.add_result("a", other, 1, 0)
            league.add_result(other, "a", 0, 1)
        self.assertEqual(league.points("a"), 24)


class LeagueTestGoalDifference(unittest.TestCase):
    def test_plus(self):
        self.assertEqual(season().goal_difference("ajax"), 5)

    def test_minus(self):
        self.assertEqual(season().goal_difference("como"), -3)

    def test_none(self):
        self.assertEqual(League(["a", "b"]).goal_difference("b"), 0)

    def test_away(self):
        self.assertEqual(season().goal_difference("bern"), -2)


class LeagueTestTable(unittest.TestCase):
    def test_order(self):
        self.assertEqual(season().table(), [["ajax", 6, 5], ["bern", 1, -2], ["como", 1, -3]])

    def test_by_name(self):
        self.assertEqual(League(["b", "a"]).table(), [["a", 0, 0], ["b", 0, 0]])

    def test_difference_before_name(self):
        league = League(["a", "b", "c", "d"])
        league.add_result("a", "c", 1, 0)
        league.add_result("b", "d", 4, 0)
        self.assertEqual([row[0] for row in league.table()], ["b", "a", "c", "d"])

    def test_points_before_difference(self):
        league = League(["a", "b", "c"])
        league.add_result("a", "b", 9, 0)
        league.add_result("b", "a", 1, 0)
        league.add_result("b", "c", 1, 0)
        self.assertEqual([row[0] for row in league.table()], ["b", "a", "c"])


class LeagueTestToPlay(unittest.TestCase):
    def test_rest(self):
        self.assertEqual(season().to_play(), [["ajax", "como"], ["bern", "ajax"], ["como", "bern"]])

    def test_start(self):
        self.assertEqual(League(["b", "a"]).to_play(), [["b", "a"], ["a", "b"]])

    def test_alone(self):
        self.assertEqual(League(["a"]).to_play(), [])

    def test_done(self):
        league = League(["a", "b"])
        league.add_result("a", "b", 1, 0)
        league.add_result("b", "a", 1, 0)
        self.assertEqual(league.to_play(), [])


class LeagueTestChampion(unittest.TestCase):
    def test_before_the_end(self):
        self.assertEqual(season().champion(), "")

    def test_at_the_end(self):
        league = League(["a", "b"])
        league.add_result("a", "b", 0, 2)
        league.add_result("b", "a", 1, 1)
        self.assertEqual(league.champion(), "b")

    def test_alone(self):
        self.assertEqual(League(["a"]).champion(), "a")

    def test_tie_by_name(self):
        league = League(["b", "a"])
        league.add_result("a", "b", 1, 1)
        league.add_result("b", "a", 2, 2)
        self.assertEqual(league.champion(), "a")


class LeagueTestTogether(unittest.TestCase):
    def test_a_season(self):
        league = season()
        for home, away in league.to_play():
            self.assertTrue(league.add_result(home, away, 0, 1))
        self.assertEqual(league.table(), [["ajax", 9, 5], ["bern", 4, -2], ["como", 4, -3]])
        self.assertEqual(league.champion(), "ajax")
