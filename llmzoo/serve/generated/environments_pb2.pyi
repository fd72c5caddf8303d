from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Value(_message.Message):
    __slots__ = ("null", "flag", "integer", "real", "text", "data", "list", "map", "big_integer", "loose_text", "array", "reals")
    NULL_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    REAL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    MAP_FIELD_NUMBER: _ClassVar[int]
    BIG_INTEGER_FIELD_NUMBER: _ClassVar[int]
    LOOSE_TEXT_FIELD_NUMBER: _ClassVar[int]
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    REALS_FIELD_NUMBER: _ClassVar[int]
    null: bool
    flag: bool
    integer: int
    real: float
    text: str
    data: bytes
    list: List
    map: Map
    big_integer: bytes
    loose_text: bytes
    array: Array
    reals: Reals
    def __init__(self, null: _Optional[bool] = ..., flag: _Optional[bool] = ..., integer: _Optional[int] = ..., real: _Optional[float] = ..., text: _Optional[str] = ..., data: _Optional[bytes] = ..., list: _Optional[_Union[List, _Mapping]] = ..., map: _Optional[_Union[Map, _Mapping]] = ..., big_integer: _Optional[bytes] = ..., loose_text: _Optional[bytes] = ..., array: _Optional[_Union[Array, _Mapping]] = ..., reals: _Optional[_Union[Reals, _Mapping]] = ...) -> None: ...

