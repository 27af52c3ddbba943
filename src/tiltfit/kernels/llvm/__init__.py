"""Inner loops in LLVM's terms: the only modules that build on the internals of Numba and on llvmlite.

Every function has a twin of the same name in the module of the same name in ``kernels.plain``; ``kernels.choice``
decides which are used. No module here imports a compiled kernel, since kernels are compiled after that decision.
"""
