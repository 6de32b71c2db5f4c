"""What the parts of a model have in common: they are torch's modules, called without detours.

A step of decoding calls some fifty parts, each for little work: there the detours of a call count.
"""

from typing import Any, NoReturn, Self

from torch import Tensor, nn


class Part(nn.Module):
    """A module whose call is its `forward`. torch's own call looks for hooks first; here taps do their work.

    Raises: TypeError where a hook is registered, since it would never be called
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    # torch keeps weights and sub-modules where Python finds them only after it has looked everywhere else: to find a
    # weight took half as long as to multiply one row with it. So they are attributes like any other as well.

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        super().register_parameter(name, param)
        self.__dict__[name] = param

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, nn.Module):
            self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        kept_by_torch = name in self._parameters or name in self._modules
        super().__delattr__(name)
        if kept_by_torch:
            del self.__dict__[name]

    def _apply(self, *args: Any, **kwargs: Any) -> Self:
        super()._apply(*args, **kwargs)
        self.__dict__.update(self._parameters)  # to some devices torch moves a weight by putting another in its place
        return self

    def _no_hooks(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} calls no hooks: hand a tap to its forward, see model.tap")

    register_forward_hook = register_forward_pre_hook = _no_hooks
    register_full_backward_hook = register_full_backward_pre_hook = _no_hooks


class Dropout(Part, nn.Dropout):
    """torch's dropout, which while nothing is learned returns its input at once.

    Args:    x (any shape)
    Returns: x; in training some of its numbers 0 and the others larger, so that the mean stays
    Source:  Srivastava et al. 2014, §4; Vaswani et al. 2017, §5.4
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if self.training else x
