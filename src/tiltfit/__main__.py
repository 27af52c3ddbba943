"""``python -m tiltfit``: the same as the ``tiltfit`` command."""

from __future__ import annotations

from tiltfit.cli.main import app

if __name__ == "__main__":
    app(prog_name="tiltfit")
