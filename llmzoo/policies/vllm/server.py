"""vLLM on a server: requests over its OpenAI-compatible protocol, and updates of its weights."""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmzoo.errors import ConfigError, MissingExtraError
from llmzoo.models.decode import SampledTokens, SamplerError
from llmzoo.policies.vllm.config import ServerArgs
from llmzoo.policies.vllm.http_client import HttpClient
from llmzoo.policies.vllm.requests import tokens_from_answer
from llmzoo.policies.vllm.weights import checkpoint_weights, required_max_lora_rank, save_weights

if TYPE_CHECKING:
    from llmzoo.policies.transformers import TransformersPolicy

_START = "VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --logprobs-mode processed_logprobs"
_WITH_LORA = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 {start} --enable-lora --max-lora-rank {rank}"
_TOKENIZER_PROBE = "Agents 1, 2 and 3 answer: {'up': [0, -1]} — naïve?\n"


class VllmServerEngine:
    """An :class:`llmzoo.policies.vllm.engine.VllmEngine` behind an address.

    The server may start from any copy of the model: it gets the weights before the first prompt.
    They travel through files that the server can read (vLLM's ``reload_weights`` and
    ``/v1/load_lora_adapter``), or over NCCL with TRL's client, except for adapters.

    Raises :class:`ConfigError` for a server with another tokenizer or without a required option, and
    :class:`SamplerError` for a server that cannot be reached.
    """

    def __init__(self, policies: Sequence[TransformersPolicy], url: str, args: ServerArgs):
        first = policies[0]
        self._model, self._tokenizer = first.model, first.tokenizer
        self._concurrency = args.concurrency
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="llmzoo-vllm-", dir=args.folder)
        _make_readable(self._folder.name)
        self._adapters: dict[
            str, tuple[str, Any]
        ] = {}  # each one's name on the server, and its files
        self._run_id = secrets.token_hex(4)  # tells our adapters from those of other runs
        self._load_count = 0
        self._http = HttpClient(url, timeout_s=args.timeout_s, retries=args.retries)
        self._http.wait(args.wait_s)
        (served, *_) = self._http.get("/v1/models")["data"]
        self._served: str = served["id"]
        self.context = int(served["max_model_len"])
        self._check_tokenizer()
        config = self._read_config()
        self._instance: str = config["instance_id"]
        _check_server_config(
            config, first.model, [p.adapter for p in policies if p.adapter is not None]
        )
        self._client = _connect_nccl(url, args, first.model) if args.weights == "nccl" else None
        self.load_base()

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        settings: Sequence[Mapping[str, Any]],
        adapter: str | None,
    ) -> list[list[SampledTokens]]:
        """Send one request per prompt, because a request has one seed."""
        model = self._served if adapter is None else self._adapters[adapter][0]
        with self._lock:
            if self._read_config()["instance_id"] != self._instance:
                raise SamplerError(
                    f"the vLLM server at {self._http.url} has been started again and has lost the "
                    "weights: resume the run"
                )
            pool = ThreadPoolExecutor(max_workers=self._concurrency)
            try:
                return list(
                    pool.map(lambda p, s: self._request_completions(model, p, s), prompts, settings)
                )
            finally:
                pool.shutdown(cancel_futures=True)

    def load_base(self) -> None:
        with self._lock:
            if self._client is not None:
                weights = {n: t.contiguous() for n, t in checkpoint_weights(self._model).items()}
                weight_specs = [
                    (name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
                    for name, tensor in weights.items()
                ]
                self._client.update_named_params(weight_specs, iter(weights.items()))
            else:
                with tempfile.TemporaryDirectory(prefix="base-", dir=self._folder.name) as files:
                    _make_readable(files)
                    save_weights(self._model, Path(files))
                    kwargs = {"weights_path": files}
                    self._http.post_without_result(
                        "/collective_rpc", {"method": "reload_weights", "kwargs": kwargs}
                    )
            reset = self._http.post("/reset_prefix_cache", {})
            if not reset["success"]:
                raise SamplerError(
                    f"the vLLM server at {self._http.url} keeps its prefix cache of older weights: "
                    "somebody else's requests are running"
                )

    def load_adapter(self, policy: TransformersPolicy) -> None:
        """Load the adapter under a new name from a new folder; the server caches results by both."""
        assert policy.adapter is not None
        with self._lock:
            self._load_count += 1
            name = f"{policy.adapter}-{self._run_id}-{self._load_count}"
            # kept, because a server with fewer slots than adapters reads them again
            files = tempfile.TemporaryDirectory(prefix="adapter-", dir=self._folder.name)
            _make_readable(files.name)
            policy.save(files.name)
            self._http.post_without_result(
                "/v1/load_lora_adapter", {"lora_name": name, "lora_path": files.name}
            )
            before = self._adapters.get(policy.adapter)
            self._adapters[policy.adapter] = (name, files)
            if before is not None:
                self._http.post_without_result("/v1/unload_lora_adapter", {"lora_name": before[0]})

    def rest(self) -> None:
        """Do nothing: the server has its own memory."""

    def close(self) -> None:
        with self._lock:
            for name, _ in self._adapters.values():
                with suppress(SamplerError):  # the server may be gone
                    self._http.post_without_result("/v1/unload_lora_adapter", {"lora_name": name})
            self._adapters.clear()
            self._folder.cleanup()

    def _request_completions(
        self, model: str, prompt: Sequence[int], settings: Mapping[str, Any]
    ) -> list[SampledTokens]:
        body = {"model": model, "prompt": list(prompt), "return_token_ids": True, **settings}
        choices = self._http.post("/v1/completions", body)["choices"]
        if any(choice["prompt_token_ids"] != list(prompt) for choice in choices):
            raise SamplerError("the vLLM server has read another prompt than it was given")
        choices.sort(key=lambda choice: choice["index"])
        return [
            tokens_from_answer(
                choice["token_ids"], choice["logprobs"]["token_logprobs"], choice["finish_reason"]
            )
            for choice in choices
        ]

    def _read_config(self) -> dict[str, Any]:
        try:
            config: dict[str, Any] = self._http.get("/server_info?config_format=json")[
                "vllm_config"
            ]
        except SamplerError as error:
            if error.args[1:] != (404,):
                raise
            raise ConfigError(
                f"the vLLM server at {self._http.url} takes no new weights: start it with {_START}"
            ) from error
        return config

    def _check_tokenizer(self) -> None:
        body = {"model": self._served, "prompt": _TOKENIZER_PROBE, "add_special_tokens": False}
        server_ids = self._http.post("/tokenize", body)["tokens"]
        own_ids = self._tokenizer(_TOKENIZER_PROBE, add_special_tokens=False)["input_ids"]
        if server_ids != own_ids:
            raise ConfigError(
                f"the vLLM server at {self._http.url} serves {self._served}, which has another "
                "tokenizer than the policy: start it with the model that is trained"
            )


def _check_server_config(config: Mapping[str, Any], model: Any, adapters: list[str]) -> None:
    """Refuse a server that returns other log-probabilities or has no room for the adapters."""
    mode = config["model_config"]["logprobs_mode"]
    if mode != "processed_logprobs":
        raise ConfigError(
            f"the vLLM server gives {mode}, not those of the distribution that it samples from: "
            f"start it with {_START}"
        )
    if adapters:
        rank, lora = required_max_lora_rank(model, adapters), config["lora_config"]
        if lora is None or lora["max_lora_rank"] < rank:
            start = _WITH_LORA.format(start=_START, rank=rank)
            raise ConfigError(
                f"the vLLM server has no room for the adapters: start it with {start}"
            )


def _connect_nccl(url: str, args: ServerArgs, model: Any) -> Any:
    """TRL's client, connected to the process group of the trainer and the server's workers."""
    if model.device.type != "cuda":
        raise ConfigError("weights='nccl' needs a CUDA device here; weights='files' does not")
    try:
        from trl.generation.vllm_client import VLLMClient

        client = VLLMClient(
            base_url=url, group_port=args.group_port, connection_timeout=args.wait_s
        )
    except ImportError as error:
        raise MissingExtraError("weights='nccl'", "vllm", error.name) from error
    client.init_communicator(device=model.device)
    return client


def _make_readable(folder: str) -> None:
    """Let the server read the folder; it may run as another user."""
    Path(folder).chmod(0o755)
