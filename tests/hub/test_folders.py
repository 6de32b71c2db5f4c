"""What may be opened: nothing outside the root, nothing but safetensors, and one sentence for everything else."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from safetensors.torch import save_file
from transformers import BertForMaskedLM

from hub import local_models
from hub.hugging_face import load
from hub.local_models import ModelError, Settings, check_files, folder_of, listed, n_numbers, weight_files
from hub.reading import read
from hub.tokenizer_files import check_tokenizer
from hub.worker import attempt
from tests.hub.small_models import make


def model(folder: Path, **config: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"} | config))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    model(tmp_path / "models" / "one")
    model(tmp_path / "models" / "group" / "two")
    model(tmp_path / "secret")
    return tmp_path / "models"


def test_models_are_listed_one_and_two_levels_down(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "secret")
    assert listed(root) == ["group/two", "one"]
    assert listed(root / "no-such-folder") == []


def test_a_name_finds_its_folder(root: Path) -> None:
    assert folder_of("one", root) == root / "one"
    assert folder_of(" group/two ", root) == root / "group" / "two"
    assert folder_of("three", root) is None


NASTY = [
    "../secret", "..", "/etc", "one/../../secret", "~", "a/b/c", "one\x00", "", " ", "C:\\x", "file:///etc/passwd",
    "https://example.org/x", "a" * 200, "one;ls", "$(ls)", "<script>", "..%2fsecret", ".hidden", "one/..",
]  # fmt: skip


@pytest.mark.parametrize("name", NASTY)
def test_a_name_that_is_none_is_refused(name: str, root: Path) -> None:
    with pytest.raises(ModelError, match="A model's name is"):
        folder_of(name, root)


def test_a_link_out_of_the_root_is_refused(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "secret")
    with pytest.raises(ModelError, match="outside"):
        folder_of("link", root)


@given(name=st.text(max_size=40))
def test_no_name_leads_outside(name: str) -> None:
    root = Path("/nowhere/models")
    try:
        found = folder_of(name, root)
    except ModelError:
        return
    assert found is None


def test_a_link_to_itself_is_refused(root: Path) -> None:
    (root / "loop").symlink_to(root / "loop")
    (root / "one" / "loop").symlink_to(root / "one" / "loop")
    assert "loop" not in listed(root)
    with pytest.raises(ModelError, match="outside"):
        folder_of("loop", root)
    with pytest.raises(ModelError, match="link"):
        check_files(root / "one", root)


def test_numbers_of_the_weights_are_counted(root: Path) -> None:
    save_file({"w": torch.zeros(3, 5, dtype=torch.float16)}, root / "one" / "model.safetensors")
    assert n_numbers(weight_files(root / "one")) == 15


INDEX = "model.safetensors.index.json"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "model.safetensors is missing"),
        ({"pytorch_model.bin": b"pickle"}, "pickle"),
        ({"pytorch_model.bin": b"pickle", "other.safetensors": b"rubbish"}, "pickle"),
        ({"model.safetensors": b"rubbish"}, "damaged"),
        ({"model.safetensors": b""}, "damaged"),
        ({"model.safetensors": b"\xff" * 8 + b"{}"}, "damaged"),
        ({INDEX: b'{"weight_map": {"w": "../../secret/model.safetensors"}}'}, "something other than safetensors"),
        ({INDEX: b'{"weight_map": {"w": "/etc/passwd"}}'}, "something other than safetensors"),
        ({INDEX: b'{"weight_map": {"w": ".."}}'}, "something other than safetensors"),
        ({INDEX: b'{"weight_map": {"w": "evil.bin"}}', "evil.bin": b"pickle"}, "something other than safetensors"),
        ({INDEX: b'{"weight_map": {"w": "gone.safetensors"}}'}, "lacks 1 of its weight files"),
        ({INDEX: b'{"weight_map": []}'}, "list of weight files"),
        ({INDEX: b"[]"}, "does not describe"),
        ({INDEX: b"[" * 100_000}, "cannot be read"),
    ],
)
def test_weights_that_cannot_be_read(files: dict[str, bytes], says: str, root: Path) -> None:
    for name, content in files.items():
        (root / "one" / name).write_bytes(content)
    with pytest.raises(ModelError, match=says):
        n_numbers(weight_files(root / "one"))


def test_weights_in_parts_are_those_of_the_index(root: Path) -> None:
    for name in ("a", "b", "other"):
        save_file({name: torch.zeros(3)}, root / "one" / f"{name}.safetensors")
    (root / "one" / INDEX).write_text('{"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}')
    assert [path.name for path in weight_files(root / "one")] == ["a.safetensors", "b.safetensors"]


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "deep/vocab.txt"])
def test_a_file_that_is_a_link_out_is_refused(name: str, root: Path) -> None:
    path = root / "one" / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(root.parent / "secret" / "config.json")
    with pytest.raises(ModelError, match="link"):
        load("one", Settings(root, False, 1))


def test_what_is_no_ordinary_file_or_too_large_is_refused(root: Path) -> None:
    with (root / "one" / "vocab.json").open("wb") as file:
        file.truncate(local_models.MAX_TEXT_BYTES + 1)
    with pytest.raises(ModelError, match=r"vocab\.json is larger than 64 MB"):
        check_files(root / "one", root)
    os.mkfifo(root / "group" / "two" / "model.safetensors")
    with pytest.raises(ModelError, match="not an ordinary file"):
        check_files(root / "group" / "two", root)


@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json", "config.json"])
@pytest.mark.parametrize("key", ["vocab", "vocab_file", "gguf_file", "init_inputs"])
def test_a_tokenizer_that_names_another_file_is_refused(name: str, key: str, root: Path) -> None:
    outside = root.parent / "secret.txt"
    outside.write_text("secret")
    for there in (str(outside), "../../secret.txt", "../group/two/config.json"):
        (root / "one" / name).write_text(json.dumps({key: [there] if key == "init_inputs" else there}))
        with pytest.raises(ModelError, match="names a file outside"):
            check_tokenizer(root / "one", root)
    for harmless in ("/root/.cache/no/such/vocab.txt", "x" * 5000, "\0/etc/passwd", "config.json", "<s>", "..", "/"):
        (root / "one" / name).write_text(json.dumps({key: harmless}))
        check_tokenizer(root / "one", root)


@pytest.mark.parametrize("named", ["BertModel", "pipeline", "RagRetriever", "../x", "", 5, [], {"a": 1}])
def test_a_tokenizer_of_another_class_is_refused(named: object, root: Path) -> None:
    (root / "one" / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": named}))
    with pytest.raises(ModelError, match="a class that is not a tokenizer"):
        check_tokenizer(root / "one", root)


REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
TEMPLATE = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 3}


@pytest.mark.parametrize(
    "part",
    [
        {"normalizer": {"type": "Sequence", "normalizers": [REPLACE] * 7}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * 200}},
        {"normalizer": {"type": "Prepend", "prepend": "x" * 10**6}},
        {"post_processor": {"type": "Sequence", "processors": [TEMPLATE] * 5}},
    ],
)
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.4.0.json"])
def test_a_tokenizer_that_swells_a_sentence_is_refused(name: str, part: dict[str, object], root: Path) -> None:
    (root / "one" / name).write_text(json.dumps(part))
    with pytest.raises(ModelError, match="far too long"):
        check_tokenizer(root / "one", root)


def test_a_token_as_long_as_a_book_is_refused(root: Path) -> None:
    (root / "one" / "tokenizer.json").write_text(json.dumps({"added_tokens": [{"id": 1, "content": "cat" * 10**5}]}))
    with pytest.raises(ModelError, match="special token of over"):
        check_tokenizer(root / "one", root)


@pytest.mark.parametrize("content", ["", "[]", "{", '"x"', '{"x":' + "[" * 100_000, '{"x":' + "9" * 5000])
def test_a_damaged_configuration(content: str, root: Path) -> None:
    (root / "one" / "config.json").write_text(content)
    with pytest.raises(ModelError, match=r"config\.json"):
        load("one", Settings(root, False, 1))


def test_what_load_refuses(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(root, False, 1)
    with pytest.raises(ModelError, match="There is no model 'three'"):
        load("three", settings)
    with pytest.raises(ModelError, match="no weights"):
        load("one", settings)
    save_file({"w": torch.zeros(3)}, root / "one" / "model.safetensors")
    with pytest.raises(ModelError, match="do not belong together"):
        load("one", settings)
    make("bert", root / "small")
    settings_of(root / "small", "tokenizer_config.json", model_max_length="x")
    with pytest.raises(ModelError, match="do not fit together") as told:
        load("small", settings)
    assert str(root) not in str(told.value) + told.value.detail
    save_file({"w": torch.zeros(3)}, root / "small" / "model.safetensors")
    with pytest.raises(ModelError, match="parts of the model are missing"):
        load("small", settings)
    monkeypatch.setattr(local_models, "free_memory", lambda: 10)
    with pytest.raises(ModelError, match="GB of memory"):
        load("small", settings)


def settings_of(folder: Path, name: str, **changes: object) -> None:
    """Change a model's JSON file."""
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vocab_size": 10**9}, "do not belong together"),
        ({"hidden_size": 3 * 10**6}, "do not belong together"),
        ({"max_position_embeddings": 10**9}, "do not belong together"),
        ({"num_hidden_layers": 10**6}, "number of layers"),
        ({"num_hidden_layers": 0}, "number of layers"),
        ({"num_hidden_layers": -1}, "number of layers"),
        ({"num_hidden_layers": "many"}, "config.json holds something"),
        ({"num_hidden_layers": 3}, "parts of the model are missing"),
        ({"hidden_size": "x"}, "config.json holds something"),  # the library: Validation error for field
        ({"intermediate_size": 47}, "weights do not fit"),  # look at the above report
        ({"hidden_size": 0}, "config.json holds something"),
        ({"hidden_size": -24}, "config.json holds something"),
        ({"num_attention_heads": 0}, "config.json holds something"),
        ({"num_attention_heads": 2000}, "more than 2048 heads"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised"),
        ({"tokenizer_class": "BertModel"}, "class that is not a tokenizer"),
        ({"model_type": ["bert"]}, "not a language model"),
        ({"model_type": "vit"}, "not a language model"),
    ],
)
def test_a_configuration_that_cannot_be(changes: dict[str, object], says: str, root: Path) -> None:
    make("bert", root / "small")
    settings_of(root / "small", "config.json", **changes)
    with pytest.raises(ModelError, match=says):
        load("small", Settings(root, False, 1))


