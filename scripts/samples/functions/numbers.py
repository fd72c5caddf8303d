"""Problems about numbers, dates and shapes."""

PROBLEMS = (
    {
        "doc": "Return the numbers from low to high, both included, that are divisible by the sum of their own decimal digits. low is at least 1.",
        "helper": "aux(n) returns the sum of the decimal digits of n.",
        "aux": """
def aux(n):
    return sum(int(digit) for digit in str(n))
""",
        "main": """
def digit_divisible(low, high):
    return [n for n in range(low, high + 1) if n % aux(n) == 0]
""",
        "public": (
            "digit_divisible(1, 12) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]",
            "digit_divisible(13, 20) == [18, 20]",
        ),
        "hidden": (
            "digit_divisible(100, 112) == [100, 102, 108, 110, 111, 112]",
            "digit_divisible(11, 11) == []",
            "digit_divisible(5, 4) == []",
            "digit_divisible(195, 205) == [195, 198, 200, 201, 204]",
            "digit_divisible(21, 30) == [21, 24, 27, 30]",
            "digit_divisible(999, 1010) == [999, 1000, 1002, 1008, 1010]",
        ),
    },
    {
        "doc": "Return how many steps it takes to turn n into a single digit by replacing it with the product of its digits again and again. n is not negative.",
        "helper": "aux(n) returns the product of the decimal digits of n.",
        "aux": """
def aux(n):
    product = 1
    for digit in str(n):
        product *= int(digit)
    return product
""",
        "main": """
def persistence(n):
    steps = 0
    while n > 9:
        n = aux(n)
        steps += 1
    return steps
""",
        "public": (
            "persistence(39) == 3",
            "persistence(4) == 0",
        ),
        "hidden": (
            "persistence(10) == 1",
            "persistence(77) == 4",
            "persistence(999) == 4",
            "persistence(25) == 2",
            "persistence(679) == 5",
            "persistence(0) == 0",
        ),
    },
    {
        "doc": "Return the primes up to limit whose digits in reverse order form a prime too.",
        "helper": "aux(n) returns whether n is a prime number.",
        "aux": """
def aux(n):
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))
""",
        "main": """
def mirror_primes(limit):
    return [n for n in range(2, limit + 1) if aux(n) and aux(int(str(n)[::-1]))]
""",
        "public": (
            "mirror_primes(20) == [2, 3, 5, 7, 11, 13, 17]",
            "mirror_primes(2) == [2]",
        ),
        "hidden": (
            "mirror_primes(1) == []",
            "mirror_primes(40) == [2, 3, 5, 7, 11, 13, 17, 31, 37]",
            "mirror_primes(75) == [2, 3, 5, 7, 11, 13, 17, 31, 37, 71, 73]",
            "mirror_primes(110) == [2, 3, 5, 7, 11, 13, 17, 31, 37, 71, 73, 79, 97, 101, 107]",
            "mirror_primes(13) == [2, 3, 5, 7, 11, 13]",
            "mirror_primes(0) == []",
        ),
    },
    {
        "doc": "Return the fraction a/b + c/d in lowest terms as a tuple of numerator and denominator; all four are positive integers.",
        "helper": "aux(a, b) returns the greatest common divisor of two positive integers.",
        "aux": """
def aux(a, b):
    while b:
        a, b = b, a % b
    return a
""",
        "main": """
def add_fractions(a, b, c, d):
    numerator = a * d + c * b
    denominator = b * d
    common = aux(numerator, denominator)
    return numerator // common, denominator // common
""",
        "public": (
            "add_fractions(1, 2, 1, 3) == (5, 6)",
            "add_fractions(1, 4, 1, 4) == (1, 2)",
        ),
        "hidden": (
            "add_fractions(2, 3, 4, 3) == (2, 1)",
            "add_fractions(5, 6, 7, 10) == (23, 15)",
            "add_fractions(1, 1, 1, 1) == (2, 1)",
            "add_fractions(3, 8, 5, 12) == (19, 24)",
            "add_fractions(9, 10, 1, 10) == (1, 1)",
            "add_fractions(7, 15, 8, 21) == (89, 105)",
        ),
    },
    {
        "doc": "Return the number between 1 and limit, both included, with the most divisors; of several the smallest.",
        "helper": "aux(n) returns how many positive divisors n has.",
        "aux": """
def aux(n):
    return sum(n % k == 0 for k in range(1, n + 1))
""",
        "main": """
def most_divisors(limit):
    best = 1
    for n in range(2, limit + 1):
        if aux(n) > aux(best):
            best = n
    return best
""",
        "public": (
            "most_divisors(10) == 6",
            "most_divisors(1) == 1",
        ),
        "hidden": (
            "most_divisors(5) == 4",
            "most_divisors(12) == 12",
            "most_divisors(50) == 48",
            "most_divisors(100) == 60",
            "most_divisors(23) == 12",
            "most_divisors(3) == 2",
        ),
    },
    {
        "doc": "Return all amicable pairs (a, b) with a < b <= limit: the proper divisors of a sum to b and those of b sum to a.",
        "helper": "aux(n) returns the sum of the divisors of n that are smaller than n.",
        "aux": """
def aux(n):
    return sum(k for k in range(1, n // 2 + 1) if n % k == 0)
""",
        "main": """
def amicable_pairs(limit):
    pairs = []
    for a in range(2, limit + 1):
        b = aux(a)
        if a < b <= limit and aux(b) == a:
            pairs.append((a, b))
    return pairs
""",
        "public": (
            "amicable_pairs(300) == [(220, 284)]",
            "amicable_pairs(100) == []",
        ),
        "hidden": (
            "amicable_pairs(284) == [(220, 284)]",
            "amicable_pairs(283) == []",
            "amicable_pairs(0) == []",
            "amicable_pairs(1200) == [(220, 284)]",
            "amicable_pairs(1210) == [(220, 284), (1184, 1210)]",
            "amicable_pairs(1209) == [(220, 284)]",
        ),
    },
    {
        "doc": "Return the integer as English words, from 0 to 999, such as 'three hundred and five' or 'forty-two'.",
        "helper": "aux(n) returns a number from 0 to 99 as English words.",
        "aux": """
def aux(n):
    small = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    small = small.split() + "fifteen sixteen seventeen eighteen nineteen".split()
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    if n < 20:
        return small[n]
    ten = tens[n // 10 - 2]
    return f"{ten}-{small[n % 10]}" if n % 10 else ten
""",
        "main": """
def in_words(n):
    hundreds, rest = divmod(n, 100)
    if not hundreds:
        return aux(rest)
    text = f"{aux(hundreds)} hundred"
    return f"{text} and {aux(rest)}" if rest else text
""",
        "public": (
            "in_words(42) == 'forty-two'",
            "in_words(305) == 'three hundred and five'",
        ),
        "hidden": (
            "in_words(0) == 'zero'",
            "in_words(700) == 'seven hundred'",
            "in_words(13) == 'thirteen'",
            "in_words(90) == 'ninety'",
            "in_words(999) == 'nine hundred and ninety-nine'",
            "in_words(110) == 'one hundred and ten'",
        ),
    },
    {
        "doc": "Return the Roman numeral of a number from 1 to 3999.",
        "helper": "aux(digit, one, five, ten) returns the Roman form of one decimal digit from 0 to 9, given the letters for 1, 5 and 10 at its place: aux(4, 'X', 'L', 'C') is 'XL'.",
        "aux": """
def aux(digit, one, five, ten):
    if digit == 9:
        return one + ten
    if digit >= 5:
        return five + one * (digit - 5)
    return one + five if digit == 4 else one * digit
""",
        "main": """
def roman(n):
    thousands, n = divmod(n, 1000)
    hundreds, n = divmod(n, 100)
    tens, ones = divmod(n, 10)
    return (
        "M" * thousands
        + aux(hundreds, "C", "D", "M")
        + aux(tens, "X", "L", "C")
        + aux(ones, "I", "V", "X")
    )
""",
        "public": (
            "roman(4) == 'IV'",
            "roman(1987) == 'MCMLXXXVII'",
        ),
        "hidden": (
            "roman(3999) == 'MMMCMXCIX'",
            "roman(1) == 'I'",
            "roman(444) == 'CDXLIV'",
            "roman(90) == 'XC'",
            "roman(2024) == 'MMXXIV'",
            "roman(608) == 'DCVIII'",
        ),
    },
    {
        "doc": "Convert a number from one base to another: digits is text in base source, the result text in base target. Bases go from 2 to 16, digits above 9 are the letters a to f.",
        "helper": "aux(digits, base) returns the value of a text of digits in a base from 2 to 16.",
        "aux": """
def aux(digits, base):
    value = 0
    for digit in digits:
        value = value * base + "0123456789abcdef".index(digit)
    return value
""",
        "main": """
def convert(digits, source, target):
    value = aux(digits, source)
    result = ""
    while value:
        value, digit = divmod(value, target)
        result = "0123456789abcdef"[digit] + result
    return result or "0"
""",
        "public": (
            "convert('ff', 16, 10) == '255'",
            "convert('1010', 2, 16) == 'a'",
        ),
        "hidden": (
            "convert('0', 7, 3) == '0'",
            "convert('255', 10, 2) == '11111111'",
            "convert('777', 8, 16) == '1ff'",
            "convert('100', 3, 9) == '10'",
            "convert('deadbeef', 16, 8) == '33653337357'",
            "convert('0012', 5, 10) == '7'",
        ),
    },
    {
        "doc": "Return the step number (counting from 1) at which the sequence n, f(n), f(f(n)), ... first shows a number again, where f(n) is the sum of the squares of the digits; n itself is step 1.",
        "helper": "aux(n) returns the sum of the squares of the decimal digits of n.",
        "aux": """
def aux(n):
    return sum(int(digit) ** 2 for digit in str(n))
""",
        "main": """
def first_repeat(n):
    seen = []
    while n not in seen:
        seen.append(n)
        n = aux(n)
    return len(seen) + 1
""",
        "public": (
            "first_repeat(1) == 2",
            "first_repeat(19) == 6",
        ),
        "hidden": (
            "first_repeat(4) == 9",
            "first_repeat(2) == 10",
            "first_repeat(100) == 3",
            "first_repeat(7) == 7",
            "first_repeat(89) == 9",
            "first_repeat(999) == 13",
        ),
    },
    {
        "doc": "Return the change for an amount in cents with as few coins as possible, as a dictionary from coin to count, for coins of 50, 20, 10, 5, 2 and 1 cents; coins that are not needed are left out.",
        "helper": "aux(amount, coin) returns a tuple: how often coin fits into amount, and what is left.",
        "aux": """
def aux(amount, coin):
    return amount // coin, amount % coin
""",
        "main": """
def change(amount):
    coins = {}
    for coin in (50, 20, 10, 5, 2, 1):
        count, amount = aux(amount, coin)
        if count:
            coins[coin] = count
    return coins
""",
        "public": (
            "change(88) == {50: 1, 20: 1, 10: 1, 5: 1, 2: 1, 1: 1}",
            "change(3) == {2: 1, 1: 1}",
        ),
        "hidden": (
            "change(0) == {}",
            "change(50) == {50: 1}",
            "change(199) == {50: 3, 20: 2, 5: 1, 2: 2}",
            "change(14) == {10: 1, 2: 2}",
            "change(40) == {20: 2}",
            "change(1) == {1: 1}",
        ),
    },
    {
        "doc": "Return the day of the year (1 to 366) of a date given as year, month and day in the Gregorian calendar.",
        "helper": "aux(year, month) returns how many days the month has in that year.",
        "aux": """
def aux(year, month):
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31
""",
        "main": """
def day_of_year(year, month, day):
    return sum(aux(year, earlier) for earlier in range(1, month)) + day
""",
        "public": (
            "day_of_year(2023, 3, 1) == 60",
            "day_of_year(2024, 12, 31) == 366",
        ),
        "hidden": (
            "day_of_year(2024, 1, 1) == 1",
            "day_of_year(1900, 3, 1) == 60",
            "day_of_year(2000, 3, 1) == 61",
            "day_of_year(2021, 7, 4) == 185",
            "day_of_year(2022, 12, 31) == 365",
            "day_of_year(2016, 2, 29) == 60",
        ),
    },
    {
        "doc": "Add up times given as texts 'h:mm' and return the sum in the same form; hours may exceed 24 and minutes have two digits.",
        "helper": "aux(time) returns the minutes of a text 'h:mm'.",
        "aux": """
def aux(time):
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)
""",
        "main": """
def add_times(times):
    total = sum(aux(time) for time in times)
    return f"{total // 60}:{total % 60:02d}"
""",
        "public": (
            "add_times(['1:30', '0:45']) == '2:15'",
            "add_times(['10:00', '0:05']) == '10:05'",
        ),
        "hidden": (
            "add_times([]) == '0:00'",
            "add_times(['23:59', '0:01']) == '24:00'",
            "add_times(['0:20', '0:20', '0:20', '0:20']) == '1:20'",
            "add_times(['12:34']) == '12:34'",
            "add_times(['100:59', '99:59']) == '200:58'",
            "add_times(['0:00', '0:09']) == '0:09'",
        ),
    },
    {
        "doc": "Return whether a card number, given as text with digits and spaces, is valid: counted from the right every second digit is doubled, 9 is taken from doubled digits above 9, and the sum of all is divisible by 10. A text without digits is not valid.",
        "helper": "aux(digit) returns twice the digit, less 9 where that is above 9.",
        "aux": """
def aux(digit):
    double = 2 * digit
    return double - 9 if double > 9 else double
""",
        "main": """
def valid_card(text):
    digits = [int(character) for character in reversed(text) if character != " "]
    total = sum(aux(digit) if place % 2 else digit for place, digit in enumerate(digits))
    return bool(digits) and total % 10 == 0
""",
        "public": (
            "valid_card('18') == True",
            "valid_card('4539 1488 0343 6467') == True",
        ),
        "hidden": (
            "valid_card('8273 1232 7352 0569') == False",
            "valid_card('') == False",
            "valid_card('059') == True",
            "valid_card('0') == True",
            "valid_card('1') == False",
            "valid_card('3379 5135 6110 8795') == True",
        ),
    },
    {
        "doc": "Return the area of a polygon whose corners are given in order as pairs of integers; the area is positive whichever way round they go. Fewer than three corners have area 0.0.",
        "helper": "aux(p, q) returns the cross product of two points: p[0] * q[1] - p[1] * q[0].",
        "aux": """
def aux(p, q):
    return p[0] * q[1] - p[1] * q[0]
""",
        "main": """
def polygon_area(corners):
    total = 0
    for place, corner in enumerate(corners):
        total += aux(corner, corners[(place + 1) % len(corners)])
    return abs(total) / 2
""",
        "public": (
            "polygon_area([(0, 0), (4, 0), (4, 3), (0, 3)]) == 12.0",
            "polygon_area([(0, 0), (0, 2), (2, 0)]) == 2.0",
        ),
        "hidden": (
            "polygon_area([]) == 0.0",
            "polygon_area([(1, 1), (5, 1)]) == 0.0",
            "polygon_area([(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)]) == 5.0",
            "polygon_area([(-1, -1), (-1, 1), (1, 1), (1, -1)]) == 4.0",
            "polygon_area([(0, 0), (5, 1), (2, 4)]) == 9.0",
            "polygon_area([(2, 0), (0, 2), (-2, 0), (0, -2)]) == 8.0",
        ),
    },
    {
        "doc": "Return the smallest number above n whose decimal digits are all different.",
        "helper": "aux(n) returns whether all decimal digits of n are different.",
        "aux": """
def aux(n):
    text = str(n)
    return len(set(text)) == len(text)
""",
        "main": """
def next_distinct(n):
    n += 1
    while not aux(n):
        n += 1
    return n
""",
        "public": (
            "next_distinct(10) == 12",
            "next_distinct(99) == 102",
        ),
        "hidden": (
            "next_distinct(0) == 1",
            "next_distinct(1987) == 2013",
            "next_distinct(2013) == 2014",
            "next_distinct(998) == 1023",
            "next_distinct(9876) == 10234",
            "next_distinct(120) == 123",
        ),
    },
)
