"""Documents of spaCy and tables of Hugging Face ``datasets`` in place of lists: stand-ins that do what those do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, expect, word
from tiltfit.data.documents import as_table, as_texts
from tiltfit.data.foreign import dataset_columns
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError
from tiltfit.language.conditions import column

TEXTS = ["a puck on ice", "the puck", "a bat and a ball", "the bat", "ice", "ball"]
RULES = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]


@dataclass(frozen=True)
class Token:
    text: str


class Doc:
    """As spaCy's: iterable, sized, with ``text``; neither a list nor a Sequence."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = [Token(token) for token in tokens]

    @property
    def text(self) -> str:
        return " ".join(token.text for token in self._tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self._tokens)

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, i: int) -> Token:
        return self._tokens[i]


class Column(Sequence[Any]):
    """A column that is read when it is looked at, as in recent ``datasets``."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __getitem__(self, i: Any) -> Any:
        return self._values[i]

    def __len__(self) -> int:
        return len(self._values)


class Dataset:
    """As that of ``datasets``: columns by name, rows by number."""

    lazy = True

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns
        self.features = dict.fromkeys(columns, "…")

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, int):
            return {name: values[key] for name, values in self._columns.items()}
        return Column(self._columns[key]) if self.lazy else self._columns[key]


class EagerDataset(Dataset):
    """Columns as lists, as in earlier releases."""

    lazy = False


class DatasetDict(dict[str, Dataset]):
    """Splits by name."""

    @property
    def column_names(self) -> dict[str, list[str]]:
        return {name: split.column_names for name, split in self.items()}


class Stream:
    """As an IterableDataset: rows, once."""

    column_names = ("text",)

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter([{"text": "a"}])


datasets = pytest.mark.parametrize("kind", [Dataset, EagerDataset])


def test_documents_of_spacy_are_texts() -> None:
    docs = [Doc(*text.split()) for text in TEXTS]
    assert as_texts(docs) == TEXTS
    one = TiltClassifier(RULES).fit(docs)
    two = TiltClassifier(RULES).fit(TEXTS)
    assert np.array_equal(one.predict_proba(docs), two.predict_proba(TEXTS))
    assert np.array_equal(one.predict_proba(TEXTS), two.predict_proba(docs))


def test_documents_of_spacy_are_sequences_of_their_tokens() -> None:
    docs = [Doc("New", "York", "\n\n", "rains"), Doc("call")]
    found = as_sequences(docs)
    assert (found.items, found.offsets.tolist()) == (["New", "York", "_", "rains", "call"], [0, 4, 5])
    y = [["place", "place", "O", "O"], ["O"]]
    lists = [["New", "York", "_", "rains"], ["call"]]
    one, two = TiltTagger().fit(docs, y), TiltTagger().fit(lists, y)
    assert [list(tags) for tags in one.predict(docs)] == [list(tags) for tags in two.predict(lists)]
    assert [len(tags) for tags in one.predict(docs)] == [4, 1]


@datasets
def test_a_dataset_is_a_table(kind: type[Dataset]) -> None:
    data = kind(text=TEXTS, age=[1, 2, 3, 4, 5, 6], town=["Bern", None, "Bern", "Basel", "Basel", None])
    rules = [*RULES, expect("hockey", given=column("age").above(4)).about(0.5)]
    one = TiltClassifier(rules).fit(data)
    same = pd.DataFrame({name: list(data[name]) for name in data.column_names})
    two = TiltClassifier(rules).fit(same)
    # Sums of columns depend in the last digit on where an array lies in memory, and a fit carries that on.
    np.testing.assert_allclose(one.predict_proba(data), two.predict_proba(same), rtol=1e-6)
    missing = as_table(kind(age=[1, None]))
    assert missing is not None
    assert np.array_equal(missing["age"], [1, np.nan], equal_nan=True)


@datasets
def test_labels_come_as_a_column(kind: type[Dataset]) -> None:
    data = kind(text=TEXTS, label=[1, 1, 0, 0, 1, 0])
    model = TiltClassifier().fit(data["text"], data["label"])
    assert model.predict(data["text"]).tolist() == [1, 1, 0, 0, 1, 0]


@datasets
def test_numbers_alone(kind: type[Dataset]) -> None:
    data = kind(width=[0.1, 0.2, 2.1, 2.2], height=[1, 2, 1, 2])
    model = TiltClassifier().fit(data, ["a", "a", "b", "b"])
    assert model.predict(data).tolist() == ["a", "a", "b", "b"]


@datasets
def test_a_dataset_of_sequences(kind: type[Dataset]) -> None:
    data = kind(tokens=[["New", "York"], ["call"]], ner_tags=[[1, 1], [0]], year=[1999, 2001])
    found = as_sequences(data)
    assert found.items == ["New", "York", "call"]
    assert list(found.columns) == ["year"]  # tags are no value of a sequence
    model = TiltTagger().fit(data, data["ner_tags"])
    assert [list(tags) for tags in model.predict(data)] == [[1, 1], [0]]


def test_tables_of_pyarrow() -> None:
    pa: Any = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    table = pa.table({"text": TEXTS, "town": ["Bern", None] * 3})
    assert dataset_columns(table) == {"text": TEXTS, "town": ["Bern", None] * 3}
    assert TiltClassifier(RULES).fit(table).predict(table).tolist()[:3] == ["hockey", "hockey", "baseball"]


def test_a_data_frame_with_a_column_of_that_name_is_a_data_frame() -> None:
    frame = pd.DataFrame({"text": TEXTS, "column_names": TEXTS})
    assert dataset_columns(frame) is None


def test_refusals() -> None:
    splits = DatasetDict(train=Dataset(text=TEXTS), test=Dataset(text=TEXTS))
    for model in (TiltClassifier(RULES), TiltTagger(RULES)):
        with pytest.raises(DataError, match=r"X is several tables, 'train' and 'test'. Pass one of them: X\['train'\]"):
            model.fit(splits)
        with pytest.raises(DataError, match="X is a stream of rows.*streaming=False"):
            model.fit(Stream())
    with pytest.raises(DataError, match="Column 'parts' of X holds lists.*Leave the column out"):
        TiltClassifier(RULES).fit(Dataset(text=["a"], parts=[["a"]]))
    with pytest.raises(DataError, match="without a column 'tokens'"):
        TiltTagger(RULES).fit(Dataset(token=[["a"]]))
    with pytest.raises(DataError, match="row 1 is missing"):
        TiltClassifier(RULES).fit([Doc("a"), None])
    with pytest.raises(DataError, match="Sequence 1 is empty"):
        TiltTagger(RULES).fit([Doc("a"), Doc()])


def test_spacy_itself() -> None:
    nlp = pytest.importorskip("spacy", reason="the stand-ins are tested; spaCy itself is not installed").blank("en")
    docs = [nlp(text) for text in TEXTS]
    two = TiltClassifier(RULES).fit(TEXTS)
    assert np.array_equal(TiltClassifier(RULES).fit(docs).predict_proba(docs), two.predict_proba(TEXTS))
    tagger = TiltTagger(classes=["O", "place"]).fit(docs[:2], [["O"] * len(doc) for doc in docs[:2]])
    assert [len(tags) for tags in tagger.predict(docs)] == [len(doc) for doc in docs]


def test_datasets_itself() -> None:
    hub = pytest.importorskip("datasets", reason="the stand-ins are tested; datasets itself is not installed")
    table = hub.Dataset.from_dict({"text": TEXTS, "n": list(range(len(TEXTS)))})
    two = TiltClassifier(RULES).fit(TEXTS)
    assert np.array_equal(
        TiltClassifier(RULES).fit(table["text"]).predict_proba(table["text"]), two.predict_proba(TEXTS)
    )
    with pytest.raises(DataError, match="several tables"):
        TiltClassifier(RULES).fit(hub.DatasetDict(a=table))
    with pytest.raises(DataError, match="stream"):
        TiltClassifier(RULES).fit(table.to_iterable_dataset())


@dataclass(frozen=True)
class Tagged(Token):
    pos_: str = ""
    lemma_: str = ""
    ent_iob_: str = ""
    ent_type_: str = ""


def test_documents_bring_what_a_pipeline_found() -> None:
    def doc(*tokens: Tagged) -> Doc:
        found = Doc()
        found._tokens = list(tokens)
        return found

    docs = [
        doc(
            Tagged("Ann", "PROPN", "Ann", "B", "PER"),
            Tagged("Lee", "PROPN", "Lee", "I", "PER"),
            Tagged("sang", "VERB", "sing", "O"),
        ),
        doc(Tagged("sings", "VERB", "sing", "O"), Tagged("well", "ADV", "well", "O")),
    ]
    said = ConstraintSet(
        (
            expect("who", given=column("ent").isin("B-PER", "I-PER")).about(0.9),
            expect("act", given=column("lemma").equals("sing")).about(0.9),
            expect("act", given=column("pos").equals("PROPN").before & column("pos").equals("VERB")).about(0.9),
        )
    )
    assert [entry.support for entry in said.check(docs)] == [2, 2, 1]
    own = {"ent": [["B-PER", "I-PER", "O"], ["O", "O"]], "lemma": [["Ann", "Lee", "sing"], ["sing", "well"]]}
    own["pos"] = [["PROPN", "PROPN", "VERB"], ["VERB", "ADV"]]
    tokens = [[token.text for token in d] for d in docs]
    a = TiltTagger(said).fit(docs)
    b = TiltTagger(said).fit(tokens, evidence=own)
    assert np.array_equal(a.coef_, b.coef_)
    extra = [["x", None, None], None]
    more = expect("who", given=column("old").equals("x")).about(0.9)
    assert TiltTagger([*said, more]).fit(docs, evidence={"old": extra}).predict(docs)[0][0] == "who"
    with pytest.raises(DataError, match="evidence= has a column 'pos', but X has one of this name already"):
        TiltTagger(said).fit(docs, evidence={"pos": own["pos"]})
    assert as_sequences([Doc("Ann", "sings")]).evidence is None