PLAIN = re.compile(r"[A-Z][\w ’'.,:;()-]+\.")  # words of a visitor, no signs of a program
RUBBISH = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(), st.text(max_size=9), st.just([]), st.just({}),
    st.sampled_from(["../../etc/passwd", "x" * 5000, ["a"], {"a": {"b": [1]}}, "PreTrainedTokenizerFast"]),
)  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make("bert", tmp_path_factory.mktemp("sound") / "small")


@pytest.mark.slow
@settings_of_hypothesis(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_file_holds_is_told_in_words_of_a_visitor(data: st.DataObject, sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    shutil.copytree(sound, folder, dirs_exist_ok=True)
    path = folder / data.draw(st.sampled_from(["config.json", "tokenizer.json", "tokenizer_config.json"]))
    content = json.loads(path.read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        place = content
        while isinstance(inner := place[key := data.draw(st.sampled_from(sorted(place)))], dict) and inner:
            place = inner
        if data.draw(st.booleans()):
            place[key] = data.draw(RUBBISH)
        elif len(place) > 1:
            del place[key]
    path.write_text(json.dumps(content))
    answer, _ = attempt(lambda: read(load("small", Settings(tmp_path, False, 1)), "The cat."), 0)
    if isinstance(answer, ModelError):
        assert PLAIN.fullmatch(re.sub(r"[\w-]+\.json|'[^']*'", "x", str(answer))), str(answer)
        assert len(str(answer)) < 300
        assert not any(word in str(answer) for word in ("pip", "Error", "report", "modulo", "added_tokens", "field"))
        assert len(answer.detail) <= 160


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text('{"model": {}}')])
def test_a_damaged_tokenizer_has_its_sentence(damage: Callable[[Path], object], root: Path) -> None:
    """The library: pip install tiktoken; 'added_tokens'."""
    damage(make("bert", root / "small") / "tokenizer.json")
    with pytest.raises(ModelError, match="tokenizer files are damaged") as told:
        load("small", Settings(root, False, 1))
    assert told.value.detail


@pytest.mark.parametrize(
    "changes",
    [
        {"num_labels": 10**9},
        {"auto_map": {"AutoConfig": "evil.C", "AutoModelForMaskedLM": "evil.M"}, "trust_remote_code": True},
        {"transformers_weights": "evil.bin"},
        {"transformers_weights": "../../secret/model.safetensors"},
        {
            "_attn_implementation": "kernels-community/flash-attn",
            "fusion_config": {"a": 1},
            "attribute_map": {"a": "b"},
        },
        {"architectures": 5},
        {"architectures": {"a": 1}},
    ],
)
def test_a_configuration_is_read_for_its_shapes_alone(changes: dict[str, object], root: Path) -> None:
    make("bert", root / "small")
    (root / "small" / "evil.py").write_text("raise SystemExit")
    (root / "small" / "evil.bin").write_bytes(b"pickle")
    (root / "small" / "adapter_config.json").write_text('{"base_model_name_or_path": "/secret", "peft_type": "LORA"}')
    (root / "small" / "chat_template.jinja").write_text("{% for i in range(10**9) %}{% endfor %}")
    settings_of(root / "small", "config.json", **changes)
    opened = load("small", Settings(root, False, 1))
    assert type(opened.model) is BertForMaskedLM
    assert opened.model.config._attn_implementation == "eager"


def test_files_that_hold_far_more_than_the_model_asks_for_are_not_read(root: Path) -> None:
    """A sparse file of gigabytes takes no room on a disk, but would in memory."""
    make("bert", root / "small")
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**28], "data_offsets": [0, 2**30]}}).encode()
    with (root / "small" / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 2**30)
    with pytest.raises(ModelError, match="do not belong together"):
        load("small", Settings(root, False, 1))


def test_memory_is_measured() -> None:
    assert local_models.free_memory() > 1e6


@pytest.mark.parametrize(("most", "free"), [("2000000", 1_300_000), ("500000", 0), ("max", None), ("", None)])
def test_a_container_has_no_more_memory_than_its_limit(most: str, free: int | None, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text(f"{most}\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    (tmp_path / "memory.stat").write_text("anon 700000\ninactive_file 300000\n")
    found = local_models.free_memory(tmp_path)
    assert found == free if free is not None else found > 1e8


def test_settings_of_an_operator(tmp_path: Path) -> None:
    plain = Settings.of({})
    assert plain == Settings(local_models.HERE / "models", False, 2)
    found = Settings.of({"WALKTHROUGH_MODELS": str(tmp_path), "WALKTHROUGH_DOWNLOADS": "yes", "WALKTHROUGH_KEPT": "5"})
    assert found == Settings(tmp_path, True, 5)
    assert Settings.of({"WALKTHROUGH_KEPT": "many", "WALKTHROUGH_DOWNLOADS": "no"}) == plain
    for said in ("yes", "", "no"):
        assert Settings.of({"WALKTHROUGH_UNCONFINED": said}).unconfined == (said == "yes")
