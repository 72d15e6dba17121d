"""NVIDIA shared-memory bank conflicts and warp layouts: all that `simulator` exports, lazily.

    from bankwise import simulate, count, explain, replay, replay_compiled, sweep, optimize

`bankwise.simulate` is `simulator.simulate`. Importing this package loads nothing else; the first
name asked for loads `simulator`. Raises ImportError where another folder hides that package.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator import *  # noqa: F403
    from simulator import __all__ as __all__
else:  # so that type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name == "__all__" or not name.startswith("__"):  # not what tools ask of any module
            from bankwise.hidden import hidden

            if message := hidden("layouts", "simulator"):
                raise ImportError(message)
            import simulator

            if name == "__all__" or name in simulator.__all__:
                found = globals()[name] = getattr(simulator, name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        import simulator

        return dir(simulator)
