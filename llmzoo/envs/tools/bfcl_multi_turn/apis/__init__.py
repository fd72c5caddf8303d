"""The eight APIs of BFCL's multi-turn dialogues, by name."""

from __future__ import annotations

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API
from llmzoo.envs.tools.bfcl_multi_turn.apis.files import GorillaFileSystem
from llmzoo.envs.tools.bfcl_multi_turn.apis.mathematics import MathAPI
from llmzoo.envs.tools.bfcl_multi_turn.apis.messages import MessageAPI
from llmzoo.envs.tools.bfcl_multi_turn.apis.posting import TwitterAPI
from llmzoo.envs.tools.bfcl_multi_turn.apis.tickets import TicketAPI
from llmzoo.envs.tools.bfcl_multi_turn.apis.trading import TradingBot
from llmzoo.envs.tools.bfcl_multi_turn.apis.travel import TravelAPI
from llmzoo.envs.tools.bfcl_multi_turn.apis.vehicle import VehicleControlAPI

APIS: dict[str, type[API]] = {
    api.__name__: api
    for api in (
        *(GorillaFileSystem, TradingBot, TravelAPI, VehicleControlAPI),
        *(MessageAPI, TwitterAPI, TicketAPI, MathAPI),
    )
}

__all__ = ["API", "APIS"]
