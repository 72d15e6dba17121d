"""Spaces too large to enumerate: optuna's tree-structured Parzen estimator, always seeded alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from simulator.errors import MissingPackageError, install

if TYPE_CHECKING:
    import optuna

__all__ = ["available", "sample"]


def available() -> bool:
    """Whether optuna is installed (the extra `search`)."""
    return find_spec("optuna") is not None


def sample(
    choices: Mapping[str, Sequence[Any]],
    evaluate: Callable[[dict[str, Any]], int | None],
    *,
    trials: int,
    enough: int,
) -> None:
    """Let optuna choose what to evaluate: `trials` times, or until a cost is `enough`.

    `evaluate` gives a cost, or None for values that cannot be; keeping the best is its task.
    Raises MissingPackageError where optuna is not installed.
    """
    if not available():
        raise MissingPackageError(
            "this space is too large to enumerate, and optuna, which would sample it, is not"
            f" installed ({install('search')}; or give a smaller space, or a higher limit)"
        )
    import optuna

    def objective(trial: optuna.Trial) -> float:
        values = {
            name: values[trial.suggest_int(name, 0, len(values) - 1)]
            for name, values in choices.items()
        }
        cost = evaluate(values)
        if cost is None:
            raise optuna.TrialPruned
        return float(cost)

    def stop(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.value is not None and trial.value <= enough:
            study.stop()

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(objective, n_trials=trials, callbacks=[stop])
    finally:
        optuna.logging.set_verbosity(before)
