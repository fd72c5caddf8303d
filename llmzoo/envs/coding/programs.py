"""Extracts programs from the answers of models, reduces them to definitions, and merges them.

Pure functions on source text and its syntax tree; nothing is run here. They are fast on any text, and
:class:`NoProgram` is the only exception that they raise.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Collection, Iterable
from functools import lru_cache

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.sandbox import syntax

MAX_NESTING = 100  # of brackets; Python's own limit is 200, and it parses deep nesting slowly
_MAX_BLOCKS = 20  # only the last fenced blocks are read
_MAX_CHUNKS = 200  # only the first top-level pieces of an answer without fences are read

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
# linear time: adjacent parts of the pattern of an assignment cannot match the same characters
_CODE_LINE = re.compile(
    r"(?:async def|def|class|import|from)\s|@\w|\w+\s*(?::[^=]+)?=[^=]"
    r"|(?:for|while|if|with|try)\b.*:|[A-Za-z_][\w.]*\("
)
_HEADER = re.compile(r"[ \t]*(?:async[ \t]+def|def|class)[ \t]+\w+[ \t]*[(:]")
_CONTINUES = re.compile(r"[ \t)\]}]|(?:else|elif|except|finally)\b|$")
# builtins that do more than compute a value
_SIDE_EFFECT_BUILTINS = {
    "breakpoint", "eval", "exec", "exit", "input", "open", "print", "quit", "__import__",
}  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class NoProgram(ValueError):
    """A text without a program that can be parsed; the message tells the agent why."""


def parse(source: str) -> ast.Module:
    """The syntax tree of ``source``, from a cache: do not modify it. Raises :class:`NoProgram` with line
    and reason."""
    result = _parse(source)
    if isinstance(result, str):
        raise NoProgram(result)
    return result


@lru_cache(maxsize=64)  # several functions here parse the same source
def _parse(source: str) -> ast.Module | str:
    """The syntax tree, or why there is none."""
    if len(source) > MAX_ACTION_CHARS:
        return f"longer than {MAX_ACTION_CHARS} characters"
    if _nesting_depth(source) > MAX_NESTING:
        return f"brackets nested more than {MAX_NESTING} deep"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes and comparisons are the author's business
            return syntax.parse(source)
    except SyntaxError as error:
        return f"syntax error in line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        return "not readable as Python: null bytes, lone surrogates, or too deep"


def extract(text: str, wanted: Collection[str] = ()) -> str:
    """The program in a model's answer, with or without prose and code fences around it.

    Of several fenced blocks, those that define a wanted name are joined. If none does, all blocks are
    joined if they parse as one program, else the last that parses is taken. Without fences the answer
    is the program, or else its top-level pieces that look like code and parse.

    With ``wanted`` (the names that the answer should define) only definitions are kept: imports,
    functions, classes and simple assignments. Raises :class:`NoProgram`.
    """
    return _extract(text, frozenset(wanted))


@lru_cache(maxsize=1024)  # K samples of one prompt are often alike
def _extract(text: str, wanted: frozenset[str]) -> str:
    if len(text) > MAX_ACTION_CHARS:
        raise NoProgram(f"answer longer than {MAX_ACTION_CHARS} characters")
    if not text.strip():
        raise NoProgram("an empty answer")
    source = _find_program(text, wanted)
    if not wanted:
        return source
    tree = parse(source)
    kept = [node for node in tree.body if _is_declaration(node, wanted)]
    if not kept:
        raise NoProgram("no function is defined in it")
    return source if len(kept) == len(tree.body) else _unparse(kept)


def left_out_reason(text: str) -> str:
    """Why a function or class in an answer was left out of its program; "" if none was left out."""
    text = text[:MAX_ACTION_CHARS]
    blocks = _fenced_blocks(text)[-_MAX_BLOCKS:]
    if blocks:
        pieces = [block for block in blocks if any(map(_HEADER.match, block.splitlines()))]
    else:
        pieces = [text] if _defined_names(text.strip("\n")) is None else []
        pieces = [chunk for piece in pieces for chunk in _chunks(piece) if _HEADER.match(chunk)]
    results = map(_parse, pieces)
    return next((reason for reason in results if isinstance(reason, str)), "")


def begins_definition(text: str, names: Collection[str]) -> bool:
    """Whether a line begins a definition of one of ``names``, parsable or not."""
    wanted = "|".join(map(re.escape, names))
    begun = re.compile(rf"[ \t]*(?:async[ \t]+def|def|class)[ \t]+(?:{wanted})\b")
    return any(map(begun.match, text[:MAX_ACTION_CHARS].splitlines()))


def has_code(text: str) -> bool:
    """Whether a line looks like code, parsable or not, or a code fence has any text in it."""
    text = text[:MAX_ACTION_CHARS]
    return bool(_fenced_blocks(text)) or any(map(_CODE_LINE.match, text.splitlines()))


def functions(source: str) -> dict[str, ast.FunctionDef]:
    """The functions at the top level of a program, by name; the last one of each name."""
    return {node.name: node for node in parse(source).body if isinstance(node, ast.FunctionDef)}


def definitions(source: str) -> dict[str, Definition]:
    """The functions and classes at the top level of a program, by name."""
    return {node.name: node for node in parse(source).body if isinstance(node, Definition)}


def remove_definitions(source: str, names: Collection[str]) -> str:
    """The program without its top-level definitions of ``names``."""
    body = parse(source).body
    kept = [n for n in body if not (isinstance(n, Definition) and n.name in names)]
    return source if len(kept) == len(body) else _unparse(kept)


@lru_cache(maxsize=1024)  # an answer is merged with the same others again and again
def merge(*sources: str) -> str:
    """Several programs as one: imports first, each once; a later definition of a name replaces an
    earlier one. Raises :class:`NoProgram` if one of them does not parse."""
    imports: dict[str, ast.stmt] = {}
    rest: list[ast.stmt] = []
    for node in [node for source in sources for node in parse(source).body]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.setdefault(ast.unparse(node), node)
            continue
        if isinstance(node, Definition):
            rest = [n for n in rest if not (isinstance(n, Definition) and n.name == node.name)]
        rest.append(node)
    ordered = sorted(imports.values(), key=lambda node: not _is_future(node))
    return _unparse([*ordered, *rest])


def _find_program(text: str, wanted: frozenset[str]) -> str:
    """The source that :func:`extract` chooses, before it is reduced to definitions."""
    blocks = _fenced_blocks(text)[-_MAX_BLOCKS:]
    parsed = {block: names for block in blocks if (names := _defined_names(block)) is not None}
    if parsed:
        chosen = [block for block in parsed if parsed[block] & wanted]
        together = "\n\n".join(chosen or parsed)
        return together if _defined_names(together) is not None else (chosen or [*parsed])[-1]
    bare = "\n".join(line for line in text.splitlines() if not _FENCE.match(line))
    for whole in (text.strip("\n"), textwrap.dedent(bare).strip(" `\n")):
        if (names := _defined_names(whole)) is not None and (names or _looks_like_code(whole)):
            return whole
    pieces = [chunk for chunk in _chunks(bare) if _defined_names(chunk) is not None]
    names = frozenset[str]().union(*(_defined_names(piece) or () for piece in pieces))
    if not pieces or (wanted and not names & wanted):
        parse("\n".join(_chunks(bare)) or bare)  # raises with the syntax error, if there is one
        raise NoProgram("no Python code in it")
    return "\n".join(pieces)


def _fenced_blocks(text: str) -> list[str]:
    """The contents of code fences, dedented; the last fence may be missing."""
    blocks: list[str] = []
    open_block: list[str] | None = None
    for line in text.splitlines():
        if not _FENCE.match(line):
            if open_block is not None:
                open_block.append(line)
        elif open_block is None:
            open_block = []
        else:
            blocks.append(textwrap.dedent("\n".join(open_block)))
            open_block = None
    if open_block is not None:
        blocks.append(textwrap.dedent("\n".join(open_block)))
    return [block for block in blocks if block.strip()]


def _chunks(text: str) -> list[str]:
    """The top-level pieces of a text that begin like code."""
    chunks: list[list[str]] = []
    for line in text.splitlines():
        continues = _CONTINUES.match(line) or (chunks and chunks[-1][-1].startswith("@"))
        if chunks and continues:
            chunks[-1].append(line)
        else:
            chunks.append([line])
    return ["\n".join(c) for c in chunks if _CODE_LINE.match(c[0])][:_MAX_CHUNKS]


def _defined_names(source: str) -> frozenset[str] | None:
    """The names that a program defines at its top level; None if it does not parse."""
    try:
        body = parse(source).body
    except NoProgram:
        return None
    return frozenset(node.name for node in body if isinstance(node, Definition))


def _looks_like_code(text: str) -> bool:
    """Whether a text that parses is meant as a program; a single word of prose parses too."""
    return any(
        not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call)
        for node in parse(text).body
    )


def _is_declaration(node: ast.stmt, wanted: frozenset[str]) -> bool:
    """Whether a statement is an import, a definition, or an assignment to names whose value calls neither
    a builtin with side effects nor a wanted function. A ``try`` may hold such statements."""
    if isinstance(node, ast.Import | ast.ImportFrom | Definition):
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        plain = all(isinstance(t, ast.Name | ast.Tuple) for t in targets)
        return plain and not _called_names(node) & (_SIDE_EFFECT_BUILTINS | wanted)
    if isinstance(node, ast.Try):  # such as an import of a module that may be missing
        inner = [*node.body, *node.orelse, *node.finalbody]
        inner += [statement for handler in node.handlers for statement in handler.body]
        return all(isinstance(n, ast.Pass) or _is_declaration(n, wanted) for n in inner)
    return False


def _called_names(node: ast.AST) -> set[str]:
    return {
        inner.func.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
    }


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _nesting_depth(source: str) -> int:
    """How deep brackets nest, including those in strings and comments."""
    deepest = depth = 0
    for bracket in re.findall(r"[(\[{)\]}]", source):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    return deepest


def _unparse(body: Iterable[ast.stmt]) -> str:
    try:
        return ast.unparse(ast.Module(list(body), []))
    except (ValueError, RecursionError, MemoryError):  # a number too long to print, or a deep tree
        raise NoProgram("too deep, or with a number too long, to be put together") from None
