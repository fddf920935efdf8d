"""Being here puts this folder on the import path, so that tests can share `stats` and `twins`.

Properties are tried on the same examples every time, so that a failure is the fault of the change at hand. To look for
new ones: `SATISFICE_EXPLORE=1 pytest`.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.load_profile("default" if os.environ.get("SATISFICE_EXPLORE") else "same")
