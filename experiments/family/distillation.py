"""A student beside its teacher: how far apart what they say is."""

from dataclasses import replace
from typing import Any

import numpy as np

from experiments.family.language_models import published
from model.anatomy.structure import Made
from model.files.loaded_model import Array, LoadedModel
from model.trace import Trace

STUDENTS = TAUGHT, UNTAUGHT = "distilled", "untaught"  # names of models; their teacher is bert-mini
FILE = "against_teacher.json"  # in their folders; training.measure.distillation writes it
TERMS, TEACHER, STUDENT = "divergence", "teacher.logits", "student.logits"


def figures(student: str) -> dict[str, Any]:
    """What was measured of a student beside its teacher. Raises: CheckpointError, naming the file"""
    return published(student, FILE)


def terms(teacher: np.ndarray, student: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """What each entry adds to KL(teacher‖student), in nats.

    Args:    teacher, student: logits (…,V)
    Returns: (…,V,3): its probability by the teacher, p, and by the student, q, both softened; and p · ln(p/q)
    Source:  Hinton et al. 2015, §2. Differs: none
    """
    log_p, log_q = (log_softmax(one.astype(np.float64) / temperature) for one in (teacher, student))
    return np.stack([np.exp(log_p), np.exp(log_q), np.exp(log_p) * (log_p - log_q)], -1)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """ln of the softmax over the last axis; finite where a probability is too small for a number."""
    shifted = logits - logits.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


def compared(trace: Trace, loaded: LoadedModel, teacher: Array, student: Array, temperature: float) -> Trace:
    """The `terms` (V,3) of one blank, and the logits (V) that they are made from, for Check. loaded: the teacher"""
    made = Made(TERMS, (TEACHER, STUDENT), (), ("vocab", "numbers"), (temperature,))
    anatomy = replace(loaded.anatomy, tensors={TERMS: made})
    tensors = {TEACHER: teacher, STUDENT: student, TERMS: terms(teacher, student, temperature)}
    return replace(trace, model=replace(loaded, anatomy=anatomy), tensors=tensors)
