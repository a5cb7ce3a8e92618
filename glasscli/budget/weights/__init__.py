"""A model's weights from its config.json alone: how many numbers, of which parts, in how many bytes, on which rank.

It stands in the budget's wing, not in config's, for it answers a question of bytes and asks about ranks and
quantisation, which a config knows nothing of; the reading of fields is config's (`families.Fields`, `geometry`), and
which layer is of which kind is asked of the table that decides caches, so that both always mean the same layers.

What counts is the class that generates: with its encoder, and with the towers it sees and hears through, where it has
them. Layers that only draft tokens (MTP) are no part of it. A tensor counts once, however many names it has.
Parameters are those of transformers' classes; what those keep as buffers (the bias of a router, which no gradient
reaches) is not among them.

`outlines/` holds an outline of each model type: lines such as `self_attn.q_proj  H * E x D`. A config whose type has no
outline, or says something that an outline knows no answer to, is refused by name.
"""
