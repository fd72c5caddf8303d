"""# Telecom support

A customer calls a telephone company because the phone does not work as it should. The agent can look up and change
the company's records; only the customer can do something on the phone. So the agent must find out what is wrong,
say what to do, and hear what came of it. Tasks, tools and verdicts are those of the telecom domain of tau2-bench.

| | |
|---|---|
| id | `telecom_v0` |
| agents | `agent_0` and `user_1` (the customer); with `num_agents=1`: `agent_0`, and the customer is scripted |
| observation, action | text |
| rounds | `max_turns` (20): a message of the agent and one of the customer |
| success | every assertion about the end holds |

**Actions.** An answer is a message to the other side, of which 2,000 characters are heard, or calls of tools:
`<tool_call>{"name": "toggle_data", "arguments": {}}</tool_call>`, up to 16. Text around calls is not said. After
calls the same agent answers again and reads their results; after `max_steps` (10) answers with calls in a row the
turn passes. Each agent reads its own calls only. An answer that is empty, or has a call that cannot be read, is
malformed: nothing is done, and the turn passes without a word. A call with wrong arguments returns an error
(`infos[agent]["error"]` begins with "wrong").

The call ends when the agent calls `transfer_to_human_agents`, when the customer writes `###STOP###`, and after
`max_turns` rounds.

**Tools.** The agent has 13: it finds customers, shows lines, plans, bills and data use, asks for a payment, suspends
and resumes lines, enables roaming, adds data, and hands over. The customer has 30: the status bar, the network and
its mode, airplane mode, the SIM card, mobile data, roaming, data saver, access point (APN), Wi-Fi, Wi-Fi calling,
VPN, permissions of apps, picture messages, restarting, paying. What one side does reaches the other as in
tau2-bench. For example, a line that was resumed has no service before the phone looks for a network again.

**Rewards.** One team reward of at most 1.

| part | worth |
|---|---|
| repairs | 0.3 x the share of the settings that the reference changes that have its values now; paid as it changes |
| assertions | 0.2 x the share of the assertions that hold at the end, of those that did not at the start |
| form | 0.1 x the share of answers that were not malformed, at the end |
| verdict | 0.4 at the end, if every assertion holds |

A task that the agent cannot solve counts `transfer_to_human_agents` as an assertion and as a setting. Generated
tasks compare the name of this call alone, whatever its summary says; tau2-bench's records say which arguments
are compared (`compare_args`). Whoever
solves a task in another way than the reference is paid all of it.

**Arguments.** `intent` ("service_issue", "mobile_data_issue", "mms_issue"; None for all), `issues` (how many things
are wrong: up to 5, 7 and 9; None for any), `num_agents` (2 or 1), `max_turns` (20), `max_steps` (10), `prompt`
("full" or "terse": without the manual), `team_weight`, `split` ("train", "test", "all"), `source`, `subset` (see
below), `on_bad_record` ("error" or "skip": of a file or folder), `render_mode`.

**Tasks.** With `source="generator"` (the default) a task is a set of issues that stand together, such as airplane
mode, a lost permission and used-up data. There are 2,285 sets, those of tau2-bench's full set, for ten lines of
customers of our own, with three characters. A quarter of the tasks are about service, of which 71% can only
be handed over. The split is by the set, whoever the customer is.

Any other `source` is a folder with `tasks.json` and `db.toml` of tau2-bench (`data/tau2/domains/telecom` in its
repository, MIT), or one such file of tasks beside its database. `user_db.toml` there is the phone at the start, and
`subset="test"` takes the tasks that `split_tasks.json` lists under this name. Records are judged by `ENV_ASSERTION` and
`ACTION`, as in the first release. A record that names another judge (`DB`, a model) is a bad record.

For its 40 test tasks: `llmzoo eval --env telecom_v0 --source FOLDER --env.subset test --split all`.

The policy text, the manual and what the tools answer are ours, as are the texts of drawn tasks. The call begins with a
message of ours, not with the agent's greeting. Here a call that ends by `max_turns` is judged by the same assertions;
tau2-bench counts it as failed.

**The scripted customer** does what the agent's message names (`toggle_airplane_mode`,
`grant_app_permission("messaging", "sms")`) or means ("turn off airplane mode"), says what the phone
showed, answers questions about itself, and ends the call when its own test shows that the problem is
solved. **The scripted agent** looks up, asks, repairs and tests; it acts on the phone by messages
alone.

Source: Barres et al., "tau2-Bench: Evaluating Conversational Agents in a Dual-Control Environment", 2025
([arXiv 2506.07982](https://arxiv.org/abs/2506.07982)).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.tasks import Tasks, generate_tasks
from llmzoo.envs.tools.service import tau2_folders
from llmzoo.envs.tools.service.env import Domain, ServiceEnv
from llmzoo.envs.tools.telecom import (
    conversations,
    customer,
    issues,
    oracle,
    prompts,
    records,
    scoring,
    tasks,
)
from llmzoo.envs.tools.telecom.tasks import GOALS, TelecomTask
from llmzoo.envs.tools.telecom.toolset import TOOLS
from llmzoo.errors import ConfigError


class Telecom(ServiceEnv):
    """A call of a customer to a service agent, who have tools for two sides of one world."""

    metadata: dict[str, Any] = {
        **ServiceEnv.metadata,
        "name": "telecom_v0",
        "team_parts": [*scoring.REWARD_WEIGHTS],
    }
    domain = Domain(
        toolset=TOOLS,
        begin=conversations.start_conversation,
        content=tasks.content,
        parts=scoring.step_rewards,
        prompt=prompts.for_agent,
        agent=oracle.expert_agent,
        expert_customer=customer.respond,
        sloppy_agent=oracle.sloppy_agent,
        sloppy_customer=oracle.sloppy_customer,
    )

    def __init__(
        self,
        *,
        intent: Literal["service_issue", "mobile_data_issue", "mms_issue"] | None = None,
        issues: int | None = None,
        num_agents: int = 2,
        max_turns: int = 20,
        max_steps: int = 10,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "generator",
        subset: str | None = None,
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        check_choice("intent", intent, (None, *GOALS))
        super().__init__(
            num_agents=num_agents,
            max_turns=max_turns,
            max_steps=max_steps,
            prompt=prompt,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.tasks = _load_tasks(source, on_bad_record, split, subset, intent, issues)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """How many assertions held at the end, and how many there are."""
        held = scoring.check_assertions(self.episode.conversation)
        return {**super().final_info(agent), "assertions_held": sum(held), "assertions": len(held)}


def _load_tasks(
    source: str,
    on_bad_record: str,
    split: str,
    subset: str | None,
    intent: str | None,
    number: int | None,
) -> Tasks[TelecomTask]:
    """The tasks of a split."""
    if source == "generator":
        if subset is not None:
            raise ConfigError("subset is for a folder of tau2-bench; source is 'generator'")
        able = [each for each in GOALS if number in (None, *issues.combinations(each))]
        if (intent is None and not able) or (intent is not None and intent not in able):
            most = {each: max(issues.combinations(each)) for each in GOALS}
            raise ConfigError(f"issues must be from 1 to {most}, got {number}")
        return generate_tasks(
            issues.sample_task,
            tasks.canonical,
            split=split,
            name=f"telecom, intent {intent}, issues {number}",
            intent=intent,
            issues=number,
        )
    if number is not None:
        raise ConfigError(f"issues is for source='generator', got {source!r}")
    loaded = records.load(source, on_bad_record)
    return tau2_folders.select_tasks(loaded, source, intent, subset, tasks.canonical, split)


raw_env = Telecom
env, parallel_env = make_env_fns(Telecom)
