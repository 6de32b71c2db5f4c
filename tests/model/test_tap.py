"""Taps: what the docstrings promise passes, what passes is used, and what a tap returns counts."""

import inspect
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from torch import Tensor, nn

from model.families.encoder_decoder import EncoderDecoder
from model.parts.attention import scaled_dot_product_attention
from model.parts.efficient_attention import causal_linear_attention, linear_attention, windowed_attention
from model.tap import Recorder, no_tap, under
from tests.small import BATCH, CONFIG, SOURCE, TARGET, random_ids
from tests.variants import BLOCK, D_LATENT, D_ROTARY, N_EXPERTS, N_SQUEEZED, REACH

pytestmark = pytest.mark.usefixtures("without_gradients")

ATTENTIONS = {
    one.__name__: one
    for one in (scaled_dot_product_attention, windowed_attention, linear_attention, causal_linear_attention)
}


def taps_line(documented: object) -> str:
    """The Taps: section of a docstring, without remarks: `a, b (B,T,d_model); layers.N.*`."""
    docstring = inspect.getdoc(documented) or ""
    section = re.search(r"^Taps: +(.*?)(?=\n\w+:|\Z)", docstring, re.DOTALL | re.MULTILINE)
    assert section, f"{documented} documents no taps"
    # A parenthesis without a comma is a remark, not a shape.
    return re.sub(r"\([^,()]*\)|: all|: the scores with it", "", " ".join(section[1].split()))


def documented_taps(documented: object, module: nn.Module | None = None) -> dict[str, str]:
    """Name → shape of every tap that a docstring lists, followed into the sub-modules it refers to."""
    taps: dict[str, str] = {}
    for group in taps_line(documented).split("; "):
        shape = re.search(r"\((.*)\)", group)
        for name in re.sub(r"\(.*\)", "", group).split(", "):
            name = name.strip()
            if condition := re.match(r"with (\w+): ", name):
                if getattr(module, condition[1]) is None:
                    continue
                name = name.removeprefix(condition[0])
            if name.startswith("those of "):
                other = name.removeprefix("those of ")
                if other in ATTENTIONS:
                    taps |= documented_taps(ATTENTIONS[other])
                elif "Taps:" in (inspect.getdoc(scheme := type(getattr(module, other))) or ""):
                    taps |= documented_taps(scheme)
            elif name.endswith(".*"):
                assert module is not None
                for path, part in parts(module, name.removesuffix(".*")).items():
                    inside = documented_taps(type(part), part)
                    taps |= {f"{path}.{tap}": inside_shape for tap, inside_shape in inside.items()}
            else:
                assert shape, f"{name} is documented without a shape"
                taps[name] = shape[1]
    return taps


def parts(module: nn.Module, path: str) -> dict[str, nn.Module]:
    """The sub-modules that `self_attn`, `layers.N` or `encoder.embedding` (which both stacks share) stand for."""
    head, _, last = path.rpartition(".")
    if last == "N":
        return {f"{head}.{n}": part for n, part in enumerate(module.get_submodule(head))}  # type: ignore[arg-type]
    return {path: module.get_submodule(last)}


