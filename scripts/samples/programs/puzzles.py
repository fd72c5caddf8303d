def build_order(needs):
    """
    An order of the keys in which each comes after all that it needs, the first in alphabetical
    order wherever there is a choice; [] when there is none.

    >>> build_order({"b": ["a"], "a": []})
    ['a', 'b']
    """
    order = []
    waiting = {name: list(needed) for name, needed in needs.items()}
    while waiting:
        ready = [name for name in sorted(waiting) if not waiting[name]]
        if not ready:
            return []
        name = ready[0]
        order.append(name)
        del waiting[name]
        for needed in waiting.values():
            if name in needed:
                needed.remove(name)
    return order


def find(parents, name):
    """
    The last of the parents of a name.
    """
    while parents[name] != name:
        name = parents[name]
    return name


def friend_circles(people, friends):
    """
    The groups of people who are friends directly or through others: each in alphabetical order,
    the largest group first, groups of one size in alphabetical order.

    >>> friend_circles(["a", "b", "c"], [["a", "c"]])
    [['a', 'c'], ['b']]
    """
    parents = {person: person for person in people}
    for first, second in friends:
        parents[find(parents, first)] = find(parents, second)
    groups = {}
    for person in people:
        groups.setdefault(find(parents, person), []).append(person)
    circles = [sorted(group) for group in groups.values()]
    return sorted(circles, key=lambda circle: (-len(circle), circle))


def best_load(capacity, items):
    """
    The greatest value that fits into a capacity, of items [weight, value] taken once at most.

    >>> best_load(5, [[3, 4], [2, 3], [4, 6]])
    7
    """
    best = [0] * (capacity + 1)
    for weight, value in items:
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


def safe(queens, column):
    """
    Whether a queen in a column of the next row is attacked by none of the queens so far.
    """
    row = len(queens)
    for other_row, other in enumerate(queens):
        if other == column or row - other_row == abs(column - other):
            return False
    return True


def queen_placements(size, queens=None):
    """
    In how many ways queens can stand on a board, one in each row, without attacking one another.

    >>> queen_placements(4)
    2
    """
    placed = queens or []
    if len(placed) == size:
        return 1
    count = 0
    for column in range(size):
        if safe(placed, column):
            count += queen_placements(size, [*placed, column])
    return count


def calculate(tokens):
    """
    The value of a sum in reverse Polish notation, "/" rounding down; "error" when it cannot be
    calculated.

    >>> calculate(["6", "2", "-", "3", "*"])
    12
    """
    stack = []
    for token in tokens:
        if token not in ("+", "-", "*", "/"):
            stack.append(int(token))
            continue
        if len(stack) < 2:
            return "error"
        right = stack.pop()
        left = stack.pop()
        if token == "+":
            stack.append(left + right)
        elif token == "-":
            stack.append(left - right)
        elif token == "*":
            stack.append(left * right)
        elif right == 0:
            return "error"
        else:
            stack.append(left // right)
    return stack[0] if len(stack) == 1 else "error"


def bowling_score(rolls):
    """
    The score of a whole game of ten frames: a strike counts the next two rolls again, a spare the
    next one.

    >>> bowling_score([10, 3, 4] + [0] * 16)
    24
    """
    score = 0
    roll = 0
    for _ in range(10):
        if rolls[roll] == 10:
            score += 10 + rolls[roll + 1] + rolls[roll + 2]
            roll += 1
        elif rolls[roll] + rolls[roll + 1] == 10:
            score += 10 + rolls[roll + 2]
            roll += 2
        else:
            score += rolls[roll] + rolls[roll + 1]
            roll += 2
    return score


def is_leap(year):
    """
    Whether a year has a 29th of February.
    """
    if year % 400 == 0:
        return True
    return year % 4 == 0 and year % 100 != 0


def day_of_year(year, month, day):
    """
    The number of a date in its year, counted from 1; 0 when there is no such date.

    >>> day_of_year(2024, 3, 1)
    61
    """
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if is_leap(year):
        lengths[1] = 29
    if not 1 <= month <= 12:
        return 0
    if not 1 <= day <= lengths[month - 1]:
        return 0
    return sum(lengths[: month - 1]) + day


def minutes(time):
    """
    The minutes since midnight of a time such as "08:30".
    """
    hour, minute = time.split(":")
    return int(hour) * 60 + int(minute)


def rooms_needed(meetings):
    """
    How many rooms meetings [start, end] need that take place at their times; one may begin in a
    room when another ends.

    >>> rooms_needed([["09:00", "10:00"], ["09:30", "11:00"], ["10:00", "10:30"]])
    2
    """
    changes = []
    for start, end in meetings:
        changes.append((minutes(start), 1))
        changes.append((minutes(end), -1))
    most = 0
    now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def settle(expenses):
    """
    What everybody gets back (or owes, below 0) when the expenses [who, cents] are shared evenly;
    what does not come out even is carried by the first in alphabetical order, a cent each.

    >>> settle([["ann", 300], ["bob", 100]])
    {'ann': 100, 'bob': -100}
    """
    paid = {}
    for name, cents in expenses:
        paid[name] = paid.get(name, 0) + cents
    if not paid:
        return {}
    total = sum(paid.values())
    share = total // len(paid)
    left = total % len(paid)
    balance = {}
    for number, name in enumerate(sorted(paid)):
        extra = 1 if number < left else 0
        balance[name] = paid[name] - share - extra
    return balance


def seats(votes, total):
    """
    Seats for parties by D'Hondt's method: one by one to the party with the most votes for each
    seat that it would then have; in a tie to the first in alphabetical order.

    >>> seats({"x": 60, "y": 30}, 3)
    {'x': 2, 'y': 1}
    """
    given = dict.fromkeys(sorted(votes), 0)
    for _ in range(total):
        best = ""
        for party in given:
            if not best:
                best = party
                continue
            mine = votes[party] * (given[best] + 1)
            others = votes[best] * (given[party] + 1)
            if mine > others:
                best = party
        given[best] += 1
    return given
