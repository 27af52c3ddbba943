"""Small valid files of every kind that is read."""

from __future__ import annotations

import io

import numpy as np

TOML = [
    b"""version = 1
classes = ["a", "b", "c d"]
[[constraint]]
name = "one"
label = "a"
given = { word = "puck", case = true }
about = 0.9
beta = 0.1
[[constraint]]
labels = ["a", "b"]
given = { all = [{ phrase = "new york" }, { not = { any = [{ regex = "^[a-z]+$" }, { column = "n", above = 3 }] } }] }
between = [0.25, 0.75]
slack = 0.01
per = { column = "county" }
[[constraint]]
given = { column = "title", word = "x" }
distribution = { a = 0.5, b = 0.25, "c d" = 0.25 }
rationale = "because"
""",
    b"""[[constraint]]
change = true
given = { before = { punctuation = true } }
of = { change = true }
at_least = 0.9
[[constraint]]
segments = "a"
per = "sequence"
at_most = 1
[[constraint]]
transition = ["a", "b"]
given = { position = -1 }
exactly = 0.5
[[constraint]]
start = ["a"]
on = "all"
about = 0.5
within = 0.1
penalty = "l1"
[[constraint]]
statistic = "distinct"
at_most = 2
""",
]
JSONL = [
    b'{"text": "the puck", "label": "a", "id": 7, "n": 1.5}\n{"text": "\\u00e9\\ud83d\\ude00", "label": null}\n',
    b'\xef\xbb\xbf{"id": "x", "text": "", "label": 3, "n": null}\r\n\r\n{"text": "b", "label": 4, "n": true}',
]
CSV = [
    b'id,text,label,n\n1,"the ""puck"", twice",a,2\n2,bat,,x\n',
    b'\xef\xbb\xbftext,label\r\n"two\r\nlines",a\r\nx,b\r\n',
]
CONLL = [b"the O\npuck B-X\n\n# c\na O\n", b"a\tN\tX\r\nb\tV\tY\r\n\r\nc\tN\t?\r\n"]
SEQUENCES = [
    b'{"tokens": ["the", "puck"], "tags": ["O", "X"], "n": 1}\n{"tokens": ["a"], "tags": null}\n',
    b'{"tokens": ["x", "y"], "tags": [null, "O"], "id": 3}\n',
]
MALLET = [b"# sports\npuck hockey:0.9 baseball:0.1\nbat baseball:0.7,0.95\ngoalie hockey:0.8\n"]
SIMPLE_TAGGER = [b"the w=the O\npuck w=puck X\n\na O\n"]
WORDS = ["one\ntwo words\n\nété\n".encode()]
VOTES = [b"r1,r2\n0,-1\n1,1\n-1,0\n", b"0\t1\n-1\t1\n"]


def array(**kind: object) -> bytes:
    buffer = io.BytesIO()
    votes = np.array([[0, -1], [1, 1]], **kind)  # type: ignore[call-overload]
    np.save(buffer, votes)
    return buffer.getvalue()


def packed_array() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, L=np.array([[0, -1], [1, 1]]))
    return buffer.getvalue()


ARRAYS = [array(), array(dtype=np.int8), array(dtype=np.float64, order="F"), packed_array()]
