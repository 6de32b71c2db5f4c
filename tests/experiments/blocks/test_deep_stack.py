"""The deep stack: its gradients against torch's own functions, and what the lesson says of it."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from experiments.blocks.deep_stack import D_MODEL, JOINTS, LENGTH, MAX_DEPTH, N_HEADS, deep_run, deep_stack


def layer_norm(x: Tensor) -> Tensor:
    return functional.layer_norm(x, (D_MODEL,))


JOINED = {
    "Add & Norm": lambda x, y: layer_norm(x + y),
    "Norm alone": lambda x, y: layer_norm(y),
    "Add alone": lambda x, y: x + y,
    "neither": lambda x, y: y,
}


def one_layer(w: dict[str, Tensor], x: Tensor, joint: str) -> Tensor:
    """One encoder layer of rows x (T,D)."""
    q, k, v = (
        functional.linear(x, w[f"self_attn.w_{letter}.weight"]).view(LENGTH, N_HEADS, -1).transpose(0, 1)
        for letter in "qkv"
    )
    heads = functional.scaled_dot_product_attention(q, k, v)
    attended = functional.linear(heads.transpose(0, 1).reshape(LENGTH, -1), w["self_attn.w_o.weight"])
    x = JOINED[joint](x, attended)
    hidden = functional.linear(x, w["feed_forward.w_1.weight"], w["feed_forward.w_1.bias"]).relu()
    return JOINED[joint](x, functional.linear(hidden, w["feed_forward.w_2.weight"], w["feed_forward.w_2.bias"]))


@pytest.mark.parametrize("joint", list(JOINTS))
@pytest.mark.parametrize("depth", [1, 5])
def test_gradients_are_those_of_torchs_own_functions(joint: str, depth: int) -> None:
    x, goal = torch.randn(2, 1, LENGTH, D_MODEL, generator=torch.Generator().manual_seed(3)).double()
    rows = [x[0].requires_grad_()]
    for layer in deep_stack(joint, 3)[:depth]:
        rows.append(one_layer({name: w.double() for name, w in layer.state_dict().items()}, rows[-1], joint))
    sizes = [float(g.norm()) for g in torch.autograd.grad((rows[-1] * goal[0]).sum(), rows)]
    run = deep_run(joint, depth, 3)
    assert run.gradients == pytest.approx([size / sizes[-1] for size in sizes], rel=1e-3)
    cosines = [functional.cosine_similarity(r[:, None], r[None], dim=-1) for r in rows]
    off = ~torch.eye(LENGTH, dtype=torch.bool)
    assert run.alike == pytest.approx([float(c[off].mean().detach()) for c in cosines], abs=1e-4)


def test_all_builds_have_the_same_random_weights() -> None:
    first, *others = (deep_stack(joint, 0)[5].state_dict() for joint in JOINTS)
    for other in others:
        for name in ("self_attn.w_q.weight", "feed_forward.w_2.weight", "feed_forward.w_1.bias"):
            assert torch.equal(first[name], other[name])
    assert not torch.equal(deep_stack("neither", 1)[5].self_attn.w_q.weight, first["self_attn.w_q.weight"])


@pytest.mark.parametrize("seed", range(9))
def test_what_the_lesson_says_holds_for_every_draw(seed: int) -> None:
    runs = {joint: deep_run(joint, MAX_DEPTH, seed) for joint in JOINTS}
    assert 0.01 < runs["Add & Norm"].gradients[0] < 100
    assert runs["neither"].gradients[0] < 1e-5
    assert runs["Add alone"].gradients[0] > 1e4
    assert runs["Norm alone"].alike[3] > 0.95
    assert runs["Add & Norm"].alike[3] < 0.8
    assert all(run.gradients[-1] == 1 for run in runs.values())
