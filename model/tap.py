"""How every number gets out of the model, and how a change gets in.

Each module passes its intermediate values through a `tap`, a function of a name and a tensor, and goes on with what
the tap returns. The default tap returns its value unchanged. A `Recorder` keeps what passes. A tap that returns
another value changes what the model computes. Nothing is stored on a module, so one model can serve many threads.

Names are module paths: `encoder.layers.0.self_attn.weights`.
"""

from collections.abc import Callable

from torch import Tensor

Tap = Callable[[str, Tensor], Tensor]


def no_tap(name: str, value: Tensor) -> Tensor:
    """The tap that does nothing."""
    return value


class _Under:
    """A tap that puts `path` before every name and hands it to another tap."""

    __slots__ = ("path", "tap")

    def __init__(self, path: str, tap: Tap) -> None:
        self.path, self.tap = path, tap

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self.tap(self.path + name, value)


def under(prefix: str, tap: Tap) -> Tap:
    """A tap for a sub-module: puts `prefix.` before every name."""
    if tap is no_tap:
        return no_tap
    if isinstance(tap, _Under):  # one step for each value, however deep the sub-module
        return _Under(f"{tap.path}{prefix}.", tap.tap)
    return _Under(f"{prefix}.", tap)


class Recorder:
    """A tap that keeps every value under its name, after letting another tap (an intervention) change it.

    Raises: ValueError if one name passes twice, which would silently hide the first value.
    """

    def __init__(self, change: Tap = no_tap) -> None:
        self.change = change
        self.tensors: dict[str, Tensor] = {}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if self.change is not no_tap:
            value = self.change(name, value)
        if self.tensors.setdefault(name, value) is not value:
            raise ValueError(f"the tap {name!r} passed twice in one recording")
        return value