def expected_shape(name: str, symbols: str) -> tuple[int, ...]:
    """(B,H,T,S) in numbers. What S and T stand for depends on where the tap is."""
    encoder, self_attention = name.startswith("encoder."), ".self_attn." in name
    sizes = {
        "B": BATCH,
        "H": CONFIG.n_heads,
        "T": SOURCE if encoder else TARGET,
        "S": TARGET if self_attention and not encoder else SOURCE,
        "d_model": CONFIG.d_model,
        "d_k": CONFIG.d_k,
        "d_ff": CONFIG.d_ff,
        "vocab_size": CONFIG.vocab_size,
        "W": 2 * REACH + 1,
        "R": (rows := -(-SOURCE // BLOCK) * N_SQUEEZED if encoder else TARGET // BLOCK * N_SQUEEZED),
        "R+S": rows + TARGET,
        "G": 1,
        "E": N_EXPERTS,
        "d_c": D_LATENT,
        "d_r": D_ROTARY,
        "d_k+d_r": CONFIG.d_k + D_ROTARY,
        "1": 1,
    }
    return tuple(sizes[symbol] for symbol in symbols.split(","))


@pytest.fixture
def recording(any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> dict[str, Tensor]:
    recorder = Recorder()
    any_model(src_ids, tgt_ids, recorder)
    return recorder.tensors


def test_exactly_the_documented_taps_pass(any_model: EncoderDecoder, recording: dict[str, Tensor]) -> None:
    documented = documented_taps(EncoderDecoder, any_model)
    assert set(recording) == set(documented)
    assert "decoder.layers.1.cross_attn.weights" in documented


def test_taps_have_the_documented_shapes(any_model: EncoderDecoder, recording: dict[str, Tensor]) -> None:
    for name, symbols in documented_taps(EncoderDecoder, any_model).items():
        assert tuple(recording[name].shape) == expected_shape(name, symbols), f"{name} ({symbols})"


def test_the_recorded_tensors_are_those_used(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    """Not copies, not recomputed: the very objects."""
    recorder = Recorder()
    logits = model(src_ids, tgt_ids, recorder)
    assert recorder.tensors["logits"] is logits
    for name in ("encoder.layers.1.self_attn", "decoder.layers.0.self_attn", "decoder.layers.1.cross_attn"):
        v, weights, heads = (recorder.tensors[f"{name}.{tap}"] for tap in ("v", "weights", "heads"))
        assert torch.equal(weights @ v, heads)


def test_recording_changes_nothing(any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    assert torch.equal(any_model(src_ids, tgt_ids, Recorder()), any_model(src_ids, tgt_ids))


def test_a_value_changed_at_any_tap_changes_the_logits(
    any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor, recording: dict[str, Tensor]
) -> None:
    logits = recording["logits"]
    for changed in recording:

        def change(name: str, value: Tensor, changed: str = changed) -> Tensor:
            if name != changed:
                return value
            return ~value if value.dtype == torch.bool else value + torch.randn_like(value)

        recorder = Recorder(change)
        after = any_model(src_ids, tgt_ids, recorder)
        assert not torch.equal(after, logits), f"nothing reads what the tap {changed} returns"
        assert not torch.equal(recorder.tensors[changed], recording[changed]), "the recorder keeps the changed value"


def test_under_puts_the_path_in_front_and_costs_nothing_where_nobody_listens() -> None:
    recorder, value = Recorder(), torch.ones(3)
    assert under("layers.1", under("decoder", recorder))("weights", value) is value
    assert list(recorder.tensors) == ["decoder.layers.1.weights"]
    assert under("decoder", no_tap) is no_tap


def test_one_name_twice_is_refused() -> None:
    recorder = Recorder()
    recorder("weights", torch.ones(3))
    with pytest.raises(ValueError, match=r"^the tap 'weights' passed twice in one recording$"):
        recorder("weights", torch.zeros(3))
    assert recorder.tensors["weights"].sum() == 3


def test_eight_threads_on_one_model_get_what_each_gets_alone(model: EncoderDecoder) -> None:
    """Each records other ids, of another length, and some of them change a tap."""

    def record(seed: int) -> dict[str, Tensor]:
        source, target = sources[seed], targets[seed]

        def weaker(name: str, value: Tensor) -> Tensor:
            return value * 0.5 if name == f"encoder.layers.{seed % 2}.self_attn.weights" else value

        recorder = Recorder(weaker if seed % 3 == 0 else no_tap)
        with torch.no_grad():
            model(source, target, recorder)
        return recorder.tensors

    def record_again_and_again(seed: int) -> list[dict[str, Tensor]]:
        together.wait()
        return [record(seed) for _ in range(10)]

    sources = [random_ids(1, 5 + seed) for seed in range(8)]
    targets = [random_ids(1, 4 + seed) for seed in range(8)]
    alone = [record(seed) for seed in range(8)]
    together = Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        for expected, recordings in zip(alone, pool.map(record_again_and_again, range(8)), strict=True):
            for recording in recordings:
                assert recording.keys() == expected.keys()
                assert all(torch.equal(recording[name], expected[name]) for name in expected)


def test_nothing_stays_on_the_model(any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    before = {name: set(vars(module)) for name, module in any_model.named_modules()}
    any_model(src_ids, tgt_ids, Recorder())
    assert {name: set(vars(module)) for name, module in any_model.named_modules()} == before
