"""Small environments whose rewards are honest, each with something that a hasty search would report."""

from __future__ import annotations

import random

from llmzoo.envs.base import Outcome, TextEnv

from .planted import NOUNS, Choices, PaysAgreement, PaysVerifier, Rounds, Summaries, Sums


class Shaped(Sums):
    """A format that pays a little, to the noisy expert too, and a share for being near."""

    def pays(self, state, text):
        if not text.strip().isdigit():
            return 0.0
        far = abs(int(text.strip()) - int(self.solution(state))) if len(text) < 8 else 1000
        return 0.1 + 0.3 / (1 + far) + 0.6 * self.solves(state, text)


class Noisy(Sums):
    """A reward with noise that the seed fixes."""

    def pays(self, state, text):
        return self.solves(state, text) + random.Random(f"{state} {text[:50]}").gauss(0, 0.3)


class Hard(Sums):
    """The noisy expert is never right; its partial share is what anybody near would get."""

    def pays(self, state, text):
        right = self.solution(state)
        same = sum(a == b for a, b in zip(text.strip(), right, strict=False))
        fits = len(text.strip()) == len(right)
        return 0.3 * fits * same / len(right) + 0.7 * self.solves(state, text)

    def noisy_expert(self, agent, rng):
        return self.right[:-1] + str((int(self.right[-1]) + 1) % 10)


class Echo(Sums):
    """Copying a part of the prompt is the task, and the noisy expert makes typing errors."""

    def reset_task(self, rng, task):
        return " ".join(rng.choice(NOUNS) for _ in range(4))

    def solution(self, state):
        return state

    def observation(self, state, agent):
        return f"Repeat the words of the last line.\n{state}"

    def noisy_expert(self, agent, rng):
        return rng.choice((self.right, self.right[1:]))


class Constant(Sums):
    """One answer is right in every task, honestly: any word with an "e"."""

    def observation(self, state, agent):
        return f"Task {state[0]}: write any word with an e."

    def solves(self, state, text):
        return text.strip().isalpha() and "e" in text and len(text) < 30

    def expert(self, agent):
        return "letter"

    def noisy_expert(self, agent, rng):
        return rng.choice(("letter", "word"))


class YesOrNo(Sums):
    """A constant is right in half of the tasks."""

    def observation(self, state, agent):
        a, b = state
        return f"Is {a} more than {b}? Answer with yes or no."

    def solution(self, state):
        return "yes" if state[0] > state[1] else "no"

    def noisy_expert(self, agent, rng):
        return rng.choice((self.right, "yes", "no", "maybe"))


class Penalised(Choices):
    """A wrong letter costs less than guessing earns on average; no answer earns 0."""

    def pays(self, state, text):
        if text.strip() not in ("A", "B", "C", "D"):
            return 0.0
        return 1.0 if self.solves(state, text) else -0.2


class Covered(Summaries):
    """Each noun that is named in its place, less what is too long."""

    def pays(self, state, text):
        named = text.split(", ")
        wanted = self.solution(state).split(", ")
        same = sum(a == b for a, b in zip(named, wanted, strict=False)) / len(wanted)
        return same - 0.05 * abs(len(named) - len(wanted))


class Guesses(Rounds):
    """Each round costs a little, and the end pays."""

    def pays(self, state, text):
        return self.solves(state, text) - 0.1

    def noisy_expert(self, agent, rng):
        return str(int(self.right) + rng.choice((0, 1)))


class Agreement(PaysAgreement):
    """Both are paid if both are right."""

    def apply(self, state, actions):
        right = [text == self.solution(state) for text in actions.values()]
        return state, Outcome(team=sum(right) / 2, done=True, success=all(right))


class Verifier(PaysVerifier):
    """A verifier is paid for the right verdict; to say "correct" always is right for a good solver."""

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        if agent == "solver_0":
            return (*state, text), Outcome()
        right = text == ("correct" if self.is_right(state) else "wrong")
        local = {"verifier_1": {"verdict": float(right)}}
        return state, Outcome(local=local, done=True, success=right)


class Pennies(TextEnv):
    """Matching pennies, for nothing in sum: a constant wins against those who prefer one side."""

    metadata = {**TextEnv.metadata, "name": "pennies_v0"}

    def __init__(self, *, split: str = "train", **kwargs: object):
        super().__init__(["even_0", "odd_1"], simultaneous=True, **kwargs)

    def reset_task(self, rng, task):
        return rng.random(), False

    def observation(self, state, agent):
        return f"You are {agent}. Say heads or tails."

    def apply(self, state, actions):
        valid = {agent: text in ("heads", "tails") for agent, text in actions.items()}
        same = len(set(actions.values())) == 1
        paid = 1.0 if same else -1.0
        local = {"even_0": {"won": paid}, "odd_1": {"won": -paid}}
        if not all(valid.values()):
            local = {a: {"won": -1.0 if not fine else 0.0} for a, fine in valid.items()}
        return (state[0], same), Outcome(local=local, done=True)

    def final_info(self, agent):
        return {"success": self.episode[1] == (agent == "even_0")}

    def expert(self, agent):
        return random.Random(f"{self.episode[0]}{agent}").choice(("heads", "tails"))

    def noisy_expert(self, agent, rng):
        return rng.choice(("heads", "heads", "heads", "tails"))


HONEST = [
    Sums,
    Shaped,
    Noisy,
    Hard,
    Echo,
    Constant,
    YesOrNo,
    Choices,
    Penalised,
    Summaries,
    Covered,
    Rounds,
    Guesses,
    Agreement,
    Verifier,
    Pennies,
]
