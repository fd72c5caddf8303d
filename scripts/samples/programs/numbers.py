# ruff: noqa: PERF401 - plain loops are what may go wrong here
def primes_below(limit):
    """
    The primes below a limit in ascending order.

    >>> primes_below(12)
    [2, 3, 5, 7, 11]
    """
    crossed = [False] * max(limit, 0)
    primes = []
    for number in range(2, limit):
        if crossed[number]:
            continue
        primes.append(number)
        for multiple in range(number * number, limit, number):
            crossed[multiple] = True
    return primes


def prime_factors(number):
    """
    The prime factors of a number in ascending order, each as often as it divides; [] for 1.

    >>> prime_factors(60)
    [2, 2, 3, 5]
    """
    factors = []
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        else:
            divisor += 1
    if number > 1:
        factors.append(number)
    return factors


def gcd(a, b):
    """
    The greatest common divisor of two numbers.
    """
    while b:
        a, b = b, a % b
    return abs(a)


def least_common_multiple(numbers):
    """
    The least number above 0 that all the numbers divide; 1 without numbers, 0 when one is 0.

    >>> least_common_multiple([4, 6])
    12
    """
    result = 1
    for number in numbers:
        if number == 0:
            return 0
        result = result * abs(number) // gcd(result, number)
    return result


def add_fractions(fractions):
    """
    The sum of fractions [numerator, denominator] in lowest terms, its denominator above 0.

    >>> add_fractions([[1, 2], [1, 3]])
    [5, 6]
    """
    top, bottom = 0, 1
    for numerator, denominator in fractions:
        top = top * denominator + numerator * bottom
        bottom *= denominator
        common = gcd(top, bottom)
        top //= common
        bottom //= common
    if bottom < 0:
        top, bottom = -top, -bottom
    return [top, bottom]


def longest_collatz(limit):
    """
    The start from 1 to limit whose Collatz sequence takes the most steps to 1, and how many; the
    first of several.

    >>> longest_collatz(4)
    [3, 7]
    """
    best = [1, 0]
    for start in range(2, limit + 1):
        number = start
        steps = 0
        while number != 1:
            if number % 2 == 0:
                number //= 2
            else:
                number = 3 * number + 1
            steps += 1
        if steps > best[1]:
            best = [start, steps]
    return best


def to_base(number, base):
    """
    A whole number written in a base from 2 to 16.

    >>> to_base(-255, 16)
    '-ff'
    """
    digits = "0123456789abcdef"
    if number == 0:
        return "0"
    rest = abs(number)
    written = ""
    while rest > 0:
        written = digits[rest % base] + written
        rest //= base
    if number < 0:
        written = "-" + written
    return written


def divisor_sum(number):
    """
    The sum of the divisors of a number, without the number itself.
    """
    total = 0
    for divisor in range(1, number // 2 + 1):
        if number % divisor == 0:
            total += divisor
    return total


def amicable_pairs(limit):
    """
    The pairs of different numbers up to a limit of which each is the sum of the other's proper
    divisors, the smaller one first.

    >>> amicable_pairs(300)
    [[220, 284]]
    """
    pairs = []
    for number in range(2, limit + 1):
        other = divisor_sum(number)
        if number < other <= limit and divisor_sum(other) == number:
            pairs.append([number, other])
    return pairs


def root_floor(number, degree):
    """
    The greatest whole number whose power of the degree is not above the number.

    >>> root_floor(30, 3)
    3
    """
    low = 0
    high = number + 1
    while high - low > 1:
        middle = (low + high) // 2
        if middle**degree <= number:
            low = middle
        else:
            high = middle
    return low


def luhn_valid(code):
    """
    Whether a card number passes the Luhn check: from the right every second digit is doubled (9
    is taken off above 9), and the sum is a multiple of 10. Spaces do not matter; a code with other
    signs, or of fewer than two digits, fails.

    >>> luhn_valid("4539 1488 0343 6467")
    True
    """
    digits = code.replace(" ", "")
    if len(digits) < 2 or not digits.isdigit():
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        if place % 2 == 1:
            value *= 2
            if value > 9:
                value -= 9
        total += value
    return total % 10 == 0


def pascal_row(number):
    """
    A row of Pascal's triangle; row 0 is [1].

    >>> pascal_row(4)
    [1, 4, 6, 4, 1]
    """
    row = [1]
    for _ in range(number):
        following = [1]
        for i in range(len(row) - 1):
            following.append(row[i] + row[i + 1])
        following.append(1)
        row = following
    return row


def change(amount, coins):
    """
    The fewest coins that make an amount, of any number of each kind; -1 when none do.

    >>> change(11, [1, 5, 6])
    2
    """
    fewest = [0]
    for total in range(1, amount + 1):
        best = -1
        for coin in coins:
            if coin <= total and fewest[total - coin] >= 0:
                count = fewest[total - coin] + 1
                if best < 0 or count < best:
                    best = count
        fewest.append(best)
    return fewest[amount]
