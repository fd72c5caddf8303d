def caesar(text, shift):
    """
    Moves every letter of the alphabet on by shift places, z being followed by a; case is kept.

    >>> caesar("xyz!", 2)
    'zab!'
    """
    moved = ""
    for letter in text:
        if "a" <= letter <= "z":
            base = ord("a")
        elif "A" <= letter <= "Z":
            base = ord("A")
        else:
            moved += letter
            continue
        moved += chr((ord(letter) - base + shift) % 26 + base)
    return moved


def first_unbalanced(text):
    """
    The position of the first bracket without a partner: of the first closing one that fits no
    open one, else of the last one left open; -1 when all fit.

    >>> first_unbalanced("(a[b)")
    4
    """
    partner = {")": "(", "]": "[", "}": "{"}
    opened = []
    for position, letter in enumerate(text):
        if letter in "([{":
            opened.append((letter, position))
        elif letter in partner:
            if not opened or opened[-1][0] != partner[letter]:
                return position
            opened.pop()
    if opened:
        return opened[-1][1]
    return -1


def common_prefix(words):
    """
    The longest text with which all the words begin; "" without words.

    >>> common_prefix(["flower", "flow", "flight"])
    'fl'
    """
    if not words:
        return ""
    shortest = min(words, key=len)
    for length in range(len(shortest), 0, -1):
        if all(word[:length] == shortest[:length] for word in words):
            return shortest[:length]
    return ""


def headline(text, small):
    """
    Words with a capital first letter and the rest in lower case; words of the list small stay in
    lower case, except the first and the last of the headline.

    >>> headline("the END of a day", ["of", "a", "the"])
    'The End of a Day'
    """
    words = text.lower().split()
    for number, word in enumerate(words):
        inside = 0 < number < len(words) - 1
        if inside and word in small:
            continue
        words[number] = word[0].upper() + word[1:]
    return " ".join(words)


def wrap(text, width):
    """
    The words in lines of at most width characters; a longer word has a line of its own.

    >>> wrap("to be or not", 5)
    ['to be', 'or', 'not']
    """
    lines = []
    line = ""
    for word in text.split():
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= width:
            line += " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def roman_value(numeral):
    """
    The number that a Roman numeral stands for.

    >>> roman_value("XIV")
    14
    """
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    total = 0
    for position, letter in enumerate(numeral):
        value = values[letter]
        following = numeral[position + 1 : position + 2]
        if following and values[following] > value:
            total -= value
        else:
            total += value
    return total


def to_roman(number):
    """
    The Roman numeral of a number from 1 to 3999.

    >>> to_roman(1994)
    'MCMXCIV'
    """
    steps = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")]
    steps += [(50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    numeral = ""
    for value, letters in steps:
        while number >= value:
            numeral += letters
            number -= value
    return numeral


def clean_word(word):
    """
    The word in lower case without what is no letter at its two ends.
    """
    start = 0
    end = len(word)
    while start < end and not word[start].isalpha():
        start += 1
    while end > start and not word[end - 1].isalpha():
        end -= 1
    return word[start:end].lower()


def common_words(text, count):
    """
    The most frequent words, each with its number; of equally frequent ones the first in
    alphabetical order comes first.

    >>> common_words("A cat, a dog.", 2)
    [['a', 2], ['cat', 1]]
    """
    numbers = {}
    for word in text.split():
        clean = clean_word(word)
        if clean:
            numbers[clean] = numbers.get(clean, 0) + 1
    ranked = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    return [[word, number] for word, number in ranked[:count]]


def edit_distance(first, second):
    """
    How many letters must be put in, taken out or replaced to make one word of the other.

    >>> edit_distance("kitten", "sitting")
    3
    """
    above = list(range(len(second) + 1))
    for i, a in enumerate(first):
        row = [i + 1]
        for j, b in enumerate(second):
            replaced = above[j] + (a != b)
            row.append(min(replaced, above[j + 1] + 1, row[j] + 1))
        above = row
    return above[len(second)]


def grow(text, left, right):
    """
    The widest palindrome around the middle between left and right.
    """
    while left >= 0 and right < len(text) and text[left] == text[right]:
        left -= 1
        right += 1
    return text[left + 1 : right]


def longest_palindrome(text):
    """
    The first of the longest pieces of the text that read the same backwards.

    >>> longest_palindrome("banana")
    'anana'
    """
    best = ""
    for middle in range(len(text)):
        for right in (middle, middle + 1):
            found = grow(text, middle, right)
            if len(found) > len(best):
                best = found
    return best


def read_settings(text):
    """
    Settings such as "a=1; b = x ;c" as a dict. Numbers become int, a name alone is true, the last
    of two settings of one name counts; what stands after "#" is a comment.

    >>> read_settings("a=1; b=x")
    {'a': 1, 'b': 'x'}
    """
    settings = {}
    text = text.split("#")[0]
    for item in text.split(";"):
        name, equals, value = item.partition("=")
        name = name.strip()
        value = value.strip()
        if not name:
            continue
        if not equals:
            settings[name] = True
        elif value.isdigit():
            settings[name] = int(value)
        else:
            settings[name] = value
    return settings


def matches(pattern, text):
    """
    Whether a text fits a pattern in which ? stands for any letter and * for any letters or none.

    >>> matches("b*n?", "bunny")
    True
    """
    if not pattern:
        return not text
    if pattern[0] == "*":
        return matches(pattern[1:], text) or (bool(text) and matches(pattern, text[1:]))
    if not text:
        return False
    fits = pattern[0] == "?" or pattern[0] == text[0]
    return fits and matches(pattern[1:], text[1:])
