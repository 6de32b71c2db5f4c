"""What the lesson on positions is made of: simpler rules that fail, the encoding seen closer, words shuffled."""

from pages.inputs.positional_encodings.lesson import LESSON

__all__ = ["LESSON"]
