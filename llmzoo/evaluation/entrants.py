"""The players of a league, by name. Models are loaded only while they play."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path

from llmzoo import policies
from llmzoo.errors import ConfigError
from llmzoo.names import value_for_agent
from llmzoo.policies import SCRIPTED, run_models
from llmzoo.policies.base import Policy
from llmzoo.policies.settings import DEFAULT_LOAD_SETTINGS, LoadSettings
from llmzoo.runs import run_folder
from llmzoo.runs.named_policies import load_policy_for_agents, refuse_stages
from llmzoo.runs.policy_plans import policy_kind

MAX_SNAPSHOTS = 20  # limit on checkpoints and copies of one run

# the settings of each kind of player, besides the seed
_OPTIONS_BY_KIND = {
    "scripted": (),
    "endpoint": ("sampling", "chat"),
    "model": ("sampling", "chat", "device", "trust_remote_code"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A player of a league.

    ``name``: unique in the league. ``load``: loads the policy of each agent. ``fingerprint``: identifies
    what plays: for a folder a hash of its weights, otherwise the name. ``run``,
    ``iteration``: of a checkpoint or a copy.
    """

    name: str
    load: Callable[[], Mapping[str, Policy]] = field(repr=False)
    fingerprint: str
    run: str | None = None
    iteration: int | None = None


def expand_names(names: Sequence[str], at_most: int = MAX_SNAPSHOTS) -> list[str]:
    """The players that ``names`` stand for.

    A run folder given alone stands for all its checkpoints and copies, ``RUN/checkpoints`` and
    ``RUN/opponents`` stand for those inside, and a run folder given with other players stands for its newest
    checkpoint. If there are more than ``at_most`` checkpoints and copies, that number is selected, evenly
    spaced and including the first and the last. A copy is left out if there is a checkpoint of the same
    iteration, which has the same weights.
    """
    found: dict[object, str] = {}
    for name in names:
        for source in map(str, _sources(name, alone=len(names) == 1, at_most=at_most)):
            run = run_models.find_run(source)
            key = source if run is None else (run.resolve(), run_models.snapshot_step(Path(source)))
            if run is None and key in found:
                raise ConfigError(f"{name} is given twice")
            found.setdefault(key, source)
    if len(found) < 2:
        description = f"{names[0]} alone" if names else "nobody"
        raise ConfigError(
            f"a league needs at least two players, got {description}: name more, such as expert or noisy expert"
        )
    return list(found.values())


def _sources(name: str, *, alone: bool, at_most: int) -> Sequence[str | Path]:
    path = Path(name)
    refuse_stages(name)
    if run_models.is_run(path):
        if not alone:
            return [_newest(name)]
        return _evenly_spaced([*run_models.list_snapshots(path).values()], at_most)
    if path.name in (run_models.CHECKPOINTS, run_models.OPPONENTS):
        if not run_models.is_run(path.parent):
            return [name]
        copies = path.name == run_models.OPPONENTS
        inside = (
            run_models.list_opponent_copies(path.parent)
            if copies
            else run_models.list_checkpoints(path)
        )
        if not inside:
            raise ConfigError(f"{name} is empty: train with opponents, such as uniform")
        return _evenly_spaced(inside, at_most)
    return [name]


def _newest(name: str) -> str:
    """A run's newest checkpoint; any other name unchanged."""
    return str(run_models.newest_checkpoint(name)) if run_models.is_run(name) else name


def _evenly_spaced(paths: Sequence[Path], at_most: int) -> list[Path]:
    if at_most < 2:
        raise ConfigError(f"snapshots must be at least 2, got {at_most}")
    if len(paths) <= at_most:
        return list(paths)
    return [paths[round(i * (len(paths) - 1) / (at_most - 1))] for i in range(at_most)]


def make_entrants(
    names: Sequence[str],
    agents: Sequence[str],
    settings: LoadSettings = DEFAULT_LOAD_SETTINGS,
    *,
    seed: int = 0,
) -> list[Entrant]:
    """The players called ``names``, each able to play any of ``agents``; nothing is loaded yet.

    Each of the settings applies to the players whose kind accepts it. Raises :class:`ConfigError` for a name that
    is not a policy, a run that did not train all agents, and settings that no player accepts.
    """
    names = [_newest(name) for name in names]
    given = {name: value for name, value in asdict(settings).items() if value}
    used = {option for name in names for option in _OPTIONS_BY_KIND[policy_kind(name)]}
    for option in given:
        if option not in used:
            raise ConfigError(
                f"{option} would have no effect, because {', '.join(names)} run no model: leave it out"
            )
    runs = {name: run for name in names if (run := run_models.find_run(name)) is not None}
    for name in names:
        _check_entrant(name, runs.get(name), agents, settings.trust_remote_code)
    folders = list(dict.fromkeys(runs.values()))
    run_names = (
        dict(zip(folders, run_models.shortest_unique_names(folders), strict=True))
        if folders
        else {}
    )
    found = []
    for name in names:
        options = {
            option: given[option]
            for option in _OPTIONS_BY_KIND[policy_kind(name)]
            if option in given
        }
        load = partial(load_policy_for_agents, name, agents, LoadSettings(**options), seed=seed)
        run = runs.get(name)
        step = None if run is None else run_models.snapshot_step(Path(name))
        found.append(
            Entrant(
                name=name if run is None else f"{run_names[run]}@{step}",
                load=load,
                fingerprint=_fingerprint(name),
                run=None if run is None else str(run),
                iteration=step,
            )
        )
    return found


def _check_entrant(name: str, run: Path | None, agents: Sequence[str], trust: bool) -> None:
    """Raise :class:`ConfigError` for a player that could not play every agent."""
    if name == "human":
        raise ConfigError("a league cannot include people: use llmzoo play to play yourself")
    if run is None:
        if policy_kind(name) == "model":
            policies.check_model(name, trust_remote_code=trust)
        return
    config = run_folder.require_config(run, "policies")
    own = config.get("agent_args", {})
    settings = {agent: value_for_agent(own, agent, {}) for agent in agents}
    untrained = [a for a, given in settings.items() if given.get("policy") or given.get("frozen")]
    if config["policies"] in agents:
        untrained = [agent for agent in agents if agent != config["policies"]]
    if untrained:
        raise ConfigError(
            f"{run} did not train {', '.join(untrained)}: in a league each player plays every agent"
        )
    run_models.validate_checkpoint(Path(name))


def _fingerprint(name: str) -> str:
    """A hash of the weights in a folder, or the name if it is not a folder."""
    path = Path(name)
    if name in SCRIPTED or not path.is_dir():
        return name
    digest = blake2b(digest_size=16)
    # a checkpoint contains the learner's state as well as the folders of its policies
    inside = "*.safetensors" if run_models.find_run(name) is None else "*/**/*.safetensors"
    for file in sorted(path.rglob(inside)):
        digest.update(str(file.relative_to(path)).encode())
        with file.open("rb") as content:
            while chunk := content.read(2**20):
                digest.update(chunk)
    return digest.hexdigest()
