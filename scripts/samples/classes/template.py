# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import re
import unittest


class Template:
    """Texts with fields in braces, such as "Dear {person.name|upper}", filled in from a dict."""

    FIELD = re.compile(r"\{([^{}]*)\}")

    def __init__(self, text):
        self.text = text

    def fields(self):
        """
        What stands in the braces, in order, each as often as it occurs.
        :return: list of str
        >>> Template("{a} and {b.c|upper}").fields()
        ['a', 'b.c|upper']
        """
        return self.FIELD.findall(self.text)

    def lookup(self, path, data):
        """
        The value at a path of names joined by dots; a name that is a number counts in a list.
        :param path: str
        :param data: dict
        :return: the value
        :raise KeyError: with the path when there is no such value
        >>> Template("").lookup("b.1", {"b": [5, 6]})
        6
        """
        value = data
        for name in path.split("."):
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
                value = value[int(name)]
            else:
                raise KeyError(path)
        return value

    def apply(self, name, value):
        """
        A filter: "upper" and "lower" change the case of the text of a value, "count" gives its
        length, "first" its first element, "join" its elements with ", " between them.
        :return: the new value
        :raise ValueError: with the name when there is no such filter
        """
        if name == "upper":
            return str(value).upper()
        if name == "lower":
            return str(value).lower()
        if name == "count":
            return len(value)
        if name == "first":
            return value[0]
        if name == "join":
            return ", ".join(str(element) for element in value)
        raise ValueError(name)

    def evaluate(self, field, data):
        """
        The text of a field: a path, then any number of filters after bars, applied in turn.
        Spaces around names do not matter.
        :return: str
        """
        path, *filters = [part.strip() for part in field.split("|")]
        value = self.lookup(path, data)
        for name in filters:
            value = self.apply(name, value)
        return str(value)

    def missing(self, data):
        """
        The paths for which there is no value, without repetition, in alphabetical order.
        :return: list of str
        """
        paths = {field.split("|")[0].strip() for field in self.fields()}
        absent = []
        for path in sorted(paths):
            try:
                self.lookup(path, data)
            except KeyError:
                absent.append(path)
        return absent

    def render(self, data):
        """
        The text with all fields filled in.
        :return: str
        :raise KeyError: when a value is missing
        """
        return self.FIELD.sub(lambda match: self.evaluate(match[1], data), self.text)


class TemplateTestFields(unittest.TestCase):
    def test_repeated(self):
        self.assertEqual(Template("{x}{y} {x}").fields(), ["x", "y", "x"])

    def test_none(self):
        self.assertEqual(Template("plain } text {").fields(), [])

    def test_as_written(self):
        self.assertEqual(Template("<{ a.b | upper }>").fields(), [" a.b | upper "])

    def test_empty_field(self):
        self.assertEqual(Template("{}").fields(), [""])


class TemplateTestLookup(unittest.TestCase):
    def test_nested(self):
        self.assertEqual(Template("").lookup("a.b.c", {"a": {"b": {"c": 3}}}), 3)

    def test_in_a_list(self):
        self.assertEqual(Template("").lookup("a.0.b", {"a": [{"b": "x"}]}), "x")

    def test_missing(self):
        for path in ("b", "a.c", "a.b.c", ""):
            with self.assertRaises(KeyError):
                Template("").lookup(path, {"a": {"b": 1}})

    def test_beyond_a_list(self):
        for path in ("a.2", "a.-1", "a.x"):
            with self.assertRaises(KeyError):
                Template("").lookup(path, {"a": [1, 2]})

    def test_number_as_key(self):
        self.assertEqual(Template("").lookup("7", {"7": "seven"}), "seven")


class TemplateTestApply(unittest.TestCase):
    def test_case(self):
        template = Template("")
        self.assertEqual(
            (template.apply("upper", "aB"), template.apply("lower", "aB")), ("AB", "ab")
        )

    def test_count(self):
        self.assertEqual(Template("").apply("count", [1, 2, 3]), 3)

    def test_first(self):
        self.assertEqual(Template("").apply("first", "xyz"), "x")

    def test_join(self):
        self.assertEqual(Template("").apply("join", [1, "b", 2.5]), "1, b, 2.5")

    def test_unknown(self):
        with self.assertRaises(ValueError):
            Template("").apply("title", "x")

    def test_upper_of_a_number(self):
        self.assertEqual(Template("").apply("upper", 5), "5")


class TemplateTestEvaluate(unittest.TestCase):
    def test_no_filter(self):
        self.assertEqual(Template("").evaluate("n", {"n": 4}), "4")

    def test_several_filters(self):
        self.assertEqual(Template("").evaluate("xs|first|upper", {"xs": ["ab", "c"]}), "AB")

    def test_spaces(self):
        self.assertEqual(Template("").evaluate(" x | lower ", {"x": "Q"}), "q")

    def test_missing(self):
        with self.assertRaises(KeyError):
            Template("").evaluate("y|upper", {"x": 1})


class TemplateTestMissing(unittest.TestCase):
    def test_sorted_once(self):
        self.assertEqual(Template("{z} {a|upper} {z} {k}").missing({"k": 1}), ["a", "z"])

    def test_nothing(self):
        self.assertEqual(Template("{k}").missing({"k": 0}), [])

    def test_no_fields(self):
        self.assertEqual(Template("text").missing({}), [])

    def test_inside(self):
        self.assertEqual(Template("{ a.b }{a.c}").missing({"a": {"b": None}}), ["a.c"])


class TemplateTestRender(unittest.TestCase):
    def test_letter(self):
        template = Template("Dear {person.name|upper}, {n} new")
        self.assertEqual(template.render({"person": {"name": "Ann"}, "n": 2}), "Dear ANN, 2 new")

    def test_no_fields(self):
        self.assertEqual(Template("as it is").render({}), "as it is")

    def test_values_are_not_templates(self):
        self.assertEqual(Template("{a}").render({"a": "{b}", "b": "no"}), "{b}")

    def test_missing(self):
        with self.assertRaises(KeyError):
            Template("{a} {b}").render({"a": 1})

    def test_backslash(self):
        self.assertEqual(Template("<{a}>").render({"a": "\\1\\n"}), "<\\1\\n>")


class TemplateTestTogether(unittest.TestCase):
    def test_report(self):
        data = {"team": {"name": "red", "players": ["ann", "bob"]}}
        template = Template("{team.name}: {team.players|join} ({team.players | count})")
        self.assertEqual(template.missing(data), [])
        self.assertEqual(template.render(data), "red: ann, bob (2)")
        self.assertEqual(template.missing({"team": {"name": "x"}}), ["team.players"])
