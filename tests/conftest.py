"""Fixtures for all tests."""

import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings
from torch import Tensor

from model.families.encoder_decoder import EncoderDecoder
from model.text.tokenizer import PAD_ID, Tokenizer
from processes.fork_server import ForkServer
from tests.oracle.passes.shipped import GPU
from tests.small import BATCH, SENTENCES, SOURCE, TARGET, random_ids, random_model
from tests.variants import VARIANTS
from training.live import processes

# On the CPU, as in CI, beside a GPU too. `CUDA_VISIBLE_DEVICES=0 pytest tests/pages` tries the pages on the GPU.
if os.environ.setdefault("CUDA_VISIBLE_DEVICES", ""):
    os.environ[GPU] = torch.cuda.get_device_name()

# No deadline: a busy machine is no defect. The same examples every time: a failure can be repeated.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-payload", action="store_true", help="try all hostile texts on all pages, not five on some"
    )


FIRST = ("tests/browser/", "tests/pages/", "tests/hub/", "tests/training/", "tests/classroom/")  # long ones
MOST_AGAIN = 5  # tests that are run a second time, of all


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file's tests run in one worker, one after the other, unless the file spreads them.

    Long files come first: at the end two workers share many short ones, and neither waits for the other.
    """
    items.sort(key=lambda item: next((n for n, part in enumerate(FIRST) if part in item.nodeid), len(FIRST)))
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A few tests in a browser may need a second try on a busy machine; where many do, something is wrong."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    again = len(reporter.stats.get("rerun", ())) if reporter else 0
    if again > MOST_AGAIN:
        reporter.write_line(f"\n{again} second tries, and {MOST_AGAIN} at most may be needed", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tiny tensors gain nothing from threads, and sums come out the same on every machine."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_random_numbers() -> Iterator[None]:
    """Each test draws the same numbers, alone or among others."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(17)
        yield


@pytest.fixture(scope="module")
def own_fork_server() -> Iterator[None]:
    """A fork server of trainings without the processes of other tests."""
    with pytest.MonkeyPatch.context() as patch:
        fork_server = ForkServer("training.live.processes")
        patch.setattr(processes, "_fork_server", fork_server)
        yield
        fork_server.stop()


@pytest.fixture
def model() -> EncoderDecoder:
    return random_model()


@pytest.fixture(params=VARIANTS)
def any_model(request: pytest.FixtureRequest) -> EncoderDecoder:
    """The small model with each variant of a part in turn."""
    return VARIANTS[request.param]()


@pytest.fixture
def without_gradients() -> Iterator[None]:
    """As in the app, and in half the time: for tests that run a model hundreds of times and learn nothing."""
    with torch.no_grad():
        yield


@pytest.fixture
def src_ids() -> Tensor:
    """A batch (B,S) of rows that differ in length, so with padding."""
    ids = random_ids(BATCH, SOURCE)
    for row, length in enumerate((SOURCE, 4, 9, 6, 8)):
        ids[row, length:] = PAD_ID
    return ids


@pytest.fixture
def tgt_ids() -> Tensor:
    return random_ids(BATCH, TARGET)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(SENTENCES, vocab_size=331)
