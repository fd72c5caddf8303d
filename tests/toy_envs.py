"""Small environments whose returns can be worked out by hand."""

from __future__ import annotations

from llmzoo.envs.base import Outcome, TextEnv


class Adder(TextEnv):
    """In turns: each agent writes a number, paid to it at once; the sum of all is the team's at the end.

    ``a_0`` acts, then ``b_1``; after ``max_turns`` rounds both are paid a tenth of the sum.
    """

    metadata = {**TextEnv.metadata, "name": "adder_v0"}

    def __init__(self, max_turns: int = 1, **kwargs: object):
        super().__init__(["a_0", "b_1"], max_turns=max_turns, **kwargs)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return f"{agent} {self.turn} {' '.join(map(str, state))}"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        state = (*state, float(text))
        last = agent == "b_1" and self.turn + 1 == self.max_turns
        return state, Outcome(
            team=sum(state) / 10 if last else 0.0,
            local={agent: {"number": float(text)}},
            success=last and sum(state) >= 3,
        )


class Matcher(TextEnv):
    """Simultaneous: two agents write a number; the team is paid the product, each agent its own number."""

    metadata = {**TextEnv.metadata, "name": "matcher_v0"}

    def __init__(self, max_turns: int = 1, **kwargs: object):
        super().__init__(["a_0", "b_1"], simultaneous=True, max_turns=max_turns, **kwargs)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return f"{agent} {self.turn}"

    def apply(self, state, actions):
        a, b = float(actions["a_0"]), float(actions["b_1"])
        return (*state, (a, b)), Outcome(team=a * b, local={"a_0": {"own": a}, "b_1": {"own": b}})


class Parity(TextEnv):
    """One agent, one turn: asked "U" or "D"; paid 1 for a text whose first character's code is even, or odd.

    Chance gives about a half; something that a very small model learns in seconds.
    """

    metadata = {**TextEnv.metadata, "name": "parity_v0"}

    def __init__(self, **kwargs: object):
        super().__init__(["writer_0"], max_turns=1, **kwargs)

    def reset_task(self, rng, task):
        return rng.choice("UD")

    def observation(self, state, agent):
        return state

    def apply(self, state, actions):
        (text,) = actions.values()
        right = text != "" and ord(text[0]) % 2 == "UD".index(state)
        return state, Outcome(team=float(right), done=True, success=right)


class Parities(TextEnv):
    """Simultaneous: every agent is asked "U" or "D" as in :class:`Parity`; the team is paid 1 if all are right.

    Chance gives two agents a quarter. The expert is right, the noisy expert half the time.
    """

    metadata = {**TextEnv.metadata, "name": "parities_v0"}

    def __init__(self, num_agents: int = 2, **kwargs: object):
        kwargs.pop("split", None)
        agents = [f"writer_{i}" for i in range(num_agents)]
        super().__init__(agents, simultaneous=num_agents > 1, max_turns=1, **kwargs)

    def reset_task(self, rng, task):
        return {agent: rng.choice("UD") for agent in self.possible_agents}

    def observation(self, state, agent):
        return state[agent]

    def apply(self, state, actions):
        right = all(
            text != "" and ord(text[0]) % 2 == "UD".index(state[agent])
            for agent, text in actions.items()
        )
        return state, Outcome(team=float(right), done=True, success=right)

    def expert(self, agent):
        return "pq"["UD".index(self.episode[agent])]

    def noisy_expert(self, agent, rng):
        return rng.choice("pq")


class Quiz(TextEnv):
    """In turns: the asker writes a number, the solver three, each of which is paid to it at once.

    The asker is paid its number times the solver's sum. ``team``: the team is paid the solver's numbers
    too. ``tells``: the solver reads its earlier answers, which breaks what ``attempts`` promises.
    """

    metadata = {**TextEnv.metadata, "name": "quiz_v0", "attempts": {"solver_1": 3}}

    def __init__(self, max_turns: int = 1, *, team: bool = False, tells: bool = False):
        super().__init__(["asker_0", "solver_1"], max_turns=max_turns)
        self.pays_team, self.tells = team, tells

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        shown = state[-1:] if self.tells else state[:1]
        return f"{agent} {self.turn} {' '.join(map(str, shown))}"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        number = float(text)
        if agent == "asker_0":
            return (number,), Outcome()
        state = (*state, number)
        last = len(state) == 4
        local = {"solver_1": {"number": number}}
        if last:
            local["asker_0"] = {"sum": state[0] * sum(state[1:])}
        team = number if self.pays_team else 0.0
        return state, Outcome(team, local, success=last or None, keeps_turn=not last)


class Mixed(TextEnv):
    """:class:`Parity` in 40 numbered tasks: 18 that any answer solves, 18 that none does, and four to learn.

    ``only``: the letters of the tasks that are played, of which "L" is always solved and "R" never.
    ``ignores``: plays the first task whatever ``reset`` is told.
    """

    metadata = {**TextEnv.metadata, "name": "mixed_v0"}
    tasks = "LR" * 9 + "UDUD" + "LR" * 9

    def __init__(self, only: str = "LRUD", ignores: bool = False, **kwargs: object):
        super().__init__(["writer_0"], max_turns=1, **kwargs)
        self.numbers = [n for n, letter in enumerate(self.tasks) if letter in only]
        self.ignores = ignores

    def reset_task(self, rng, task):
        number = rng.randrange(len(self.numbers)) if task is None else task % len(self.numbers)
        return 0 if self.ignores else self.numbers[number]

    def task_info(self):
        return {"split": "train", "tasks": len(self.numbers), "task_id": str(self.episode)}

    def observation(self, state, agent):
        return self.tasks[state]

    def apply(self, state, actions):
        (text,) = actions.values()
        letter = self.tasks[state]
        right = text != "" and ord(text[0]) % 2 == "UD".find(letter)
        success = letter == "L" or (letter in "UD" and right)
        return state, Outcome(team=float(success), done=True, success=success)
