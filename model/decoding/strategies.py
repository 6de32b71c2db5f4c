"""From scores to a sentence: greedy, beam search and sampling, each a generator that yields one step at a time.

Every method writes the target left to right, one token a step, and stops at `<eos>` or at `max_steps`. The first tokens
may be given (`prefix`): then the method goes on from there.
"""

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from model.families.network import Network
from model.parts.layers import Memory
from model.tap import Tap, no_tap
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID

N_CANDIDATES = 10  # how many of a step's likeliest tokens are kept for display


class PrefixError(ValueError):
    """Given tokens that no translation begins with; the message names the first that does not fit."""


@dataclass(frozen=True)
class Greedy:
    """Always take the likeliest token."""

    max_steps: int = 128
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sampling:
    """Draw the next token from the distribution, narrowed and sharpened.

    temperature: logits are divided by it; 0 means greedy
    top_k:       keep the k likeliest tokens; 0 keeps all
    top_p:       keep the fewest tokens whose probabilities reach p, at least one (Holtzman et al. 2020, §3.1)
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    max_steps: int = 128
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True)
class Beam:
    """Keep the `size` likeliest unfinished translations at every step.

    length_penalty: α of Wu et al. 2016, §7, Eq. 14: scores are divided by ((5 + length)/6)^α. 0 favours short ones.
    """

    size: int = 4
    length_penalty: float = 1.0
    max_steps: int = 128
    prefix: tuple[int, ...] = ()


Decoding = Greedy | Sampling | Beam


@dataclass(frozen=True)
class Candidate:
    """A token that might have been next, and its probability."""

    id: int
    probability: float


@dataclass(frozen=True)
class Hypothesis:
    """A translation begun: its ids without `<sos>`, and the sum of their log-probabilities in nats.

    parent: index, among the previous step's hypotheses, of the one that this one extends.
    """

    ids: tuple[int, ...]
    log_probability: float
    parent: int = 0

    @property
    def finished(self) -> bool:
        return self.ids[-1:] == (EOS_ID,)

    def score(self, length_penalty: float) -> float:
        """Log-probability divided by ((5 + length)/6)^α."""
        return self.log_probability / ((5 + len(self.ids)) / 6) ** length_penalty


@dataclass(frozen=True)
class Step:
    """What one step looked at and what it kept.

    candidates:  the likeliest next tokens of the best prefix, with the model's own probabilities
    hypotheses:  the translations kept, best first: one for greedy and sampling, up to `size` for a beam
    finished:    a beam's finished translations so far, best first
    pruned:      the likeliest extensions that a beam looked at and dropped, best first
    """

    candidates: tuple[Candidate, ...]
    hypotheses: tuple[Hypothesis, ...]
    finished: tuple[Hypothesis, ...] = ()
    pruned: tuple[Hypothesis, ...] = ()

    @property
    def best(self) -> Hypothesis:
        return (self.finished or self.hypotheses)[0]


def mask_special_tokens(logits: Tensor) -> Tensor:
    """Log-probabilities (N,V) in nats from logits (N,V); −∞ for `<pad>` and `<sos>`, which are never written."""
    log_probabilities = logits.log_softmax(-1)
    log_probabilities[:, [PAD_ID, SOS_ID]] = -math.inf
    return log_probabilities


class NextToken:
    """Scores the token after each of several prefixes of one source sentence's translation.

    It keeps a key-value cache, by default only if nothing is tapped: a change may reach positions that a cache takes
    for settled, and then every position has to be computed anew.
    """

    def __init__(self, model: Network, memory: Memory, tap: Tap = no_tap, cached: bool | None = None) -> None:
        self.model, self.memory, self.tap = model, memory, tap
        self.vocab_size = model.embedding.matrix.num_embeddings
        self.cache = model.new_cache() if (tap is no_tap if cached is None else cached) else None

    def log_probabilities(self, prefixes: list[tuple[int, ...]]) -> Tensor:
        """(N,V) in nats, for N prefixes of equal length without `<sos>`; see `mask_special_tokens`."""
        tgt_ids = torch.tensor([[SOS_ID, *prefix] for prefix in prefixes], device=self.memory.states.device)
        return mask_special_tokens(self.model.decode(tgt_ids, self.memory, self.cache, self.tap)[:, -1])

    def select(self, rows: list[int]) -> None:
        """Go on with these prefixes, in this order."""
        if self.cache is not None:
            self.cache.select(torch.tensor(rows, device=self.memory.states.device))


def _candidates(log_probabilities: Tensor) -> tuple[Candidate, ...]:
    """The likeliest tokens of one row (V,)."""
    top = log_probabilities.topk(N_CANDIDATES)
    return tuple(Candidate(i, math.exp(p)) for i, p in zip(top.indices.tolist(), top.values.tolist(), strict=True))


def check_prefix(prefix: tuple[int, ...], vocab_size: int, max_steps: int) -> None:
    """Raise PrefixError unless a translation of at most `max_steps` tokens may begin with these ids."""
    if len(prefix) > max_steps:
        raise PrefixError(f"{len(prefix)} tokens are given, but a translation ends after {max_steps}")
    for n, id in enumerate(prefix):
        if not 0 <= id < vocab_size:
            raise PrefixError(f"id {id} is not in the vocabulary of {vocab_size} entries")
        if id in (PAD_ID, SOS_ID):
            raise PrefixError(f"id {id} is a sign that is never written")
        if id == EOS_ID and n < len(prefix) - 1:
            raise PrefixError(f"nothing can follow id {id}, the end of the sentence")


def forced_prefix_steps(next_token: NextToken, decoding: Decoding) -> Generator[Step, None, Hypothesis]:
    """The steps whose token is given, with the model's own candidates; returns the translation begun."""
    check_prefix(decoding.prefix, next_token.vocab_size, decoding.max_steps)
    begun = Hypothesis((), 0.0)
    for id in decoding.prefix:
        row = next_token.log_probabilities([begun.ids])[0]
        begun = Hypothesis((*begun.ids, id), begun.log_probability + row[id].item())
        yield Step(_candidates(row), (begun,))
    return begun


