"""The process in which assert-based tests run, while the program runs in another process.

The tests are trusted, and nothing that comes from the program is. No code of the program runs here, so the
host can trust what this process reports. The host declares a pass if every case was reached and passed,
at least one call was made to the program, and the program was alive at the end.
"""

from __future__ import annotations

import importlib
import sys
import time
from types import ModuleType
from typing import Any

from ..confine.channel import Channel, ChannelClosed
from ..confine.plain_data import NotData
from . import isolation_requirements
from .array_guards import guard_arrays
from .cases import Cases
from .isolation_requirements import shared_interpreter_reason_from_nodes
from .library_names import library_names
from .peer import PeerGone
from .proxies import RemoteClass
from .run_cases import run_cases
from .tester_peer import TesterPeer
from .texts import describe_error

MODULE = "judged_tests"
_SHOWN = 500  # characters of why a case did not pass
Result = dict[str, Any]


def judge(
    host: Channel, candidate: Channel, tests: str, *, entry_point: str | None, prelude: str = ""
) -> None:
    """Run tests against the program at the other end of ``candidate`` and send ``host`` the result:

    ``["result", {"cases": [[name, passed, error], ...], "calls": number of calls made,
    "error": the error outside the cases or None, "shared_needed": reason or None}]``.
    """
    result: Result = {"cases": [], "calls": 0, "error": None, "shared_needed": None}
    cases: Cases | None = None
    try:
        cases = Cases(tests)
        uses = isolation_requirements.read_uses(cases.tree, cases.nodes)
        result["shared_needed"] = shared_interpreter_reason_from_nodes(cases.nodes, uses.undefined)
        if result["shared_needed"] is None:
            peer = TesterPeer(candidate, MODULE, expects_exit="SystemExit" in uses.undefined)
            result["error"] = _run_tests(peer, cases, uses, entry_point, prelude) or None
            result["calls"] = peer.calls
    except BaseException as error:
        result["error"] = describe_error(error)
    result["cases"] = case_outcomes(cases)
    host.send(["result", result])


def case_outcomes(cases: Cases | None) -> list[list[Any]]:
    """The name of each case, whether it passed, and the error."""
    return [[c.name, c.passed, (c.error or "")[:_SHOWN]] for c in cases.cases] if cases else []


def _run_tests(
    peer: TesterPeer,
    cases: Cases,
    uses: isolation_requirements.Uses,
    entry_point: str | None,
    prelude: str,
) -> str:
    """Run the cases. Returns what went wrong outside them, or why nothing was tested."""
    try:
        loaded = peer.channel.receive()
    except (ChannelClosed, NotData):
        return "the program ended while it was loading"
    if loaded != ["loaded"]:
        return _load_error(loaded)
    peer.channel.send(["judge"])
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module
    names = vars(module)
    if prelude:
        exec(compile(prelude, "<prelude>", "exec", dont_inherit=True), names)
    try:
        _fill_namespace(names, peer, cases, uses, entry_point)
        if entry_point is not None and entry_point not in names:
            return f"the program defines no {entry_point!r}"
        if cases.check is not None and not cases.calls_check and entry_point is None:
            return "check(candidate) without an entry point"
        if "numpy" in sys.modules and ("np" in cases.text or "numpy" in cases.text):
            peer.array = guard_arrays()
        if "sleep" in cases.text:
            _count_sleep_as_change(peer)
        if ".seed(" in cases.text:
            _share_seeds(peer)
        trouble = run_cases(cases, names, names.get(entry_point or ""))
        peer.check_alive()
    except PeerGone as gone:
        return f"the program did not come to the end of the tests: {gone}"
    if not cases.cases:
        return trouble or "the tests contain no test"
    if not peer.calls:
        return trouble or "the tests never called the program"
    return trouble


def _fill_namespace(
    names: dict[str, Any],
    peer: TesterPeer,
    cases: Cases,
    uses: isolation_requirements.Uses,
    entry_point: str | None,
) -> None:
    """Define the names that the tests use, see :mod:`isolation_requirements`."""
    program_names = isolation_requirements.builtins_under_test(cases.nodes, uses) | set(
        uses.imported.values()
    )
    if entry_point is not None:
        program_names.add(entry_point)
        names.pop(entry_point, None)
    library_objects = library_names(cases.nodes, uses, program_names)
    names.update({name: value for name, value in library_objects.items() if name not in names})
    wanted = set(program_names)
    for name in uses.undefined - program_names:
        if name in names or isolation_requirements.is_builtin(name):
            continue
        if (known := isolation_requirements.standard_object(name, uses)) is not None:
            names[name] = known
        else:
            wanted.add(name)
    values = peer.names(sorted(wanted))
    for name, value in values.items():
        if isinstance(value, RemoteClass):
            function = name == entry_point and cases.check is not None
            type.__setattr__(value, "_remote_has_class_name", _is_class_name(name) and not function)
    names.update(values)
    names.update({here: values[there] for here, there in uses.imported.items() if there in values})
    names.update({module: _Program(peer) for module in uses.modules})
    if "builtins.print" in cases.text:
        peer.ask("patch print")


class _Program:
    """The program as a module that the tests have imported."""

    def __init__(self, peer: TesterPeer):
        self._peer = peer

    def __getattr__(self, name: str) -> Any:
        values = self._peer.names([name])
        if name not in values:
            raise AttributeError(name)
        if isinstance(values[name], RemoteClass):
            type.__setattr__(values[name], "_remote_has_class_name", _is_class_name(name))
        return values[name]


def _is_class_name(name: str) -> bool:
    """Whether a name begins with a capital letter, so that tests expect a class."""
    return name.lstrip("_")[:1].isupper()


def _load_error(loaded: Any) -> str:
    """Why the program did not load, if it says so in the right form."""
    parts = loaded[1:3] if isinstance(loaded, list) and loaded[:1] == ["failed"] else []
    if len(parts) != 2 or not all(type(part) is str for part in parts):
        return "the program did not load"
    return ": ".join(part for part in parts if part)[:500]


def _count_sleep_as_change(peer: TesterPeer) -> None:
    """Count a sleep as a change: objects may change meanwhile, such as a cache whose entries expire."""
    sleep = time.sleep

    def sleep_and_note(seconds: Any) -> None:
        sleep(seconds)
        peer.changes += 1

    time.sleep = sleep_and_note


def _share_seeds(peer: TesterPeer) -> None:
    """Set the seeds of the tests in the program too, as in one interpreter."""
    for name in ("random", "numpy.random"):
        if name == "random" or name in sys.modules:
            module: Any = importlib.import_module(name)
            module.seed = _Seed(peer, name, module.seed)


class _Seed:
    def __init__(self, peer: TesterPeer, module: str, own: Any):
        self._peer, self._module, self._own = peer, module, own

    def __call__(self, seed: Any = None, *rest: Any) -> None:
        self._own(seed, *rest)
        self._peer.result("seed", seed, text=self._module)
