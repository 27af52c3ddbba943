"""Names that extensions may add to: penalties, conditions, events, statistics, models and methods.

An extension is a package that registers something when it is imported. A fresh process learns of it through an entry
point in the group ``tiltfit.extensions``, which is loaded the first time an unknown name is looked up; so
``import tiltfit`` never pays for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TypeVar

from tiltfit.errors import ConstraintError, TiltfitError, TiltfitWarning, did_you_mean, warn_user

GROUP = "tiltfit.extensions"
T = TypeVar("T")

_loaded = False
_loading = threading.RLock()


def load_extensions() -> None:
    """Import every installed extension, once per process. One that fails is reported and left out.

    A thread that comes while another one loads them waits until all are there.
    """
    global _loaded  # noqa: PLW0603
    with _loading:
        if _loaded:
            return
        _loaded = True  # first: an extension may look up names while it is imported, in this thread
        from importlib.metadata import entry_points

        for entry in entry_points(group=GROUP):
            try:
                entry.load()
            except Exception as error:
                warn_user(
                    f"The extension {entry.name!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}. "
                    "Its names stay unknown.",
                    TiltfitWarning,
                )


class Registry(Mapping[str, T]):
    """The meaning of each name. ``kind`` is what messages call an entry: "penalty", "condition key".

    Looking up a name that is unknown, or listing all names, loads the installed extensions first.
    """

    def __init__(self, kind: str, error: type[TiltfitError] = ConstraintError) -> None:
        self.kind = kind
        self._error = error
        self._entries: dict[str, T] = {}
        self._origins: dict[str, object] = {}

    def register(self, name: str, value: T, origin: object = None) -> None:
        """Enter a value, which ``origin`` (default: itself) defines. A name keeps its first definition; running that
        definition again, as in a notebook, replaces it."""
        if not isinstance(name, str) or not name:
            raise self._error(f"The name of {self._article} {self.kind} must be a non-empty string, but is {name!r}.")
        new = value if origin is None else origin
        old = self._origins.get(name, new)
        if old is not new and (_path(old) != _path(new) or not _is_named(new)):
            raise self._error(
                f"There is {self._article} {self.kind} {name!r} already, {_path(old)}: register {_path(new)} under "
                "another name."
            )
        self._entries[name], self._origins[name] = value, new

    @property
    def _article(self) -> str:
        return "an" if self.kind[0] in "aeiou" else "a"

    def find(self, name: object) -> T:
        """The value of a name; an unknown one is refused with the nearest that is known."""
        if name in self:
            return self._entries[name]  # type: ignore[index]
        raise self._error(
            f"There is no {self.kind} {name!r}; known are {', '.join(sorted(self))}.{did_you_mean(name, self)}",
            missing=(self.kind, str(name)),
        )

    @property
    def loaded(self) -> Mapping[str, T]:
        """The entries that are known without loading extensions."""
        return self._entries

    def remove(self, name: str) -> None:
        """Forget a name, as tests of extensions do."""
        self._entries.pop(name, None)
        self._origins.pop(name, None)

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise KeyError(name)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self._entries:
            load_extensions()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        load_extensions()
        return iter(list(self._entries))

    def __len__(self) -> int:
        load_extensions()
        return len(self._entries)


def _is_named(definition: object) -> bool:
    """Return whether a second definition of the same path is the first one, run again."""
    return "<lambda>" not in getattr(definition, "__qualname__", "<lambda>")


def _path(definition: object) -> str:
    of = definition if hasattr(definition, "__qualname__") else type(definition)
    return f"{of.__module__}.{getattr(of, '__qualname__', of)}"
