"""The memory that a fit needs at least, told before it is allocated.

8·L·(4·columns + positions) bytes, of a tagger 8·4·L² more     weights, gradient and two of L-BFGS; p
8·L·columns                                                    online: the weights alone
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from tiltfit.errors import UnsupportedError

_GIB = 2**30
_ADVICE = (
    "Use fewer classes (join rare ones), fewer columns (a vectorizer with min_df= or max_features=, a selection of "
    "features) or fewer rows."
)


@dataclass(frozen=True)
class Size:
    """The size of a fit. ``edges``: neighbouring positions have weights, too."""

    n_classes: int
    n_columns: int
    n_positions: int
    edges: bool = False
    online: bool = False

    @property
    def least_bytes(self) -> int:
        """The bytes of what every such fit holds at the same time.

        >>> Size(10, 1000, 500).least_bytes
        360000
        """
        if self.online:
            return 8 * self.n_classes * self.n_columns
        return 8 * self.n_classes * (4 * self.n_columns + self.n_positions + (4 * self.n_classes if self.edges else 0))

    def refuse_too_large(self) -> None:
        """Refuse what needs more memory than the machine has."""
        there = memory()
        if there is not None and self.least_bytes > there:
            raise UnsupportedError(
                f"A fit with {self.n_classes:,} classes, {self.n_columns:,} columns and {self.n_positions:,} positions "
                f"needs {self.least_bytes / _GIB:,.1f} GiB of memory at the very least, but this machine has "
                f"{there / _GIB:,.1f} GiB. {_ADVICE}",
                parameter="classes",
            )


def out_of_memory() -> UnsupportedError:
    """What to say when memory has run out all the same."""
    return UnsupportedError(f"Memory ran out during the fit. {_ADVICE}")


def memory() -> int | None:
    """The bytes of memory of the machine; None if it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
