def merge_sorted(first, second):
    """
    Two ascending lists as one ascending list.

    >>> merge_sorted([1, 4], [2, 4, 9])
    [1, 2, 4, 4, 9]
    """
    merged = []
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] <= second[j]:
            merged.append(first[i])
            i += 1
        else:
            merged.append(second[j])
            j += 1
    return merged + first[i:] + second[j:]


def moving_average(values, width):
    """
    The average of each width neighbours, rounded down; [] when there are fewer.

    >>> moving_average([1, 2, 6, 4], 2)
    [1, 4, 5]
    """
    if width < 1 or len(values) < width:
        return []
    total = sum(values[:width])
    averages = [total // width]
    for i in range(width, len(values)):
        total += values[i] - values[i - width]
        averages.append(total // width)
    return averages


def first_at_least(values, wanted):
    """
    The first position of an ascending list with a value of at least wanted; its length when there
    is none.

    >>> first_at_least([1, 3, 3, 8], 3)
    1
    """
    low = 0
    high = len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def best_stretch(values):
    """
    The stretch of neighbours with the greatest sum, as [sum, start, end] with end not included;
    the first of several. At least one value belongs to it.

    >>> best_stretch([2, -3, 4, -1, 2])
    [5, 2, 5]
    """
    best = [values[0], 0, 1]
    total = 0
    start = 0
    for i, value in enumerate(values):
        if total < 0:
            total = 0
            start = i
        total += value
        if total > best[0]:
            best = [total, start, i + 1]
    return best


def insertion_sort(values, descending):
    """
    The values in order, and how many steps to the left that took.

    >>> insertion_sort([3, 1, 2], False)
    [[1, 2, 3], 2]
    """
    ordered = list(values)
    steps = 0
    for i in range(1, len(ordered)):
        j = i
        while j > 0:
            wrong = ordered[j - 1] > ordered[j]
            if descending:
                wrong = ordered[j - 1] < ordered[j]
            if not wrong:
                break
            ordered[j - 1], ordered[j] = ordered[j], ordered[j - 1]
            steps += 1
            j -= 1
    return [ordered, steps]


def majority(votes):
    """
    What more than half of the votes are for; "" when there is no such thing.

    >>> majority(["a", "b", "a"])
    'a'
    """
    candidate = ""
    lead = 0
    for vote in votes:
        if lead == 0:
            candidate = vote
            lead = 1
        elif vote == candidate:
            lead += 1
        else:
            lead -= 1
    if votes.count(candidate) * 2 > len(votes):
        return candidate
    return ""


def pairs_with_sum(values, wanted):
    """
    The pairs of different values that have a given sum, each pair once, the smaller value first,
    in ascending order.

    >>> pairs_with_sum([4, 1, 3, 2], 5)
    [[1, 4], [2, 3]]
    """
    ordered = sorted(set(values))
    pairs = []
    left = 0
    right = len(ordered) - 1
    while left < right:
        total = ordered[left] + ordered[right]
        if total == wanted:
            pairs.append([ordered[left], ordered[right]])
            left += 1
            right -= 1
        elif total < wanted:
            left += 1
        else:
            right -= 1
    return pairs


def longest_rise(values):
    """
    The first of the longest stretches of neighbours in which every value is above the one before.

    >>> longest_rise([5, 1, 2, 4, 3])
    [1, 2, 4]
    """
    best = []
    run = []
    for value in values:
        if run and value <= run[-1]:
            run = []
        run.append(value)
        if len(run) > len(best):
            best = list(run)
    return best


def kth_smallest(values, k):
    """
    The value that would stand at place k (counted from 1) if the values were in ascending order;
    -1 when there is no such place.

    >>> kth_smallest([7, 2, 9], 2)
    7
    """
    if k < 1 or k > len(values):
        return -1
    pivot = values[len(values) // 2]
    below = [value for value in values if value < pivot]
    same = values.count(pivot)
    if k <= len(below):
        return kth_smallest(below, k)
    if k <= len(below) + same:
        return pivot
    above = [value for value in values if value > pivot]
    return kth_smallest(above, k - len(below) - same)


def merge_intervals(intervals):
    """
    Intervals [start, end] joined where they touch or overlap, in ascending order.

    >>> merge_intervals([[5, 6], [1, 3], [2, 4]])
    [[1, 4], [5, 6]]
    """
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def run_lengths(values):
    """
    The runs of equal neighbours as [value, length].

    >>> run_lengths([7, 7, 1])
    [[7, 2], [1, 1]]
    """
    runs = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return runs


def next_greater(values):
    """
    For each value the first greater one to its right; -1 where there is none.

    >>> next_greater([2, 1, 3])
    [3, 3, -1]
    """
    answer = [-1] * len(values)
    waiting = []
    for i, value in enumerate(values):
        while waiting and values[waiting[-1]] < value:
            answer[waiting.pop()] = value
        waiting.append(i)
    return answer


def common_subsequence(first, second):
    """
    The length of the longest sequence that stands in both lists in its order, with gaps allowed.

    >>> common_subsequence([1, 2, 3, 4], [2, 9, 4])
    2
    """
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first)):
        for j in range(len(second)):
            if first[i] == second[j]:
                table[i + 1][j + 1] = table[i][j] + 1
            else:
                table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
    return table[len(first)][len(second)]
