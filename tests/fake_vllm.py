"""A stand-in for the package ``vllm``: a small transformers model behind the same calls.

It has what of vLLM can go wrong: what it has computed of a prompt is kept, and goes on being used
after new weights until it is told to forget; an adapter is read once for each number; a sleeping
engine answers nothing, and after level 2 it has no weights. Argument names are checked against
lists of the real ones (``tests/policies/test_vllm_real.py`` compares them where vLLM is installed).
"""

from __future__ import annotations

import copy
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

LLM_ARGUMENTS = {
    *("model", "tokenizer", "dtype", "seed", "gpu_memory_utilization", "max_model_len"),
    *("enforce_eager", "enable_prefix_caching", "enable_sleep_mode", "logprobs_mode"),
    *("generation_config", "enable_lora", "max_loras", "max_lora_rank", "max_num_seqs"),
    "kv_cache_memory_bytes",
}


@dataclass
class SamplingParams:
    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    logprobs: int | None = None


@dataclass
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str = ""


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: Sequence[int]
    cumulative_logprob: float | None
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class RequestOutput:
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    finished: bool = True


@dataclass
class Faults:
    """What is to go wrong."""

    busy: bool = False  # requests of somebody else hold the prefix cache
    abort: bool = False  # answers are given up
    beyond: bool = False  # tokens that the policy's model does not have


@dataclass
class Calls:
    """What an engine has been asked for."""

    prompts: list[int] = field(default_factory=list)  # the number in each call of generate
    prompts_read: int = 0  # those that were not in the prefix cache
    sleeps: list[int] = field(default_factory=list)
    reloads: int = 0


