"""The whole model against torch's own, and the laws it obeys."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from model.build import build_model
from model.config import PRESETS, ModelConfig
from model.families.encoder_decoder import EncoderDecoder
from model.parts.attention import MultiHeadAttention
from model.parts.embedding import TokenEmbedding
from model.parts.feed_forward import FeedForward
from model.parts.positions import Sinusoidal, sinusoidal_encoding
from model.parts.residual import PostNorm
from model.tap import Recorder
from model.text.tokenizer import PAD_ID
from tests.small import CONFIG, SOURCE, TARGET, random_ids


def torch_twin(model: EncoderDecoder) -> nn.Transformer:
    """torch.nn.Transformer with the model's weights, without the biases and final norms that the paper lacks."""
    twin = nn.Transformer(
        d_model=CONFIG.d_model,
        nhead=CONFIG.n_heads,
        num_encoder_layers=CONFIG.n_layers,
        num_decoder_layers=CONFIG.n_layers,
        dim_feedforward=CONFIG.d_ff,
        activation="relu",
        norm_first=False,
        batch_first=True,
    )
    twin.encoder.norm = twin.decoder.norm = None

    def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
        theirs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        theirs.in_proj_bias.zero_()
        theirs.out_proj.bias.zero_()

    def copy_feed_forward(ours: FeedForward, theirs: nn.Module) -> None:
        theirs.linear1.load_state_dict(ours.w_1.state_dict())
        theirs.linear2.load_state_dict(ours.w_2.state_dict())

    def copy_norms(ours: list[PostNorm], theirs: list[nn.Module]) -> None:
        for our, their in zip(ours, theirs, strict=True):
            their.load_state_dict(our.norm.state_dict())

    with torch.no_grad():
        for ours, theirs in zip(model.encoder.layers, twin.encoder.layers, strict=True):
            copy_attention(ours.self_attn, theirs.self_attn)
            copy_feed_forward(ours.feed_forward, theirs)
            copy_norms([ours.add_norm_1, ours.add_norm_2], [theirs.norm1, theirs.norm2])
        for ours, theirs in zip(model.decoder.layers, twin.decoder.layers, strict=True):
            copy_attention(ours.self_attn, theirs.self_attn)
            copy_attention(ours.cross_attn, theirs.multihead_attn)
            copy_feed_forward(ours.feed_forward, theirs)
            copy_norms([ours.add_norm_1, ours.add_norm_2, ours.add_norm_3], [theirs.norm1, theirs.norm2, theirs.norm3])
    return twin.eval()


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")  # torch regrets its fast path
def test_equals_torch(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    recorder = Recorder()
    logits = model(src_ids, tgt_ids, recorder)
    padding = src_ids == PAD_ID
    assert padding.any()
    expected = torch_twin(model)(
        recorder.tensors["encoder.embedding.output"],
        recorder.tensors["decoder.embedding.output"],
        tgt_mask=torch.ones(TARGET, TARGET, dtype=torch.bool).triu(1),  # torch's masks: True = may not attend
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    assert_close(logits, expected @ model.embedding.matrix.weight.T, atol=1e-5, rtol=1e-5)


def test_the_future_changes_nothing(any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    logits = any_model(src_ids, tgt_ids)
    for t in range(TARGET - 1):
        changed = tgt_ids.clone()
        changed[:, t + 1 :] = random_ids(*changed[:, t + 1 :].shape)
        after = any_model(src_ids, changed)
        assert_close(after[:, : t + 1], logits[:, : t + 1], atol=1e-5, rtol=1e-5)
        assert not torch.allclose(after[:, t + 1], logits[:, t + 1], atol=1e-2)


def test_every_earlier_word_matters(any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    """The counterpart of the law above: it also holds for a model that reads nothing."""
    last = any_model(src_ids, tgt_ids)[:, -1]
    for t in range(TARGET):
        changed = tgt_ids.clone()
        changed[:, t] = (changed[:, t] + 1) % CONFIG.vocab_size
        assert not torch.allclose(any_model(src_ids, changed)[:, -1], last, atol=1e-3)
    for s in range(SOURCE):
        changed = src_ids.clone()
        changed[0, s] = (changed[0, s] + 1) % CONFIG.vocab_size
        assert not torch.allclose(any_model(changed, tgt_ids)[0, -1], last[0], atol=1e-3)


def test_padding_changes_nothing(any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    logits = any_model(src_ids, tgt_ids)
    for row, (source, target) in enumerate(zip(src_ids, tgt_ids, strict=True)):
        alone = any_model(source[source != PAD_ID][None], target[None])
        assert_close(alone[0], logits[row], atol=1e-5, rtol=1e-5)


def test_padding_of_the_target_changes_nothing_before_it(
    any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    padded = nn.functional.pad(tgt_ids, (0, 4), value=PAD_ID)
    assert_close(any_model(src_ids, padded)[:, :TARGET], any_model(src_ids, tgt_ids), atol=1e-5, rtol=1e-5)


def test_without_positions_shuffling_in_is_shuffling_out(model: EncoderDecoder) -> None:
    ids, order = torch.randperm(98)[None, :SOURCE] + 3, torch.randperm(SOURCE)

    def no_positions(name: str, value: Tensor) -> Tensor:
        return torch.zeros_like(value) if name == "encoder.embedding.positions" else value

    rows, shuffled = (model.encode(some, no_positions).states for some in (ids, ids[:, order]))
    assert_close(shuffled, rows[:, order], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(model.encode(ids[:, order]).states, model.encode(ids).states[:, order], atol=1e-2)


def test_dropout_works_in_training_and_only_there(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    assert torch.equal(model(src_ids, tgt_ids), model(src_ids, tgt_ids))
    model.train()
    assert not torch.equal(model(src_ids, tgt_ids), model(src_ids, tgt_ids))


def test_dropout_falls_on_each_sublayer_and_on_the_embedding() -> None:
    """At probability 1 nothing of them is left."""
    add_norm, x = PostNorm(nn.LayerNorm(42), dropout=1.0), torch.randn(2, 5, 42)
    assert_close(add_norm(x, lambda _: torch.randn(2, 5, 42)), nn.functional.layer_norm(x, (42,)))
    embedding = TokenEmbedding(nn.Embedding(11, 42), Sinusoidal(13, 42), dropout=1.0)
    assert not embedding(torch.tensor([[3, 5, 7]])).any()


def test_the_embedding_is_recorded_whole_and_dropped_after() -> None:
    embedding = TokenEmbedding(nn.Embedding(11, 42), Sinusoidal(13, 42), dropout=0.5)
    ids, recorder = torch.randint(11, (3, 13)), Recorder()
    states, whole = embedding(ids, recorder), recorder.tensors["output"]
    assert_close(whole, embedding.matrix(ids) * 42**0.5 + sinusoidal_encoding(13, 42))
    kept = states != 0
    assert_close(states[kept], 2 * whole[kept])
    assert 0.45 < kept.float().mean() < 0.55


def test_the_number_of_parameters_by_hand(model: EncoderDecoder) -> None:
    d, f, n = CONFIG.d_model, CONFIG.d_ff, CONFIG.n_layers
    attention, feed_forward, norm = 4 * d * d, 2 * d * f + f + d, 2 * d
    encoder_layer, decoder_layer = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    expected = CONFIG.vocab_size * d + n * (encoder_layer + decoder_layer)
    assert sum(p.numel() for p in model.parameters()) == expected


@pytest.mark.parametrize("preset", [name for name, one in PRESETS.items() if one.family == "encoder_decoder"])
def test_every_preset_builds_and_gives_finite_logits_of_about_unit_size(preset: str) -> None:
    config = PRESETS[preset]
    logits = build_model(config).eval()(torch.full((2, 3), 5), torch.arange(3, 8).expand(2, 5))
    assert logits.shape == (2, 5, config.vocab_size)
    assert 0.5 < logits.std().item() < 2


def test_a_config_names_the_numbers_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"^d_model=42 is not divisible by n_heads=5$"):
        ModelConfig(d_model=42, n_heads=5)
    with pytest.raises(ValueError, match=r"^d_model=42 is not divisible by n_heads=0$"):
        ModelConfig(d_model=42, n_heads=0)
    with pytest.raises(ValueError, match=r"^d_model=33 is odd; sines and cosines come in pairs$"):
        ModelConfig(d_model=33, n_heads=3)
    assert ModelConfig(d_model=42, n_heads=3).d_k == 14
