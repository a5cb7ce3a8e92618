"""Lens, attribution, ablation, comparison and the rest in every family that runs: what must be true of each, is."""

import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family

from glasscli import LoadedModel
from glasscli.inspect.ablation import ablate_prompt
from glasscli.inspect.attribution import attribute
from glasscli.inspect.comparison import movement
from glasscli.inspect.dump import dump_attention, token_of
from glasscli.inspect.lens import read_lens
from glasscli.inspect.neurons import cell_terms
from glasscli.inspect.predictions import log_softmax
from glasscli.inspect.scoring import score_text

IDS = [5, 9, 7, 12, 9, 7, 30, 31, 9, 40, 41, 42]


@pytest.fixture(params=FAMILIES)
def loaded(request: pytest.FixtureRequest) -> LoadedModel:
    return family(request.param)


def test_what_is_said_of_a_run_is_true_of_it(loaded: LoadedModel) -> None:
    logprobs = log_softmax(loaded.model(IDS))
    a, b = (token_of(loaded.tokenizer, token_id) for token_id in (7, 9))
    shares = attribute(loaded, IDS, a, b)
    assert shares.ok
    assert max(abs(part.logit) for part in shares.contributions if part.kind == "head") > 0
    (lens,) = read_lens(loaded, IDS, n_top=1)
    assert lens.rows[-1].top[0].logprob == pytest.approx(logprobs[-1].max(), abs=1e-4)
    found = [token.logprob for token in score_text(loaded, IDS).tokens]
    assert found == pytest.approx([logprobs[at, token_id] for at, token_id in enumerate(IDS[1:])], abs=1e-4)
    for trace in dump_attention(loaded, IDS, range(loaded.config.n_layers)).layers:
        key = max(trace.first_key, 9)
        assert cell_terms(trace, loaded.config, loaded.config.n_heads - 1, 11, key).gap < 1e-4


def test_every_part_can_be_taken_out(loaded: LoadedModel) -> None:
    found = ablate_prompt(loaded, IDS)
    assert len(found.effects) == loaded.config.n_layers * (loaded.config.n_heads + 1)
    assert all(effect.kl_bits > 0 for effect in found.effects)


def test_only_attention_carries_a_change_to_other_positions(loaded: LoadedModel) -> None:
    found = movement(loaded, IDS, [*IDS[:3], 13, *IDS[4:]])
    assert [at for at, gap in enumerate(found.without_attention[-1]) if gap] == [3]
    assert [at for at, gap in enumerate(found.whole[-1]) if gap][:2] == [3, 4]
