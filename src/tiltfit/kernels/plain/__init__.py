"""The inner loops of ``kernels.llvm`` once more, in plain Numba: slower, and free of Numba's internals.

The same names, arguments and results. Terms of sums are added one after the other instead of in several sums side by
side, so results differ by rounding: relative errors of some L·2⁻⁵³ for sums of L numbers ≥ 0.
"""
