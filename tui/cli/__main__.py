"""``python -m tui.cli``, where the console script is not installed."""

import sys

from tui.cli.program import main

sys.exit(main())
