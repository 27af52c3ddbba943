"""The cells that the page is made of, and what decides.

1. What the model looks at, by development accuracy, for each statement and each source of word lists.
2. How strong penalties are, around what won; and other ways, which are only reported.
3. The test part: what won, the paper's parameters, the other methods on the same, and every ingredient left out. These
   are fixed before the test part is opened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.apartments.cells import SUPERVISED, Cell
from experiments.apartments.data import MORE, OTHERS, OWN, STAY, WORDS, Look
from experiments.command import Finished, Stage

SAID = (WORDS, STAY)
DEFAULT = Look(spelling=True, around=True)
"""Tokens up to three away, affixes, shape: what taggers usually look at."""

LOOKS = (
    Look(spelling=True),
    DEFAULT,
    Look(nearby=(3,)),
    Look(nearby=(10,)),
    Look(nearby=(3, 10)),
    Look(nearby=(5, 20)),
    Look(spelling=True, nearby=(3, 10)),
    *(
        look
        for source in (OWN, OTHERS)
        for look in (
            Look(alike=source, alike_nearby=()),
            Look(alike=source),
            Look(alike=source, top=1),
            *(Look(alike=source, nearby=near, dimensions=d) for d in (25, 50) for near in ((10,), (20,), (5, 20))),
        )
    ),
)


@dataclass(frozen=True)
class Plan:
    """``size``: how many of the texts to learn from (0: all); ``test``: whose labels the last stage is scored on."""

    looks: tuple[Look, ...] = LOOKS
    sources: tuple[str, ...] = (OWN, OTHERS)
    strengths: tuple[tuple[str, float], ...] = (
        ("alpha", 0.3), ("alpha", 3.0), ("alpha", 10.0), ("beta", 0.003), ("beta", 0.05),
        ("stay_beta", 0.001), ("stay_beta", 0.1),
    )  # fmt: skip
    more: tuple[str, ...] = MORE
    size: int = 0
    test: str = "test"

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (self.first, self.second, self.last)

    def looked(self, said: str, source: str) -> list[Cell]:
        """All that may be used where word lists come from ``source``: lists of its own are always at hand."""
        usable = {OWN: ("", OWN), OTHERS: ("", OWN, OTHERS)}[source]
        return [Cell(said, look, size=self.size) for look in self.looks if look.alike in usable]

    def first(self, _: Finished) -> list[Cell]:
        return [cell for said in SAID for cell in self.looked(said, self.sources[-1])]

    def look(self, found: Finished, said: str, source: str) -> Cell:
        return best(found, self.looked(said, source))

    def strengthened(self, found: Finished, said: str, source: str) -> list[Cell]:
        base = self.look(found, said, source)
        named = [(name, value) for name, value in self.strengths if name != "stay_beta" or said != WORDS]
        return [base, *(replace(base, **{name: value}) for name, value in named)]  # type: ignore[arg-type]

    def others(self, found: Finished) -> list[Cell]:
        """Ways that were tried and only reported."""
        if not self.more:
            return []
        base = self.look(found, STAY, self.sources[-1])
        said = [replace(base, said=said) for said in self.more]
        found_otherwise = [replace(base, after_words=True), replace(base, solver="alternating")]
        return [base, *said, *found_otherwise, *(Cell(s, Look(), method="hmm", size=self.size) for s in SAID)]

    def second(self, found: Finished) -> list[Cell]:
        pairs = [(said, source) for said in SAID for source in self.sources]
        return [cell for pair in pairs for cell in self.strengthened(found, *pair)] + self.others(found)

    def chosen(self, found: Finished, said: str, source: str) -> Cell:
        """The best choice on the development part."""
        return best(found, self.strengthened(found, said, source))

    def rivals(self, found: Finished, said: str) -> dict[str, Cell]:
        """The table of methods: on the test part."""
        named = {"AP, the paper's α and β, usual templates": Cell(said, DEFAULT, size=self.size)}
        for source in self.sources:
            ours = self.chosen(found, said, source)
            paper = self.look(found, said, source)
            lists = f"word lists from {source}"
            named |= {
                f"AP, the paper's α and β, {lists}": paper,
                f"AP, chosen, {lists}": ours,
                f"GE, {lists}": replace(ours, method="ge"),
                f"majority vote, then CRF, {lists}": replace(ours, method="vote"),
            }
            named[f"all labels of train, {lists}"] = replace(ours, said=WORDS, stay_beta=None, method=SUPERVISED)
        named["all labels of train, usual templates"] = Cell(WORDS, DEFAULT, method=SUPERVISED, size=self.size)
        return {name: replace(cell, part=self.test) for name, cell in named.items()}

    def ablation(self, found: Finished, source: str) -> dict[str, Cell]:
        """The choice with all statements, and without each ingredient."""
        ours = self.chosen(found, STAY, source)
        look = ours.look
        named = {"as chosen": ours, "without the statement on transitions": replace(ours, said=WORDS, stay_beta=None)}
        if look.nearby:
            named["without tokens nearby"] = replace(ours, look=replace(look, nearby=()))
        if look.alike:
            named["without lists of words alike nearby"] = replace(ours, look=replace(look, alike_nearby=()))
            named["without lists of words alike"] = replace(ours, look=replace(look, alike=""))
        if look.spelling:
            named["without spelling"] = replace(ours, look=replace(look, spelling=False))
        else:
            named["with spelling and tokens beside"] = replace(ours, look=replace(look, spelling=True))
        named["without punctuation on transitions"] = replace(ours, look=replace(look, punctuation=False))
        named["usual templates instead"] = replace(ours, look=DEFAULT)
        return named

    def last(self, found: Finished) -> list[Cell]:
        listed = [cell for said in SAID for cell in self.rivals(found, said).values()]
        for source in self.sources:
            for cell in self.ablation(found, source).values():
                listed += [cell, replace(cell, part=self.test)]
        return listed


def best(found: Finished, cells: list[Cell]) -> Cell:
    """The most accurate on the development part; of equal ones the first."""
    assert all(cell.part == "dev" for cell in cells)
    return max(cells, key=lambda cell: float(found[cell.key]["accuracy"]))


FULL = Plan()
QUICK = Plan((DEFAULT, Look(nearby=(3, 10))), (OWN,), (), (), 25, "dev")
