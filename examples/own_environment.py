"""Your own environment: two agents, several rounds, hidden knowledge.

A hinter helps a guesser. Expect a success of 1. Left out: see docs/writing_environments.md.
"""

import argparse

import llmzoo
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.tasks import TaskList
from llmzoo.testing import check_env, check_fork, check_rewards, check_seeds


class HigherLower(TextEnv):
    metadata = {**TextEnv.metadata, "name": "higher_lower_v0"}

    def __init__(self, *, split="train", max_turns=5, **kwargs):
        super().__init__(["guesser_0", "hinter_1"], max_turns=max_turns, **kwargs)
        self.tasks = TaskList(range(1, 32), str, split=split, source="range")

    def reset_task(self, rng, task):  # the number, and (guess, hint) of each round
        return (self.tasks.sample(rng) if task is None else self.tasks[task]), ()

    def observation(self, state, agent):
        secret, rounds = state
        so_far = ", ".join(f"{guess}: {hint}" for guess, hint in rounds) or "none"
        if agent == "guesser_0":
            return f"Guess a number from 1 to 31. Guesses so far: {so_far}. Your guess:"
        return f"The number is {secret}. Guesses: {so_far}. Answer the last: higher or lower."

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        (secret, rounds), word = state, text.strip()
        if agent == "guesser_0":
            readable = word in map(str, range(1, 32))
            state = (secret, (*rounds, (word if readable else "0", "no hint")))
            solved = word == str(secret)
            errors = {} if readable else {agent: "no number from 1 to 31"}
            return state, Outcome(float(solved), done=solved, errors=errors, success=solved)
        known = word in ("higher", "lower")
        state = (secret, (*rounds[:-1], (rounds[-1][0], word if known else "no hint")))
        return state, Outcome(errors={} if known else {agent: "not higher or lower"})

    def expert(self, agent):
        secret, rounds = self.episode
        if agent == "hinter_1":
            return "higher" if int(rounds[-1][0]) < secret else "lower"
        low = max([0, *(int(guess) for guess, hint in rounds if hint == "higher")])
        high = min([32, *(int(guess) for guess, hint in rounds if hint == "lower")])
        return str((low + high) // 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="expert", help="or random, tiny, a folder, a hub id")
    for check in (check_env, check_seeds, check_rewards, check_fork):
        check(HigherLower)
    llmzoo.register("higher_lower_v0", HigherLower)
    print(llmzoo.evaluate("higher_lower_v0", parser.parse_args().model, tasks=31, split="all"))
