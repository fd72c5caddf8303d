"""``llmzoo serve``"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo.cli.arguments import PromptOptions
from llmzoo.cli.options import parse_options
from llmzoo.cli.output import redirect_stdout_to_stderr
from llmzoo.cli.server_lifecycle import ListenOptions, listen_with_token, run_until_shutdown
from llmzoo.errors import require_extra
from llmzoo.fields import shared_fields

_GRACE_S = 5  # seconds that running requests have to end


@dataclass(frozen=True, kw_only=True)
class ServeOptions(PromptOptions, ListenOptions):
    """Serve the agents of a run, or a model, over OpenAI's API.

    Every agent is a model of the endpoint, which answers POST /v1/chat/completions, POST
    /v1/completions and GET /v1/models. Ctrl-C or SIGTERM stops it: running requests have 5 seconds, and
    the process exits within 20. A second signal stops it at once.

    Args:
        policy: run folder of llmzoo train, tiny, smollm2, a model folder or a hub id; can be given first,
            without --policy.
        max_requests: maximum number of requests that run or wait; another is answered with 429.
        max_choices: maximum number of completions of a request, prompts times n.
        max_body_bytes: maximum size of a request.
        timeout_s: maximum seconds that a request waits and runs.
    """

    POSITIONAL = ("policy",)
    USAGE = "llmzoo serve RUN|MODEL [options]"
    EXAMPLES = ("llmzoo serve tiny", "llmzoo serve runs/magrpo --port 8001")

    policy: str
    max_requests: int = 256
    max_choices: int = 128
    max_body_bytes: int = 2**20
    timeout_s: float = 600.0


def run(argv: Sequence[str]) -> None:
    options = ServeOptions(**parse_options("serve", argv, ServeOptions))
    from llmzoo.envs.programs.http_server import HttpServer

    with require_extra("llmzoo serve", "train"):
        from llmzoo.serve.completions import CompletionService, EndpointLimits
        from llmzoo.serve.served_models import load_models
    limits = EndpointLimits(**shared_fields(options, EndpointLimits))
    with listen_with_token(options) as (listening, port, token):
        with redirect_stdout_to_stderr():
            models = load_models(options.policy, options.load_settings())
        service = CompletionService(models, limits)
        server = HttpServer(service.routes(), listening, token=token, grace_s=_GRACE_S)
        names = f"{', '.join(models)} at {server.address}/v1"
        fields = {"address": server.address, "models": [*models]}
        run_until_shutdown(server, options, names, fields, port, token)
        service.close()
    print("llmzoo: the server has ended", file=sys.stderr)
