"""What can be a name of the hub, and what is a path."""

import pytest

from glasscli.locate.hub_name import HubName, hub_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("org/name", HubName("org/name")),
        ("hf:org/name", HubName("org/name", download=True)),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", HubName("HuggingFaceTB/SmolLM2-135M-Instruct")),
        ("Qwen/Qwen2.5-0.5B", HubName("Qwen/Qwen2.5-0.5B")),
        ("gpt2", HubName("gpt2")),
        ("org/name-GGUF/name-Q4_K_M.gguf", HubName("org/name-GGUF", "name-Q4_K_M.gguf")),
        ("hf:org/name/Q8_0/name-00001-of-00002.gguf", HubName("org/name", "Q8_0/name-00001-of-00002.gguf", True)),
    ],
)
def test_names(text: str, name: HubName) -> None:
    assert hub_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        *("/org/name", "./name", "../name", "~/name", "org/", "/", "", "hf:", "hf:/", "hf:org/", "org//name", "a b/c"),
        *("org/../name.gguf", "org/name/../x.gguf", "org/na..me", "org/na--me", "-org/name", "org/name-", ".org/name"),
        *("org/name/folder", "org/name/config.json", "folder/model.gguf", "folder/config.json", "model.gguf"),
        *("org\\name", "C:/name", "org/name\n", "org/n\u00e4me", "https://huggingface.co/org/name", "o/" + "n" * 95),
        *("org/name/\x1b[31m.gguf", "hf:hf:org/name"),
    ],
)
def test_what_is_no_name(text: str) -> None:
    assert hub_name(text) is None
