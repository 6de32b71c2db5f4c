"""Lesson: softmax(QKᵀ/√d_k)V in four steps, each a matrix one can click; why the root; what it costs."""

from pages.attention.scaled_dot_product.lesson import LESSON

__all__ = ["LESSON"]
