"""Problems about words and texts."""

PROBLEMS = (
    {
        "doc": "Return the word of the list with the most vowels (a, e, i, o, u, in either case); of several the first, and '' for an empty list.",
        "helper": "aux(word) returns the number of vowels in word, capitals included.",
        "aux": """
def aux(word):
    return sum(letter in "aeiou" for letter in word.lower())
""",
        "main": """
def most_vowels(words):
    best = ""
    for word in words:
        if not best or aux(word) > aux(best):
            best = word
    return best
""",
        "public": (
            "most_vowels(['sky', 'banana', 'audio']) == 'audio'",
            "most_vowels(['tree', 'AIR', 'dry']) == 'tree'",
        ),
        "hidden": (
            "most_vowels([]) == ''",
            "most_vowels(['rhythm', 'myth']) == 'rhythm'",
            "most_vowels(['one', 'two', 'queue', 'eerie']) == 'queue'",
            "most_vowels(['OUI', 'No']) == 'OUI'",
            "most_vowels(['x']) == 'x'",
            "most_vowels(['aeiou', 'uoiea', 'a']) == 'aeiou'",
        ),
    },
    {
        "doc": "Return the sentence with every word of more than four letters reversed; words are separated by single spaces.",
        "helper": "aux(word) returns word spelled backwards if it has more than four letters, otherwise word as it is.",
        "aux": """
def aux(word):
    return word[::-1] if len(word) > 4 else word
""",
        "main": """
def reverse_long_words(sentence):
    return " ".join(aux(word) for word in sentence.split(" "))
""",
        "public": (
            "reverse_long_words('the quick brown fox') == 'the kciuq nworb fox'",
            "reverse_long_words('tiny cats') == 'tiny cats'",
        ),
        "hidden": (
            "reverse_long_words('') == ''",
            "reverse_long_words('seven') == 'neves'",
            "reverse_long_words('level radar otter') == 'level radar retto'",
            "reverse_long_words('a bb ccc dddd abcde') == 'a bb ccc dddd edcba'",
            "reverse_long_words('Hello there') == 'olleH ereht'",
            "reverse_long_words('one  two  three') == 'one  two  eerht'",
        ),
    },
    {
        "doc": "Return how many words of the list are palindromes, where capitals and lower case count as the same letter.",
        "helper": "aux(word) returns whether word reads the same backwards, whatever the case.",
        "aux": """
def aux(word):
    word = word.lower()
    return word == word[::-1]
""",
        "main": """
def count_palindromes(words):
    return sum(1 for word in words if aux(word))
""",
        "public": (
            "count_palindromes(['level', 'cat', 'Anna']) == 2",
            "count_palindromes([]) == 0",
        ),
        "hidden": (
            "count_palindromes(['a', 'bb', 'ab']) == 2",
            "count_palindromes(['Racecar', 'RaceCars']) == 1",
            "count_palindromes(['noon', 'moon', 'Noon']) == 2",
            "count_palindromes(['xyz']) == 0",
            "count_palindromes(['', 'Aa', 'aBa', 'abB']) == 3",
            "count_palindromes(['madam', 'Madam', 'mAdaM', 'adam']) == 3",
        ),
    },
    {
        "doc": "Return the initials of a full name in capitals, each followed by a dot; parts are separated by spaces, and a part with a hyphen gives both initials joined by a hyphen, such as 'J.-P.'.",
        "helper": "aux(part) returns the initials of one part of a name: 'J.' for 'jean', 'J.-P.' for 'jean-paul'.",
        "aux": """
def aux(part):
    return "-".join(piece[0].upper() + "." for piece in part.split("-"))
""",
        "main": """
def initials(name):
    return " ".join(aux(part) for part in name.split())
""",
        "public": (
            "initials('ada lovelace') == 'A. L.'",
            "initials('Jean-Paul Sartre') == 'J.-P. S.'",
        ),
        "hidden": (
            "initials('grace brewster hopper') == 'G. B. H.'",
            "initials('plato') == 'P.'",
            "initials('marie-claire de-la tour') == 'M.-C. D.-L. T.'",
            "initials('  alan   turing ') == 'A. T.'",
            "initials('anna-lena maria') == 'A.-L. M.'",
            "initials('x y z') == 'X. Y. Z.'",
        ),
    },
    {
        "doc": "Group the words of a list by their letters: words that are anagrams of each other stand together in one list. Groups and words keep the order in which they first appear.",
        "helper": "aux(word) returns a text that is the same for words with the same letters and different for others.",
        "aux": """
def aux(word):
    return "".join(sorted(word))
""",
        "main": """
def group_anagrams(words):
    groups = {}
    for word in words:
        groups.setdefault(aux(word), []).append(word)
    return list(groups.values())
""",
        "public": (
            "group_anagrams(['tea', 'dog', 'eat', 'god']) == [['tea', 'eat'], ['dog', 'god']]",
            "group_anagrams(['a']) == [['a']]",
        ),
        "hidden": (
            "group_anagrams([]) == []",
            "group_anagrams(['abc', 'cab', 'bca', 'abd']) == [['abc', 'cab', 'bca'], ['abd']]",
            "group_anagrams(['stop', 'pots', 'top', 'opt', 'spot']) == [['stop', 'pots', 'spot'], ['top', 'opt']]",
            "group_anagrams(['aab', 'abb', 'bab']) == [['aab'], ['abb', 'bab']]",
            "group_anagrams(['x', 'y', 'x']) == [['x', 'x'], ['y']]",
            "group_anagrams(['night', 'thing', 'inch', 'chin']) == [['night', 'thing'], ['inch', 'chin']]",
        ),
    },
    {
        "doc": "Return the text shortened by run lengths: every run of two or more equal characters becomes the character and the length of the run, a single one stays as it is.",
        "helper": "aux(character, count) returns character followed by count, or character alone if count is 1.",
        "aux": """
def aux(character, count):
    return character if count == 1 else f"{character}{count}"
""",
        "main": """
def run_lengths(text):
    result = ""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or text[end] != text[start]:
            result += aux(text[start], end - start)
            start = end
    return result
""",
        "public": (
            "run_lengths('aaab') == 'a3b'",
            "run_lengths('abc') == 'abc'",
        ),
        "hidden": (
            "run_lengths('') == ''",
            "run_lengths('zzzzzzzzzzzz') == 'z12'",
            "run_lengths('aabbcc') == 'a2b2c2'",
            "run_lengths('abbbba') == 'ab4a'",
            "run_lengths('wwwx  y') == 'w3x 2y'",
            "run_lengths('aAaa') == 'aAa2'",
        ),
    },
    {
        "doc": "Encode a text with a Caesar cipher whose shift grows: letter number i of the text (from 0, counting every character) is shifted by i places in the alphabet. Case is kept and other characters stay.",
        "helper": "aux(character, shift) returns character shifted by shift places in the alphabet, or as it is if it is no letter from a to z.",
        "aux": """
def aux(character, shift):
    for first in "aA":
        place = ord(character) - ord(first)
        if 0 <= place < 26:
            return chr(ord(first) + (place + shift) % 26)
    return character
""",
        "main": """
def growing_cipher(text):
    return "".join(aux(character, place) for place, character in enumerate(text))
""",
        "public": (
            "growing_cipher('aaaa') == 'abcd'",
            "growing_cipher('Hello') == 'Hfnos'",
        ),
        "hidden": (
            "growing_cipher('') == ''",
            "growing_cipher('zZ z') == 'zA c'",
            "growing_cipher('a-b-c') == 'a-d-g'",
            "growing_cipher('The End.') == 'Tig Isj.'",
            "growing_cipher('xyzxyz') == 'xzbace'",
            "growing_cipher('123 go') == '123 kt'",
        ),
    },
    {
        "doc": "Return the longest run of words in the list in which each word begins with the last letter of the word before; of several the first.",
        "helper": "aux(first, second) returns whether second begins with the last letter of first.",
        "aux": """
def aux(first, second):
    return bool(first) and bool(second) and first[-1] == second[0]
""",
        "main": """
def longest_chain(words):
    best, chain = [], []
    for word in words:
        chain = [*chain, word] if chain and aux(chain[-1], word) else [word]
        if len(chain) > len(best):
            best = chain
    return best
""",
        "public": (
            "longest_chain(['cat', 'tree', 'egg', 'dog']) == ['cat', 'tree', 'egg']",
            "longest_chain(['one', 'two']) == ['one']",
        ),
        "hidden": (
            "longest_chain([]) == []",
            "longest_chain(['ab', 'bc', 'xy', 'yz', 'za']) == ['xy', 'yz', 'za']",
            "longest_chain(['sun', 'nut', 'top', 'pan', 'ice', 'ear']) == ['sun', 'nut', 'top', 'pan']",
            "longest_chain(['a', 'a', 'a']) == ['a', 'a', 'a']",
            "longest_chain(['red', 'blue', 'green']) == ['red']",
            "longest_chain(['ab', 'ba', 'cd', 'dc']) == ['ab', 'ba']",
        ),
    },
    {
        "doc": "Rewrite a text in title case: every word begins with a capital and goes on in lower case, but the words a, an, and, of, the, to stay in lower case unless they come first.",
        "helper": "aux(word) returns word with its first letter in capital and the others in lower case.",
        "aux": """
def aux(word):
    return word[:1].upper() + word[1:].lower()
""",
        "main": """
def headline(text):
    small = {"a", "an", "and", "of", "the", "to"}
    words = text.lower().split()
    return " ".join(
        word if place > 0 and word in small else aux(word) for place, word in enumerate(words)
    )
""",
        "public": (
            "headline('the lord of the rings') == 'The Lord of the Rings'",
            "headline('HOW TO BAKE BREAD') == 'How to Bake Bread'",
        ),
        "hidden": (
            "headline('') == ''",
            "headline('an apple and a pear') == 'An Apple and a Pear'",
            "headline('of mice and men') == 'Of Mice and Men'",
            "headline('war AND peace') == 'War and Peace'",
            "headline('to be') == 'To Be'",
            "headline('goodbye to all that') == 'Goodbye to All That'",
        ),
    },
    {
        "doc": "Return the letters of a text that occur an odd number of times, in alphabetical order and lower case; other characters do not count.",
        "helper": "aux(text) returns a dictionary from each letter of text, in lower case, to how often it occurs.",
        "aux": """
def aux(text):
    counts = {}
    for letter in text.lower():
        if "a" <= letter <= "z":
            counts[letter] = counts.get(letter, 0) + 1
    return counts
""",
        "main": """
def odd_letters(text):
    return "".join(sorted(letter for letter, count in aux(text).items() if count % 2))
""",
        "public": (
            "odd_letters('Hello') == 'eho'",
            "odd_letters('aabb') == ''",
        ),
        "hidden": (
            "odd_letters('') == ''",
            "odd_letters('Mississippi') == 'm'",
            "odd_letters('A a, a!') == 'a'",
            "odd_letters('12 zoo 21') == 'z'",
            "odd_letters('the end') == 'dhnt'",
            "odd_letters('xXyYzZz') == 'z'",
        ),
    },
    {
        "doc": "Decode a text in a secret language: a word that begins with a vowel was given the ending '-way' ('apple-way'), and of any other the letters before its first vowel were moved behind a dash and followed by 'ay' ('ox-fay' is 'fox').",
        "helper": "aux(word) returns the decoded word: 'apple' for 'apple-way', 'fox' for 'ox-fay'.",
        "aux": """
def aux(word):
    stem, _, ending = word.rpartition("-")
    return stem if ending == "way" else ending[:-2] + stem
""",
        "main": """
def decode_pig(text):
    return " ".join(aux(word) for word in text.split())
""",
        "public": (
            "decode_pig('ox-fay') == 'fox'",
            "decode_pig('apple-way ie-pay') == 'apple pie'",
        ),
        "hidden": (
            "decode_pig('') == ''",
            "decode_pig('ing-stray') == 'string'",
            "decode_pig('e-thay end-way') == 'the end'",
            "decode_pig('ool-schay is-way out-way') == 'school is out'",
            "decode_pig('ig-pay') == 'pig'",
            "decode_pig('eep-shay all-smay old-gay') == 'sheep small gold'",
        ),
    },
    {
        "doc": "Return the words of the list sorted by the score of their letters, least first; a is worth 1, b 2, and so on to z 26. Words of the same score are sorted alphabetically.",
        "helper": "aux(word) returns the sum of the scores of the letters of a lower-case word.",
        "aux": """
def aux(word):
    return sum(ord(letter) - ord("a") + 1 for letter in word)
""",
        "main": """
def sort_by_score(words):
    return sorted(words, key=lambda word: (aux(word), word))
""",
        "public": (
            "sort_by_score(['zoo', 'abc', 'cat']) == ['abc', 'cat', 'zoo']",
            "sort_by_score(['b', 'aa']) == ['aa', 'b']",
        ),
        "hidden": (
            "sort_by_score([]) == []",
            "sort_by_score(['az', 'za', 'by']) == ['az', 'by', 'za']",
            "sort_by_score(['hello', 'world', 'a']) == ['a', 'hello', 'world']",
            "sort_by_score(['ccc', 'i', 'bbbc']) == ['bbbc', 'ccc', 'i']",
            "sort_by_score(['z', 'y', 'x']) == ['x', 'y', 'z']",
            "sort_by_score(['moon', 'sun', 'mars', 'venus']) == ['mars', 'sun', 'moon', 'venus']",
        ),
    },
    {
        "doc": "Check a list of passwords and return those that are strong: at least 8 characters, and at least three of the four kinds lower-case letter, capital, digit, other.",
        "helper": "aux(text) returns how many of the four kinds of characters (lower-case letter, capital, digit, other) occur in text.",
        "aux": """
def aux(text):
    kinds = set()
    for character in text:
        if character.islower():
            kinds.add("lower")
        elif character.isupper():
            kinds.add("upper")
        elif character.isdigit():
            kinds.add("digit")
        else:
            kinds.add("other")
    return len(kinds)
""",
        "main": """
def strong_passwords(passwords):
    return [password for password in passwords if len(password) >= 8 and aux(password) >= 3]
""",
        "public": (
            "strong_passwords(['abc', 'Passw0rd', 'longpassword']) == ['Passw0rd']",
            "strong_passwords(['A1b!', 'xY7xY7xY7']) == ['xY7xY7xY7']",
        ),
        "hidden": (
            "strong_passwords([]) == []",
            "strong_passwords(['12345678', 'abcdefgH1', 'ABCDEFG-h']) == ['abcdefgH1', 'ABCDEFG-h']",
            "strong_passwords(['aB3$', 'aB3$aB3$']) == ['aB3$aB3$']",
            "strong_passwords(['UPPER-1234']) == ['UPPER-1234']",
            "strong_passwords(['lower1234', 'Lower1234']) == ['Lower1234']",
            "strong_passwords(['with space 1', 'With Space']) == ['with space 1', 'With Space']",
        ),
    },
    {
        "doc": "Return the text wrapped to lines of at most width characters, as a list of lines: words are taken one after another, and a word that does not fit begins a new line. No word is longer than width, and a text without words is one empty line.",
        "helper": "aux(line, word, width) returns whether word still fits on line, after a space unless line is empty.",
        "aux": """
def aux(line, word, width):
    return len(line) + len(word) + (1 if line else 0) <= width
""",
        "main": """
def wrap(text, width):
    lines = [""]
    for word in text.split():
        if aux(lines[-1], word, width):
            lines[-1] = f"{lines[-1]} {word}".strip()
        else:
            lines.append(word)
    return lines
""",
        "public": (
            "wrap('the cat sat on the mat', 7) == ['the cat', 'sat on', 'the mat']",
            "wrap('one two', 20) == ['one two']",
        ),
        "hidden": (
            "wrap('', 5) == ['']",
            "wrap('a b c d e', 3) == ['a b', 'c d', 'e']",
            "wrap('abc def', 3) == ['abc', 'def']",
            "wrap('to be or not to be', 5) == ['to be', 'or', 'not', 'to be']",
            "wrap('it is a small world after all', 10) == ['it is a', 'small', 'world', 'after all']",
            "wrap('four four four', 9) == ['four four', 'four']",
        ),
    },
    {
        "doc": "Return the longest common prefix of all words of the list; '' for an empty list.",
        "helper": "aux(first, second) returns the longest common prefix of two words.",
        "aux": """
def aux(first, second):
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]
""",
        "main": """
def common_prefix(words):
    if not words:
        return ""
    prefix = words[0]
    for word in words[1:]:
        prefix = aux(prefix, word)
    return prefix
""",
        "public": (
            "common_prefix(['flower', 'flow', 'flight']) == 'fl'",
            "common_prefix(['dog', 'car']) == ''",
        ),
        "hidden": (
            "common_prefix([]) == ''",
            "common_prefix(['same', 'same']) == 'same'",
            "common_prefix(['inter', 'internet', 'interval']) == 'inter'",
            "common_prefix(['alone']) == 'alone'",
            "common_prefix(['', 'abc']) == ''",
            "common_prefix(['prefix', 'prelude', 'present', 'prey']) == 'pre'",
        ),
    },
    {
        "doc": "Return whether two texts are equal after typing, where '<' stands for a key that deletes the character before, if there is one.",
        "helper": "aux(keys) returns the text that is left after typing keys.",
        "aux": """
def aux(keys):
    text = ""
    for key in keys:
        text = text[:-1] if key == "<" else text + key
    return text
""",
        "main": """
def same_typing(first, second):
    return aux(first) == aux(second)
""",
        "public": (
            "same_typing('ab<c', 'ac') == True",
            "same_typing('a<b', 'a') == False",
        ),
        "hidden": (
            "same_typing('<<x', 'x') == True",
            "same_typing('', 'ab<<') == True",
            "same_typing('abc<<<', '<') == True",
            "same_typing('hello<p', 'hellp') == True",
            "same_typing('xy<z', 'xz<') == False",
            "same_typing('a<<<b', 'ab') == False",
        ),
    },
)
