"""Write the type stub of the package, which follows from its list of public names: `python tools/stub.py [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

import satisfice

TARGET = Path(satisfice.__file__).with_name("__init__.pyi")


def stub() -> str:
    """The text of the stub."""
    homes = {name: f"satisfice.{module}" for name, module in vars(satisfice)["_HOME"].items()}
    homes |= dict.fromkeys(vars(satisfice)["_MODULES"], "satisfice")
    lines = [
        f"from {home} import {name} as {name}" for name, home in sorted(homes.items(), key=lambda item: item[::-1])
    ]
    head = "# Written by tools/stub.py from the list of public names in __init__.py."
    return "\n".join([head, *lines, "", "__version__: str", "__all__: list[str]", ""])


if __name__ == "__main__":
    if "--check" not in sys.argv:
        TARGET.write_text(stub(), encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != stub():
        sys.exit(f"{TARGET} does not follow from the list of public names; run `make format`")
