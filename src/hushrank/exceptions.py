"""Errors with a meaning of their own. Plain functions on arrays (linalg) raise ValueError and TypeError."""

from typing import Any


class HushrankError(Exception):
    """Base of all hushrank errors."""


class BudgetWarning(UserWarning):
    """Said before a charge: epsilon or delta are so large that the guarantee promises little."""


class DataWarning(UserWarning):
    """Said before a charge, from public facts alone: names of columns, or memory, speak against a fit."""


class InvalidParameter(HushrankError, ValueError):
    """A parameter, shape or dtype is not what it must be; nothing was released.

    Nothing was charged either, except where only reading tells: a later block of a stream with other columns, or
    the number of rows of a stream or CSV file.

    Parameters
    ----------
    owner : str
        The function or class whose parameter it is.
    name : str
        The parameter.
    requirement : str
        What it must be, read after "must be".
    got : object
        What it was.

    Examples
    --------
    >>> print(InvalidParameter("PrivatePCA", "row_norm", "a float > 0", -1))
    row_norm of PrivatePCA must be a float > 0; got -1.
    """

    def __init__(self, owner: str, name: str, requirement: str, got: Any) -> None:
        self.owner, self.name, self.requirement, self.got = owner, name, requirement, got
        longest = 160 if isinstance(got, str) else 80  # a sentence is not cut before its end
        shown = repr(got) if len(repr(got)) <= longest else f"{type(got).__name__} {repr(got)[:60]}..."
        super().__init__(f"{name} of {owner} must be {requirement}; got {shown}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.owner, self.name, self.requirement, self.got)


class BudgetExceeded(HushrankError):
    """A share was asked for that the budget no longer holds; nothing was handed out.

    `asked` and `left` count in `currency`: "mu^2" for Gaussian shares, "epsilon" for pure ones. `words` say the same to
    people, where the budget is that of an account.
    """

    def __init__(self, asked: float, left: float, currency: str, words: str = "") -> None:
        self.asked, self.left, self.currency, self.words = asked, left, currency, words
        said = words or f"asked for {currency} = {asked:.6g}, left {left:.6g}"
        super().__init__(f"budget exceeded: {said}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.asked, self.left, self.currency, self.words)


class StateMisuse(HushrankError, RuntimeError):
    """A budget or a source of noise was copied, pickled or used after a fork: it has one owner, in one process."""


class KeystreamMisuse(StateMisuse):
    """A key stream or noise source was copied, pickled or used after a fork: the noise could repeat."""


class UnsuitableArithmetic(HushrankError, RuntimeError):
    """The installed BLAS breaks the error bound that exact rounding rests on; nothing was released."""


class LedgerError(HushrankError):
    """A ledger or one of its data sets is missing, closed, damaged or out of reach.

    Nothing was charged, unless the message says that the outcome is unknown: a connection broke during the commit.
    """


class NotFitted(HushrankError):
    """A result was asked for before anything was released."""


class ModelFileError(HushrankError):
    """A file is not a hushrank model, is damaged, or was written by a newer version; nothing was loaded."""


class StatementError(HushrankError):
    """A privacy statement cannot be made of this, or a file is none, is damaged, or contradicts itself."""


class CheckpointError(HushrankError):
    """A file is not a checkpoint that this holder of the key wrote, is damaged, or was written by a newer version.

    Nothing was loaded. Also: a key or a checkpoint cannot be read or written.
    """


class PlanBroken(HushrankError, RuntimeError):
    """The events that were executed are not the planned ones: a bug in the estimator; its result was discarded."""


class SamplingFailed(HushrankError, RuntimeError):
    """A sampler spent its limit of work without a draw; nothing was released.

    Parameters
    ----------
    sampler : str
        Which one.
    reason : str
        What was tried, and what to use instead.
    """

    def __init__(self, sampler: str, reason: str) -> None:
        self.sampler, self.reason = sampler, reason
        super().__init__(f"sampler {sampler!r} failed: {reason}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sampler, self.reason)
