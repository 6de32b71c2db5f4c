"""Choosing a stack of the model, for what every stack has: its inputs."""

from model.anatomy.structure import Stack
from model.files.loaded_model import LoadedModel
from ui.controls.control import Choice
from ui.controls.layer_control import STACKS


class StackControl:
    """The encoder or the decoder, as far as the model has them; the first until another is chosen."""

    def draw(self, loaded: LoadedModel) -> Stack:
        return loaded.anatomy.stack(STACKS[self._choice(loaded).draw()])

    def value(self, loaded: LoadedModel) -> Stack:
        """The stack chosen, also where the control is not on the page (presenter mode)."""
        return loaded.anatomy.stack(STACKS[self._choice(loaded).value()])

    def _choice(self, loaded: LoadedModel) -> Choice[str]:
        there = [stack.name for stack in loaded.anatomy.stacks]
        return Choice("Side", "stack", [label for label, name in STACKS.items() if name in there], goes_along=True)


STACK = StackControl()
