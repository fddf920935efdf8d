"""What a notebook shows by itself."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that a notebook shows when it is the last line of a cell, with no setting and no backend."""

    def _repr_png_(self) -> bytes:
        from satisfice.plots import style

        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()
