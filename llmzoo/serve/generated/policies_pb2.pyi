from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PolicyInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PolicyInfo(_message.Message):
    __slots__ = ("name", "instance", "prompt_style", "sampling", "context", "limits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_STYLE_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    instance: str
    prompt_style: str
    sampling: Sampling
    context: int
    limits: GenerateLimits
    def __init__(self, name: _Optional[str] = ..., instance: _Optional[str] = ..., prompt_style: _Optional[str] = ..., sampling: _Optional[_Union[Sampling, _Mapping]] = ..., context: _Optional[int] = ..., limits: _Optional[_Union[GenerateLimits, _Mapping]] = ...) -> None: ...

class GenerateLimits(_message.Message):
    __slots__ = ("requests", "rows", "new_tokens", "message_bytes", "prompt_characters", "call_characters")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROMPT_CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    CALL_CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    requests: int
    rows: int
    new_tokens: int
    message_bytes: int
    prompt_characters: int
    call_characters: int
    def __init__(self, requests: _Optional[int] = ..., rows: _Optional[int] = ..., new_tokens: _Optional[int] = ..., message_bytes: _Optional[int] = ..., prompt_characters: _Optional[int] = ..., call_characters: _Optional[int] = ...) -> None: ...

class Sampling(_message.Message):
    __slots__ = ("temperature", "top_p", "top_k", "max_new_tokens", "stop")
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    MAX_NEW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    temperature: float
    top_p: float
    top_k: int
    max_new_tokens: int
    stop: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., max_new_tokens: _Optional[int] = ..., stop: _Optional[_Iterable[str]] = ...) -> None: ...

class GenerateRequest(_message.Message):
    __slots__ = ("instance", "k", "greedy", "sampling", "asks")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    GREEDY_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    ASKS_FIELD_NUMBER: _ClassVar[int]
    instance: str
    k: int
    greedy: bool
    sampling: Sampling
    asks: _containers.RepeatedCompositeFieldContainer[Ask]
    def __init__(self, instance: _Optional[str] = ..., k: _Optional[int] = ..., greedy: _Optional[bool] = ..., sampling: _Optional[_Union[Sampling, _Mapping]] = ..., asks: _Optional[_Iterable[_Union[Ask, _Mapping]]] = ...) -> None: ...

class Ask(_message.Message):
    __slots__ = ("agent", "observation", "key", "seed")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    agent: str
    observation: str
    key: int
    seed: int
    def __init__(self, agent: _Optional[str] = ..., observation: _Optional[str] = ..., key: _Optional[int] = ..., seed: _Optional[int] = ...) -> None: ...

class Answers(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[Answer]
    def __init__(self, answers: _Optional[_Iterable[_Union[Answer, _Mapping]]] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("ask", "prompt_ids", "completions")
    ASK_FIELD_NUMBER: _ClassVar[int]
    PROMPT_IDS_FIELD_NUMBER: _ClassVar[int]
    COMPLETIONS_FIELD_NUMBER: _ClassVar[int]
    ask: int
    prompt_ids: _containers.RepeatedScalarFieldContainer[int]
    completions: _containers.RepeatedCompositeFieldContainer[Completion]
    def __init__(self, ask: _Optional[int] = ..., prompt_ids: _Optional[_Iterable[int]] = ..., completions: _Optional[_Iterable[_Union[Completion, _Mapping]]] = ...) -> None: ...

class Completion(_message.Message):
    __slots__ = ("text", "ids", "logprobs", "truncated", "refused")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    text: str
    ids: _containers.RepeatedScalarFieldContainer[int]
    logprobs: _containers.RepeatedScalarFieldContainer[float]
    truncated: bool
    refused: bool
    def __init__(self, text: _Optional[str] = ..., ids: _Optional[_Iterable[int]] = ..., logprobs: _Optional[_Iterable[float]] = ..., truncated: _Optional[bool] = ..., refused: _Optional[bool] = ...) -> None: ...