class LLM:
    made: list[LLM] = []

    def __init__(self, model: str, **arguments: Any):
        unknown = set(arguments) - LLM_ARGUMENTS
        if unknown:
            raise TypeError(f"unexpected keyword arguments {sorted(unknown)}")
        torch.manual_seed(arguments.get("seed", 0))  # in-process engines do: vLLM warns of it
        self.arguments = arguments
        self.model = AutoModelForCausalLM.from_pretrained(
            model, dtype=getattr(torch, arguments.get("dtype", "float32"))
        ).eval()
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(model)
        longest = arguments.get("max_model_len") or self.model.config.max_position_embeddings
        self.model_config = types.SimpleNamespace(max_model_len=longest)
        self.llm_engine = types.SimpleNamespace(
            engine_core=types.SimpleNamespace(shutdown=self._shutdown)
        )
        self.faults, self.calls = Faults(), Calls()
        self.running = True
        self._asleep: set[str] = set()
        self._adapted: dict[int, Any] = {}
        self._prefixes: dict[tuple[Any, ...], Any] = {}
        LLM.made.append(self)

    def _shutdown(self) -> None:
        self.running = False

    def generate(
        self,
        prompts: Sequence[dict[str, list[int]]],
        sampling_params: Sequence[SamplingParams],
        *,
        use_tqdm: bool = True,
        lora_request: LoRARequest | None = None,
    ) -> list[RequestOutput]:
        assert self.running
        assert not self._asleep, "asked while it sleeps"
        self.calls.prompts.append(len(prompts))
        asked = zip(prompts, sampling_params, strict=True)
        return [self._answer(p["prompt_token_ids"], s, lora_request) for p, s in asked]

    def collective_rpc(self, method: str, timeout: Any = None, args: Any = (), kwargs: Any = None):
        assert method == "reload_weights"
        assert "weights" not in self._asleep
        self.calls.reloads += 1
        if "weights_path" in kwargs:
            weights = load_file(Path(kwargs["weights_path"]) / "model.safetensors")
        else:
            weights = dict(kwargs["weights_iterator"])
        missing, unexpected = self.model.load_state_dict(weights, strict=False)
        assert not unexpected
        assert set(missing) <= {"lm_head.weight"}
        self._adapted.clear()  # as reset_lora_state

    def reset_prefix_cache(
        self, reset_running_requests: bool = False, reset_connector: bool = False
    ) -> bool:
        if self.faults.busy:
            return False
        self._prefixes.clear()
        return True

    def sleep(self, level: int = 1, mode: str = "abort") -> None:
        assert self.arguments["enable_sleep_mode"]
        self.calls.sleeps.append(level)
        self._asleep = {"weights", "kv_cache"}
        self._prefixes.clear()
        if level == 2:
            for weight in self.model.state_dict().values():
                weight.fill_(float("nan"))

    def wake_up(self, tags: list[str] | None = None) -> None:
        self._asleep -= set(tags or self._asleep)

    def _adapter(self, request: LoRARequest | None) -> Any:
        if request is None:
            return self.model
        if request.lora_int_id not in self._adapted:  # read once for each number
            base = copy.deepcopy(self.model)
            adapted = PeftModel.from_pretrained(base, request.lora_path).eval()
            assert adapted.active_peft_config.r <= self.arguments["max_lora_rank"]
            self._adapted[request.lora_int_id] = adapted
        return self._adapted[request.lora_int_id]

    @torch.no_grad()
    def _answer(
        self, prompt: list[int], params: SamplingParams, request: LoRARequest | None
    ) -> RequestOutput:
        if len(prompt) > self.model_config.max_model_len:
            raise ValueError(
                f"The decoder prompt (length {len(prompt)}) is longer than the maximum"
            )
        model = self._adapter(request)
        known = (*prompt, request and request.lora_name, request and request.lora_path)
        if known not in self._prefixes:
            self.calls.prompts_read += 1
            read = model(input_ids=torch.tensor([prompt]), use_cache=True)
            self._prefixes[known] = (read.past_key_values, read.logits[:, -1])
        rows = [self._row(model, *self._prefixes[known], params, i) for i in range(params.n)]
        return RequestOutput(prompt, rows)

    def _row(
        self, model: Any, prefix: Any, logits: Tensor, params: SamplingParams, index: int
    ) -> CompletionOutput:
        past = copy.deepcopy(prefix)
        noise = torch.Generator().manual_seed((params.seed or 0) + index)  # ParentRequest: seed + i
        ids: list[int] = []
        logprobs: list[dict[int, Logprob]] = []
        text, reason, stopped_by = "", None, None
        while reason is None:
            scores = processed(logits[0].double(), params)
            if params.temperature == 0:
                token = int(scores.argmax())
            else:
                token = int(torch.multinomial(scores.exp(), 1, generator=noise))
            ids.append(token + len(scores) if self.faults.beyond else token)
            logprobs.append({ids[-1]: Logprob(float(scores[token]), 1)})
            if token in (params.stop_token_ids or []):
                reason, stopped_by = "stop", token
            else:
                text = self.tokenizer.decode(ids, skip_special_tokens=True)
                stopped_by = next((stop for stop in params.stop or [] if stop in text), None)
                if stopped_by is not None:
                    reason, text = "stop", text[: text.find(stopped_by)]
                elif len(ids) == params.max_tokens:
                    reason = "length"
            if reason is None:
                step = model(
                    input_ids=torch.tensor([[token]]), past_key_values=past, use_cache=True
                )
                logits = step.logits[:, -1]
        if self.faults.abort:
            reason = "abort"
        return CompletionOutput(index, text, ids, 0.0, logprobs, reason, stopped_by)


def processed(logits: Tensor, params: SamplingParams) -> Tensor:
    """What vLLM's ``processed_logprobs`` are: from the smallest up, as its sampler filters."""
    if params.temperature > 0:
        logits = logits / params.temperature
    ordered, order = logits.sort()
    if params.top_k:
        ordered = ordered.masked_fill(ordered < ordered[-params.top_k], float("-inf"))
    if params.top_p < 1:
        below = ordered.softmax(-1).cumsum(-1) <= 1 - params.top_p
        below[-1] = False
        ordered = ordered.masked_fill(below, float("-inf"))
    return ordered.scatter(0, order, ordered).log_softmax(-1)


@contextmanager
def installed() -> Iterator[type[LLM]]:
    """Within this context ``import vllm`` gives the stand-in."""
    names = ("vllm", "vllm.lora", "vllm.lora.request")
    before = {name: sys.modules.get(name) for name in names}
    modules: dict[str, Any] = {name: types.ModuleType(name) for name in names}
    for name, module in modules.items():
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    modules["vllm"].LLM, modules["vllm"].SamplingParams = LLM, SamplingParams
    modules["vllm.lora.request"].LoRARequest = LoRARequest
    LLM.made = []
    sys.modules.update(modules)
    try:
        yield LLM
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
