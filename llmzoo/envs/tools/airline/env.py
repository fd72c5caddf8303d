"""# Airline service

A customer calls an airline to book, change or cancel a trip, or to complain. The agent has the airline's records and
the policy; the customer has no tools, and knows what it wants. Some requests are against the policy, and then the
right change is none. Tools, tasks and checks are those of the airline domain of tau2-bench.

| | |
|---|---|
| id | `airline_v0` |
| agents | `agent_0` and `user_1` (the customer); with `num_agents=1`: `agent_0`, and the customer is scripted |
| observation, action | text |
| rounds | `max_turns` (20): a message of the agent and one of the customer |
| success | the records are as they should be, and the agent has said what it must |

**Actions.** An answer of the agent is a message to the customer, of which 2,000 characters are heard, or calls of
tools: `<tool_call>{"name": "get_user_details", "arguments": {"user_id": "..."}}</tool_call>`, up to 16. Text around
calls is not said. After calls the agent answers again and reads their results; after `max_steps` (10) answers with
calls in a row the turn passes. All that the customer writes is a message. An answer that is empty, or has a call that
cannot be read, is malformed: nothing is done, and the turn passes without a word. A call with wrong arguments returns
an error (`infos[agent]["error"]` begins with "wrong").

The call ends when the agent calls `transfer_to_human_agents`, when the customer writes `###STOP###`, and after
`max_turns` rounds.

**Tools.** The agent has 14: it shows users, reservations, airports and the status of flights, finds flights without a
stop and with one, books, cancels, changes flights and cabin, bags and passengers, sends certificates, calculates, and
hands over. They check prices, balances and seats, and not the policy, which stands in the agent's prompt.

**Rewards.** One team reward of at most 1.

| part | worth |
|---|---|
| database | 0.3 x the share of the work on the records that is done now; paid as it changes |
| communication | 0.2 x the share of what the agent must say that it has said; paid when it is said |
| form | 0.1 x the share of answers that were not malformed, at the end |
| verdict | 0.4 at the end, if both checks hold |

Work on the records is what the reference looks up (users, reservations, flights) and each field that it changes. A
field that is otherwise than it should be counts as further work that is missing. The two checks are those of
tau2-bench: the records at the end equal those after the reference's calls, and each information that is asked for
occurs in a message of the agent. Whoever passes both is paid all of `database` and `communication`. The last infos
have `database_holds`, `said` and `to_say`.

In drawn tasks the customer always asks for one figure, such as the price or the refund, that stands in the records or
follows from them. So silence is no success where nothing may be changed. The figure must be a number of its own among
the first 12 of a message (parts of dates, times and ids do not count).

**Arguments.** `intent` ("booking", "cancellation", "change", "cabin", "baggage", "passengers", "insurance",
"compensation"; None for all), `num_agents` (2 or 1), `max_turns` (20), `max_steps` (10), `prompt` ("full" or "terse":
a short policy, and tools without descriptions), `team_weight`, `split` ("train", "test", "all"), `source`, `subset`
(see below), `on_bad_record` ("error" or "skip": of a file or folder), `render_mode`.

**Tasks.** With `source="generator"` (the default) a task is a customer with a request, among other customers and
bookings, in a month of 269 flights of our own. About three requests in ten are forbidden: cancelling without a reason
that counts, changing basic economy, taking bags away, adding insurance or passengers, compensation without a ground.
The split is by the request and its figures, whoever the customer is.

Any other `source` is a folder with `tasks.json` and `db.json` of tau2-bench
(`data/tau2/domains/airline` in its repository, MIT), or one such file of tasks beside its database.
`subset="test"` takes the tasks that `split_tasks.json` lists under this name. Records are judged by
`DB` and `COMMUNICATE` as there: an information occurs if it is part of a message, without regard to
capitals and to commas in the message. A record that names another judge is a bad record. Where such a
record asks for no change and no information (19 of its 50), silence is a success, as it is there.

For its 20 test tasks: `llmzoo eval --env airline_v0 --source FOLDER --env.subset test --split all`.

The policy text and what the tools answer are ours, as are the texts of drawn tasks. The call begins with a message of
the customer, not with the agent's greeting. Arguments of a wrong type are refused here, and converted there. Here a
call that ends by `max_turns` is judged by the same checks; tau2-bench counts it as failed. Assertions in natural
language, which its records have beside the two checks, are not judged, as in its own score.

**The scripted customer** answers what the agent asks with the sentences of its instructions that are about it, agrees
when asked to, and ends the call when something was done or refused and it has its figure. In records of tau2-bench it
is rough: a model in its place plays them better. **The scripted agent** asks, looks up, names the figure, waits for a
yes, and acts.

Source: Barres et al., "tau2-Bench: Evaluating Conversational Agents in a Dual-Control Environment", 2025
([arXiv 2506.07982](https://arxiv.org/abs/2506.07982)); the domain comes from Yao et al., "tau-bench: A Benchmark for
Tool-Agent-User Interaction in Real-World Domains", 2024 ([arXiv 2406.12045](https://arxiv.org/abs/2406.12045)).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.tasks import Tasks, generate_tasks
from llmzoo.envs.tools.airline import (
    customer,
    generator,
    players,
    prompts,
    records,
    scoring,
    tasks,
)
from llmzoo.envs.tools.airline.agent_tools import TOOLS
from llmzoo.envs.tools.airline.tasks import AirlineTask, Intent
from llmzoo.envs.tools.service import tau2_folders
from llmzoo.envs.tools.service.env import Domain, ServiceEnv
from llmzoo.errors import ConfigError


class Airline(ServiceEnv):
    """A call of a customer to an airline's agent, who has its records and its policy."""

    metadata: dict[str, Any] = {
        **ServiceEnv.metadata,
        "name": "airline_v0",
        "team_components": [*scoring.REWARD_WEIGHTS],
    }
    domain = Domain(
        tools=TOOLS,
        begin=tasks.start_conversation,
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
        intent: Intent | None = None,
        split: str = "train",
        source: str = "generator",
        subset: str | None = None,
        on_bad_record: Literal["error", "skip"] = "error",
        **options: Any,
    ):
        super().__init__(**options)
        self.tasks = _load_tasks(source, on_bad_record, split, subset, intent)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """Whether the records are as they should be, and how much of what must be said was said."""
        checks = scoring.communication_checks(self.episode.conversation)
        holds = self.episode.conversation.world == self.episode.conversation.task.end
        counts = {"said": sum(checks), "to_say": len(checks)}
        return {**super().final_info(agent), "database_holds": holds, **counts}


def _load_tasks(
    source: str, on_bad_record: str, split: str, subset: str | None, intent: str | None
) -> Tasks[AirlineTask]:
    """The tasks of a split."""
    if source == "generator":
        if subset is not None:
            raise ConfigError("subset is for a folder of tau2-bench; source is 'generator'")
        return generate_tasks(
            generator.sample_task,
            tasks.canonical,
            split=split,
            name=f"airline, intent {intent}",
            intent=intent,
        )
    if intent is not None:
        raise ConfigError(f"intent is for source='generator', got {source!r}")
    loaded = records.load(source, on_bad_record)
    return tau2_folders.select_tasks(loaded, source, None, subset, tasks.canonical, split)


raw_env = Airline
env, parallel_env = make_env_fns(Airline)
