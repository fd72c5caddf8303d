# ruff: noqa: PT009 - the tests of these tasks are unittest classes
import unittest


class FourInARow:
    """The game on a board of 7 columns and 6 rows; "X" begins, stones fall to the bottom."""

    COLUMNS = 7
    ROWS = 6

    def __init__(self):
        self.columns: list[list[str]] = [[] for _ in range(self.COLUMNS)]
        self.history = []

    def to_move(self):
        """
        Whose turn it is.
        :return: "X" or "O"
        """
        return "XO"[len(self.history) % 2]

    def cell(self, column, row):
        """
        What lies at a place.
        :param column: int from 0, left to right
        :param row: int from 0, bottom to top
        :return: "X", "O", or "." for an empty place and for one beyond the board
        """
        if not 0 <= column < self.COLUMNS or not 0 <= row < len(self.columns[column]):
            return "."
        return self.columns[column][row]

    def legal_moves(self):
        """
        The columns that still have room; none once somebody has won.
        :return: list of int in ascending order
        """
        if self.winner():
            return []
        return [c for c, stones in enumerate(self.columns) if len(stones) < self.ROWS]

    def drop(self, column):
        """
        Let a stone of the side to move fall into a column.
        :return: int, the row in which it came to lie, or -1 when the move is not legal
        """
        if column not in self.legal_moves():
            return -1
        self.columns[column].append(self.to_move())
        self.history.append(column)
        return len(self.columns[column]) - 1

    def undo(self):
        """
        Take the last stone back.
        :return: int, the column it lay in, or -1 when there is none
        """
        if not self.history:
            return -1
        column = self.history.pop()
        self.columns[column].pop()
        return column

    def winner(self):
        """
        The side that has four stones next to each other in a row, a column or a diagonal.
        :return: "X", "O", or "" while nobody has
        """
        for column in range(self.COLUMNS):
            for row in range(self.ROWS):
                side = self.cell(column, row)
                if side == ".":
                    continue
                for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
                    if all(self.cell(column + right * i, row + up * i) == side for i in range(4)):
                        return side
        return ""

    def draw(self):
        """
        The board as six lines of seven characters, the top row first.
        :return: str
        """
        return "\n".join(
            "".join(self.cell(column, row) for column in range(self.COLUMNS))
            for row in reversed(range(self.ROWS))
        )


def played(*columns):
    game = FourInARow()
    for column in columns:
        game.drop(column)
    return game


class FourInARowTestToMove(unittest.TestCase):
    def test_first(self):
        self.assertEqual(FourInARow().to_move(), "X")

    def test_second(self):
        self.assertEqual(played(3).to_move(), "O")

    def test_after_illegal_move(self):
        self.assertEqual(played(3, 9).to_move(), "O")

    def test_after_undo(self):
        game = played(3, 4)
        game.undo()
        self.assertEqual(game.to_move(), "O")


class FourInARowTestCell(unittest.TestCase):
    def test_stones(self):
        game = played(3, 3)
        self.assertEqual((game.cell(3, 0), game.cell(3, 1)), ("X", "O"))

    def test_empty(self):
        self.assertEqual(FourInARow().cell(0, 0), ".")

    def test_beyond(self):
        game = played(6, 0)
        self.assertEqual([game.cell(-1, 0), game.cell(7, 0), game.cell(0, -1)], [".", ".", "."])

    def test_above(self):
        self.assertEqual(played(2).cell(2, 1), ".")


class FourInARowTestLegalMoves(unittest.TestCase):
    def test_start(self):
        self.assertEqual(FourInARow().legal_moves(), [0, 1, 2, 3, 4, 5, 6])

    def test_full_column(self):
        self.assertEqual(played(1, 1, 1, 1, 1, 1).legal_moves(), [0, 2, 3, 4, 5, 6])

    def test_won(self):
        self.assertEqual(played(0, 6, 1, 6, 2, 6, 3).legal_moves(), [])

    def test_room_for_one(self):
        self.assertIn(1, played(1, 1, 1, 1, 1).legal_moves())


class FourInARowTestDrop(unittest.TestCase):
    def test_rows(self):
        game = FourInARow()
        self.assertEqual([game.drop(4), game.drop(4), game.drop(5)], [0, 1, 0])

    def test_full(self):
        self.assertEqual(played(0, 0, 0, 0, 0, 0).drop(0), -1)

    def test_beyond(self):
        game = FourInARow()
        self.assertEqual([game.drop(7), game.drop(-1)], [-1, -1])

    def test_after_the_end(self):
        self.assertEqual(played(0, 6, 1, 6, 2, 6, 3).drop(4), -1)


class FourInARowTestUndo(unittest.TestCase):
    def test_last(self):
        self.assertEqual(played(2, 5).undo(), 5)

    def test_nothing(self):
        self.assertEqual(FourInARow().undo(), -1)

    def test_takes_the_stone(self):
        game = played(2, 2)
        game.undo()
        self.assertEqual((game.cell(2, 0), game.cell(2, 1)), ("X", "."))

    def test_takes_a_win_back(self):
        game = played(0, 6, 1, 6, 2, 6, 3)
        game.undo()
        self.assertEqual(game.winner(), "")
        self.assertEqual(game.drop(3), 0)


class FourInARowTestWinner(unittest.TestCase):
    def test_row(self):
        self.assertEqual(played(0, 6, 1, 6, 2, 6, 3).winner(), "X")

    def test_column(self):
        self.assertEqual(played(0, 6, 1, 6, 0, 6, 1, 6).winner(), "O")

    def test_rising_diagonal(self):
        self.assertEqual(played(0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3).winner(), "X")

    def test_falling_diagonal(self):
        self.assertEqual(played(6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3).winner(), "X")

    def test_three_are_not_enough(self):
        self.assertEqual(played(0, 6, 1, 6, 2, 6, 4).winner(), "")

    def test_start(self):
        self.assertEqual(FourInARow().winner(), "")


class FourInARowTestDraw(unittest.TestCase):
    def test_bottom_row_last(self):
        lines = played(0, 6, 0).draw().split("\n")
        self.assertEqual(lines[-2:], ["X......", "X.....O"])

    def test_empty(self):
        self.assertEqual(FourInARow().draw(), "\n".join(["......."] * 6))

    def test_top(self):
        self.assertEqual(played(3, 3, 3, 3, 3, 3).draw().split("\n")[0], "...O...")

    def test_size(self):
        self.assertEqual([len(line) for line in played(1).draw().split("\n")], [7] * 6)


class FourInARowTestTogether(unittest.TestCase):
    def test_a_game(self):
        game = played(3, 3, 4, 4, 5, 5)
        self.assertEqual(game.winner(), "")
        self.assertEqual(game.drop(6), 0)
        self.assertEqual(game.winner(), "X")
        self.assertEqual(game.draw().split("\n")[-1], "...XXXX")
        self.assertEqual(game.undo(), 6)
        self.assertEqual(game.to_move(), "X")
