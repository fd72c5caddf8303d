"""A coder and a tester on one contest problem: each answers without seeing the other's answer.

After a round the coder's program is run on the tester's inputs, and both are told where its output
differs from what the tester expects. Either may be wrong. Rewards are differences of potentials with
gamma 1, so an episode's return is the score of an agent's last answer:

* team: the share of the hidden tests that the coder's last program passes.
* coder: 0.1 if the program parses + 0.1 if it runs on the public tests + 0.8 x the same share.
* tester: 0.05 if at least one test counts + 0.05 x the share of its tests that a known solution
  passes + 0.9 x the same share x :func:`.targets.catch_score` of those tests. Without a known
  solution, the programs of this episode that passed all hidden tests replace it, and a test must pass
  with all of them. While there are none, both parts are 0.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.coding import programs
from llmzoo.envs.coding.contests import players, prompts, scoring, targets, trials
from llmzoo.envs.coding.contests.prompts import CODER, TESTER, ContestState
from llmzoo.envs.coding.contests.scoring import NoTests
from llmzoo.envs.coding.contests.tasks import Problem, canonical
from llmzoo.envs.coding.contests.trials import KnownSolution
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.envs.sources import PublicSet
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.errors import ConfigError
from llmzoo.sandbox.limits import Limits


class CoderTester(TextEnv[ContestState]):
    """Contest problems for a coder and a tester, or for a coder alone.

    A subclass names its ``public_set``, or supplies :meth:`find_tasks`.

    Parameters
    ----------
    num_agents: 2 (``coder_0``, ``tester_1``) or 1 (``coder_0``, who is told of the public tests).
    max_turns: rounds; both agents answer once a round.
    max_tests: tests of the tester that count in a round.
    time_limit: seconds that a program may run on one input (on all calls of a function).
    source: where the problems come from; see the page of the set.
    """

    metadata: dict[str, Any] = {**TextEnv.metadata, "slow_step": True}
    public_set: ClassVar[PublicSet[Problem]]

    def __init__(
        self,
        *,
        num_agents: int = 2,
        max_turns: int = 4,
        max_tests: int = 5,
        time_limit: float = 5.0,
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "auto",
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        if max_tests < 1:
            raise ConfigError(f"max_tests must be at least 1, got {max_tests}")
        agents, simultaneous = self.agents_and_order(num_agents)
        super().__init__(
            agents,
            simultaneous=simultaneous,
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.max_tests = max_tests
        self.limits = Limits(time_limit=time_limit)
        self.tasks = self.find_tasks(source, split, on_bad_record)
        self.fallback = self.tasks.fallback

    def agents_and_order(self, num_agents: int) -> tuple[list[str], bool]:
        """The agents, and whether they answer at the same time."""
        return [CODER, TESTER][:num_agents], True

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[Problem]:
        """The problems of a split."""
        return self.public_set.load(source, on_bad_record).task_list(canonical, split)

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> ContestState:
        return ContestState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        problem = self.episode.problem
        content = repr((problem.statement, problem.function, problem.public, problem.hidden))
        return {**describe_task(self.tasks, content, problem), "fallback": self.fallback}

    def apply(
        self, state: ContestState, actions: Mapping[str, str]
    ) -> tuple[ContestState, Outcome]:
        after = replace(
            state, answers=dict(actions), errors={}, tests=(), public=None, agreed=None, broke=""
        )
        after = self._judge_tests(self._judge_program(after, actions[CODER]), actions.get(TESTER))
        local = {}
        for agent, score in after.scores.items():
            paid = state.scores.get(agent, dict.fromkeys(score, 0.0))
            local[agent] = {name: score[name] - paid[name] for name in score}
        # a coder alone must agree with the public tests
        met = after.agreed if len(self.possible_agents) == 2 else after.public
        return after, Outcome(
            team=after.share - state.share,
            local=local,
            done=met is not None and met.passed == len(met.results),
            errors=self._errors(after, actions[CODER]),
            success=after.solved,
        )

    def _errors(self, contest: ContestState, text: str) -> dict[str, str]:
        """What was wrong with the answers. For a readable program: what kept it from running, or what
        was left out of it."""
        errors = {agent: f"malformed: {error}" for agent, error in contest.errors.items()}
        left_out = programs.left_out_reason(text)
        if CODER not in errors and (contest.broke or left_out):
            errors[CODER] = contest.broke or f"left out: {left_out}"
        return errors

    def final_info(self, agent: str) -> Mapping[str, Any]:
        return {**super().final_info(agent), "hidden_success": self.episode.share == 1.0}

    def observation(self, state: ContestState, agent: str) -> str:
        if agent == TESTER:
            return prompts.tester_prompt(state, self.heading(), self.max_tests)
        return prompts.coder_prompt(state, self.heading(), alone=len(self.possible_agents) == 1)

    def heading(self) -> str:
        return f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."

    def expert(self, agent: str) -> str:
        problem = self.episode.problem
        if agent == CODER:
            return players.expert_program(problem, self.limits)
        return players.expert_tests(problem, self.limits, self.max_tests)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        problem = self.episode.problem
        if agent == CODER:
            return players.noisy_program(problem, rng)
        return players.noisy_tests(problem, rng, self.max_tests)

    # A round

    def _judge_program(self, contest: ContestState, text: str) -> ContestState:
        """The coder's answer, judged on the public and the hidden tests."""
        problem = contest.problem
        try:
            source = trials.extract_source(text, problem)
            code = trials.prepare_program(source, problem)
        except NoProgram as reason:
            return replace(
                contest,
                errors={**contest.errors, CODER: str(reason)},
                scores={**contest.scores, CODER: scoring.unparsed_components(text)},
                share=0.0,
            )
        public = trials.run_tests(code, problem, problem.public, self.limits)
        if public.timed_out:
            hidden = trials.timed_out_trial(problem.hidden)
        else:
            hidden = trials.run_tests(code, problem, problem.hidden, self.limits)
        known = KnownSolution(source, code)
        right = hidden.share == 1.0 and known not in contest.right
        score = scoring.coder_components(ran=public.ran, share=hidden.share)
        return replace(
            contest,
            answers={**contest.answers, CODER: source},
            code=code,
            public=public,
            right=(*contest.right, known) if right else contest.right,
            broke=trials.crash_reason(public),
            scores={**contest.scores, CODER: score},
            share=hidden.share,
        )

    def _judge_tests(self, contest: ContestState, text: str | None) -> ContestState:
        """The tester's answer, judged by known solutions and compared with the program."""
        if text is None:
            return contest
        problem = contest.problem
        try:
            tests = scoring.parse_tests(text, problem, self.max_tests)
        except NoTests as reason:
            return replace(
                contest,
                errors={**contest.errors, TESTER: str(reason)},
                scores={**contest.scores, TESTER: scoring.NO_TESTS},
            )
        known = trials.reference_solution(problem, self.limits)
        judges = (known,) if known is not None else contest.right
        right = trials.sound_tests(tests, problem, judges, self.limits)
        score = scoring.tester_components(
            sound=len(right) / len(tests),
            caught=targets.catch_score(right, judges[0], problem, self.limits, self.max_tests)
            if right
            else 0.0,
        )
        agreed = None
        if contest.public is not None and contest.public.timed_out:
            agreed = trials.timed_out_trial(tests)
        elif contest.public is not None:
            agreed = trials.run_tests(contest.code, problem, tests, self.limits)
        return replace(
            contest, tests=tests, agreed=agreed, scores={**contest.scores, TESTER: score}
        )
