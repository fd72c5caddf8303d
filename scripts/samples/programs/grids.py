# ruff: noqa: PERF401 - plain loops are what may go wrong here
def neighbours(grid, row, column):
    """
    The places beside, above and below one, as far as they lie on the grid.
    """
    found = []
    for r, c in ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)):
        if 0 <= r < len(grid) and 0 <= c < len(grid[0]):
            found.append((r, c))
    return found


def island_sizes(grid):
    """
    The sizes of the islands of a map (rows of "#" for land and "." for water) in descending
    order; land is joined along edges, not at corners.

    >>> island_sizes(["#.#", "#.."])
    [2, 1]
    """
    seen = set()
    sizes = []
    for row in range(len(grid)):
        for column in range(len(grid[0])):
            if grid[row][column] != "#" or (row, column) in seen:
                continue
            size = 0
            open_places = [(row, column)]
            seen.add((row, column))
            while open_places:
                place = open_places.pop()
                size += 1
                for r, c in neighbours(grid, place[0], place[1]):
                    if grid[r][c] == "#" and (r, c) not in seen:
                        seen.add((r, c))
                        open_places.append((r, c))
            sizes.append(size)
    return sorted(sizes, reverse=True)


def steps_through(grid):
    """
    The fewest steps from the upper left to the lower right corner of a maze ("#" is a wall); -1
    when there is no way.

    >>> steps_through(["..", "#."])
    2
    """
    if grid[0][0] == "#":
        return -1
    steps = {(0, 0): 0}
    queue = [(0, 0)]
    goal = (len(grid) - 1, len(grid[0]) - 1)
    while queue:
        place = queue.pop(0)
        if place == goal:
            return steps[place]
        for r, c in neighbours(grid, place[0], place[1]):
            if grid[r][c] != "#" and (r, c) not in steps:
                steps[(r, c)] = steps[place] + 1
                queue.append((r, c))
    return -1


def spiral(grid):
    """
    The values of a grid in a spiral: along the first row to the right, down the last column, and
    so on inwards.

    >>> spiral([[1, 2], [4, 3]])
    [1, 2, 3, 4]
    """
    rows = [list(row) for row in grid]
    values = []
    while rows:
        values += rows.pop(0)
        turned = []
        for column in range(len(rows[0]) - 1 if rows else -1, -1, -1):
            turned.append([row[column] for row in rows])
        rows = turned
    return values


def turn_right(grid, turns):
    """
    The grid turned clockwise by quarter turns; a negative number turns it back.

    >>> turn_right([[1, 2], [3, 4]], 1)
    [[3, 1], [4, 2]]
    """
    turned = [list(row) for row in grid]
    for _ in range(turns % 4):
        height = len(turned)
        width = len(turned[0])
        turned = [
            [turned[height - 1 - row][column] for row in range(height)] for column in range(width)
        ]
    return turned


def living_around(grid, row, column):
    """
    How many of the eight places around one are alive ("*").
    """
    count = 0
    for r in range(max(row - 1, 0), min(row + 2, len(grid))):
        for c in range(max(column - 1, 0), min(column + 2, len(grid[0]))):
            if (r, c) != (row, column) and grid[r][c] == "*":
                count += 1
    return count


def next_generation(grid):
    """
    One step of the game of life: "*" lives on with two or three living neighbours, "." comes alive
    with three.

    >>> next_generation(["...", "***", "..."])
    ['.*.', '.*.', '.*.']
    """
    following = []
    for row in range(len(grid)):
        line = ""
        for column in range(len(grid[row])):
            living = living_around(grid, row, column)
            if living == 3 or (living == 2 and grid[row][column] == "*"):
                line += "*"
            else:
                line += "."
        following.append(line)
    return following


def is_magic(square):
    """
    Whether all rows, columns and both diagonals of a square of numbers have one sum, and no number
    stands in it twice.

    >>> is_magic([[2, 7, 6], [9, 5, 1], [4, 3, 8]])
    True
    """
    size = len(square)
    numbers = [value for row in square for value in row]
    if len(set(numbers)) != size * size:
        return False
    wanted = sum(square[0])
    for i in range(size):
        if sum(square[i]) != wanted or sum(row[i] for row in square) != wanted:
            return False
    falling = sum(square[i][i] for i in range(size))
    rising = sum(square[i][size - 1 - i] for i in range(size))
    return falling == wanted and rising == wanted


def saddle_points(grid):
    """
    The places [row, column] whose value is the greatest of its row and the least of its column,
    counted from 1, row by row.

    >>> saddle_points([[9, 8], [5, 3]])
    [[2, 1]]
    """
    points = []
    for row, values in enumerate(grid):
        for column, value in enumerate(values):
            lowest = min(line[column] for line in grid)
            if value == max(values) and value == lowest:
                points.append([row + 1, column + 1])
    return points


def word_count(grid, word):
    """
    How often a word stands in a grid of letters, read to the right or downwards.

    >>> word_count(["ab", "ba"], "ab")
    2
    """
    lines = list(grid)
    for column in range(len(grid[0])):
        lines.append("".join(row[column] for row in grid))
    count = 0
    for line in lines:
        for start in range(len(line) - len(word) + 1):
            if line[start : start + len(word)] == word:
                count += 1
    return count
