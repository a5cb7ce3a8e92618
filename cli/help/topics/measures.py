"""What the measures mean: KLD, perplexity, bits a byte, total variation, induction and the rest"""

from glasscli.cli.help.parts import Heading, Part, Prose, Sample, table
from glasscli.inspect.measures import MEANING

TOKENS = {
    "p, logprob": "How likely the raw model held a token that came, and the natural logarithm of that.",
    "p_sampled": "How likely it was to be drawn, after penalty, temperature, top-k, top-p and min-p.",
    "rank": "1 for the likeliest token of all, 2 for the next.",
    "surprise": "−log2 p, in bits: 1 b is a coin that fell as called, 10 b one in a thousand.",
    "entropy": "−Σ p log2 p over all tokens, in bits: how much surprise is to be expected. 0 for a sure model.",
}
TEXTS = {
    "nats a token": "The mean of −ln p over the tokens of a text: the loss that training lowers.",
    "perplexity": "e to the nats a token: as unsure as among so many tokens, all as likely. Depends on the tokenizer.",
    "bits a byte": "All surprise of a text over its bytes in UTF-8: compares models whose tokenizers differ.",
    "top-1": "The share of tokens that the model held the likeliest of all.",
}
RUNS = {
    "KL, KLD": "Σ p ln(p/q): what it costs to believe q where p is true. p is the whole model, the full cache, or text "
    "A. 0 if they agree. In nats beside caches (KLD), in bits (b) beside ablations and comparisons.",
    "p99": "The KLD that one position in a hundred exceeds: whether the cost is rare and high.",
    "Δ nats": "How much more a token of the text costs than in the full run; above 0 is worse. ± is its standard error "
    "over chunks.",
    "same top": "The share of positions whose likeliest token is the same.",
    "copy": "The share of 64 random tokens that are foreseen when they come a second time.",
    "total variation": "Half of Σ |a − b| over two rows of shares: the share of the weight that lies elsewhere.",
    "healed": "Of a patch: how much of KL(A, B) is gone once a part of B is taken from A.",
    "Δ logit": "What a part writes into a token's logit; the parts sum to the logit.",
}
CACHES = {
    "a token, fixed": "The bytes that grow with every token, and those that do not.",
    "of f16": "All bytes of a cache beside those of 16-bit floats at the same length.",
}


def parts() -> list[Part]:
    """From a token to a text, to two runs, to heads, to bytes."""
    return [
        Heading("Of a token"),
        table(TOKENS.items()),
        Heading("Of a text"),
        table(TEXTS.items()),
        Heading("Of two runs"),
        table(RUNS.items()),
        Heading("Of a head"),
        Prose("Means over the rows of its pattern, the first token's left out, beside a head that ignores content."),
        table(MEANING.items()),
        Heading("Of a cache"),
        table(CACHES.items()),
        Heading("Examples"),
        Sample(["glass score --text story.txt", "glass kv-quality --spec q8_0", "glass dump-attn --heads"]),
    ]
