"""Problems about lists."""

PROBLEMS = (
    {
        "doc": "Return the mean of the list without its outliers, rounded to two digits: outliers are numbers further than 10 from the median. The median of an even count is the lower of the two in the middle. The list is not empty.",
        "helper": "aux(numbers) returns the median of a list that is not empty, the lower one of an even count.",
        "aux": """
def aux(numbers):
    return sorted(numbers)[(len(numbers) - 1) // 2]
""",
        "main": """
def robust_mean(numbers):
    middle = aux(numbers)
    kept = [number for number in numbers if abs(number - middle) <= 10]
    return round(sum(kept) / len(kept), 2)
""",
        "public": (
            "robust_mean([1, 2, 3, 100]) == 2.0",
            "robust_mean([5]) == 5.0",
        ),
        "hidden": (
            "robust_mean([10, 20, 30]) == 20.0",
            "robust_mean([-50, 0, 1, 2, 50]) == 1.0",
            "robust_mean([7, 7, 8]) == 7.33",
            "robust_mean([3, 14, 4, 13]) == 8.5",
            "robust_mean([1, 1, 1, 12]) == 1.0",
            "robust_mean([100, 101, 105, 90]) == 99.0",
        ),
    },
    {
        "doc": "Return the list with every run of equal neighbours reduced to one element, and only those runs whose length is at least minimum.",
        "helper": "aux(items) returns the runs of a list as pairs of value and length, in order.",
        "aux": """
def aux(items):
    runs = []
    for item in items:
        if runs and runs[-1][0] == item:
            runs[-1] = (item, runs[-1][1] + 1)
        else:
            runs.append((item, 1))
    return runs
""",
        "main": """
def long_runs(items, minimum):
    return [value for value, length in aux(items) if length >= minimum]
""",
        "public": (
            "long_runs([1, 1, 2, 3, 3, 3], 2) == [1, 3]",
            "long_runs([4, 4, 4], 4) == []",
        ),
        "hidden": (
            "long_runs([], 1) == []",
            "long_runs([1, 2, 2, 1, 1], 2) == [2, 1]",
            "long_runs([5, 5, 5, 5], 1) == [5]",
            "long_runs(['a', 'b', 'b'], 1) == ['a', 'b']",
            "long_runs([0, 0, 1, 0, 0, 0], 3) == [0]",
            "long_runs([7], 2) == []",
        ),
    },
    {
        "doc": "Merge overlapping intervals: given a list of pairs (start, end) with start <= end, return the sorted list of intervals that cover the same numbers; intervals that touch at an end are merged.",
        "helper": "aux(first, second) returns whether two intervals overlap or touch.",
        "aux": """
def aux(first, second):
    return first[0] <= second[1] and second[0] <= first[1]
""",
        "main": """
def merge_intervals(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and aux(merged[-1], (start, end)):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
""",
        "public": (
            "merge_intervals([(1, 3), (2, 6), (8, 10)]) == [(1, 6), (8, 10)]",
            "merge_intervals([(1, 4), (4, 5)]) == [(1, 5)]",
        ),
        "hidden": (
            "merge_intervals([]) == []",
            "merge_intervals([(5, 6), (1, 2), (3, 4)]) == [(1, 2), (3, 4), (5, 6)]",
            "merge_intervals([(1, 10), (2, 3), (4, 5)]) == [(1, 10)]",
            "merge_intervals([(0, 0), (0, 0)]) == [(0, 0)]",
            "merge_intervals([(6, 8), (1, 9), (2, 4), (10, 12)]) == [(1, 9), (10, 12)]",
            "merge_intervals([(-5, -1), (-2, 3), (4, 4)]) == [(-5, 3), (4, 4)]",
        ),
    },
    {
        "doc": "Return the numbers of the list that are peaks: greater than both neighbours, where the ends have one neighbour only. A list of one number has that peak.",
        "helper": "aux(numbers, place) returns whether the number at a place is greater than each of its neighbours.",
        "aux": """
def aux(numbers, place):
    neighbours = numbers[max(place - 1, 0) : place] + numbers[place + 1 : place + 2]
    return all(numbers[place] > neighbour for neighbour in neighbours)
""",
        "main": """
def peaks(numbers):
    return [number for place, number in enumerate(numbers) if aux(numbers, place)]
""",
        "public": (
            "peaks([1, 3, 2, 5]) == [3, 5]",
            "peaks([4]) == [4]",
        ),
        "hidden": (
            "peaks([]) == []",
            "peaks([5, 4, 3]) == [5]",
            "peaks([2, 2, 2]) == []",
            "peaks([1, 9, 1, 9, 1]) == [9, 9]",
            "peaks([3, 3, 4, 4, 1]) == []",
            "peaks([-1, -3, 0, -2]) == [-1, 0]",
        ),
    },
    {
        "doc": "Return the length of the longest stretch of the list in which no number occurs twice.",
        "helper": "aux(numbers, start) returns the length of the longest stretch that begins at start and holds no number twice.",
        "aux": """
def aux(numbers, start):
    seen = set()
    for number in numbers[start:]:
        if number in seen:
            break
        seen.add(number)
    return len(seen)
""",
        "main": """
def longest_distinct(numbers):
    return max((aux(numbers, start) for start in range(len(numbers))), default=0)
""",
        "public": (
            "longest_distinct([1, 2, 1, 3, 4]) == 4",
            "longest_distinct([]) == 0",
        ),
        "hidden": (
            "longest_distinct([5, 5, 5]) == 1",
            "longest_distinct([1, 2, 3]) == 3",
            "longest_distinct([1, 2, 3, 2, 1, 4, 5, 3]) == 5",
            "longest_distinct([7]) == 1",
            "longest_distinct([1, 1, 2, 2, 3, 3]) == 2",
            "longest_distinct([4, 1, 4, 2, 4, 3]) == 3",
        ),
    },
    {
        "doc": "Deal a list of players into the given number of teams as a snake draft does: the first round deals from the first team to the last, the second from the last to the first, and so on. Return the teams; teams is at least 1.",
        "helper": "aux(number, teams) returns the index of the team that gets the player with that number, counting players from 0.",
        "aux": """
def aux(number, teams):
    round, place = divmod(number, teams)
    return place if round % 2 == 0 else teams - 1 - place
""",
        "main": """
def snake_draft(players, teams):
    dealt = [[] for _ in range(teams)]
    for number, player in enumerate(players):
        dealt[aux(number, teams)].append(player)
    return dealt
""",
        "public": (
            "snake_draft(['a', 'b', 'c', 'd'], 2) == [['a', 'd'], ['b', 'c']]",
            "snake_draft([1, 2, 3, 4, 5, 6, 7], 3) == [[1, 6, 7], [2, 5], [3, 4]]",
        ),
        "hidden": (
            "snake_draft([], 2) == [[], []]",
            "snake_draft([9, 8], 1) == [[9, 8]]",
            "snake_draft([1, 2], 4) == [[1], [2], [], []]",
            "snake_draft([1, 2, 3, 4, 5, 6], 2) == [[1, 4, 5], [2, 3, 6]]",
            "snake_draft(['x', 'y', 'z'], 3) == [['x'], ['y'], ['z']]",
            "snake_draft([1, 2, 3, 4, 5, 6, 7, 8, 9], 4) == [[1, 8, 9], [2, 7], [3, 6], [4, 5]]",
        ),
    },
    {
        "doc": "Return the items that a strict majority of the lists hold at least once, sorted.",
        "helper": "aux(lists, item) returns how many of the lists hold item.",
        "aux": """
def aux(lists, item):
    return sum(item in items for items in lists)
""",
        "main": """
def majority_items(lists):
    every = {item for items in lists for item in items}
    return sorted(item for item in every if aux(lists, item) * 2 > len(lists))
""",
        "public": (
            "majority_items([[1, 2], [2, 3], [2, 1]]) == [1, 2]",
            "majority_items([[1], [2]]) == []",
        ),
        "hidden": (
            "majority_items([]) == []",
            "majority_items([[5, 5, 5], [4], [4, 5]]) == [4, 5]",
            "majority_items([['a', 'b'], ['b', 'a']]) == ['a', 'b']",
            "majority_items([[3, 1, 2]]) == [1, 2, 3]",
            "majority_items([[1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]) == [3, 4]",
            "majority_items([[], [1], [1]]) == [1]",
        ),
    },
    {
        "doc": "Return the list rotated to the right by as many places as its largest number says; a negative one rotates to the left. An empty list stays empty.",
        "helper": "aux(items, places) returns a list rotated to the right by places, which may be negative or larger than the list.",
        "aux": """
def aux(items, places):
    cut = len(items) - places % len(items)
    return items[cut:] + items[:cut]
""",
        "main": """
def self_rotate(numbers):
    if not numbers:
        return []
    return aux(numbers, max(numbers))
""",
        "public": (
            "self_rotate([1, 0, 0]) == [0, 1, 0]",
            "self_rotate([3, 1, 2]) == [3, 1, 2]",
        ),
        "hidden": (
            "self_rotate([]) == []",
            "self_rotate([5, 4, 0, 0]) == [0, 5, 4, 0]",
            "self_rotate([-1, -2, -3]) == [-2, -3, -1]",
            "self_rotate([2]) == [2]",
            "self_rotate([0, 0, 7, 0, 0]) == [0, 0, 0, 0, 7]",
            "self_rotate([1, 2, 3, 4, 5, 6, 10]) == [5, 6, 10, 1, 2, 3, 4]",
        ),
    },
    {
        "doc": "Return the pair of different places (i, j), i < j, whose numbers in the list are closest to each other; of several the one with the smallest i, then j. The list has at least two numbers.",
        "helper": "aux(numbers, i) returns the place j > i whose number is closest to that at i, the smallest of several; i is not the last place.",
        "aux": """
def aux(numbers, i):
    return min(range(i + 1, len(numbers)), key=lambda j: (abs(numbers[i] - numbers[j]), j))
""",
        "main": """
def closest_pair(numbers):
    pairs = [(i, aux(numbers, i)) for i in range(len(numbers) - 1)]
    return min(pairs, key=lambda pair: (abs(numbers[pair[0]] - numbers[pair[1]]), pair))
""",
        "public": (
            "closest_pair([1, 5, 9, 4]) == (1, 3)",
            "closest_pair([3, 3]) == (0, 1)",
        ),
        "hidden": (
            "closest_pair([10, 20]) == (0, 1)",
            "closest_pair([1, 2, 3, 4]) == (0, 1)",
            "closest_pair([100, 1, 50, 99, 0]) == (0, 3)",
            "closest_pair([-5, 5, -4, 6]) == (0, 2)",
            "closest_pair([8, 1, 8, 1]) == (0, 2)",
            "closest_pair([0, 10, 21, 33, 46]) == (0, 1)",
        ),
    },
    {
        "doc": "Simulate a queue with priorities: given a list of (name, priority), return the names in the order in which they are served. At every moment the first in the queue among those with the highest priority is served, and everybody who waits gains 1 priority.",
        "helper": "aux(queue) returns the index of the first entry with the highest priority in a list of (name, priority) that is not empty.",
        "aux": """
def aux(queue):
    return max(range(len(queue)), key=lambda place: (queue[place][1], -place))
""",
        "main": """
def serve(queue):
    queue = list(queue)
    served = []
    while queue:
        name, _ = queue.pop(aux(queue))
        served.append(name)
        queue = [(other, priority + 1) for other, priority in queue]
    return served
""",
        "public": (
            "serve([('a', 1), ('b', 3), ('c', 3)]) == ['b', 'c', 'a']",
            "serve([('x', 0)]) == ['x']",
        ),
        "hidden": (
            "serve([]) == []",
            "serve([('a', 5), ('b', 5), ('c', 5)]) == ['a', 'b', 'c']",
            "serve([('low', 1), ('mid', 2), ('high', 3)]) == ['high', 'mid', 'low']",
            "serve([('p', -1), ('q', -2), ('r', 0)]) == ['r', 'p', 'q']",
            "serve([('k', 2), ('l', 9), ('m', 2), ('n', 9)]) == ['l', 'n', 'k', 'm']",
            "serve([('one', 1), ('two', 1)]) == ['one', 'two']",
        ),
    },
    {
        "doc": "Return the list of numbers sorted by how often they occur, most often first; numbers that occur equally often by size, smallest first. Each number stands once.",
        "helper": "aux(numbers) returns a dictionary from each number to how often it occurs.",
        "aux": """
def aux(numbers):
    counts = {}
    for number in numbers:
        counts[number] = counts.get(number, 0) + 1
    return counts
""",
        "main": """
def by_frequency(numbers):
    counts = aux(numbers)
    return sorted(counts, key=lambda number: (-counts[number], number))
""",
        "public": (
            "by_frequency([3, 1, 3, 2]) == [3, 1, 2]",
            "by_frequency([2, 1]) == [1, 2]",
        ),
        "hidden": (
            "by_frequency([]) == []",
            "by_frequency([5, 5, 4, 4, 9]) == [4, 5, 9]",
            "by_frequency([7, 7, 7]) == [7]",
            "by_frequency([-1, -1, 0, 0, 0, 2]) == [0, -1, 2]",
            "by_frequency([10, 9, 8, 7]) == [7, 8, 9, 10]",
            "by_frequency([1, 2, 2, 3, 3, 3, 4, 4, 4, 4]) == [4, 3, 2, 1]",
        ),
    },
    {
        "doc": "Split a list of weights into the fewest boxes, filled in order: a box is closed when the next weight would take it above limit. Return the sums of the boxes; no weight is above limit.",
        "helper": "aux(weights, limit) returns how many weights from the start fit into one box.",
        "aux": """
def aux(weights, limit):
    total = count = 0
    for weight in weights:
        if total + weight > limit:
            break
        total += weight
        count += 1
    return count
""",
        "main": """
def pack(weights, limit):
    boxes = []
    while weights:
        count = aux(weights, limit)
        boxes.append(sum(weights[:count]))
        weights = weights[count:]
    return boxes
""",
        "public": (
            "pack([3, 4, 2, 5], 7) == [7, 7]",
            "pack([1, 1, 1], 10) == [3]",
        ),
        "hidden": (
            "pack([], 5) == []",
            "pack([5, 5, 5], 5) == [5, 5, 5]",
            "pack([6, 1, 6, 1], 7) == [7, 7]",
            "pack([2, 2, 2, 2, 2], 4) == [4, 4, 2]",
            "pack([10], 10) == [10]",
            "pack([1, 2, 3, 4, 5, 6], 9) == [6, 9, 6]",
        ),
    },
    {
        "doc": "Evaluate a list of tokens in postfix notation (numbers as text, and the operators + - * /, where / rounds down) and return the value; a list that is not a proper expression gives None. Nobody divides by zero.",
        "helper": "aux(operator, left, right) returns the value of one operation.",
        "aux": """
def aux(operator, left, right):
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left * right if operator == "*" else left // right
""",
        "main": """
def postfix(tokens):
    stack = []
    for token in tokens:
        if token in ("+", "-", "*", "/"):
            if len(stack) < 2:
                return None
            right, left = stack.pop(), stack.pop()
            stack.append(aux(token, left, right))
        else:
            stack.append(int(token))
    return stack[0] if len(stack) == 1 else None
""",
        "public": (
            "postfix(['2', '3', '+']) == 5",
            "postfix(['8', '2', '/', '3', '-']) == 1",
        ),
        "hidden": (
            "postfix([]) == None",
            "postfix(['5']) == 5",
            "postfix(['1', '2']) == None",
            "postfix(['+']) == None",
            "postfix(['2', '3', '4', '*', '+', '5', '-']) == 9",
            "postfix(['-7', '2', '/']) == -4",
        ),
    },
    {
        "doc": "Return how many swaps of neighbours bubble sort makes on the list: it goes through again and again, swapping neighbours in wrong order, until a pass swaps nothing.",
        "helper": "aux(numbers) makes one pass over a list: it returns the list after the pass and the number of swaps as a tuple.",
        "aux": """
def aux(numbers):
    numbers = list(numbers)
    swaps = 0
    for place in range(len(numbers) - 1):
        if numbers[place] > numbers[place + 1]:
            numbers[place], numbers[place + 1] = numbers[place + 1], numbers[place]
            swaps += 1
    return numbers, swaps
""",
        "main": """
def bubble_swaps(numbers):
    total = 0
    swaps = 1
    while swaps:
        numbers, swaps = aux(numbers)
        total += swaps
    return total
""",
        "public": (
            "bubble_swaps([3, 1, 2]) == 2",
            "bubble_swaps([1, 2, 3]) == 0",
        ),
        "hidden": (
            "bubble_swaps([]) == 0",
            "bubble_swaps([5, 4, 3, 2, 1]) == 10",
            "bubble_swaps([2, 2, 1]) == 2",
            "bubble_swaps([1]) == 0",
            "bubble_swaps([9, 1, 8, 2, 7]) == 6",
            "bubble_swaps([4, 3, 4, 3]) == 3",
        ),
    },
    {
        "doc": "Compare two version numbers such as '1.10.2': return -1 if the first is lower, 1 if it is higher, 0 if they are equal. Missing parts count as 0.",
        "helper": "aux(version) returns the parts of a version as a list of integers without zeros at the end.",
        "aux": """
def aux(version):
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts
""",
        "main": """
def compare_versions(first, second):
    left, right = aux(first), aux(second)
    return (left > right) - (left < right)
""",
        "public": (
            "compare_versions('1.2', '1.10') == -1",
            "compare_versions('1.0', '1') == 0",
        ),
        "hidden": (
            "compare_versions('2.0.1', '2.0.0') == 1",
            "compare_versions('0.9', '1') == -1",
            "compare_versions('3.3.3', '3.3.3') == 0",
            "compare_versions('10', '9.9.9') == 1",
            "compare_versions('0', '0.0.0') == 0",
            "compare_versions('1.0.5', '1.0.5.1') == -1",
        ),
    },
    {
        "doc": "Return the numbers from 1 to n that are left after Josephus counting: people stand in a circle, and every k-th is taken out until keep are left. Return those who are left, sorted.",
        "helper": "aux(circle, start, k) returns the index of the k-th person of a circle when counting begins at index start.",
        "aux": """
def aux(circle, start, k):
    return (start + k - 1) % len(circle)
""",
        "main": """
def left_standing(n, k, keep):
    circle = list(range(1, n + 1))
    place = 0
    while len(circle) > keep:
        place = aux(circle, place, k)
        circle.pop(place)
    return circle
""",
        "public": (
            "left_standing(5, 2, 1) == [3]",
            "left_standing(7, 3, 2) == [1, 4]",
        ),
        "hidden": (
            "left_standing(4, 1, 2) == [3, 4]",
            "left_standing(1, 9, 1) == [1]",
            "left_standing(10, 4, 3) == [1, 5, 6]",
            "left_standing(6, 6, 1) == [4]",
            "left_standing(3, 2, 3) == [1, 2, 3]",
            "left_standing(12, 5, 4) == [1, 2, 6, 11]",
        ),
    },
)
