"""Numbers on which the inner loops in LLVM's terms and their plain twins agree: sizes of tiles and blocks, and the
series of the exponential."""

from __future__ import annotations

import math

LANES = 4  # numbers in a register; labels are padded to a multiple of it
WIDEST = 8  # registers in a tile: half of the sixteen, the others hold factors
ABREAST = 8  # sequences side by side, two registers of four: a factor that is loaded once serves both
WIDEST_BLOCK = 5  # labels whose sums over eight sequences are taken at a time: ten of the sixteen registers
AHEAD = 16  # non-zeros between asking for what they are multiplied by and using it; 8 to 32 are about as good

LEAST = -708.0  # e^−708 ≈ 3·10⁻³⁰⁸ is close to the least number that has all its digits
ROUND = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the lowest bits
LOG2_E = 1 / math.log(2)
LN2_HIGH = 6.93147180369123816490e-01  # its last bits are zero, so n·LN2_HIGH is exact
LN2_LOW = 1.90821492927058770002e-10
BIAS = 1023  # of the exponent of a double
SERIES = (
    0.5, 0.16666666666666669, 0.041666666666666664, 0.008333333333330065,
    0.0013888888888886554, 0.00019841269863040559, 2.4801587317135174e-05, 2.7557268480289716e-06,
    2.755728298404137e-07, 2.51003758422237e-08, 2.091122973665872e-09,
)  # fmt: skip
