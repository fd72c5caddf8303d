"""Hidden profiles: how facts are divided so that no member can find the best place alone.

The *leader* is the place that the shared facts favour; what is bad about it is private. The *right* place has its
private facts in its favour. All other places have shared facts only. In what one member knows, the right place has
as many good and as many bad facts as the other places behind the leader, so that nothing but the other members' facts
distinguishes it from them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from llmzoo.envs.crowd.hidden_profile.facts import (
    KEYWORDS,
    PLACES,
    Fact,
    find_best,
    score_places,
)

MARGIN = 2  # of the right place over any other, all facts together
HOLDERS_FOR_ONE = 4  # among so many the facts of a task with one agent are divided


@dataclass(frozen=True, slots=True)
class Profile:
    """One task. ``private``: the facts that only one member knows, by member."""

    names: tuple[str, ...]
    right: int
    shared: tuple[Fact, ...]
    private: tuple[tuple[Fact, ...], ...]

    def view(self, member: int) -> tuple[Fact, ...]:
        """What a member knows at the start, in an order that does not show what is private."""
        return tuple(sorted(self.shared + self.private[member]))

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(sorted(self.shared + tuple(f for facts in self.private for f in facts)))


def sample_task(rng: random.Random, holders: int, candidates: int) -> Profile:
    """A random hidden profile for ``holders`` members.

    Each member knows ``gains`` private facts for the right place and ``losses`` against the leader. So its own facts
    change the lead by ``gains + losses``, and those of the others by as much each. The lead that a
    member sees is about half of what the others can change: a group needs the facts of more than half of its members.
    """
    gains = 2 if holders == 2 else rng.choice((1, 2))
    losses = 1 if holders > 4 else rng.choice((1, 2))
    change = (holders - 1) * (gains + losses)
    lead = min((change + 1) // 2, change - MARGIN)
    worth = rng.choice((-1, 0, 1))  # of every place but the leader, as a member sees it
    good = gains + rng.choice((0, 1))
    bad = good - worth
    leader, right = rng.sample(range(candidates), 2)
    shared: list[Fact] = []
    private: list[list[Fact]] = [[] for _ in range(holders)]
    for place in range(candidates):
        aspects = iter(rng.sample(range(len(KEYWORDS)), len(KEYWORDS)))
        each = losses if place == leader else gains if place == right else 0
        for held in private:
            held += [Fact(place, next(aspects), place == right) for _ in range(each)]
        if place == leader:
            pros, cons = lead + losses + worth, 0
        else:
            pros, cons = good - each, bad
        shared += [Fact(place, next(aspects), True) for _ in range(pros)]
        shared += [Fact(place, next(aspects), False) for _ in range(cons)]
    names = tuple(rng.sample(PLACES, candidates))
    profile = Profile(names, right, tuple(sorted(shared)), tuple(map(tuple, map(sorted, private))))
    assert is_hidden_profile(profile)
    return profile


def is_hidden_profile(profile: Profile) -> bool:
    """Whether the task is what it says.

    * The shared facts, and those of each member, favour the same wrong place.
    * All facts together favour the right one, by at least :data:`MARGIN`.
    * No member's facts distinguish the right place from the others behind the leader.
    """
    places = len(profile.names)
    leader = find_best(profile.shared, places)
    if leader in (None, profile.right):
        return False
    members = range(len(profile.private))
    if any(find_best(profile.view(member), places) != leader for member in members):
        return False
    scores = score_places(profile.facts, places)
    others = [score for place, score in enumerate(scores) if place != profile.right]
    if scores[profile.right] < max(others) + MARGIN:
        return False
    return all(
        len({_count_facts(profile.view(m), p) for p in range(places) if p != leader}) == 1
        for m in members
    )


def _count_facts(facts: tuple[Fact, ...], place: int) -> tuple[int, int]:
    """The number of good and of bad facts about a place."""
    about = [fact.good for fact in facts if fact.place == place]
    return sum(about), len(about) - sum(about)


def canonical(profile: Profile) -> str:
    """The same text for tasks that differ in the names or order of places, or in the order of members."""
    about = [
        (
            [(f.aspect, f.good) for f in profile.shared if f.place == place],
            sorted([(f.aspect, f.good) for f in p if f.place == place] for p in profile.private),
        )
        for place in range(len(profile.names))
    ]
    return repr(sorted(about))
