"""Problems about grids, tables and records."""

PROBLEMS = (
    {
        "doc": "Return the number of live neighbours of every cell of a grid of 0 and 1, as a grid of the same shape; a cell has up to eight neighbours.",
        "helper": "aux(grid, row, column) returns the sum of the cells around one cell.",
        "aux": """
def aux(grid, row, column):
    total = -grid[row][column]
    for r in range(max(row - 1, 0), min(row + 2, len(grid))):
        total += sum(grid[r][max(column - 1, 0) : column + 2])
    return total
""",
        "main": """
def neighbour_counts(grid):
    return [[aux(grid, r, c) for c in range(len(row))] for r, row in enumerate(grid)]
""",
        "public": (
            "neighbour_counts([[1, 0], [0, 1]]) == [[1, 2], [2, 1]]",
            "neighbour_counts([[1, 1, 1]]) == [[1, 2, 1]]",
        ),
        "hidden": (
            "neighbour_counts([]) == []",
            "neighbour_counts([[0]]) == [[0]]",
            "neighbour_counts([[1, 1], [1, 1]]) == [[3, 3], [3, 3]]",
            "neighbour_counts([[0, 0, 0], [0, 1, 0], [0, 0, 0]]) == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]",
            "neighbour_counts([[1], [0], [1]]) == [[0], [2], [0]]",
            "neighbour_counts([[1, 0, 1], [0, 0, 0], [1, 0, 1]]) == [[0, 2, 0], [2, 4, 2], [0, 2, 0]]",
        ),
    },
    {
        "doc": "Return whether a 3x3 board of noughts and crosses, three texts of the characters 'x', 'o' and '.', is won, and by whom: 'x', 'o', or '' if by nobody.",
        "helper": "aux(board) returns the eight lines of the board (rows, columns, diagonals), each a text of three characters.",
        "aux": """
def aux(board):
    columns = ["".join(row[c] for row in board) for c in range(3)]
    diagonals = [board[0][0] + board[1][1] + board[2][2], board[0][2] + board[1][1] + board[2][0]]
    return [*board, *columns, *diagonals]
""",
        "main": """
def winner(board):
    lines = aux(board)
    for player in "xo":
        if player * 3 in lines:
            return player
    return ""
""",
        "public": (
            "winner(['xxx', 'oo.', '...']) == 'x'",
            "winner(['xo.', 'xo.', '.o.']) == 'o'",
        ),
        "hidden": (
            "winner(['...', '...', '...']) == ''",
            "winner(['xoo', 'oxo', 'oox']) == 'x'",
            "winner(['xxo', 'xo.', 'o..']) == 'o'",
            "winner(['xox', 'oxo', 'oxo']) == ''",
            "winner(['.x.', 'ox.', 'ox.']) == 'x'",
            "winner(['oo.', 'xx.', '...']) == ''",
        ),
    },
    {
        "doc": "Return the transposed grid with every row sorted from small to large.",
        "helper": "aux(grid) returns the columns of a rectangular grid as a list of lists.",
        "aux": """
def aux(grid):
    return [list(column) for column in zip(*grid)]
""",
        "main": """
def sorted_columns(grid):
    return [sorted(column) for column in aux(grid)]
""",
        "public": (
            "sorted_columns([[3, 1], [2, 4]]) == [[2, 3], [1, 4]]",
            "sorted_columns([[1, 2, 3]]) == [[1], [2], [3]]",
        ),
        "hidden": (
            "sorted_columns([]) == []",
            "sorted_columns([[5], [4], [6]]) == [[4, 5, 6]]",
            "sorted_columns([[9, 8, 7], [1, 2, 3], [5, 5, 5]]) == [[1, 5, 9], [2, 5, 8], [3, 5, 7]]",
            "sorted_columns([[0, 0], [0, 0]]) == [[0, 0], [0, 0]]",
            "sorted_columns([[-1, 2], [-3, 4], [5, -6]]) == [[-3, -1, 5], [-6, 2, 4]]",
            "sorted_columns([[1, 1, 2], [1, 0, 2]]) == [[1, 1], [0, 1], [2, 2]]",
        ),
    },
    {
        "doc": "Return how many islands a map has: a list of texts in which '#' is land and '.' is water; land that touches at a side belongs to one island.",
        "helper": "aux(land, cell) returns the set of cells, pairs of row and column, that belong to the same island as cell, given the set of all cells of land.",
        "aux": """
def aux(land, cell):
    island, waiting = {cell}, [cell]
    while waiting:
        row, column = waiting.pop()
        around = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
        for other in around:
            if other in land and other not in island:
                island.add(other)
                waiting.append(other)
    return island
""",
        "main": """
def count_islands(rows):
    land = {(r, c) for r, row in enumerate(rows) for c, sign in enumerate(row) if sign == "#"}
    count = 0
    while land:
        land -= aux(land, min(land))
        count += 1
    return count
""",
        "public": (
            "count_islands(['##.', '..#']) == 2",
            "count_islands(['...']) == 0",
        ),
        "hidden": (
            "count_islands([]) == 0",
            "count_islands(['###', '#.#', '###']) == 1",
            "count_islands(['#.#', '.#.', '#.#']) == 5",
            "count_islands(['##', '##']) == 1",
            "count_islands(['#.#.#', '#.###', '#....', '..##.']) == 3",
            "count_islands(['#']) == 1",
        ),
    },
    {
        "doc": "Follow a robot on a grid: it starts at (0, 0) and looks north; 'F' moves one field ahead, 'L' and 'R' turn it by a quarter. Return where it stands as (x, y) after the commands; east is x, north is y.",
        "helper": "aux(direction, turn) returns the direction, a letter of 'NESW', after a turn 'L' or 'R'.",
        "aux": """
def aux(direction, turn):
    step = 1 if turn == "R" else -1
    return "NESW"[("NESW".index(direction) + step) % 4]
""",
        "main": """
def robot(commands):
    x = y = 0
    direction = "N"
    moves = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}
    for command in commands:
        if command == "F":
            x, y = x + moves[direction][0], y + moves[direction][1]
        else:
            direction = aux(direction, command)
    return x, y
""",
        "public": (
            "robot('FFRF') == (1, 2)",
            "robot('LFLF') == (-1, -1)",
        ),
        "hidden": (
            "robot('') == (0, 0)",
            "robot('FRFRFRF') == (0, 0)",
            "robot('RRRRF') == (0, 1)",
            "robot('LLFFF') == (0, -3)",
            "robot('FFLFFLFRF') == (-3, 1)",
            "robot('RFFFLF') == (3, 1)",
        ),
    },
    {
        "doc": "Return the grid after its rows are pushed to the left as in the game 2048: zeros go, then equal neighbours merge into their sum from left to right (each number once), and zeros fill up on the right.",
        "helper": "aux(row) returns one row pushed to the left.",
        "aux": """
def aux(row):
    kept = [number for number in row if number]
    merged = []
    while kept:
        number = kept.pop(0)
        if kept and kept[0] == number:
            number += kept.pop(0)
        merged.append(number)
    return merged + [0] * (len(row) - len(merged))
""",
        "main": """
def push_left(grid):
    return [aux(row) for row in grid]
""",
        "public": (
            "push_left([[2, 2, 0, 4]]) == [[4, 4, 0, 0]]",
            "push_left([[0, 2], [2, 0]]) == [[2, 0], [2, 0]]",
        ),
        "hidden": (
            "push_left([]) == []",
            "push_left([[2, 2, 2, 2]]) == [[4, 4, 0, 0]]",
            "push_left([[4, 0, 4, 8]]) == [[8, 8, 0, 0]]",
            "push_left([[2, 4, 2, 4], [0, 0, 0, 0]]) == [[2, 4, 2, 4], [0, 0, 0, 0]]",
            "push_left([[2, 2, 2]]) == [[4, 2, 0]]",
            "push_left([[0, 0, 0, 2], [8, 8, 16, 0]]) == [[2, 0, 0, 0], [16, 16, 0, 0]]",
        ),
    },
    {
        "doc": "Return the total of the minimum of every row of a grid plus the total of the maximum of every column. The grid is rectangular and not empty.",
        "helper": "aux(grid, column) returns the largest number in one column.",
        "aux": """
def aux(grid, column):
    return max(row[column] for row in grid)
""",
        "main": """
def rows_and_columns(grid):
    lows = sum(min(row) for row in grid)
    return lows + sum(aux(grid, column) for column in range(len(grid[0])))
""",
        "public": (
            "rows_and_columns([[1, 2], [3, 4]]) == 11",
            "rows_and_columns([[5]]) == 10",
        ),
        "hidden": (
            "rows_and_columns([[0, -1, 2]]) == 0",
            "rows_and_columns([[7], [8], [9]]) == 33",
            "rows_and_columns([[1, 1], [1, 1]]) == 4",
            "rows_and_columns([[-5, 5], [5, -5]]) == 0",
            "rows_and_columns([[3, 6, 9], [2, 4, 8]]) == 23",
            "rows_and_columns([[10, 0], [0, 10], [5, 5]]) == 25",
        ),
    },
    {
        "doc": "Return the fields of a chess board (such as 'e4') that a knight on the given field can move to, in alphabetical order.",
        "helper": "aux(file, rank) returns whether file and rank, counted from 0, are on the 8x8 board.",
        "aux": """
def aux(file, rank):
    return 0 <= file < 8 and 0 <= rank < 8
""",
        "main": """
def knight_moves(field):
    file, rank = "abcdefgh".index(field[0]), int(field[1]) - 1
    found = []
    for across, up in ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)):
        if aux(file + across, rank + up):
            found.append("abcdefgh"[file + across] + str(rank + up + 1))
    return sorted(found)
""",
        "public": (
            "knight_moves('a1') == ['b3', 'c2']",
            "knight_moves('d4') == ['b3', 'b5', 'c2', 'c6', 'e2', 'e6', 'f3', 'f5']",
        ),
        "hidden": (
            "knight_moves('h8') == ['f7', 'g6']",
            "knight_moves('b1') == ['a3', 'c3', 'd2']",
            "knight_moves('a5') == ['b3', 'b7', 'c4', 'c6']",
            "knight_moves('g2') == ['e1', 'e3', 'f4', 'h4']",
            "knight_moves('e8') == ['c7', 'd6', 'f6', 'g7']",
            "knight_moves('c7') == ['a6', 'a8', 'b5', 'd5', 'e6', 'e8']",
        ),
    },
    {
        "doc": "Return the cheapest total for a shopping list, a list of product names, at shops given as a list of dictionaries from product to price, where everything is bought in one shop. A shop that lacks a product is no choice; if none is left, return None.",
        "helper": "aux(shop, products) returns the total at one shop, or None if it lacks a product.",
        "aux": """
def aux(shop, products):
    if any(product not in shop for product in products):
        return None
    return sum(shop[product] for product in products)
""",
        "main": """
def cheapest(shops, products):
    totals = [aux(shop, products) for shop in shops]
    return min((total for total in totals if total is not None), default=None)
""",
        "public": (
            "cheapest([{'tea': 3, 'jam': 4}, {'tea': 2, 'jam': 6}], ['tea', 'jam']) == 7",
            "cheapest([{'tea': 3}], ['milk']) == None",
        ),
        "hidden": (
            "cheapest([], ['tea']) == None",
            "cheapest([{'a': 1}, {'b': 2}], []) == 0",
            "cheapest([{'a': 5, 'b': 1}, {'a': 1, 'b': 9}, {'a': 2, 'b': 2}], ['a', 'b']) == 4",
            "cheapest([{'a': 5}, {'a': 4}], ['a', 'a']) == 8",
            "cheapest([{'x': 0}], ['x']) == 0",
            "cheapest([{'p': 7, 'q': 7}, {'p': 1}], ['p', 'q']) == 14",
        ),
    },
    {
        "doc": "Return the table of a league as a list of team names, best first. Results are tuples (home, guest, goals of home, goals of guest); a win is worth 3 points, a draw 1. Teams of equal points are sorted by name.",
        "helper": "aux(goals_for, goals_against) returns the points of a team for one match.",
        "aux": """
def aux(goals_for, goals_against):
    if goals_for > goals_against:
        return 3
    return 1 if goals_for == goals_against else 0
""",
        "main": """
def league(results):
    points = {}
    for home, guest, scored, conceded in results:
        points[home] = points.get(home, 0) + aux(scored, conceded)
        points[guest] = points.get(guest, 0) + aux(conceded, scored)
    return sorted(points, key=lambda team: (-points[team], team))
""",
        "public": (
            "league([('A', 'B', 1, 0)]) == ['A', 'B']",
            "league([('B', 'A', 2, 2)]) == ['A', 'B']",
        ),
        "hidden": (
            "league([]) == []",
            "league([('A', 'B', 0, 1), ('B', 'C', 0, 1), ('C', 'A', 0, 3)]) == ['A', 'B', 'C']",
            "league([('X', 'Y', 1, 1), ('Y', 'Z', 4, 0), ('Z', 'X', 2, 0)]) == ['Y', 'Z', 'X']",
            "league([('Q', 'P', 0, 0), ('P', 'R', 0, 0), ('R', 'Q', 0, 0)]) == ['P', 'Q', 'R']",
            "league([('D', 'C', 5, 1), ('C', 'D', 5, 1), ('C', 'D', 1, 0)]) == ['C', 'D']",
            "league([('M', 'N', 0, 2), ('M', 'O', 3, 1), ('N', 'O', 1, 1)]) == ['N', 'M', 'O']",
        ),
    },
    {
        "doc": "Return the names of all people that the given person can reach through friends, in any number of steps, sorted; friendships is a list of pairs and holds both ways. The person is not in the result.",
        "helper": "aux(friendships, name) returns the set of the direct friends of one person.",
        "aux": """
def aux(friendships, name):
    found = {b for a, b in friendships if a == name}
    return found | {a for a, b in friendships if b == name}
""",
        "main": """
def reachable(friendships, person):
    seen, waiting = {person}, [person]
    while waiting:
        for friend in aux(friendships, waiting.pop()):
            if friend not in seen:
                seen.add(friend)
                waiting.append(friend)
    return sorted(seen - {person})
""",
        "public": (
            "reachable([('ann', 'bob'), ('bob', 'cy')], 'ann') == ['bob', 'cy']",
            "reachable([('ann', 'bob')], 'dan') == []",
        ),
        "hidden": (
            "reachable([], 'x') == []",
            "reachable([('a', 'b'), ('c', 'd'), ('d', 'e')], 'e') == ['c', 'd']",
            "reachable([('a', 'b'), ('b', 'c'), ('c', 'a')], 'b') == ['a', 'c']",
            "reachable([('a', 'a')], 'a') == []",
            "reachable([('k', 'l'), ('m', 'k'), ('n', 'm'), ('o', 'p')], 'l') == ['k', 'm', 'n']",
            "reachable([('z', 'y'), ('x', 'z'), ('w', 'v')], 'x') == ['y', 'z']",
        ),
    },
    {
        "doc": "Read lines 'name=value' of a settings text into a dictionary: values 'yes' and 'no' become booleans, whole numbers become integers, all else stays text. Lines that are empty or begin with '#' are passed over; spaces around names and values do not count.",
        "helper": "aux(value) returns the value of a text: a bool for 'yes' and 'no', an int for a whole number, else the text.",
        "aux": """
def aux(value):
    if value in ("yes", "no"):
        return value == "yes"
    digits = value[1:] if value.startswith("-") else value
    return int(value) if digits.isdigit() else value
""",
        "main": r"""
def read_settings(text):
    settings = {}
    for line in text.split("\n"):
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            settings[name.strip()] = aux(value.strip())
    return settings
""",
        "public": (
            "read_settings('size=3\\nname=box') == {'size': 3, 'name': 'box'}",
            "read_settings('# note\\nopen = yes') == {'open': True}",
        ),
        "hidden": (
            "read_settings('') == {}",
            "read_settings('a=-4\\nb=no\\nc=1.5') == {'a': -4, 'b': False, 'c': '1.5'}",
            "read_settings('x=1\\nx=2') == {'x': 2}",
            "read_settings('  path = /a=b  \\n\\n#end') == {'path': '/a=b'}",
            "read_settings('empty=') == {'empty': ''}",
            "read_settings('n=007\\nyes=maybe') == {'n': 7, 'yes': 'maybe'}",
        ),
    },
    {
        "doc": "Render a table as text: given rows of texts, pad every column on the right to the width of its longest entry, join the columns of a row with ' | ' and the rows with line breaks.",
        "helper": "aux(rows) returns the width of each column as a list.",
        "aux": """
def aux(rows):
    return [max(len(entry) for entry in column) for column in zip(*rows)]
""",
        "main": r"""
def render_table(rows):
    widths = aux(rows)
    lines = []
    for row in rows:
        lines.append(" | ".join(entry.ljust(width) for entry, width in zip(row, widths)))
    return "\n".join(lines)
""",
        "public": (
            "render_table([['a', 'bb'], ['ccc', 'd']]) == 'a   | bb\\nccc | d '",
            "render_table([['x']]) == 'x'",
        ),
        "hidden": (
            "render_table([]) == ''",
            "render_table([['id', 'name'], ['1', 'ann'], ['22', 'bo']]) == 'id | name\\n1  | ann \\n22 | bo  '",
            "render_table([['', 'y'], ['zz', '']]) == '   | y\\nzz |  '",
            "render_table([['one', 'two', 'three']]) == 'one | two | three'",
            "render_table([['l'], ['longer'], ['mid']]) == 'l     \\nlonger\\nmid   '",
            "render_table([['a', 'b'], ['a', 'b']]) == 'a | b\\na | b'",
        ),
    },
    {
        "doc": "Return the bill of a restaurant: given orders as pairs (dish, count) and a menu from dish to price in cents, return the total in cents with a tip of 10 per cent, rounded down to a whole cent. From 3 of one dish on, each third of that dish is free.",
        "helper": "aux(price, count) returns what count portions of one dish cost, each third of them free.",
        "aux": """
def aux(price, count):
    return price * (count - count // 3)
""",
        "main": """
def bill(orders, menu):
    total = sum(aux(menu[dish], count) for dish, count in orders)
    return total * 110 // 100
""",
        "public": (
            "bill([('soup', 2)], {'soup': 450}) == 990",
            "bill([('tea', 3), ('pie', 1)], {'tea': 200, 'pie': 399}) == 878",
        ),
        "hidden": (
            "bill([], {'tea': 100}) == 0",
            "bill([('a', 6)], {'a': 100}) == 440",
            "bill([('a', 1), ('a', 2)], {'a': 105}) == 346",
            "bill([('x', 5), ('y', 4)], {'x': 99, 'y': 1}) == 438",
            "bill([('z', 0)], {'z': 1000}) == 0",
            "bill([('p', 10)], {'p': 333}) == 2564",
        ),
    },
    {
        "doc": "Order tasks so that each comes after those it needs: needs is a dictionary from task to the list of tasks that it needs, and every task is a key. At every moment take the alphabetically first task that is ready. Return None if that is impossible.",
        "helper": "aux(needs, done) returns the sorted list of tasks that are not done and whose needs are all in done, a list.",
        "aux": """
def aux(needs, done):
    ready = []
    for task, wanted in needs.items():
        if task not in done and all(other in done for other in wanted):
            ready.append(task)
    return sorted(ready)
""",
        "main": """
def order_tasks(needs):
    done = []
    while len(done) < len(needs):
        ready = aux(needs, done)
        if not ready:
            return None
        done.append(ready[0])
    return done
""",
        "public": (
            "order_tasks({'eat': ['cook'], 'cook': ['buy'], 'buy': []}) == ['buy', 'cook', 'eat']",
            "order_tasks({'a': ['b'], 'b': ['a']}) == None",
        ),
        "hidden": (
            "order_tasks({}) == []",
            "order_tasks({'z': [], 'y': [], 'x': ['z']}) == ['y', 'z', 'x']",
            "order_tasks({'a': ['c'], 'b': [], 'c': ['b'], 'd': []}) == ['b', 'c', 'a', 'd']",
            "order_tasks({'self': ['self'], 'free': []}) == None",
            "order_tasks({'one': []}) == ['one']",
            "order_tasks({'m': ['n', 'o'], 'n': ['o'], 'o': [], 'k': ['m']}) == ['o', 'n', 'm', 'k']",
        ),
    },
    {
        "doc": "Return the score of a game of darts: throws are texts such as '20', 'D16' (double), 'T5' (triple) and 'miss'; the score starts at 501 and throws are subtracted in order. A throw that would take it below 0 does not count. Return what is left.",
        "helper": "aux(throw) returns the points of one throw.",
        "aux": """
def aux(throw):
    if throw == "miss":
        return 0
    factor = {"D": 2, "T": 3}.get(throw[0], 1)
    return factor * int(throw.lstrip("DT"))
""",
        "main": """
def darts(throws):
    left = 501
    for throw in throws:
        points = aux(throw)
        if points <= left:
            left -= points
    return left
""",
        "public": (
            "darts(['20', 'D16']) == 449",
            "darts(['T20', 'T20', 'T20', 'miss']) == 321",
        ),
        "hidden": (
            "darts([]) == 501",
            "darts(['T20', 'T20', 'T20', 'T20', 'T20', 'T20', 'T20', 'T19', 'D12']) == 0",
            "darts(['miss', 'miss']) == 501",
            "darts(['T20', 'T20', 'T20', 'T20', 'T20', 'T20', 'T20', 'T20', 'T20', '1']) == 20",
            "darts(['1', 'D1', 'T1']) == 495",
            "darts(['25', 'D25', 'T7', '3']) == 402",
        ),
    },
)
