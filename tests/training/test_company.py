"""Vectors of words from running text."""

import math

import torch

from model.families.two_towers import parts_of
from training import company
from training.company import fitted_table, word_vectors


def test_words_in_the_same_company_lie_together() -> None:
    """Two circles of words that never meet."""
    torch.manual_seed(1)
    lines = []
    for n in range(200):
        circle = "dog cat mouse hare".split() if n % 2 else "ship boat sail raft".split()
        lines.append(" the ".join(circle[(n + k * (1 + n % 3)) % 4] for k in range(4)))
    words, vectors = word_vectors(lines, 2)
    at = {word: vectors[n] for n, word in enumerate(words)}
    assert set(words) == set("dog cat mouse hare ship boat sail raft".split())  # no small ones
    assert torch.allclose(vectors.norm(dim=1), torch.ones(len(words)), atol=1e-5)
    assert at["dog"] @ at["mouse"] > 0.9
    assert at["dog"] @ at["boat"] < 0.1


def test_surprise_is_how_much_more_often_than_by_chance() -> None:
    """Worked out by hand: b stands beside a twice and beside c once; nothing reaches over a gap."""
    row = torch.tensor([0, 1, -1, -1, -1, -1, -1, 1, 0, -1, -1, -1, -1, -1, 1, 2]).numpy()
    found = company._surprise(row, 3).to_dense()
    total = 2**0.75 + 3**0.75 + 1
    assert found[0, 1].item() == torch.tensor(math.log((2 / 2) / (3**0.75 / total))).float().item()
    assert found[1, 2].item() == torch.tensor(math.log((1 / 3) / (1 / total))).float().item()
    assert found[0, 2] == found[0, 0] == 0


def test_rare_words_get_no_vector() -> None:
    words, _ = word_vectors(["dog cat mouse hare ship"] * company.FEWEST + ["fox boat"] * (company.FEWEST - 1), 2)
    assert set(words) == {"dog", "cat", "mouse", "hare", "ship"}


def test_the_mean_of_a_words_rows_is_its_vector() -> None:
    words, generator = ["dog", "dogs", "cat"], torch.Generator().manual_seed(2)
    vectors = torch.nn.functional.normalize(torch.randn(3, 5, generator=generator), dim=1)
    table = fitted_table(words, vectors, 97)
    means = torch.stack([table[parts_of(word, 97)].mean(0) for word in words])
    assert torch.allclose(means, vectors, atol=0.02)
    assert not table[0].any()  # the row for none
