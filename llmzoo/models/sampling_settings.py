"""Settings of sampling. :mod:`llmzoo.models.sampling` applies them to logits."""

from __future__ import annotations

from dataclasses import dataclass

from llmzoo.errors import ConfigError

# below, sampling is greedy up to rounding, and logits / temperature can overflow float32; above, it is
# uniform
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-4, 100.0
MIN_TOP_P = 1e-6  # less rounds to 0 in float32, and no token would be left
MAX_TOKENS = 2**20
MAX_STOPS, MAX_STOP_LENGTH = 64, 1000  # number of strings, characters of each


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling settings of an agent.

    ``top_k=0`` and ``top_p=1.0`` switch these filters off. A completion ends with the end-of-sequence
    token, with one of the ``stop`` strings (which its text leaves out), or after ``max_new_tokens``
    (it is then marked as truncated).

    Raises :class:`ConfigError` for settings out of bounds: ``temperature`` is 1e-4 to 100, ``top_p`` at
    least 1e-6, ``max_new_tokens`` at most 2**20, and ``stop`` at most 64 strings of 1 to 1000
    characters.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int = 256
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not MIN_TEMPERATURE <= self.temperature <= MAX_TEMPERATURE:  # NaN too
            raise ConfigError(
                f"temperature is {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}, got {self.temperature:g}; for the most "
                "likely completion ask for greedy"
            )
        if not MIN_TOP_P <= self.top_p <= 1:
            raise ConfigError(f"top_p must be in [{MIN_TOP_P:g}, 1], got {self.top_p}")
        if not 0 <= self.top_k < 2**31:
            raise ConfigError(f"top_k must be at least 0 and below 2**31, got {self.top_k}")
        if not 1 <= self.max_new_tokens <= MAX_TOKENS:
            raise ConfigError(f"max_new_tokens is 1 to {MAX_TOKENS}, got {self.max_new_tokens}")
        if len(self.stop) > MAX_STOPS or not all(0 < len(s) <= MAX_STOP_LENGTH for s in self.stop):
            raise ConfigError(
                f"stop takes at most {MAX_STOPS} strings, each of 1 to {MAX_STOP_LENGTH} characters; "
                "an empty one would end every completion before it begins"
            )