class List(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, items: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Map(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ...) -> None: ...

class Reals(_message.Message):
    __slots__ = ("keys", "values")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, keys: _Optional[_Iterable[str]] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("key", "value", "other_key")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    OTHER_KEY_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: Value
    other_key: Value
    def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ..., other_key: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class Array(_message.Message):
    __slots__ = ("dtype", "shape", "data")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    def __init__(self, dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListReply(_message.Message):
    __slots__ = ("environments", "limits", "version")
    ENVIRONMENTS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    environments: _containers.RepeatedCompositeFieldContainer[Hosted]
    limits: Limits
    version: str
    def __init__(self, environments: _Optional[_Iterable[_Union[Hosted, _Mapping]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., version: _Optional[str] = ...) -> None: ...

class Hosted(_message.Message):
    __slots__ = ("id", "family", "summary", "agents", "terse", "offline")
    ID_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    TERSE_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    id: str
    family: str
    summary: str
    agents: _containers.RepeatedScalarFieldContainer[str]
    terse: Map
    offline: Map
    def __init__(self, id: _Optional[str] = ..., family: _Optional[str] = ..., summary: _Optional[str] = ..., agents: _Optional[_Iterable[str]] = ..., terse: _Optional[_Union[Map, _Mapping]] = ..., offline: _Optional[_Union[Map, _Mapping]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("message_bytes", "batch_items", "step_s", "make_s", "workers", "idle_s", "players")
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    BATCH_ITEMS_FIELD_NUMBER: _ClassVar[int]
    STEP_S_FIELD_NUMBER: _ClassVar[int]
    MAKE_S_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    IDLE_S_FIELD_NUMBER: _ClassVar[int]
    PLAYERS_FIELD_NUMBER: _ClassVar[int]
    message_bytes: int
    batch_items: int
    step_s: float
    make_s: float
    workers: int
    idle_s: float
    players: bool
    def __init__(self, message_bytes: _Optional[int] = ..., batch_items: _Optional[int] = ..., step_s: _Optional[float] = ..., make_s: _Optional[float] = ..., workers: _Optional[int] = ..., idle_s: _Optional[float] = ..., players: _Optional[bool] = ...) -> None: ...

class Spec(_message.Message):
    __slots__ = ("env", "arguments")
    ENV_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    env: str
    arguments: Map
    def __init__(self, env: _Optional[str] = ..., arguments: _Optional[_Union[Map, _Mapping]] = ...) -> None: ...

class Description(_message.Message):
    __slots__ = ("name", "agents", "observation_spaces", "action_spaces", "metadata", "fallback", "render_mode")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_SPACES_FIELD_NUMBER: _ClassVar[int]
    ACTION_SPACES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    RENDER_MODE_FIELD_NUMBER: _ClassVar[int]
    name: str
    agents: _containers.RepeatedScalarFieldContainer[str]
    observation_spaces: _containers.RepeatedCompositeFieldContainer[Text]
    action_spaces: _containers.RepeatedCompositeFieldContainer[Text]
    metadata: Map
    fallback: bool
    render_mode: Value
    def __init__(self, name: _Optional[str] = ..., agents: _Optional[_Iterable[str]] = ..., observation_spaces: _Optional[_Iterable[_Union[Text, _Mapping]]] = ..., action_spaces: _Optional[_Iterable[_Union[Text, _Mapping]]] = ..., metadata: _Optional[_Union[Map, _Mapping]] = ..., fallback: _Optional[bool] = ..., render_mode: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class Text(_message.Message):
    __slots__ = ("min_length", "max_length", "characters")
    MIN_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    min_length: int
    max_length: int
    characters: str
    def __init__(self, min_length: _Optional[int] = ..., max_length: _Optional[int] = ..., characters: _Optional[str] = ...) -> None: ...

class Item(_message.Message):
    __slots__ = ("session", "reset", "step", "fork", "look", "close")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    FORK_FIELD_NUMBER: _ClassVar[int]
    LOOK_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    reset: Reset
    step: Step
    fork: Fork
    look: Look
    close: Close
    def __init__(self, session: _Optional[bytes] = ..., reset: _Optional[_Union[Reset, _Mapping]] = ..., step: _Optional[_Union[Step, _Mapping]] = ..., fork: _Optional[_Union[Fork, _Mapping]] = ..., look: _Optional[_Union[Look, _Mapping]] = ..., close: _Optional[_Union[Close, _Mapping]] = ...) -> None: ...

class Reset(_message.Message):
    __slots__ = ("spec", "seed", "options")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    spec: Spec
    seed: Value
    options: Value
    def __init__(self, spec: _Optional[_Union[Spec, _Mapping]] = ..., seed: _Optional[_Union[Value, _Mapping]] = ..., options: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("texts", "actions", "way")
    class Way(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ONE: _ClassVar[Step.Way]
        EACH: _ClassVar[Step.Way]
        ADVANCE: _ClassVar[Step.Way]
    ONE: Step.Way
    EACH: Step.Way
    ADVANCE: Step.Way
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    WAY_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    actions: _containers.RepeatedCompositeFieldContainer[Value]
    way: Step.Way
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., actions: _Optional[_Iterable[_Union[Value, _Mapping]]] = ..., way: _Optional[_Union[Step.Way, str]] = ...) -> None: ...

class Fork(_message.Message):
    __slots__ = ("child",)
    CHILD_FIELD_NUMBER: _ClassVar[int]
    child: bytes
    def __init__(self, child: _Optional[bytes] = ...) -> None: ...

class Look(_message.Message):
    __slots__ = ("observe", "state", "render", "board", "expert", "noisy_expert", "chance", "view")
    OBSERVE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RENDER_FIELD_NUMBER: _ClassVar[int]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    EXPERT_FIELD_NUMBER: _ClassVar[int]
    NOISY_EXPERT_FIELD_NUMBER: _ClassVar[int]
    CHANCE_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    observe: _containers.RepeatedScalarFieldContainer[int]
    state: bool
    render: bool
    board: bool
    expert: _containers.RepeatedScalarFieldContainer[int]
    noisy_expert: int
    chance: Chance
    view: bool
    def __init__(self, observe: _Optional[_Iterable[int]] = ..., state: _Optional[bool] = ..., render: _Optional[bool] = ..., board: _Optional[bool] = ..., expert: _Optional[_Iterable[int]] = ..., noisy_expert: _Optional[int] = ..., chance: _Optional[_Union[Chance, _Mapping]] = ..., view: _Optional[bool] = ...) -> None: ...

class Chance(_message.Message):
    __slots__ = ("words", "gauss")
    WORDS_FIELD_NUMBER: _ClassVar[int]
    GAUSS_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedScalarFieldContainer[int]
    gauss: float
    def __init__(self, words: _Optional[_Iterable[int]] = ..., gauss: _Optional[float] = ...) -> None: ...

class Close(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Batch(_message.Message):
    __slots__ = ("items", "close")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    close: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., close: _Optional[_Iterable[bytes]] = ...) -> None: ...

class BatchReply(_message.Message):
    __slots__ = ("outcomes",)
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("status", "view", "paid", "sight", "view_left_out")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    PAID_FIELD_NUMBER: _ClassVar[int]
    SIGHT_FIELD_NUMBER: _ClassVar[int]
    VIEW_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    status: Status
    view: View
    paid: _containers.RepeatedCompositeFieldContainer[Paid]
    sight: Sight
    view_left_out: bool
    def __init__(self, status: _Optional[_Union[Status, _Mapping]] = ..., view: _Optional[_Union[View, _Mapping]] = ..., paid: _Optional[_Iterable[_Union[Paid, _Mapping]]] = ..., sight: _Optional[_Union[Sight, _Mapping]] = ..., view_left_out: _Optional[bool] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("code", "message", "error", "lost")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    error: str
    lost: bool
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., error: _Optional[str] = ..., lost: _Optional[bool] = ...) -> None: ...

class Paid(_message.Message):
    __slots__ = ("amounts", "agents")
    AMOUNTS_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    amounts: _containers.RepeatedScalarFieldContainer[float]
    agents: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, amounts: _Optional[_Iterable[float]] = ..., agents: _Optional[_Iterable[int]] = ...) -> None: ...

class View(_message.Message):
    __slots__ = ("agents", "selection", "rewards", "cumulative_rewards", "terminations", "truncations", "infos", "observations")
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    CUMULATIVE_REWARDS_FIELD_NUMBER: _ClassVar[int]
    TERMINATIONS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATIONS_FIELD_NUMBER: _ClassVar[int]
    INFOS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedScalarFieldContainer[int]
    selection: int
    rewards: _containers.RepeatedScalarFieldContainer[float]
    cumulative_rewards: _containers.RepeatedScalarFieldContainer[float]
    terminations: _containers.RepeatedScalarFieldContainer[bool]
    truncations: _containers.RepeatedScalarFieldContainer[bool]
    infos: _containers.RepeatedCompositeFieldContainer[Map]
    observations: _containers.RepeatedCompositeFieldContainer[Observation]
    def __init__(self, agents: _Optional[_Iterable[int]] = ..., selection: _Optional[int] = ..., rewards: _Optional[_Iterable[float]] = ..., cumulative_rewards: _Optional[_Iterable[float]] = ..., terminations: _Optional[_Iterable[bool]] = ..., truncations: _Optional[_Iterable[bool]] = ..., infos: _Optional[_Iterable[_Union[Map, _Mapping]]] = ..., observations: _Optional[_Iterable[_Union[Observation, _Mapping]]] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ("agent", "text", "other")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    agent: int
    text: str
    other: Value
    def __init__(self, agent: _Optional[int] = ..., text: _Optional[str] = ..., other: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class Sight(_message.Message):
    __slots__ = ("observations", "state", "render", "board", "experts", "noisy_expert", "chance")
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RENDER_FIELD_NUMBER: _ClassVar[int]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    EXPERTS_FIELD_NUMBER: _ClassVar[int]
    NOISY_EXPERT_FIELD_NUMBER: _ClassVar[int]
    CHANCE_FIELD_NUMBER: _ClassVar[int]
    observations: _containers.RepeatedCompositeFieldContainer[Observation]
    state: Value
    render: Value
    board: Value
    experts: _containers.RepeatedCompositeFieldContainer[Value]
    noisy_expert: Value
    chance: Chance
    def __init__(self, observations: _Optional[_Iterable[_Union[Observation, _Mapping]]] = ..., state: _Optional[_Union[Value, _Mapping]] = ..., render: _Optional[_Union[Value, _Mapping]] = ..., board: _Optional[_Union[Value, _Mapping]] = ..., experts: _Optional[_Iterable[_Union[Value, _Mapping]]] = ..., noisy_expert: _Optional[_Union[Value, _Mapping]] = ..., chance: _Optional[_Union[Chance, _Mapping]] = ...) -> None: ...
