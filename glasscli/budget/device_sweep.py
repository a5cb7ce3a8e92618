"""How many sequences surely fit on devices, as a curve over their length."""

from glasscli.budget.device_answer import DeviceAnswer
from glasscli.budget.sizer import Sizer
from glasscli.budget.sweep import Curve

ENDLESS = 10**9  # what a curve shows where memory does not bound the sequences


def room_curve(found: DeviceAnswer) -> Curve:
    """Sequences side by side at each of the contexts, if the engine takes the most that it may take besides."""
    tokens, settings, subject = found.settings.tokens, found.settings, found.subject
    counts = tuple(ENDLESS if (most := fit.least.fit.max_batch) is None else most for fit in found.fits)
    dtypes = Sizer(settings.request(subject)).engine.dtypes
    return Curve(subject.name, tokens, counts, (), dtypes.k, dtypes.v, subject.logical.max_positions)
