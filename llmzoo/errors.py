"""The errors that llmzoo raises on purpose, and the categories of its warnings.

What a model writes never raises: it is scored, and named in ``infos[agent]["error"]``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_MAX_NAME_LENGTH = 200  # characters of an unknown name; difflib is slow on long ones


# short names in the field
_SHORT_NAMES = {"lr": "learning_rate", "bs": "episodes_per_step"}


class LlmzooError(Exception):
    """Base class of every error raised by llmzoo on purpose."""


class UnknownNameError(LlmzooError, KeyError):
    """A name (environment id, learner, option) that is not known.

    The message suggests the nearest known name.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        known = sorted(known)
        name = name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}..."
        dashes = "--" if name.startswith("--") else ""
        short = dashes + _SHORT_NAMES.get(name.removeprefix("--"), "")
        near = (
            [short] if short in known else difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        )
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {', '.join(known)}")

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class MissingExtraError(LlmzooError, ImportError):
    """Something needs packages that the core install leaves out."""

    def __init__(self, what: str, extra: str, missing: str | None = None):
        detail = f" (no module named {missing!r})" if missing else ""
        super().__init__(
            f"{what} needs the extra {extra!r}{detail}: pip install 'llmzoo-marl[{extra}]'"
        )


@contextmanager
def require_extra(what: str, extra: str) -> Iterator[None]:
    """For imports: a package that is not installed raises :class:`MissingExtraError`."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(what, extra, error.name) from error


class ConfigError(LlmzooError, ValueError):
    """A configuration whose values cannot be used."""


class PromptsTooLongError(ConfigError):
    """A model's context is too short for every example or prompt that it was to learn from."""


class NoScriptedPolicyError(LlmzooError, NotImplementedError):
    """An environment has no scripted player of the kind asked for."""


class NoSolutionError(NoScriptedPolicyError):
    """A task has no known solution, so that its scripted players have nothing to write."""


class EndpointError(LlmzooError, RuntimeError):
    """An endpoint does not answer, so there is nothing to evaluate or to learn from."""


class DivergedError(LlmzooError, ArithmeticError):
    """Training produced a loss or a gradient that is not finite."""


class OutOfMemoryError(LlmzooError, MemoryError):
    """A pass of a model did not fit into the memory of its GPU."""


class CheckpointError(LlmzooError, RuntimeError):
    """A checkpoint that is absent, incomplete, or of another run."""


class RankZeroError(LlmzooError):
    """Rank 0 has raised an error. The other ranks raise this one, so that all of them stop."""


class SandboxError(LlmzooError, RuntimeError):
    """Code could not be run safely, or could not be judged. The fault is not in the code itself."""


class ServiceError(LlmzooError, RuntimeError):
    """A service that an environment needs, such as a judge or the server of a tool, gave no result.

    The environments of this package then end the episode without a reward, with the reason in
    ``infos[agent]["failure"]``. Such an episode is counted, and nothing is learned from it.
    """


class WorkerError(LlmzooError, RuntimeError):
    """A worker raised an error of another package, died repeatedly, or was not ready in time."""


# what happens where a public set cannot be reached; the warning and the error say the same
SAMPLE_RULE = (
    "make and play take the shipped sample of other problems instead; training, evaluation and "
    "collection refuse it unless you ask for it with source='sample' (--source sample) or give a file"
)


class FallbackWarning(UserWarning):
    """A shipped sample is played, since the public set that was asked for cannot be reached."""


class CudaGraphWarning(UserWarning):
    """A GPU's decoding steps run without a CUDA graph, since they cannot be captured."""


class MaxRowsWarning(UserWarning):
    """Sampling takes fewer rows at once, since ``max_rows`` did not fit into a GPU's memory."""


class SkippedRecordsWarning(UserWarning):
    """Bad records of a source were skipped, as ``on_bad_record="skip"`` says."""


class ZeroVarianceWarning(UserWarning):
    """A trained agent learns nothing: all its completions of a prompt have the same return."""


class CollapseWarning(UserWarning):
    """The returns of a run have fallen clearly: training undoes what the model has learned."""


class RewardAttackWarning(UserWarning):
    """Returns rise while success falls: the reward pays for something other than the task."""
