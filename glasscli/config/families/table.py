"""The table of families: which model types are read by which rule.

A row names the model types it is for, then what differs from a plain decoder: see `Family`. A new model
whose layers are of known kinds is one row here. Types without a row are plain decoders if transformers or
`PLAIN` knows them; `refusals` says what becomes of the others.
"""

from glasscli.config.families import habits, patterns, repeats, seq2seq, special, translate
from glasscli.config.families.family import Family
from glasscli.config.families.geometry import full
from glasscli.config.families.patterns import (
    FULL,
    HYBRID,
    HYBRID_SLIDING,
    INDEXED,
    LINEAR,
    SLIDING,
    after_max_window_layers,
    always,
    even_below_max_window_layers,
    every,
    from_first,
    last_is_full,
    listed,
)
from glasscli.config.families.recurrent import (
    INKLING_FULL,
    INKLING_SLIDING,
    ZAYA_FULL,
    ZAYA_SLIDING,
    beside,
    delta_net,
    kda,
    lightning,
    mamba1,
    mamba2,
    mlstm,
    olmo_delta_net,
    rg_lru,
    rwkv,
)

JAMBA = mamba1("mamba_expand", "mamba_d_state", "mamba_d_conv")
MAMBA = mamba1("expand", "state_size", "conv_kernel", "intermediate_size")
MAMBA2 = mamba2("num_heads", "head_dim", "state_size", "n_groups", "conv_kernel", "expand")
BAMBA = mamba2("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv", "mamba_expand")
NEMOTRON = mamba2("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "expand")
ZAMBA2 = mamba2("n_mamba_heads", "", "mamba_d_state", "mamba_ngroups", "mamba_d_conv", "mamba_expand")

HYBRIDS = {HYBRID: beside(full, BAMBA)}
DELTA = {LINEAR: delta_net}

ROWS: tuple[tuple[str, Family], ...] = (
    # Windows: which layers slide.
    ("gemma2 vaultgemma t5_gemma_module gpt_oss", Family(every(2))),
    ("gemma3_text t5gemma2_text t5gemma2_decoder", Family(every("sliding_window_pattern", fallback=6))),
    ("afmoe", Family(every("global_attn_every_n_layers", fallback=4))),
    ("olmo3", Family(every(4))),
    ("gemma3n_text kolibri1", Family(every(5))),
    ("beam", Family(last_is_full(every(6)))),
    ("cohere2", Family(every("sliding_window_pattern", fallback=4))),
    ("cohere2_moe", Family(habits.prefix_then_every)),
    ("exaone4 exaone_moe exaone4_5_text", Family(habits.exaone)),
    ("cwm granite_swa granitemoe_swa", Family(from_first(4))),
    ("flint", Family(habits.flint)),
    ("muse_glimmer_text muse_spark_text", Family(patterns.from_last(4))),
    ("mimo_v2_flash mimo_v2", Family(habits.mimo, {SLIDING: special.mimo_sliding})),
    ("smollm3", Family(habits.no_rope_slides)),
    ("llama4_text", Family(habits.no_rope_is_full)),
    ("modernbert-decoder", Family(from_first("global_attn_every_n_layers", 3), prepare=translate.half_window)),
    ("laguna mellum cohere_compass_text", Family(always(FULL))),
    (
        "qwen2 qwen3 qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen3_omni_moe_talker_text",
        Family(after_max_window_layers),
    ),
    ("dots1", Family(habits.from_max_window_layers)),
    ("qwen2_moe", Family(even_below_max_window_layers)),
    (
        "gemma4_text gemma4_unified_text diffusion_gemma_text",
        Family(every(6), {FULL: special.gemma4_full}, prepare=translate.gemma4),
    ),
    ("gpt_neo", Family(habits.attention_list, types_in=(), prepare=translate.gpt_neo)),
    ("deepseek_ocr2_text", Family(prepare=translate.own_head_dim)),
    (
        "unlimited_ocr_text",
        Family(
            habits.reference,
            {"reference_sliding_attention": special.reference},
            prepare=translate.own_head_dim,
        ),
    ),
    # Heads under other names.
    ("falcon", Family(always(FULL), prepare=translate.falcon)),
    ("gpt_bigcode", Family(always(FULL), prepare=translate.multi_query)),
    ("chatglm", Family(always(FULL), prepare=translate.chatglm)),
    ("dbrx", Family(always(FULL), prepare=translate.attn_config)),
    ("mpt", Family(always(FULL), prepare=translate.mpt)),
    ("cpmant", Family(always(FULL), {FULL: special.with_prompt})),
    ("dia_decoder", Family(always(FULL), {FULL: special.dia})),
    ("step3p5", Family(always(FULL), prepare=translate.without_drafts)),
    ("jetmoe", Family(prepare=translate.jetmoe)),
    ("openelm", Family(always(FULL))),
    ("hunyuan", Family(finish=repeats.shared_across)),
    (
        "mllama_text_model",
        Family(listed("cross_attention_layers", "cross_attention", FULL), {"cross_attention": special.cross_only}),
    ),
    # Latent attention and indexes.
    ("deepseek_v32 axk2 glm_moe_dsa", Family(always(INDEXED))),
    ("hy_v4 hy_v4_vl_text", Family(always(INDEXED), {INDEXED: special.hy_indexed})),
    ("mistral_large4_text", Family(always(INDEXED), {INDEXED: special.large4_indexed})),
    ("longcat_flash", Family(always(FULL), prepare=translate.longcat, finish=repeats.twice)),
    (
        "dots3_note_text",
        Family(
            habits.dots3,
            {FULL: special.dots3_full, INDEXED: special.dots3_indexed, SLIDING: special.dots3_sliding},
            prepare=translate.dots3,
        ),
    ),
    (
        "minimax_m3_vl_text minimax_m3",
        Family(habits.minimax_m3, {"minimax_m3_sparse": special.sparse}),
    ),
    (
        "deepseek_v4 deepseek_ref",
        Family(
            habits.deepseek_v4,
            {
                SLIDING: special.deepseek_v4_sliding,
                "compressed_sparse_attention": special.compressed("compressed_sparse_attention", True),
                "heavily_compressed_attention": special.compressed("heavily_compressed_attention", False),
            },
        ),
    ),
    # States.
    ("mamba falcon_mamba", Family(always(LINEAR), {LINEAR: MAMBA})),
    ("mamba2", Family(always(LINEAR), {LINEAR: MAMBA2})),
    ("jamba", Family(habits.jamba, {LINEAR: JAMBA})),
    ("bamba", Family(habits.bamba, {LINEAR: BAMBA}, types_in=())),
    ("granitemoehybrid", Family(always(LINEAR), {LINEAR: BAMBA})),
    ("falcon_h1", Family(always(HYBRID), HYBRIDS)),
    ("nemotron_h", Family(habits.nemotron_h, {LINEAR: NEMOTRON}, prepare=translate.nemotron_h)),
    ("zamba", Family(habits.zamba, {LINEAR: JAMBA, HYBRID: beside(full, JAMBA)}, prepare=translate.zamba)),
    ("zamba2", Family(habits.zamba2, {LINEAR: ZAMBA2, HYBRID: beside(full, ZAMBA2)}, prepare=translate.zamba)),
    ("zaya", Family(always(HYBRID), {HYBRID: ZAYA_FULL, HYBRID_SLIDING: ZAYA_SLIDING})),
    (
        "qwen3_next qwen3_5_text qwen3_5_moe_text",
        Family(every("full_attention_interval", FULL, LINEAR, fallback=4), DELTA),
    ),
    ("lara_mini", Family(patterns.cycle(LINEAR, SLIDING, LINEAR, FULL, SLIDING), DELTA)),
    ("olmo_hybrid", Family(habits.olmo_hybrid, {LINEAR: olmo_delta_net})),
    (
        "qwen4_exp_text",
        Family(
            every("full_attention_interval", INDEXED, LINEAR, fallback=4),
            {LINEAR: special.qwen4_linear, INDEXED: special.qwen4_indexed, FULL: special.qwen4_indexed},
            finish=repeats.positions_once,
        ),
    ),
    ("kimi_linear", Family(habits.kimi, {LINEAR: kda})),
    ("bailing_hybrid", Family(every("layer_group_size", FULL, LINEAR), {LINEAR: kda}, prepare=translate.bailing)),
    (
        "glm5_next_text",
        Family(
            every(4, INDEXED, LINEAR),
            {LINEAR: kda, INDEXED: special.pooled_index, FULL: special.pooled_index},
        ),
    ),
    ("minimax minimax_text_01 minimax_m1", Family(habits.minimax, {LINEAR: lightning})),
    ("lfm2 lfm2_moe", Family(habits.lfm2)),
    ("lfm3", Family(habits.lfm3)),
    (
        "recurrent_gemma",
        Family(habits.recurrent_gemma, {"recurrent": rg_lru}, prepare=translate.own_head_dim, types_in=()),
    ),
    ("rwkv", Family(always(LINEAR), {LINEAR: rwkv})),
    ("xlstm", Family(always(LINEAR), {LINEAR: mlstm}, prepare=translate.xlstm)),
    ("xlnet", Family(always(FULL), {FULL: special.memories})),
    ("reformer", Family(always(FULL), {FULL: special.reformer})),
    # With an encoder beside them.
    (
        "bart bigbird_pegasus blenderbot blenderbot-small canary cohere_asr_decoder fsmt led longt5 m2m_100 marian"
        " mbart moonshine mt5 mvp nllb-moe pegasus pegasus_x plbart pop2piano prophetnet seamless_m4t seamless_m4t_v2"
        " speech_to_text speecht5 switch_transformers t5 trocr udop umt5 whisper pp_formulanet_text",
        Family(prepare=seq2seq.decoder_side),
    ),
    # Layers that run several times, each with a cache of its own.
    ("dory", Family(every(4), finish=repeats.dory)),
    (
        "inkling_text inkling2_text",
        Family(habits.inkling, {HYBRID: INKLING_FULL, HYBRID_SLIDING: INKLING_SLIDING}),
    ),
    (
        "inkling2_loop_text",
        Family(
            habits.inkling,
            {HYBRID: INKLING_FULL, HYBRID_SLIDING: INKLING_SLIDING},
            finish=repeats.inkling_loop,
        ),
    ),
    ("hrm_text", Family(finish=repeats.hrm)),
)
FAMILIES = {name: family for names, family in ROWS for name in names.split()}
