"""Tagged sequences as attributes of positions: CoNLL-2000, Cora and apartments where they are, else generated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from benchmarks import citations as cora
from benchmarks.corpora import collection, data_root
from tiltfit.arrays import IntArray
from tiltfit.data.readers.tagged import read_sequences
from tiltfit.features.gathering import Block, Incidence, distinct, gather, shifted
from tiltfit.features.tokens import TokenTemplates

Template = tuple[tuple[int, int], ...]

# Words and parts of speech around a token, alone and side by side: (column, distance) each.
CHUNKING: tuple[Template, ...] = (
    *(((0, d),) for d in (-2, -1, 0, 1, 2)),
    ((0, -1), (0, 0)),
    ((0, 0), (0, 1)),
    *(((1, d),) for d in (-2, -1, 0, 1, 2)),
    *(((1, d), (1, d + 1)) for d in (-2, -1, 0, 1)),
    *(((1, d), (1, d + 1), (1, d + 2)) for d in (-2, -1, 0)),
)


@dataclass(frozen=True, eq=False)
class Tokens:
    """Sequence s has the positions ``offsets[s]:offsets[s + 1]``. ``X``: positions × attributes (``names``), all 1;
    ``labels``: class numbers, −1 where there is none."""

    name: str
    tokens: list[str]
    offsets: IntArray
    X: sparse.csr_array
    names: list[str]
    labels: IntArray
    classes: list[str]

    @property
    def n_labels(self) -> int:
        return len(self.classes)

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    def sentences(self) -> list[list[str]]:
        """The token lists."""
        return [self.tokens[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def tags(self, s: int) -> list[str]:
        """The labels of a sequence."""
        return [self.classes[k] for k in self.labels[self.offsets[s] : self.offsets[s + 1]]]

    def attributes(self, s: int) -> list[list[str]]:
        """The names of the attributes at every position of a sequence."""
        ends, columns = self.X.indptr, self.X.indices
        rows = (columns[ends[i] : ends[i + 1]] for i in range(self.offsets[s], self.offsets[s + 1]))
        return [[self.names[j] for j in row.tolist()] for row in rows]

    def first(self, n: int) -> Tokens:
        """The first n sequences, with the attributes that occur there."""
        stop = int(self.offsets[n])
        part = sparse.csr_array(self.X[:stop])
        used, columns = np.unique(part.indices, return_inverse=True)
        X = sparse.csr_array((part.data, columns.ravel().astype(np.int32), part.indptr), shape=(stop, len(used)))
        names = [self.names[j] for j in used.tolist()]
        name = f"{self.name}, first {n} sequences"
        return Tokens(name, self.tokens[:stop], self.offsets[: n + 1], X, names, self.labels[:stop], self.classes)


def has_chunks() -> bool:
    """Return whether CoNLL-2000 is on this machine."""
    root = data_root()
    return root is not None and (root / "conll2000" / "train.txt.gz").is_file()


def chunks() -> Tokens:
    """The training part of CoNLL-2000 with the attributes of CHUNKING; generated sequences where it is absent."""
    if not has_chunks():
        return generate(211_727, n_labels=22, name="generated tokens (CoNLL-2000 is not on this machine)")
    return _chunks("train")[0]


def chunks_with_test() -> tuple[Tokens, Tokens]:
    """Training and test part of CoNLL-2000, the test part with the attributes of the training part."""
    train, test = _chunks("train", "test")
    return train, test


def citations() -> Tokens:
    """The 300 labelled citations of Cora with the default templates and lexicons; generated where they are absent."""
    if cora.folder() is None:
        return generate(11_000, n_labels=13, name="generated tokens (Cora is not on this machine)")
    found = cora.citations("train.300.0")
    assert found.y is not None
    tokens, tags = [t for row in found.tokens for t in row], [str(t) for row in found.y for t in row or ()]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in found.tokens])]).astype(np.intp)
    encoder, X = TokenTemplates(lexicons=cora.lexicons()).fit(tokens, offsets)
    classes = list(cora.LABELS)
    labels = np.array([classes.index(tag) for tag in tags], dtype=np.intp)
    name = "Cora, 300 labelled citations, default templates and lexicons"
    return Tokens(name, tokens, offsets, X, list(encoder.names), labels, classes)


def generate(
    n: int, *, n_labels: int, n_words: int = 20_000, length: int = 24, seed: int = 0, name: str = ""
) -> Tokens:
    """``n`` tokens in sequences of ``length``: labels follow a sticky chain; half of the words come from those of the
    label, by Zipf's law, the others from all. Attributes: the words and their last digits, here and beside."""
    rng = np.random.default_rng(seed)
    labels = _sticky(n, n_labels, rng)
    everything = np.cumsum(1 / (np.arange(n_words) + 10.0))
    own = np.cumsum(1 / (np.arange(n_words // n_labels) + 10.0))
    special = np.searchsorted(own, rng.random(n) * own[-1]) * n_labels + labels
    word = np.where(rng.random(n) < 0.5, special, np.searchsorted(everything, rng.random(n) * everything[-1]))
    offsets = np.unique(np.append(np.arange(0, n, length), n)).astype(np.intp)
    columns = [word.astype(np.intp), (word % 97).astype(np.intp)]
    values = [[f"w{k}" for k in range(n_words)], [f"e{k}" for k in range(97)]]
    templates: list[Template] = [((c, d),) for c in (0, 1) for d in (-1, 0, 1)] + [((1, -1), (1, 0))]
    X, names = _encode(columns, values, templates, offsets)
    tokens = [values[0][k] for k in columns[0].tolist()]
    classes = [f"l{k:02}" for k in range(n_labels)]
    return Tokens(name or f"{n:,} generated tokens", tokens, offsets, X, names, labels, classes)


def _sticky(n: int, n_labels: int, rng: np.random.Generator) -> IntArray:
    """A chain that keeps its label seven times out of ten."""
    fresh = rng.random(n) < 0.3
    fresh[0] = True
    return rng.integers(n_labels, size=n)[np.maximum.accumulate(np.where(fresh, np.arange(n), 0))].astype(np.intp)


def _chunks(*parts: str) -> tuple[Tokens, ...]:
    """Parts of CoNLL-2000. Attributes and labels are those of the first."""
    root = collection("conll2000")
    files = [root / f"{part}.txt.gz" for part in parts]
    read = [_columns(file) for file in files]
    everything = [[t for words, *_ in read for t in words], [t for _, pos, *_ in read for t in pos]]
    values, codes = zip(*(distinct(column) for column in everything), strict=True)
    ends = np.cumsum([0, *(len(words) for words, *_ in read)])
    offsets = np.concatenate([[0], *(o[1:] + e for (*_, o), e in zip(read, ends, strict=False))]).astype(np.intp)
    X, names = _encode(list(codes), list(values), CHUNKING, offsets)
    used = np.unique(X[: ends[1]].indices)
    X, names = sparse.csr_array(X[:, used]), [names[j] for j in used.tolist()]
    classes = sorted(set(read[0][2]))
    number = {name: k for k, name in enumerate(classes)}
    found = []
    for part, (words, _, tags, own), a, b in zip(parts, read, ends[:-1], ends[1:], strict=True):
        labels = np.array([number.get(tag, -1) for tag in tags], dtype=np.intp)
        rows = sparse.csr_array(X[a:b])
        found.append(Tokens(f"CoNLL-2000, {part}ing part", words, own, rows, names, labels, classes))
    return tuple(found)


def _columns(file: Path) -> tuple[list[str], list[str], list[str], IntArray]:
    """Words, parts of speech, chunk tags and offsets."""
    tagged, spoken = read_sequences(file), read_sequences(file, label=1)
    assert tagged.y is not None
    assert spoken.y is not None
    lengths = [len(row) for row in tagged.tokens]
    words, speech, tags = ([str(t) for row in rows for t in row or ()] for rows in (tagged.tokens, spoken.y, tagged.y))
    return words, speech, tags, np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)


def _encode(
    columns: Sequence[IntArray], values: Sequence[Sequence[str]], templates: Sequence[Template], offsets: IntArray
) -> tuple[sparse.csr_array, list[str]]:
    """Positions × attributes, one attribute a template and position; names such as ``0[-1]|0[+0]=the|cat``."""
    blocks: list[Block] = []
    names: list[str] = []
    spelt = [[*listed, "<begin>", "<end>"] for listed in values]
    for template in templates:
        code = np.zeros(len(columns[0]), dtype=np.int64)
        for c, d in template:
            code = code * len(spelt[c]) + shifted(columns[c], offsets, d, len(values[c]))
        kinds, number = np.unique(code, return_inverse=True)
        first = np.arange(len(kinds) + 1, dtype=np.intp)
        blocks.append(Block(number.ravel().astype(np.intp), Incidence(first, first[:-1] + len(names), [])))
        names += _names(template, kinds, spelt)
    return gather(blocks, len(columns[0]), len(names)), names


def _names(template: Template, kinds: npt.NDArray[np.int64], spelt: Sequence[Sequence[str]]) -> list[str]:
    parts: list[list[str]] = []
    for c, _ in reversed(template):
        kinds, code = np.divmod(kinds, len(spelt[c]))
        parts.insert(0, [spelt[c][k] for k in code.tolist()])
    head = "|".join(f"{c}[{d:+d}]" for c, d in template)
    return [f"{head}={'|'.join(row)}" for row in zip(*parts, strict=True)]
