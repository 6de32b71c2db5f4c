"""Attention to squeezed keys, against plain attention and a case worked out by hand."""

import pytest
import torch
from torch.testing import assert_close

from model.parts.attention import MultiHeadAttention
from model.parts.masks import causal_mask
from model.parts.squeezed_attention import CausalSqueezedAttention, SqueezedAttention, squeeze

LENGTH, D_MODEL, N_HEADS = 11, 12, 3


def test_squeeze_by_hand() -> None:
    """Five positions, two to a block: the last block has one, and a zero beside it."""
    x, weights = torch.tensor([1.0, 2, 3, 4, 5])[None, None, :, None], torch.tensor([[10.0, 1], [0, 2]])
    assert squeeze(x, weights).flatten().tolist() == [12, 4, 34, 8, 50, 0]


def test_blocks_that_keep_every_row_are_plain_attention() -> None:
    """With r = b the squeezed rows are the rows themselves, so nothing is lost."""
    padding = (torch.arange(8) < torch.tensor([[8], [5]]))[:, None, None]
    for kind, mask in ((SqueezedAttention, padding), (CausalSqueezedAttention, causal_mask(LENGTH))):
        x = torch.randn(2, mask.size(-1), D_MODEL)
        squeezed, plain = kind(D_MODEL, N_HEADS, 4, 4), MultiHeadAttention(D_MODEL, N_HEADS)
        plain.load_state_dict({name: one for name, one in squeezed.state_dict().items() if name.startswith("w_")})
        n = len(x) if kind is CausalSqueezedAttention else 1  # of a padded text the zeros behind it are keys as well
        assert_close(squeezed(x, x, mask)[:n], plain(x, x, mask)[:n], atol=1e-6, rtol=1e-6)


def test_a_row_begins_as_the_mean_of_its_share() -> None:
    module = SqueezedAttention(D_MODEL, N_HEADS, 6, 2)
    assert module.squeeze_k.tolist() == module.squeeze_v.tolist()
    assert_close(module.squeeze_k, torch.tensor([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]) / 3)


@pytest.mark.parametrize(("block", "n_squeezed"), [(4, 3), (0, 1), (4, 0)])
def test_sizes_that_do_not_fit_are_refused(block: int, n_squeezed: int) -> None:
    with pytest.raises(ValueError, match=f"block={block} is not divisible by n_squeezed={n_squeezed}"):
        SqueezedAttention(D_MODEL, N_HEADS, block, n_squeezed)
