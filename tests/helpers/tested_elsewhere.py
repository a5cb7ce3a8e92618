"""Modules of the library that have no test file of their name, where they are tested instead, and why there."""

from typing import NamedTuple


class Elsewhere(NamedTuple):
    """Modules below glasscli/, without `.py` (a name that ends in `/` is a folder), and the test that leads to them."""

    test: str
    why: str
    modules: tuple[str, ...]


ELSEWHERE = (
    Elsewhere(
        "test_package.py",
        "no behaviour: names, types and the program's entrance",
        ("__main__", "arrays", "errors", "progress"),
    ),
    Elsewhere(
        "budget/test_plan.py",
        "the parts of one answer, compared as a whole with bytes worked out by hand",
        (
            "budget/decode_read",
            "budget/fit",
            "budget/request",
            "budget/sizer",
            "budget/engines/engine",
            "budget/engines/logical",
            "budget/engines/option",
        ),
    ),
    Elsewhere(
        "budget/test_vllm.py",
        "files of one engine's rules, compared with sizes that it logged",
        (
            "budget/engines/vllm/dtypes",
            "budget/engines/vllm/groups",
            "budget/engines/vllm/remarks",
            "budget/engines/vllm/rules",
        ),
    ),
    Elsewhere("budget/test_sglang.py", "its settings and its command", ("budget/engines/sglang/serve",)),
    Elsewhere(
        "inspect/test_stream_steps.py",
        "the steps around attention with what is true of them, on every family",
        ("inspect/outside", "inspect/overview", "inspect/step_info", "inspect/stream_checks"),
    ),
    Elsewhere(
        "generation/test_chat.py",
        "a prompt made of templates as files hold them, turns and a sandbox",
        ("checkpoint/chat_files", "generation/messages", "generation/sandbox"),
    ),
    Elsewhere(
        "lesson/test_chapters.py",
        "chapters are told as a whole, each on several models and texts",
        ("lesson/chapters/", "lesson/parts", "lesson/room"),
    ),
    Elsewhere("budget/test_transformers_truth.py", "compared with live caches", ("budget/engines/transformers",)),
    Elsewhere("budget/test_models.py", "tables that the names lead to", ("budget/model_facts", "budget/describe")),
    Elsewhere(
        "budget/test_vllm_versions.py",
        "rules of some versions and devices",
        ("budget/engines/vllm/batched", "budget/engines/vllm/contexts"),
    ),
    Elsewhere("cli/test_kv_budget_devices.py", "an answer is what the screen shows", ("budget/device_answer",)),
    Elsewhere("budget/test_devices.py", "the table of devices", ("budget/device_facts",)),
    Elsewhere(
        "budget/test_device_fit.py",
        "one line of the account of a device, and the smallest device whose account adds up",
        ("budget/overhead", "budget/device_search"),
    ),
    Elsewhere("budget/test_sweep.py", "what is asked, as a plan", ("budget/questions",)),
    Elsewhere("cli/test_kv_budget_answers.py", "an answer is what the screen shows", ("budget/answers",)),
    Elsewhere("cli/test_kv_budget_device_forms.py", "a curve is what one length says", ("budget/device_sweep",)),
    Elsewhere("budget/test_drafts.py", "a head beside a model: its cache, weights and command", ("budget/drafting",)),
    Elsewhere("budget/test_device_fit.py", "what is weighed is what has to fit", ("budget/weigh",)),
    Elsewhere(
        "cli/test_kv_budget_emit.py",
        "command lines",
        ("budget/emit", "budget/engines/vllm/serve", "budget/engines/llama_cpp/serve"),
    ),
    Elsewhere("budget/test_explain.py", "what is said of states", ("budget/engines/words",)),
    Elsewhere("export/test_curves.py", "where the axes of a plot say that a point is", ("budget/sweep_axes",)),
    Elsewhere(
        "budget/weights/",
        "one sum over many rules, compared with transformers' classes",
        ("budget/weights/",),
    ),
    Elsewhere("locate/test_download.py", "the package's errors in our words", ("locate/hub",)),
    Elsewhere("locate/test_locate.py", "what a name leads to in the end", ("locate/need", "locate/shipped")),
    Elsewhere(
        "cache/test_cache.py",
        "the door and the plain store behind it",
        ("cache/kv_cache", "cache/layout", "cache/full"),
    ),
    Elsewhere(
        "cache/test_chosen_stores.py",
        "every store obeys the same rules, tried on all of them in turn",
        (
            "cache/chosen",
            "cache/evicting",
            "cache/kivi_halves",
            "cache/packed",
            "cache/rows",
            "cache/sinks",
            "cache/store",
        ),
    ),
    Elsewhere(
        "cache/test_choice.py",
        "text and choice are one to one",
        ("cache/choice_text", "cache/formats/names", "quality/flags"),
    ),
    Elsewhere(
        "cache/formats/",
        "every format obeys the same rules, tried on all of them in turn",
        ("cache/formats/",),
    ),
    Elsewhere(
        "checkpoint/test_load.py", "a folder's form of checkpoint", ("checkpoint/checkpoint", "checkpoint/hugging_face")
    ),
    Elsewhere(
        "cli/test_info.py", "what a folder holds is what the screen shows", ("checkpoint/facts", "checkpoint/outline")
    ),
    Elsewhere(
        "checkpoint/gguf/",
        "the steps of one reading, each file's header to its tensors",
        ("checkpoint/gguf/",),
    ),
    Elsewhere(
        "config/test_families.py",
        "reading a config: what fields mean, known by the layers that come out (helpers.family_cases)",
        ("config/families/",),
    ),
    Elsewhere(
        "budget/test_transformers_truth.py",
        "rows of rules, known by the bytes that each model's class really keeps",
        tuple(f"config/families/{name}" for name in ("recurrent", "repeats", "special", "translate")),
    ),
    Elsewhere(
        "budget/test_more_configs.py",
        "rows of rules for models whose own code reads their config",
        ("config/families/remote_code_models",),
    ),
    Elsewhere(
        "model/test_family_logits.py",
        "a row an architecture, known by its logits",
        ("config/architecture", "config/architectures", "config/rotary", "model/rope"),
    ),
    Elsewhere("checkpoint/test_tensors.py", "names and shapes are what is looked for", ("config/tensor_shapes",)),
    Elsewhere(
        "export/test_export.py",
        "a file a format of the same dump",
        ("export/arrays", "export/document", "export/table"),
    ),
    Elsewhere(
        "export/test_export_page.py",
        "looked at in a browser and as a picture",
        ("export/html", "export/svg"),
    ),
    Elsewhere(
        "generation/test_generate.py",
        "one loop, tried from its start to its end",
        ("generation/continuation", "generation/loop", "generation/nan_report"),
    ),
    Elsewhere(
        "inspect/test_dump.py",
        "the steps of one dump and what is checked of them; the parts that it was split into",
        ("inspect/checks", "inspect/finite", "inspect/steps", "inspect/tokens", "inspect/trace_size"),
    ),
    Elsewhere(
        "cli/test_dump_attn_weighted.py", "what a view tells, also as a file", ("export/view", "inspect/weighted")
    ),
    Elsewhere("inspect/test_family_steps.py", "the steps of each architecture", ("inspect/step_forms",)),
    Elsewhere("inspect/test_head_roles.py", "what heads are measured on", ("inspect/probes",)),
    Elsewhere(
        "inspect/test_ablation.py",
        "runs with something taken away, and the texts they are asked about",
        ("inspect/predictions", "inspect/repeats", "inspect/runs"),
    ),
    Elsewhere("inspect/test_comparison.py", "two texts, and one put into the other", ("inspect/patching",)),
    Elsewhere(
        "model/test_model.py",
        "one forward pass, compared with a Llama in float64",
        ("model/block", "model/llama", "model/weights"),
    ),
    Elsewhere("inspect/test_trace.py", "each place is looked at and edited", ("model/places",)),
    Elsewhere(
        "specs/test_every_spec.py",
        "every spec obeys the same rules, tried on all of them in turn",
        ("specs/cache_spec", "specs/row_specs", "specs/sharding", "specs/state_specs"),
    ),
    Elsewhere(
        "tokenizer/test_gguf_tokenizer.py",
        "one reading of a header",
        ("tokenizer/gguf", "tokenizer/pre_tokenizers", "tokenizer/scores"),
    ),
    Elsewhere("cli/test_tokenize.py", "a text's tokens are what the screen shows", ("tokenizer/tokenized",)),
    Elsewhere(
        "quality/test_parts.py",
        "what takes a cache apart, beside the same masks put on by hand",
        ("cache/one_head", "quality/by"),
    ),
    Elsewhere(
        "quality/test_verdict.py",
        "the caches that are tried are told together with what is said of them",
        ("quality/usual",),
    ),
)
