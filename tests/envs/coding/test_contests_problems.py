"""The shipped contest problems: a second solution of each, slow and plain, gives the stored outputs.

A second solution of a program problem maps its input to its output, one of a function problem its
arguments to its value. They share no idea with the reference solutions where that can be helped.
"""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from functools import cache

import pytest
from each_record import for_each

from llmzoo.envs.coding.contests import tasks

PROBLEMS = {problem.name: problem for problem in tasks.load_shipped()}
SECOND = {}


def second(function):
    SECOND[function.__name__] = function
    return function


def numbers(text):
    return [[int(item) for item in line.split()] for line in text.splitlines()]


@second
def digit_ladder(text):
    n, steps = int(text), 0
    while n > 9:
        n, steps = sum(n // 10**i % 10 for i in range(250)), steps + 1
    return f"{steps} {n}"


@second
def exact_change(text):
    (_, amount), *coins = numbers(text)

    @cache
    def fewest(index, left):
        if left == 0:
            return 0
        if index == len(coins):
            return math.inf
        value, count = coins[index]
        uses = range(min(count, left // value) + 1)
        return min(used + fewest(index + 1, left - used * value) for used in uses)

    best = fewest(0, amount)
    return str(best if best < math.inf else -1)


@second
def clock_hands(text):
    hours, minutes = map(int, text.split(":"))
    now = hours * 60 + minutes
    gap = abs(Fraction(now, 720) % 1 - Fraction(now, 60) % 1) * 360
    return str(float(min(gap, 360 - gap)))


@second
def square_tiles(text):
    def divide(w, h):  # Euclid by hand
        while h:
            w, h = h, w % h
        return w

    floors = [(w, h, divide(w, h)) for w, h in numbers(text)[1:]]
    return "\n".join(f"{side} {w * h // side**2}" for w, h, side in floors)


@second
def factorial_zeros(text):
    n, b = map(int, text.split())
    product, zeros = math.factorial(n), 0
    while product % b == 0:
        product, zeros = product // b, zeros + 1
    return str(zeros)


@second
def power_sum(text):
    n, k, m = map(int, text.split())

    def power(base, exponent):
        if exponent == 0:
            return 1 % m
        half = power(base, exponent // 2)
        return half * half * (base if exponent % 2 else 1) % m

    total = 0
    for i in range(1, n + 1):
        total = (total + power(i, k)) % m
    return str(total)


@second
def prime_desert(text):
    a, b = map(int, text.split())
    primes = [n for n in range(max(a, 2), b + 1) if all(n % d for d in range(2, math.isqrt(n) + 1))]
    gaps = [(low - high, low, high) for low, high in itertools.pairwise(primes)]
    return "{1} {2}".format(*min(gaps)) if gaps else "-1"


@second
def palindromic_base(text):
    n = int(text)

    def reverse(base):
        m, mirrored = n, 0
        while m:
            m, mirrored = m // base, mirrored * base + m % base
        return mirrored

    return str(next(base for base in itertools.count(2) if reverse(base) == n))


@second
def squeeze(text):
    word = text.strip()
    squeezed, i = "", 0
    while i < len(word):
        run = len(word[i:]) - len(word[i:].lstrip(word[i]))
        squeezed += word[i] if run == 1 else f"{word[i]}{run}"
        i += run
    return min(word, squeezed, key=len)


@second
def bracket_fault(text):
    line = text.strip()

    def rest(piece):
        """What remains when matching pairs are taken out."""
        while (shorter := piece.replace("()", "").replace("[]", "").replace("{}", "")) != piece:
            piece = shorter
        return piece

    for position, c in enumerate(line, start=1):
        if c in ")]}" and set(rest(line[:position])) & set(")]}"):
            return f"BAD {position}"
    left = len(rest(line))
    return f"OPEN {left}" if left else "OK"


@second
def vowel_carousel(text):
    first, line = text.splitlines()
    vowels = [c for c in line if c in "aeiou"]
    for _ in range(int(first) % len(vowels) if vowels else 0):
        vowels.insert(0, vowels.pop())
    return "".join(vowels.pop(0) if c in "aeiou" else c for c in line)


@second
def anagram_club(text):
    words = set(text.split()[1:])
    clubs = {word: {w for w in words if sorted(w) == sorted(word)} for word in words}
    best = min(words, key=lambda word: (-len(clubs[word]), min(clubs[word]), word))
    return f"{len(clubs[best])} {best}"


@second
def double_ending(text):
    word = text.strip()
    return next((word[:k] for k in range(len(word) - 1, 0, -1) if word.endswith(word[:k])), "-")


@second
def secret_shift(text):
    known, message = text.splitlines()
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    for s in range(26):
        table = str.maketrans(alphabet[s:] + alphabet[:s], alphabet)
        if f" {known} " in f" {message.translate(table)} ":
            return str(s)
    return "-1"


@second
def few_letters(text):
    k, word = int(text.split()[0]), text.split()[1]
    positions = range(len(word) + 1)
    return str(
        max(j - i for i in positions for j in positions if i <= j and len(set(word[i:j])) <= k)
    )


@second
def mirror_cuts(text):
    word = text.strip()

    @cache
    def pieces(end):
        if end == 0:
            return 0
        starts = [i for i in range(end) if word[i:end] == word[i:end][::-1]]
        return 1 + min(pieces(i) for i in starts)

    return str(pieces(len(word)) - 1)


@second
def typewriter(text):
    import textwrap

    width, words = text.split("\n")[:2]
    lines = textwrap.wrap(words, int(width))
    return f"{len(lines)} {max(map(len, lines))}"


@second
def busy_rooms(text):
    meetings = numbers(text)[1:]
    return str(max((sum(a <= t < b for a, b in meetings) for t, _ in meetings), default=0))


@second
def two_to_a_boat(text):
    (_, limit), weights = numbers(text)

    @cache
    def boats(left):
        if not left:
            return 0
        first, rest = left[0], left[1:]
        options = [boats(rest)]
        for i, other in enumerate(rest):
            if first + other <= limit:
                options.append(boats(rest[:i] + rest[i + 1 :]))
        return 1 + min(options)

    return str(boats(tuple(sorted(weights))))


@second
def street_lamps(text):
    (_, d), houses = numbers(text)
    # some best choice of lamps has each at d to the right of a house
    dark, spots = set(houses), {house + d for house in houses}
    for count in itertools.count(1):
        for lamps in itertools.combinations(sorted(spots), count):
            if all(any(abs(house - lamp) <= d for lamp in lamps) for house in dark):
                return str(count)


@second
def paid_by_deadline(text):
    jobs = numbers(text)[1:]

    def possible(chosen):
        return all(day <= last for day, (last, _) in enumerate(sorted(chosen), start=1))

    sets = (c for k in range(len(jobs) + 1) for c in itertools.combinations(jobs, k))
    return str(max(sum(pay for _, pay in chosen) for chosen in sets if possible(chosen)))


@second
def knotted_ropes(text):
    @cache
    def fastest(ropes):
        if len(ropes) == 1:
            return 0
        best = math.inf
        for i, j in itertools.combinations(range(len(ropes)), 2):
            rest = [rope for index, rope in enumerate(ropes) if index not in (i, j)]
            new = ropes[i] + ropes[j]
            best = min(best, new + fastest(tuple(sorted([*rest, new]))))
        return best

    return str(fastest(tuple(sorted(numbers(text)[1]))))


@second
def desert_stops(text):
    (d, reach, _), *rest = numbers(text)
    pumps = rest[0] if rest else []
    for count in range(len(pumps) + 1):
        for stops in itertools.combinations(sorted(pumps), count):
            if all(b - a <= reach for a, b in itertools.pairwise([0, *stops, d])):
                return str(count)
    return "-1"


@second
def stair_patterns(text):
    (n, _), sizes = numbers(text)

    def climb(left, last):
        if left == 0:
            return 1
        return sum(climb(left - size, size) for size in sizes if size != last and size <= left)

    return str(climb(n, None) % 1000000007)


@second
def toll_grid(text):
    (rows, columns), *grid = ([*line.split()] for line in text.splitlines())
    rows, columns = int(rows), int(columns)
    best = math.inf
    for downs in itertools.combinations(range(rows + columns - 2), rows - 1):
        r = c = 0
        entries = [grid[0][0]]
        for step in range(rows + columns - 2):
            r, c = (r + 1, c) if step in downs else (r, c + 1)
            entries.append(grid[r][c])
        if "#" not in entries:
            best = min(best, sum(map(int, entries)))
    return str(best if best < math.inf else -1)


@second
def zigzag(text):
    values = numbers(text)[1]

    def zigzags(row):
        steps = [b - a for a, b in itertools.pairwise(row)]
        return all(steps) and all(a * b < 0 for a, b in itertools.pairwise(steps))

    lengths = range(len(values), 0, -1)
    return str(next(k for k in lengths if any(map(zigzags, itertools.combinations(values, k)))))


@second
def typing_errors(text):
    import heapq

    costs, old, new = text.splitlines()
    insert, delete, swap = map(int, costs.split())
    done, queue = set(), [(0, 0, 0)]  # letters of the old and of the new word that are dealt with
    while queue:
        cost, i, j = heapq.heappop(queue)
        if (i, j) == (len(old), len(new)):
            return str(cost)
        if (i, j) in done:
            continue
        done.add((i, j))
        if j < len(new):
            heapq.heappush(queue, (cost + insert, i, j + 1))
        if i < len(old):
            heapq.heappush(queue, (cost + delete, i + 1, j))
        if old[i : i + 1] == new[j : j + 1] != "":
            heapq.heappush(queue, (cost, i + 1, j + 1))
        if len(pair := old[i : i + 2]) == 2 and new[j : j + 2] == pair[::-1]:
            heapq.heappush(queue, (cost + swap, i + 2, j + 2))


@second
def two_bags(text):
    (_, p, q), *things = numbers(text)
    best = 0
    for bags in itertools.product((0, 1, 2), repeat=len(things)):
        loads = [sum(t[0] for t, bag in zip(things, bags, strict=True) if bag == b) for b in (1, 2)]
        if loads[0] <= p and loads[1] <= q:
            best = max(best, sum(t[1] for t, bag in zip(things, bags, strict=True) if bag))
    return str(best)


@second
def round_table(text):
    joys = numbers(text)[1]
    n = len(joys)
    best = 0
    for chosen in itertools.product((0, 1), repeat=n):
        if n == 1 or not any(chosen[i] and chosen[(i + 1) % n] for i in range(n)):
            best = max(best, sum(itertools.compress(joys, chosen)))
    return str(best)


@second
def lake_survey(text):
    first, *field = text.splitlines()
    rows, columns = map(int, first.split())
    label = {(r, c): (r, c) for r in range(rows) for c in range(columns) if field[r][c] == "~"}
    for _ in range(rows * columns):  # the least label spreads over each lake
        for r, c in label:
            near = [(r, c), (r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
            label[r, c] = min(label[spot] for spot in near if spot in label)
    edge = {label[r, c] for r, c in label if r in (0, rows - 1) or c in (0, columns - 1)}
    sizes = [list(label.values()).count(lake) for lake in set(label.values()) - edge]
    return f"{len(sizes)} {max(sizes, default=0)}"


@second
def ways_home(text):
    (n, _), *roads = numbers(text)
    ways = [int(position == 1) for position in range(n + 1)]
    for length in range(n):
        if ways[n]:
            return f"{length} {ways[n] % 1000000007}"
        step = [0] * (n + 1)  # walks of the next length, shortest or not
        for a, b in roads:
            step[a] += ways[b]
            step[b] += ways[a]
        ways = step
    return "-1"


@second
def recipe_order(text):
    (n, _), *pairs = numbers(text)
    orders = itertools.permutations(range(1, n + 1))
    good = (o for o in orders if all(o.index(a) < o.index(b) for a, b in pairs))
    return " ".join(map(str, next(good, ["IMPOSSIBLE"])))


@second
def city_tolls(text):
    (n, _), gates, *roads = numbers(text)
    best = [math.inf] * (n + 1)
    best[1] = 0
    for _ in range(n):
        for a, b, hours in roads + [[b, a, hours] for a, b, hours in roads]:
            best[b] = min(best[b], best[a] + hours + gates[b - 1])
    return str(best[n] if best[n] < math.inf else -1)


@second
def two_camps(text):
    (n, _), *pairs = numbers(text)
    camps = itertools.product((0, 1), repeat=n)
    return str(min((sum(c) for c in camps if all(c[a - 1] != c[b - 1] for a, b in pairs)), default=-1))  # fmt: skip


@second
def only_bridges(text):
    (_, _), *roads = numbers(text)

    def joined(a, b, usable):
        reached = {a}
        for _ in usable:
            reached |= {p for road in usable if reached & set(road) for p in road}
        return b in reached

    return str(sum(not joined(a, b, roads[:i] + roads[i + 1 :]) for i, (a, b) in enumerate(roads)))


@second
def longest_walk(text):
    (n,), *paths = numbers(text)
    apart = [[0 if a == b else math.inf for b in range(n + 1)] for a in range(n + 1)]
    for a, b, length in paths:
        apart[a][b] = apart[b][a] = length
    for k, i, j in itertools.product(range(1, n + 1), repeat=3):  # Floyd and Warshall
        apart[i][j] = min(apart[i][j], apart[i][k] + apart[k][j])
    return str(max(max(row[1:]) for row in apart[1:]))


@second
def friend_groups(text):
    (_, _), *pairs = numbers(text)
    sizes = []
    for count in range(1, len(pairs) + 1):
        groups = []
        for pair in pairs[:count]:
            touched = [group for group in groups if group & set(pair)]
            groups = [group for group in groups if group not in touched]
            groups.append(set(pair).union(*touched))
        sizes.append(max(map(len, groups)))
    return " ".join(map(str, sizes))


@second
def floor_robot(text):
    first, *field, commands = text.splitlines()
    rows, columns = map(int, first.split())
    walled = ["#" * (columns + 2), *(f"#{row}#" for row in field), "#" * (columns + 2)]
    assert len(field) == rows
    spot = next(complex(r, row.index("S")) for r, row in enumerate(walled) if "S" in row)
    ahead, bumps = complex(-1, 0), 0
    for command in commands:
        if command == "F":
            there = spot + ahead
            if walled[int(there.real)][int(there.imag)] == "#":
                bumps += 1
            else:
                spot = there
        else:
            ahead *= 1j if command == "L" else -1j
    return f"{int(spot.real) - 1} {int(spot.imag) - 1} {bumps}"


@second
def counting_out(text):
    (n, k), counts = numbers(text)
    position = 0  # of the last child, from the end of the game backwards
    for size in range(2, n + 1):
        position = (position + counts[(n - size) % k]) % size
    return str(position + 1)


@second
def stack_machine(text):
    needs = {"POP": 1, "DUP": 1, "SWAP": 2, "ADD": 2, "SUB": 2, "MUL": 2}
    stack = ()
    for number, line in enumerate(text.splitlines()[1:], start=1):
        match line.split():
            case ["PUSH", x]:
                stack = (*stack, int(x))
            case [name] if len(stack) < needs[name]:
                return f"ERROR {number}"
            case ["POP"]:
                stack = stack[:-1]
            case ["DUP"]:
                stack = (*stack, stack[-1])
            case ["SWAP"]:
                stack = (*stack[:-2], stack[-1], stack[-2])
            case ["ADD"]:
                stack = (*stack[:-2], stack[-2] + stack[-1])
            case ["SUB"]:
                stack = (*stack[:-2], stack[-2] - stack[-1])
            case ["MUL"]:
                stack = (*stack[:-2], stack[-2] * stack[-1])
    return " ".join(map(str, stack)) if stack else "EMPTY"


@second
def torus_life(text):
    first, *board = text.splitlines()
    rows, columns, generations = map(int, first.split())
    around = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    for _ in range(generations):
        new = []
        for r in range(rows):
            line = ""
            for c in range(columns):
                near = sum(board[(r + a) % rows][(c + b) % columns] == "*" for a, b in around)
                line += "*" if near == 3 or (near == 2 and board[r][c] == "*") else "."
            new.append(line)
        board = new
    return str("".join(board).count("*"))


@second
def bank_day(text):
    orders = [line.split() for line in text.splitlines()[1:]]
    names = sorted({name for order in orders for name in order[1:-1]})
    done = []  # (name, change) of all orders carried out
    refused = 0
    for kind, *who, x in orders:
        held = sum(change for name, change in done if name == who[0])
        if kind == "IN":
            done.append((who[0], int(x)))
        elif held < int(x):
            refused += 1
        else:
            done += [(who[0], -int(x))] + [(name, int(x)) for name in who[1:]]
    held = {name: sum(change for other, change in done if other == name) for name in names}
    return "\n".join([*(f"{name} {held[name]}" for name in names), f"refused {refused}"])


@second
def posters(text):
    covered = set()
    for x1, y1, x2, y2 in numbers(text)[1:]:
        xs, ys = range(min(x1, x2), max(x1, x2)), range(min(y1, y2), max(y1, y2))
        covered |= set(itertools.product(xs, ys))
    return str(len(covered))


@second
def fence_posts(text):
    corners = [tuple(pair) for pair in numbers(text)[1:]]
    edges = list(zip(corners, corners[1:] + corners[:1], strict=True))

    def turn(a, b, p):
        return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])

    trees = posts = 0
    xs, ys = zip(*corners, strict=True)
    for p in itertools.product(range(min(xs), max(xs) + 1), range(min(ys), max(ys) + 1)):
        fence = any(
            turn(a, b, p) == 0
            and min(a[0], b[0]) <= p[0] <= max(a[0], b[0])
            and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])
            for a, b in edges
        )
        posts += fence
        if not fence:  # a ray to the right crosses the fence an odd number of times
            up = sum(a[1] <= p[1] < b[1] and turn(a, b, p) > 0 for a, b in edges)
            down = sum(b[1] <= p[1] < a[1] and turn(a, b, p) < 0 for a, b in edges)
            trees += (up + down) % 2
    return f"{trees} {posts}"


@second
def crossing_paths(text):
    def meet(ax, ay, bx, by, cx, cy, dx, dy):
        # a point of each, from 0 to 1 along it: clip the first path by the second, exactly
        ux, uy, vx, vy = bx - ax, by - ay, dx - cx, dy - cy
        cross = ux * vy - uy * vx
        if cross:
            s = Fraction((cx - ax) * vy - (cy - ay) * vx, cross)
            t = Fraction((cx - ax) * uy - (cy - ay) * ux, cross)
            return 0 <= s <= 1 and 0 <= t <= 1
        wx, wy = (ux, uy) if (ux, uy) != (0, 0) else (vx, vy)
        if (wx, wy) == (0, 0):
            return (ax, ay) == (cx, cy)
        if (cx - ax) * wy != (cy - ay) * wx:
            return False
        first = sorted((ax * wx + ay * wy, bx * wx + by * wy))
        other = sorted((cx * wx + cy * wy, dx * wx + dy * wy))
        return first[0] <= other[1] and other[0] <= first[1]

    return "\n".join("YES" if meet(*row) else "NO" for row in numbers(text)[1:])


@second
def square_corners(text):
    points = numbers(text)[1:]
    count = 0
    for a in points:  # the corner with the right angle
        for b, c in itertools.combinations([p for p in points if p != a], 2):
            count += (b[0] - a[0]) * (c[0] - a[0]) + (b[1] - a[1]) * (c[1] - a[1]) == 0
    return str(count)


@second
def plain_sums(text):
    import re

    # Python's own arithmetic on what is nothing but digits, signs, brackets and blanks
    assert re.fullmatch(r"[0-9+\-*() \n]+", text)
    return str(eval(re.sub(r"\b0+(?=\d)", "", text.strip())))


@second
def release_order(text):
    from functools import cmp_to_key

    def compare(first, other):
        (a, _, v), (b, _, w) = first.partition("-"), other.partition("-")
        a, b = a.split("."), b.split(".")
        for x, y in zip(a, b, strict=False):
            if int(x) != int(y):
                return int(x) - int(y)
        if len(a) != len(b):
            return len(a) - len(b)
        if not v or not w:
            return len(w) - len(v) if (v or w) else 0
        return (v > w) - (v < w)

    return "\n".join(sorted(text.splitlines()[1:], key=cmp_to_key(compare)))


@second
def long_day(text):
    total = 0
    for line in text.splitlines()[1:]:
        number = ""
        for c in line:
            if c.isdigit():
                number += c
            else:
                total += int(number) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[c]
                number = ""
    minutes, s = divmod(total, 60)
    hours, m = divmod(minutes, 60)
    d, h = divmod(hours, 24)
    parts = [f"{number}{unit}" for number, unit in zip((d, h, m, s), "dhms", strict=True) if number]
    return "".join(parts) or "0s"


@cache
def roman_names():
    def digit(d, one, five, ten):
        return ["", one, 2 * one, 3 * one, one + five, five, five + one, five + 2 * one,
                five + 3 * one, one + ten][d]  # fmt: skip

    return {
        n: "M" * (n // 1000)
        + digit(n // 100 % 10, "C", "D", "M")
        + digit(n // 10 % 10, "X", "L", "C")
        + digit(n % 10, "I", "V", "X")
        for n in range(1, 4000)
    }


@second
def roman_sum(text):
    value = {name: n for n, name in roman_names().items()}
    first, other = text.strip().split("+")
    return roman_names()[value[first] + value[other]]


@second
def ledger_lines(text):
    head, *lines = text.splitlines()
    k = int(head.split()[1])
    total = width = 0
    for line in lines:
        fields, quoted, i = [""], False, 0
        while i < len(line):
            c = line[i]
            if quoted and line[i : i + 2] == '""':
                fields[-1] += '"'
                i += 1
            elif c == '"':
                quoted = not quoted
            elif c == "," and not quoted:
                fields.append("")
            else:
                fields[-1] += c
            i += 1
        width = max(width, len(fields))
        field = fields[k - 1] if len(fields) >= k else ""
        digits = field[1:] if field.startswith("-") else field
        total += int(field) if digits.isdigit() else 0
    return f"{total} {width}"


@second
def merge_bookings(bookings):
    groups = [list(b) for b in bookings]
    for _ in bookings:
        for a, b in itertools.combinations(groups, 2):
            if a[0] <= b[1] and b[0] <= a[1]:
                groups.remove(a)
                groups.remove(b)
                groups.append([min(a[0], b[0]), max(a[1], b[1])])
                break
    return sorted(groups)


@second
def turn_picture(rows, quarters):
    n, m = len(rows), len(rows[0])
    match quarters % 4:
        case 0:
            return [[rows[r][c] for c in range(m)] for r in range(n)]
        case 1:
            return [[rows[n - 1 - c][r] for c in range(n)] for r in range(m)]
        case 2:
            return [[rows[n - 1 - r][m - 1 - c] for c in range(m)] for r in range(n)]
    return [[rows[c][m - 1 - r] for c in range(n)] for r in range(m)]


@second
def common_words(text, k):
    plain = "".join(c if "a" <= c <= "z" else " " for c in text.lower()).split()
    counted = [[word, plain.count(word)] for word in sorted(set(plain))]
    counted.sort(key=lambda pair: pair[1], reverse=True)
    return counted[:k]


@second
def spiral_walk(n, m):
    if n == 1:
        return [list(range(1, m + 1))]
    # after the first row the rest is a spiral of its own, turned a quarter to the right
    rest = spiral_walk(m, n - 1)
    below = [[rest[m - 1 - c][r] + m for c in range(m)] for r in range(n - 1)]
    return [list(range(1, m + 1)), *below]


@second
def smooth(values, k):
    sums = [0, *itertools.accumulate(map(Fraction, values))]
    return [float((sums[i] - sums[i - k]) / k) for i in range(k, len(values) + 1)]


@second
def deep_sum(value):
    total = depth = 0
    for token in (
        json.dumps(value).replace("[", " [ ").replace("]", " ] ").replace(",", " ").split()
    ):
        if token in "[]":
            depth += 1 if token == "[" else -1
        else:
            total += depth * int(token)
    return total


@second
def pick_sums(values, target):
    picks = itertools.product((0, 1), repeat=len(values))
    return sum(sum(itertools.compress(values, pick)) == target for pick in picks)


@second
def share_out(shares):
    below = math.prod(b for _, b in shares)
    above = below - sum(a * below // b for a, b in shares)
    common = math.gcd(above, below)
    return [above // common, below // common]


def test_there_are_enough_and_each_has_a_second_solution():
    assert len(PROBLEMS) >= 40
    assert set(SECOND) == set(PROBLEMS)
    assert sum(problem.function is not None for problem in PROBLEMS.values()) >= 5


for_each_problem = for_each(PROBLEMS.values(), lambda problem: problem.name)


@for_each_problem
def test_second_solution_agrees(problem):
    solve = SECOND[problem.name]
    for test in problem.public + problem.hidden:
        if problem.function is None:
            result = solve(test.input).split()
            if problem.name == "clock_hands":
                assert float(result[0]) == pytest.approx(float(test.output))
            else:
                assert result == test.output.split(), test.input
        else:
            result, expected = solve(*json.loads(test.input)), json.loads(test.output)
            if problem.name == "smooth":
                expected = pytest.approx(expected)
            assert result == expected, test.input


@for_each_problem
def test_problem_is_complete(problem):
    assert len(problem.public) == 2
    assert len(problem.hidden) >= 8
    tests = problem.public + problem.hidden
    assert len({test.input for test in tests}) == len(tests)
    assert all(test.input and test.output for test in tests)
    assert problem.solutions
