"""# Telecom support

A customer calls a telephone company because the phone does not work properly. The agent can look up and change the
company's records, but only the customer can operate the phone. So the agent must find the problem, tell the customer
what to do, and ask for the result. Tasks, tools and verdicts are those of the telecom domain of tau2-bench.

| | |
|---|---|
| id | `telecom_v0` |
| agents | `agent_0` and `user_1` (the customer); with `num_agents=1`: `agent_0`, and the customer is scripted |
| observation, action | text |
| rounds | `max_turns` (20): a message of the agent and one of the customer |
| success | every assertion of the task holds at the end |

**Actions.** An action is either a message to the other side or up to 16 tool calls:
`<tool_call>{"name": "toggle_data", "arguments": {}}</tool_call>`. The other side reads the first 2,000 characters of a
message. Text around tool calls is not sent. After tool calls, the same agent acts again and reads the results. After
`max_steps` (10) actions with tool calls in a row, it is the other side's turn. Each agent sees only its own calls. An
action that is empty, or has a call that cannot be parsed, is malformed: no tool runs, no message is sent, and it is
the other side's turn. A call with wrong arguments returns an error (`infos[agent]["error"]` begins with "wrong").

The phone call ends when the agent calls `transfer_to_human_agents`, when the customer writes `###STOP###`, or after
`max_turns` rounds.

**Tools.** The agent has 13 tools. They find customers, show lines, plans, bills and data usage, request a payment,
suspend and resume lines, switch roaming, add data, and transfer the call to a human. The customer has 30 tools, for the
status bar, the network and its mode, airplane mode, the SIM card, mobile data, roaming, data saver, the access point
(APN), Wi-Fi, Wi-Fi calling, VPN, app permissions, picture messages, restarting and paying. The records and the phone
affect each other as in tau2-bench. For example, a resumed line has no service until the phone searches for a network
again.

**Rewards.** One team reward of at most 1.

| part | worth |
|---|---|
| repairs | 0.3 x the share of the settings changed by the reference solution that now have its values; given at each step as the share changes |
| assertions | 0.2 x the share of the assertions false at the start that hold at the end |
| form | 0.1 x the share of actions that were not malformed, at the end |
| verdict | 0.4 at the end, if every assertion holds |

If the agent can only transfer the call, `transfer_to_human_agents` counts as an assertion and as a setting. Generated
tasks only compare the name of this call and ignore its summary. In tau2-bench's records, `compare_args` lists the
arguments that are compared. A solution that differs from the reference still gets all of `repairs` and `assertions`.

**Arguments.** `intent` ("service_issue", "mobile_data_issue", "mms_issue"; None for all), `issues` (the number
of issues in a task: up to 5, 7 and 9 for these intents; None for any), `num_agents` (2 or 1), `max_turns` (20),
`max_steps` (10), `prompt` ("full" or "terse": without the manual), `team_weight`, `split` ("train", "test", "all"),
`source`, `subset` (see below), `on_bad_record` ("error" or "skip": for records in a file or folder), `render_mode`.

**Tasks.** With `source="generator"` (the default), a task is a combination of issues, such as airplane mode, a missing
permission and used-up data. There are 2,285 combinations: those of tau2-bench's full set. They are applied to ten phone
lines of our own customers, with three personas. A quarter of the tasks are about service, and 71% of these can only be
transferred to a human. Tasks are split by their combination of issues, whoever the customer is.

Any other `source` is a folder with tau2-bench's `tasks.json` and `db.toml` (`data/tau2/domains/telecom` in its
repository, MIT), or the path of such a file of tasks, in the same folder as its database. `user_db.toml` in this folder
is the initial state of the phone. `subset="test"` selects the tasks that `split_tasks.json` lists under this name.
Records are judged by `ENV_ASSERTION` and `ACTION`, as in the first release of tau2-bench. A record that names another
criterion (`DB`, or a model as the judge) is a bad record.

For its 40 test tasks: `llmzoo eval --env telecom_v0 --source FOLDER --env.subset test --split all`.

The policy text, the manual, the outputs of the tools and the texts of generated tasks are our own. The phone call
begins with a message of the customer, which we wrote, and not with the agent's greeting. A call that reaches `max_turns`
is judged by the same assertions. tau2-bench counts it as failed.

**The scripted customer** runs the tools that the agent's message names (`toggle_airplane_mode`,
`grant_app_permission("messaging", "sms")`) or describes ("turn off airplane mode"), and reports what the phone shows. It
answers questions about itself, and ends the call when its own test shows that the problem is solved. **The scripted
agent** looks up records, asks questions, repairs and tests. It reaches the phone only through messages to the customer.

Source: Barres et al., "tau2-Bench: Evaluating Conversational Agents in a Dual-Control Environment", 2025
([arXiv 2506.07982](https://arxiv.org/abs/2506.07982)).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.tasks import Tasks, generate_tasks
from llmzoo.envs.tools.service import tau2_folders
from llmzoo.envs.tools.service.env import Domain, ServiceEnv
from llmzoo.envs.tools.telecom import (
    conversations,
    customer,
    issues,
    players,
    prompts,
    records,
    scoring,
    tasks,
)
from llmzoo.envs.tools.telecom.tasks import GOALS, TelecomTask
from llmzoo.envs.tools.telecom.tools import TOOLS
from llmzoo.errors import ConfigError


class Telecom(ServiceEnv):
    """A call of a customer to a service agent, who have tools for two sides of one world."""

    metadata: dict[str, Any] = {
        **ServiceEnv.metadata,
        "name": "telecom_v0",
        "team_components": [*scoring.REWARD_WEIGHTS],
    }
    domain = Domain(
        tools=TOOLS,
        begin=conversations.start_conversation,
        content=tasks.content,
        parts=scoring.step_rewards,
        prompt=prompts.for_agent,
        agent=players.expert_agent,
        expert_customer=customer.respond,
        sloppy_agent=players.sloppy_agent,
        sloppy_customer=players.sloppy_customer,
    )

    def __init__(
        self,
        *,
        intent: Literal["service_issue", "mobile_data_issue", "mms_issue"] | None = None,
        issues: int | None = None,
        split: str = "train",
        source: str = "generator",
        subset: str | None = None,
        on_bad_record: Literal["error", "skip"] = "error",
        **options: Any,
    ):
        super().__init__(**options)
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
