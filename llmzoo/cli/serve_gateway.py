"""``llmzoo serve gateway``"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llmzoo.cli.arguments import ModelOptions, check_agent_args
from llmzoo.cli.options import parse_names, parse_options
from llmzoo.cli.output import redirect_stdout_to_stderr
from llmzoo.cli.server_lifecycle import ListenOptions, listen_with_token, run_until_shutdown
from llmzoo.errors import ConfigError
from llmzoo.names import NAME_RULE, is_name

_GRACE_S = 5  # seconds that running calls have to end


@dataclass(frozen=True, kw_only=True)
class ServeGatewayOptions(ModelOptions, ListenOptions):
    """Answer programs that run elsewhere, over OpenAI's API, and record what the policies sample.

    A program calls POST /episodes/ID/v1/chat/completions with an agent as the model, and ends its
    episode with POST /episodes/ID/reward. Each ended episode is a line of OUT/episodes.jsonl, with
    messages, sampled tokens and log-probabilities. Ctrl-C or SIGTERM stops the server: running calls
    have 5 seconds, and open episodes are written without a reward.

    Args:
        agents: the names that programs call as models, separated by commas.
        out: the folder of the record, config.json and episodes.jsonl.
        policy: the policy of every agent: tiny, smollm2, a model folder, a hub id, a run folder of
            llmzoo train, or openai:MODEL@URL, which has no tokens to record.
        agent_args: settings of single agents; --agent.AGENT.policy NAME gives one a policy of its own,
            --agent.AGENT.temperature 0.5 its own sampling.
        resume: add to the record in --out.
        seed: seeds sampling. An episode's answers depend on it, the episode's id and its calls.
        success: least team reward of an episode that counts as a success where its program does not
            say.
        idle_s: seconds without a call after which an episode is written without a reward.
        max_episodes: maximum number of open episodes.
    """

    EXAMPLES = (
        "llmzoo serve gateway --agents caller_0,echo_1 --policy tiny --out runs/gateway",
        "llmzoo serve gateway --agents a_0,b_1 --policy tiny --agent.b_1.policy runs/magrpo --out runs/pair",
    )

    agents: str | Sequence[str]
    out: str
    policy: str = "tiny"
    agent_args: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False
    seed: int = 0
    success: float = 1.0
    idle_s: float = 3600.0
    max_episodes: int = 16_384


def run(argv: Sequence[str]) -> None:
    options = ServeGatewayOptions(**parse_options("serve gateway", argv, ServeGatewayOptions))
    agents = _parse_agents(options)
    agent_args = check_agent_args(options.agent_args)
    if not options.idle_s > 0 or options.max_episodes < 1:
        raise ConfigError("idle_s is above 0, and max_episodes at least 1")
    from llmzoo.envs.programs.chat_server import ChatServer
    from llmzoo.evaluation.episode_folder import open_episode_folder
    from llmzoo.runs.run_folder import check_new_folder
    from llmzoo.serve.agent_router import load_models_for_agents
    from llmzoo.serve.gateway import PolicyGateway

    if not options.resume:
        check_new_folder(Path(options.out))
    with listen_with_token(options) as (listening, port, token):
        with redirect_stdout_to_stderr():
            agent_policies = load_models_for_agents(
                agents, options.policy, agent_args, options.load_settings(), seed=options.seed
            )
        config = _record_config(options, agents)
        with open_episode_folder(
            Path(options.out), config, resume=options.resume, replay_interrupted=False
        ) as kept:
            episodes = PolicyGateway(
                agent_policies,
                kept,
                token=token,
                greedy=options.greedy,
                success=options.success,
                idle_s=options.idle_s,
                max_episodes=options.max_episodes,
            )
            server = ChatServer(episodes, listening, grace_s=_GRACE_S)
            names = f"{', '.join(agents)} at {server.address}/episodes/ID/v1"
            fields = {"address": server.address, "agents": list(agents)}
            run_until_shutdown(server, options, names, fields, port, token, {"out": options.out})
            episodes.close()
    print("llmzoo: the gateway has ended", file=sys.stderr)


def _parse_agents(options: ServeGatewayOptions) -> list[str]:
    agents = parse_names(options.agents)
    if not agents or len(set(agents)) < len(agents) or not all(map(is_name, agents)):
        raise ConfigError(
            f"--agents names at least one agent, each once, and {NAME_RULE}; got {options.agents!r}"
        )
    return agents


def _record_config(options: ServeGatewayOptions, agents: Sequence[str]) -> dict[str, Any]:
    """The settings that determine the answers. A resumed record must have the same."""
    return {
        "agents": list(agents),
        "policy": options.policy,
        "agent_args": options.agent_args,
        "seed": options.seed,
        "greedy": options.greedy,
        "success": options.success,
        **options.sampling(),
        **options.chat(),
    }
