"""Runs every check of a bundle. docs/verifying.md says what they prove, and what not."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from llmzoo.errors import LlmzooError
from llmzoo.evaluation.bundles import judging, replay, source, stored
from llmzoo.evaluation.bundles.checks import Check, Finding, not_checked, wrong
from llmzoo.evaluation.bundles.layout import Bundle, StoredEvaluation, read_bundle

DEFAULT_REPLAY = 16  # tasks of each evaluation that are played again
# what stored values of the wrong form raise; the files were read, so this is the bundle's fault
_MALFORMED = (
    *(TypeError, ValueError, LookupError, AttributeError),
    *(ArithmeticError, RecursionError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The checks of a bundle. ``seed``: chose the tasks that were played again."""

    folder: str
    title: str
    seed: int
    checks: tuple[Check, ...]

    @property
    def wrong(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == "wrong")

    @property
    def not_checked(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == "not checked")

    def to_dict(self) -> dict[str, Any]:
        return {"wrong": len(self.wrong), "not_checked": len(self.not_checked), **asdict(self)}


def verify_bundle(
    folder: str | Path,
    *,
    env: str | None = None,
    env_args: Mapping[str, Any] | None = None,
    policies: Sequence[str] = (),
    replay_tasks: int = DEFAULT_REPLAY,
    seed: int | None = None,
    on_episode: Callable[[], object] = lambda: None,
) -> Verification:
    """Check everything in a bundle that can be checked here.

    ``env`` and ``env_args``: as in the bundle; needed only if they are code or a server, to confirm that you
    trust them. ``policies``: models and runs that may have played, as in ``llmzoo eval --policy``.
    ``replay_tasks``: tasks of each evaluation to play again. ``seed``: chooses them; None: at random.
    ``on_episode`` is called when an episode has been judged. Raises
    :class:`llmzoo.errors.CheckpointError` if the folder is not a bundle that can be read.
    """
    bundle = read_bundle(folder)
    seed = secrets.randbelow(2**32) if seed is None else seed
    verifier = _Verifier(bundle, env, env_args, policies, replay_tasks, seed, on_episode)
    return Verification(
        folder=str(folder), title=bundle.title, seed=seed, checks=tuple(verifier.run())
    )


@dataclass(frozen=True, slots=True)
class _Verifier:
    bundle: Bundle
    env: str | None
    env_args: Mapping[str, Any] | None
    policies: Sequence[str]
    replay_tasks: int
    seed: int
    on_episode: Callable[[], object]

    def run(self) -> Iterator[Check]:
        for name, check in (
            ("files", stored.check_files),
            ("runs", stored.check_runs),
            ("claims", stored.check_claims),
        ):
            yield _run_check(name, "", partial(check, self.bundle))
        for evaluation in self.bundle.evaluations:
            for name, find in self._checks_of(evaluation):
                yield _run_check(name, evaluation.name, find)

    def _checks_of(
        self, evaluation: StoredEvaluation
    ) -> Iterator[tuple[str, Callable[[], Finding]]]:
        yield "source", partial(source.check_source, evaluation)
        yield "tasks", partial(stored.check_tasks, evaluation)
        yield "tokens", partial(stored.check_tokens, evaluation)
        yield "numbers", partial(stored.check_numbers, evaluation)
        yield "reported", partial(stored.check_reported, evaluation)
        yield "training", partial(_check_training, evaluation)
        try:
            make = judging.env_factory(self.bundle.folder, evaluation, self.env, self.env_args)
        except LlmzooError as error:
            why = not_checked(f"the environment is not here: {error}")
            yield from ((name, lambda: why) for name in ("episodes", "replay"))
            return
        yield "episodes", partial(judging.check_episodes, evaluation, make, self.on_episode)
        rng = random.Random(f"{self.seed}/{evaluation.name}")
        tasks = replay.choose_tasks(evaluation, self.replay_tasks, rng)
        if not tasks:
            yield "replay", lambda: not_checked("no task was to be played again")
            return
        try:
            found = replay.find_policies(evaluation, self.policies)
        except (LlmzooError, *_MALFORMED) as error:
            found = replay.explain_unloaded(error)
        yield "policies", partial(replay.check_policies, evaluation, found)
        if any(evaluation.settings_for(a).get("weights") for a in evaluation.agents):
            yield "log-probabilities", partial(replay.check_logprobs, evaluation, found, tasks)
        yield "replay", partial(replay.check_replay, evaluation, make, found, tasks)


def _run_check(name: str, evaluation: str, find: Callable[[], Finding]) -> Check:
    """The outcome of a check. Values of the wrong form are wrong, and never end the verification."""
    try:
        status, reason = find()
    except LlmzooError as error:
        status, reason = not_checked(str(error))
    except _MALFORMED as error:
        status, reason = wrong(f"a stored value has the wrong form: {error!r:.200}")
    return Check(name=name, evaluation=evaluation, status=status, reason=reason)


def _check_training(evaluation: StoredEvaluation) -> Finding:
    """The training is not repeated here."""
    training = evaluation.training
    if training is None:
        return "ok", "the policies are of no training run"
    config = training["config"]
    return not_checked(
        f"{config['learner']} with seed {config['seed']} is not repeated: {training['steps']} iterations, "
        f"{training['tokens']:,} tokens, {training['seconds']:.0f} seconds, as whoever made the bundle says"
    )
