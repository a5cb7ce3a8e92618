"""What arrays are called in signatures. The only two aliases; a name's ending says its axes (`model.attention`)."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Mask = NDArray[np.bool]
