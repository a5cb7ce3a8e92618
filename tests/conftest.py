"""What many tests need: a tiny model folder, a way to write others, and a tokenizer of each kind."""

import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import tokenizers
from helpers.model_folders import TOKENIZERS, byte_level, write_folder
from helpers.random_llama import settings

from glasscli import LoadedModel, load_model

# Few examples and no time limit each: the suite must be quick, and a busy machine must not fail it.
hypothesis.settings.register_profile("quick", max_examples=60, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=5000, deadline=None)
hypothesis.settings.load_profile("quick")

# Started in the background by a shell, a program finds these signals ignored, and so does all that it starts.
# Tests send them to programs that must obey.
for _signal, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)


@pytest.fixture(scope="session")
def tiny_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama of 3 layers with a byte-level tokenizer of 320 tokens. Shared: don't write into it."""
    return write_folder(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="module")
def loaded(tiny_model_folder: Path) -> LoadedModel:
    """That model, ready to run."""
    return load_model(tiny_model_folder)


@pytest.fixture
def make_model_folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes folders like `tiny_model_folder`, their config.json with the changes given by name."""
    number = count()

    def make(**changes: Any) -> Path:
        tokenizer = byte_level()
        config = settings(**{"vocab_size": tokenizer.get_vocab_size(), **changes})
        return write_folder(tmp_path / f"model-{next(number)}", config, tokenizer=tokenizer)

    return make


@pytest.fixture(scope="session", params=TOKENIZERS)
def backend(request: pytest.FixtureRequest) -> tokenizers.Tokenizer:
    """A tokenizer of the `tokenizers` package, of each kind in turn."""
    return TOKENIZERS[request.param]()
