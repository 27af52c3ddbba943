"""Plots of fitted models for notebooks, in scikit-learn's style: ``Display.from_estimator(...)`` draws, the display
keeps what it drew (``ax_``, ``figure_``), and ``plot(ax=...)`` draws it again elsewhere. They need matplotlib
(``pip install "tiltfit[plot]"``)."""
