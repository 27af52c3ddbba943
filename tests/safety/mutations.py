"""Valid files, damaged the way files and people damage them, and the way an enemy would."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("TILTFIT_FUZZ", "10"))
"""How many files are tried of each kind: TILTFIT_FUZZ=20000 pytest tests/safety takes an hour or so."""

fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)

TOKENS = [
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\x0b",
    b"\x1a",
    "\u2028".encode(),
    "\x85".encode(),
    "İ\u0345".encode(),
    b'"',
    b"'",
    b'"""',
    b",",
    b"\t",
    b"=",
    b"#",
    b":",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[[",
    b"]]",
    b"null",
    b"true",
    b"nan",
    b"-inf",
    b"NaN",
    b"1e999",
    b"-1",
    b"0x",
    b"1_0",
    b"1979-05-27T07:32:00Z",
    b"9" * 30,
    b"9" * 5000,
    b"1." + b"0" * 400 + b"1",
    b"[" * 2000,
    b"(" * 3000,
    b'{"a":' * 2000,
    b"{not=" * 400,
    b"a." * 3000,
    b"x" * 70000,
    b"\n" * 2000,
    b"a,b\n" * 500,
    b'{ not = { word = "x" } }',
    b"version = 2\n",
    b'"__proto__"',
    b"../../x",
    b"/dev/zero",
    b"%s%n",
    b"$(x)",
]


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds after one to four blows, or bytes without any sense."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.binary(max_size=300))
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 30))
        piece = data[at : at + length]
        match draw(st.sampled_from(["flip", "delete", "double", "insert", "replace", "splice", "cut"])):
            case "flip" if at < len(data):
                data = data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
            case "delete":
                data = data[:at] + data[at + length :]
            case "double":
                data = data[:at] + piece * draw(st.integers(2, 5)) + data[at + length :]
            case "insert":
                data = data[:at] + draw(st.sampled_from(TOKENS)) + data[at:]
            case "replace":
                data = data[:at] + draw(st.sampled_from(TOKENS)) + data[at + length :]
            case "splice":
                other = draw(st.sampled_from(seeds))
                start = draw(st.integers(0, len(other)))
                data = data[:at] + other[start : start + draw(st.integers(0, 80))] + data[at + length :]
            case "cut":
                data = data[:at]
    return data
