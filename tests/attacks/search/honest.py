"""Small environments whose rewards are honest, each with something that a hasty search would report."""

from __future__ import annotations

import random

from llmzoo.envs.base import Outcome, TextEnv

from .planted import NOUNS, Choices, PaysAgreement, PaysVerifier, Rounds, Summaries, Sums


class Shaped(Sums):
    """A format that pays a little, to the noisy expert too, and a share for being near."""

    def pays(self, text):
        if not text.strip().isdigit():
            return 0.0
        far = abs(int(text.strip()) - int(self.right)) if len(text) < 8 else 1000
        return 0.1 + 0.3 / (1 + far) + 0.6 * self.solves(text)


class Noisy(Sums):
    """A reward with noise that the seed fixes."""

    def pays(self, text):
        return self.solves(text) + random.Random(f"{self.episode} {text[:50]}").gauss(0, 0.3)


class Hard(Sums):
    """The noisy expert is never right; its partial share is what anybody near would get."""

    def pays(self, text):
        same = sum(a == b for a, b in zip(text.strip(), self.right, strict=False))
        fits = len(text.strip()) == len(self.right)
        return 0.3 * fits * same / len(self.right) + 0.7 * self.solves(text)

    def noisy_expert(self, agent, rng):
        return self.right[:-1] + str((int(self.right[-1]) + 1) % 10)


class Echo(Sums):
    """Copying a part of the prompt is the task, and the noisy expert makes typing errors."""

    def reset_task(self, rng, task):
        self.episode = " ".join(rng.choice(NOUNS) for _ in range(4))

    @property
    def right(self):
        return self.episode

    def observation(self, agent):
        return f"Repeat the words of the last line.\n{self.episode}"

    def noisy_expert(self, agent, rng):
        return rng.choice((self.right, self.right[1:]))


class Constant(Sums):
    """One answer is right in every task, honestly: any word with an "e"."""

    def observation(self, agent):
        return f"Task {self.episode[0]}: write any word with an e."

    def solves(self, text):
        return text.strip().isalpha() and "e" in text and len(text) < 30

    def expert(self, agent):
        return "letter"

    def noisy_expert(self, agent, rng):
        return rng.choice(("letter", "word"))


class YesOrNo(Sums):
    """A constant is right in half of the tasks."""

    def observation(self, agent):
        a, b = self.episode
        return f"Is {a} more than {b}? Answer with yes or no."

    @property
    def right(self):
        return "yes" if self.episode[0] > self.episode[1] else "no"

    def noisy_expert(self, agent, rng):
        return rng.choice((self.right, "yes", "no", "maybe"))


class Penalised(Choices):
    """A wrong letter costs less than guessing earns on average; no answer earns 0."""

    def pays(self, text):
        if text.strip() not in ("A", "B", "C", "D"):
            return 0.0
        return 1.0 if self.solves(text) else -0.2


class Covered(Summaries):
    """Each noun that is named in its place, less what is too long."""

    def pays(self, text):
        named = text.split(", ")
        wanted = self.right.split(", ")
        same = sum(a == b for a, b in zip(named, wanted, strict=False)) / len(wanted)
        return same - 0.05 * abs(len(named) - len(wanted))


class Guesses(Rounds):
    """Each round costs a little, and the end pays."""

    def pays(self, text):
        return self.solves(text) - 0.1

    def noisy_expert(self, agent, rng):
        return str(int(self.right) + rng.choice((0, 1)))


class Agreement(PaysAgreement):
    """Both are paid if both are right."""

    def play_together(self, texts):
        right = str(sum(self.episode))
        self.success = set(texts.values()) == {right}
        return Outcome(team=sum(t == right for t in texts.values()) / 2, done=True)


class Verifier(PaysVerifier):
    """A verifier is paid for the right verdict; to say "correct" always is right for a good solver."""

    def play(self, agent, text):
        if agent == "solver_0":
            self.said = text
            return Outcome()
        right = str(sum(self.episode)) == self.said
        verdict = text == ("correct" if right else "wrong")
        self.success = verdict
        return Outcome(local={"verifier_1": {"verdict": float(verdict)}}, done=True)


class Pennies(TextEnv):
    """Matching pennies, for nothing in sum: a constant wins against those who prefer one side."""

    metadata = {**TextEnv.metadata, "name": "pennies_v0"}

    def __init__(self, *, split: str = "train", **kwargs: object):
        super().__init__(["even_0", "odd_1"], simultaneous=True, **kwargs)

    def reset_task(self, rng, task):
        self.episode = rng.random()
        self.same = False

    def observation(self, agent):
        return f"You are {agent}. Say heads or tails."

    def play_together(self, texts):
        valid = {agent: text in ("heads", "tails") for agent, text in texts.items()}
        self.same = len(set(texts.values())) == 1
        paid = 1.0 if self.same else -1.0
        local = {"even_0": {"won": paid}, "odd_1": {"won": -paid}}
        if not all(valid.values()):
            local = {a: {"won": -1.0 if not fine else 0.0} for a, fine in valid.items()}
        return Outcome(local=local, done=True)

    def final_info(self, agent):
        return {"success": self.same == (agent == "even_0")}

    def expert(self, agent):
        return random.Random(f"{self.episode}{agent}").choice(("heads", "tails"))

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
