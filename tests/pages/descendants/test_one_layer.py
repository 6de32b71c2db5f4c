"""The counter of the lesson on ALBERT against the networks themselves."""

import torch

from experiments.family.sizes import total
from model.build import build_network
from pages.descendants.one_layer import PUBLISHED, ours


def test_the_counts_are_those_of_the_networks() -> None:
    for of in (*(one.config for one in ours()), *(sizes for sizes, *_ in PUBLISHED.values())):
        with torch.device("meta"):
            assert total(of) == sum(one.numel() for one in build_network(of).parameters())
