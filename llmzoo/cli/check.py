"""``llmzoo check``"""

from __future__ import annotations

import json
import math
import random
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo import registry, testing
from llmzoo.cli.arguments import add_cwd_to_path, check_env_args
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, print_table, redirect_stdout_to_stderr, show_progress
from llmzoo.envs.base import TextEnv
from llmzoo.errors import ConfigError, NoScriptedPolicyError, SandboxError


@dataclass(frozen=True, kw_only=True)
class CheckOptions(CommandOptions):
    """Check an environment against the PettingZoo API and the rules of llmzoo.testing, or the sandbox.

    Any PettingZoo environment with text observations and actions can be checked, given as
    package.module:name. --sandbox tries attack programs on this machine instead, at each level of the
    sandbox, and says what holds. The exit code is 0 if all checks pass and 1 otherwise.

    Args:
        env: id of the environment; can be given first, without --env.
        sandbox: check the sandbox on this machine, and no environment.
        env_args: arguments of the environment; --env.NAME VALUE sets one.
        texts: number of hostile texts to try.
        tasks: number of tasks that the expert plays and that are compared between splits.
        attack: search the reward for what reinforcement learning would exploit, in place of the checks.
        time_budget: seconds that --attack (by default 300) or --sandbox (50) may take; attacks on the sandbox
            that it leaves out are counted.
        steps: training steps of the embedded model as an attacker; 0 searches with scripts only.
        seed: seeds the search.
        out: JSON file for the result of the search.
        traceback: print the traceback of each failed check.
        quiet: show no progress on standard error.
        json: print one JSON object instead of a table.
    """

    POSITIONAL = ("env",)
    USAGE = "llmzoo check ENV [options], or llmzoo check --sandbox [options]"
    EXAMPLES = (
        "llmzoo check sudoku_v0",
        "llmzoo check --sandbox",
        "llmzoo check my_package.my_env:MyEnv --texts 1000 --traceback",
        "llmzoo check --attack sudoku_v0 --time_budget 60",
    )

    env: str | None = None
    sandbox: bool = False
    env_args: Mapping[str, Any] = field(default_factory=dict)
    texts: int = 300
    tasks: int = 50
    attack: bool = False
    time_budget: float | None = None
    steps: int = 10
    seed: int = 0
    out: str | None = None
    traceback: bool = False
    quiet: bool = False
    json: bool = False


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check; ``kept`` is None if the environment does not promise this."""

    check: str
    kept: bool | None
    why: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    run: Callable[[], None]
    missing: str | None = None  # why the environment does not promise this


def run(argv: Sequence[str]) -> int:
    given_options = parse_options("check", argv, CheckOptions)
    options = CheckOptions(**given_options)
    _check_unused(given_options, "sandbox" if options.sandbox else "attack" * options.attack)
    if options.texts < 1 or options.tasks < 1:
        raise ConfigError("--texts and --tasks must be at least 1")
    if options.sandbox:
        return _check_sandbox(options)
    if options.env is None:
        raise ConfigError("name an environment: llmzoo check ENV, or give --sandbox")
    add_cwd_to_path(options.env)
    given = {**registry.spec(options.env).offline, **options.env_args}
    arguments = check_env_args(options.env, given, split="both are checked")
    make = partial(registry.make, options.env, **arguments)
    if options.attack:
        return _search_attacks(make, options)
    results = [_run_check(_Check("reset", lambda: make().reset(seed=0)), options.traceback)]
    checks = _list_checks(make, options) if results[0].kept else []
    with (
        redirect_stdout_to_stderr(),
        show_progress("checks", len(checks), quiet=options.quiet) as advance,
    ):
        for check in checks:
            results.append(_run_check(check, options.traceback))
            advance()
    broken = [result for result in results if result.kept is False]
    if options.json:
        rows = [asdict(result) for result in results]
        print_json({"env": options.env, "kept": not broken, "checks": rows})
    else:
        words = {True: "kept", False: "BROKEN", None: "not promised"}
        print_table(
            ("check", "promise", "why", "seconds"),
            [[r.check, words[r.kept], r.why, f"{r.seconds:.1f}"] for r in results],
        )
    return 1 if broken else 0


def _check_sandbox(options: CheckOptions) -> int:
    from llmzoo.sandbox.attacks.check import check_sandbox
    from llmzoo.sandbox.attacks.columns import LEVELS
    from llmzoo.sandbox.attacks.machine_facts import machine_facts

    facts = machine_facts()
    with (
        redirect_stdout_to_stderr(),
        show_progress("levels", len(LEVELS), quiet=options.quiet) as advance,
    ):
        results = list(check_sandbox(_time_budget(options, 50.0), lambda level: advance()))
    if not any(result.held is not None for result in results):
        raise SandboxError(f"no attack could be tried here: {results[0].why}")
    broken = [result for result in results if result.held is False]
    if options.json:
        rows = [asdict(result) for result in results]
        print_json({"machine": facts, "held": not broken, "groups": rows})
    else:
        print_table(("machine", "offers"), list(map(list, facts.items())))
        words = {True: "held", False: "NOT HELD", None: "not available"}
        print_table(
            ("level", "attacks", "result", "tried", "why"),
            [
                [str(r.level), r.group, words[r.held], f"{r.tried} of {r.attacks}", r.why]
                for r in results
            ],
        )
    return 1 if broken else 0


# options that only some kinds of check use, with these kinds; "": the checks of the API
_USED_BY = {
    **dict.fromkeys(("texts", "tasks", "traceback"), ("",)),
    **dict.fromkeys(("steps", "seed", "out"), ("attack",)),
    "time_budget": ("attack", "sandbox"),
    **dict.fromkeys(("env", "env_args", "attack"), ("", "attack")),
}


def _check_unused(given: Mapping[str, Any], kind: str) -> None:
    """Refuse options that have no effect for this kind of check: "attack", "sandbox" or ""."""
    for name, kinds in _USED_BY.items():
        if name in given and kind not in kinds:
            remedy = f"add --{kinds[0]}" if not kind and kinds[0] else f"leave out --{name}"
            raise ConfigError(
                f"--{name} has no effect {f'with --{kind}' if kind else 'here'}: {remedy}"
            )


def _time_budget(options: CheckOptions, default: float) -> float:
    """``--time_budget`` in seconds, or the default."""
    seconds = default if options.time_budget is None else options.time_budget
    if not 0 < seconds < math.inf:
        raise ConfigError(f"--time_budget must be a positive number, got {seconds}")
    return seconds


def _search_attacks(make: Callable[..., AECEnv], options: CheckOptions) -> int:
    """Search the reward, and print and write what was found."""
    with redirect_stdout_to_stderr():
        report = testing.search_attacks(
            make, time_budget=_time_budget(options, 300.0), steps=options.steps, seed=options.seed
        )
    result = {"env": options.env, **report.to_dict()}
    if options.out is not None:
        Path(options.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if options.json:
        print_json(result)
    else:
        print_table(
            ("agents", "alarm", "return", "noisy_expert", "expert", "success", "attack", "answer"),
            [
                [
                    each.setting,
                    f"ALARM ({each.kind})" if each.alarm else "no",
                    f"{each.returned:.2f}",
                    f"{each.noisy_expert:.2f}",
                    "" if each.expert is None else f"{each.expert:.2f}",
                    f"{each.success:.0%} (noisy expert {each.noisy_expert_success:.0%})",
                    each.attack,
                    repr(each.answer[:200]),
                ]
                for each in report.findings
            ],
        )
        print(f"{report.trials} attacks in {report.minutes:.1f} minutes, seed {report.seed}")
        if report.note:
            print(report.note)
    return 1 if report.alarms else 0


def _list_checks(make: Callable[..., AECEnv], options: CheckOptions) -> list[_Check]:
    """The checks of :mod:`llmzoo.testing`, in the order in which its page explains them."""
    env = make()
    game = env.unwrapped
    slow = bool(env.metadata.get("slow_step", False))  # its steps run programs
    env.reset(seed=0)
    info = env.infos[env.agent_selection]
    no_text_env = None if isinstance(game, TextEnv) else "it is no llmzoo.envs.base.TextEnv"
    no_task_numbers = None if "task_id" in info and "tasks" in info else "its tasks have no numbers"
    texts = testing.hostile_texts(options.texts)
    group_size = 2 if slow else 4
    expert_tasks = range(min(options.tasks, 5) if slow else options.tasks)
    if info.get("tasks") is not None:
        expert_tasks = expert_tasks[: info["tasks"]]
    return [
        _Check("pettingzoo", partial(testing.check_env, make, cycles=20 if slow else 100)),
        _Check("text spaces", partial(testing.check_text_spaces, make)),
        _Check("seeds", partial(testing.check_seeds, make, seeds=range(2 if slow else 3))),
        _Check("hostile texts", partial(testing.check_hostile_text, make, texts)),
        _Check("lengths", partial(testing.check_observations_do_not_grow, make)),
        _Check("forks", partial(testing.check_fork, make)),
        _Check("rewards", partial(testing.check_rewards, make), no_text_env),
        _Check("credit", partial(testing.check_credit, make), no_text_env),
        _Check(
            "groups",
            partial(testing.check_groups, make, group_size=group_size),
            no_text_env or _missing_player(env, "noisy_expert"),
        ),
        _Check(
            "expert",
            partial(testing.check_expert, make, expert_tasks),
            no_text_env or _missing_player(env, "expert"),
        ),
        _Check("splits", partial(testing.check_splits, make, options.tasks), no_task_numbers),
    ]


def _missing_player(env: AECEnv, player: Literal["expert", "noisy_expert"]) -> str | None:
    """Why ``env`` has no scripted player of this kind; None if it has one."""
    game, agent = env.unwrapped, env.agent_selection
    try:
        if player == "expert":
            game.expert(agent)
        else:
            game.noisy_expert(agent, random.Random(0))
    except NoScriptedPolicyError as error:
        return str(error)
    return None


def _run_check(check: _Check, with_traceback: bool) -> CheckResult:
    if check.missing is not None:
        return CheckResult(check.name, None, check.missing, 0.0)
    started = time.monotonic()
    kept, why = True, ""
    try:
        check.run()
    except Exception as error:  # whatever a third party's environment raises
        kept, why = False, f"{type(error).__name__}: {error}".strip()
        if with_traceback:
            traceback.print_exc()
    return CheckResult(check.name, kept, why, round(time.monotonic() - started, 2))