def greedy_steps(next_token: NextToken, decoding: Greedy) -> Iterator[Step]:
    """The likeliest token, again and again."""
    best = yield from forced_prefix_steps(next_token, decoding)
    while not best.finished and len(best.ids) < decoding.max_steps:
        row = next_token.log_probabilities([best.ids])[0]
        candidates = _candidates(row)
        id = candidates[0].id
        best = Hypothesis((*best.ids, id), best.log_probability + row[id].item())
        yield Step(candidates, (best,))


def filter_logits(log_probabilities: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    """The distribution (V,) that sampling draws from, given log-probabilities (V,)."""
    if temperature <= 0:
        return torch.nn.functional.one_hot(log_probabilities.argmax(), len(log_probabilities)).float()
    probabilities = (log_probabilities / temperature).softmax(-1)
    ordered, order = probabilities.sort(descending=True)
    # A token stays if the ones before it have not yet reached p; so the first always stays.
    stays = ordered.cumsum(-1) - ordered < top_p
    stays[0] = True
    if top_p >= 1:  # the sum of the others may round up to 1
        stays[:] = True
    if top_k > 0:
        stays[top_k:] = False
    narrowed = torch.zeros_like(probabilities).scatter(0, order, ordered * stays)
    return narrowed / narrowed.sum()


def sampling_steps(next_token: NextToken, decoding: Sampling) -> Iterator[Step]:
    """Draw each token. The same seed draws the same sentence."""
    generator = torch.Generator().manual_seed(decoding.seed)  # on the CPU: the same draw on every device
    best = yield from forced_prefix_steps(next_token, decoding)
    while not best.finished and len(best.ids) < decoding.max_steps:
        row = next_token.log_probabilities([best.ids])[0]
        distribution = filter_logits(row, decoding.temperature, decoding.top_k, decoding.top_p).cpu()
        index = int(torch.multinomial(distribution, 1, generator=generator))
        best = Hypothesis((*best.ids, index), best.log_probability + row[index].item())
        yield Step(_candidates(row), (best,))


def beam_steps(next_token: NextToken, decoding: Beam) -> Iterator[Step]:
    """Extend every kept hypothesis by every token and keep the `size` best; stop when `size` have finished.

    Differs: a hypothesis that ends is set aside only if it is among the `size` best extensions, as usual in practice.
    """

    def score(hypothesis: Hypothesis) -> float:
        return hypothesis.score(decoding.length_penalty)

    begun = yield from forced_prefix_steps(next_token, decoding)
    hypotheses: tuple[Hypothesis, ...] = (begun,)
    finished: tuple[Hypothesis, ...] = ()
    if begun.finished:
        return
    for _ in range(decoding.max_steps - len(begun.ids)):
        rows = next_token.log_probabilities([h.ids for h in hypotheses])  # (N,V)
        totals = rows + torch.tensor([[h.log_probability] for h in hypotheses], device=rows.device)
        # Twice as many as are kept: enough, were all the `size` best to end here.
        top = totals.flatten().topk(min(2 * decoding.size, totals.numel()))
        extensions = []
        for total, flat in zip(top.values.tolist(), top.indices.tolist(), strict=True):
            parent, token = divmod(flat, rows.size(1))
            extensions.append(Hypothesis((*hypotheses[parent].ids, token), total, parent))
        ended = [h for h in extensions[: decoding.size] if h.finished]
        finished = tuple(sorted((*finished, *ended), key=score, reverse=True))
        hypotheses = tuple([h for h in extensions if not h.finished][: decoding.size])
        pruned = tuple(h for h in extensions if h not in hypotheses and h not in ended)
        yield Step(_candidates(rows[0]), hypotheses, finished, pruned)
        if len(finished) >= decoding.size:
            return
        next_token.select([h.parent for h in hypotheses])


def decoding_steps(next_token: NextToken, decoding: Decoding) -> Iterator[Step]:
    """The steps of whichever method `decoding` describes."""
    match decoding:
        case Greedy():
            return greedy_steps(next_token, decoding)
        case Sampling():
            return sampling_steps(next_token, decoding)
        case Beam():
            return beam_steps(next_token, decoding)
