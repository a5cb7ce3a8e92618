"""Which head needs which: roles are the measures of `measure_heads`, and a pair is one head less."""

import numpy as np
import pytest
from helpers.dump_cases import tiny

from glasscli.errors import UsageError
from glasscli.inspect.ablation import Part, remove
from glasscli.inspect.circuits import ROLES, find_feeds, role_scores
from glasscli.inspect.probes import measure_layers, probe_heads, repeat_probes


def test_roles_are_the_measures_of_every_head() -> None:
    loaded, probes = tiny(), [*repeat_probes(tiny(), 3), [5, 9, 5, 5, 7, 9]]
    scores = role_scores(loaded, probes)
    assert scores.keys() == set(ROLES)
    for at, probe in enumerate(probes):
        for layer, heads in enumerate(measure_layers(loaded, probe)):
            for head, measures in enumerate(heads):
                found = {role: scores[role][layer, head, at] for role in ROLES}
                assert found == {role: pytest.approx(getattr(measures, role), abs=1e-7) for role in ROLES}


def test_a_pair_is_the_reader_with_and_without_the_writer() -> None:
    loaded, probes = tiny(), repeat_probes(tiny(), 4)
    feeds = find_feeds(loaded, 4)
    assert feeds.n_draws == 4
    assert len(feeds.pairs) == (4 * 8 + 4 * 4) * len(ROLES)  # heads of layers 0 and 1, and those of later layers
    whole, less = probe_heads(loaded, probes), probe_heads(loaded, probes, remove([Part(0, 1)]))
    for feed in feeds.pairs:
        if feed.writer == Part(0, 1):
            head = feed.reader.head or 0
            before, after = (scores[feed.reader.layer][head] for scores in (whole, less))
            assert feed.before == pytest.approx(getattr(before.mean, feed.role), abs=1e-6)
            assert feed.after == pytest.approx(getattr(after.mean, feed.role), abs=1e-6)
            if feed.role == "induct":
                assert (feed.before_sd, feed.after_sd) == pytest.approx((before.induct_sd, after.induct_sd), abs=1e-6)
    sizes = [abs(feed.change) for feed in feeds.pairs]
    assert sizes == sorted(sizes, reverse=True)


def test_the_change_scatters_less_than_its_parts_where_they_move_together() -> None:
    feed = find_feeds(tiny(), 8).pairs[0]
    assert 0 < feed.change_sd < feed.before_sd + feed.after_sd
    assert all(np.isfinite([feed.before_sd, feed.after_sd, feed.change_sd]))
    assert find_feeds(tiny(), 1).pairs[0].change_sd == 0.0


def test_a_text_without_a_repeat_is_refused() -> None:
    with pytest.raises(UsageError, match="no token comes twice"):
        role_scores(tiny(), [[1, 2, 3]])
