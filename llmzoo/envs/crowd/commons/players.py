"""The scripted expert: it takes its share of the harvest that is best for all."""

from __future__ import annotations

from llmzoo.envs.crowd.commons.optimum import social_optimum
from llmzoo.envs.crowd.commons.pond import Pond


def choose_harvest(pond: Pond, stock: int, number: int, fisher: int) -> int:
    """The harvest of a fisher in round ``number`` (from 0). Everyone takes the same; those who take one fish
    more, if the harvest cannot be divided, change from round to round."""
    harvest = social_optimum(pond).harvests[number][stock]
    each, more = divmod(harvest, pond.fishers)
    return each + ((fisher + number) % pond.fishers < more)
