"""Names of features hashed into a fixed number of columns: no vocabulary, so that a stream may bring any name.

    column(name) = ⌊h(name)·size / 2³²⌋,     h: MurmurHash3 (32 bits) of the name in UTF-8

The same name has the same column in every call, process and file. Names that share a column share a weight, and their
values are added.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arguments import whole
from tiltfit.errors import DataError

SIZE = 2**18
"""The default number of columns: of 100,000 different words, one in three then shares its column, and of the words
of one document next to none with another of them."""

MAX_SIZE = 2**24
"""A model has a row of weights for every column, used or not."""


class _LazyNames(Sequence[str]):
    """Names that are made when they are needed."""

    @property
    @abstractmethod
    def hashed_parts(self) -> tuple[Buckets, ...]:
        """Those of them that are names of hashed columns."""

    @abstractmethod
    def _name(self, j: int) -> str: ...

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._name(j) for j in range(len(self))[index]]
        return self._name(range(len(self))[index])


@dataclass(frozen=True)
class Buckets(_LazyNames):
    """The names of ``size`` hashed columns, ``hash 0`` and so on.

    >>> names = Buckets(2**18, "title:")
    >>> len(names), names[5]
    (262144, 'title:hash 5')
    """

    size: int = SIZE
    prefix: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", checked_size("size", self.size))

    @property
    def hashed_parts(self) -> tuple[Buckets, ...]:
        return (self,)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[str]:
        return map(self._name, range(self.size))

    def _name(self, j: int) -> str:
        return f"{self.prefix}hash {j}"


@dataclass(frozen=True)
class JoinedNames(_LazyNames):
    """Names one part after the other, hashed or not."""

    parts: tuple[Buckets | tuple[str, ...], ...]

    @property
    def hashed_parts(self) -> tuple[Buckets, ...]:
        return tuple(part for part in self.parts if isinstance(part, Buckets))

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts)

    def _name(self, j: int) -> str:
        for part in self.parts:
            if j < len(part):
                return part[j]
            j -= len(part)
        raise IndexError(j)


def joined(*parts: Buckets | tuple[str, ...]) -> Sequence[str]:
    """All names; a list unless some of them are hashed."""
    if any(map(buckets, parts)):
        return JoinedNames(tuple(part for part in parts if len(part)))
    return list(chain.from_iterable(parts))


def buckets(names: Sequence[str]) -> tuple[Buckets, ...]:
    """The hashed parts of these names."""
    return names.hashed_parts if isinstance(names, _LazyNames) else ()


def hashed(matrix: sparse.csr_array, names: Sequence[str], size: int) -> sparse.csr_array:
    """The columns of ``matrix``, which have these different names, hashed into ``size`` of them.

    A row is the same to the last bit whatever rows and names are beside it: values that share a column are added in the
    order of their hashes.
    """
    value = _hashes(names)
    order = np.argsort(value, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    parts = (matrix.data.copy(), rank[matrix.indices], matrix.indptr.copy())
    found = sparse.csr_array(parts, shape=matrix.shape)
    found.sort_indices()
    # Columns rise with hashes, so the indices stay sorted, and entries of one column stand side by side.
    column = (value[order].astype(np.uint64) * np.uint64(size) >> np.uint64(32)).astype(np.int32)
    found = sparse.csr_array((found.data, column[found.indices], found.indptr), shape=(matrix.shape[0], size))
    found.has_sorted_indices = True
    found.sum_duplicates()
    return found


def checked_size(option: str, size: object) -> int:
    """A number of columns that names can be hashed into, as an int; DataError for anything else."""
    found = whole(size)
    if found is None or not 1 <= found <= MAX_SIZE:
        raise DataError(f"{option}={size!r:.80} must be an integer from 1 to {MAX_SIZE}, such as 2**18.")
    return found


def _hashes(names: Sequence[str]) -> npt.NDArray[np.uint32]:
    from sklearn.utils import murmurhash3_32

    # "surrogatepass": half a character counts as a character, not as an error.
    found = (murmurhash3_32(name.encode("utf-8", "surrogatepass"), 0, True) for name in names)
    return np.fromiter(found, dtype=np.uint32, count=len(names))
