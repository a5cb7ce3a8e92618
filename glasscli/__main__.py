"""`python -m glasscli` is `glass`."""

import sys

from glasscli.cli.app import main

sys.exit(main())
