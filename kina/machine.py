"""What is known of the machines that Kina compiles for: one model per target.

Everything that makes programs fast and nothing that decides what they compute: two machines give
the same bits (`kina/order.py` is the place for what is part of the language).
"""

from __future__ import annotations

from dataclasses import replace

from kina.frozen import frozen


@frozen(slots=True)
class Dots:
    """Instructions that add up products of small integers within each lane of I32."""

    lanes: int
    """Lanes of I32."""
    pairs: str
    """LLVM's name of that for two products of I16."""
    adds_pairs: bool = False
    """Whether it adds them to what a lane has so far."""
    quads: str = ""
    """That for four products of an unsigned and a signed byte, which it adds; empty for none."""
    tile_rows: int = 6
    """Rows of a tile of a product."""
    tile_columns: int = 16
    """Columns of such a tile."""
    depth: int = 512
    """Lanes of k that a tile takes from a panel of columns."""
    block: int = 80 << 10
    """Words of a block of rows, whose left factor stays in a core's cache."""


@frozen(slots=True)
class Machine:
    """A processor as kernels see it."""

    has_fma: bool = True
    """Whether a fused multiply-add is an instruction."""
    has_halves: bool = True
    """Whether conversions of F16 are exact instructions."""
    masks: bool = True
    """Whether vectors can be loaded and stored in part; else ends of a known size go by halves."""
    short_masks: bool = False
    """Whether LLVM can take no more than 16 truths together."""
    short_body: int = 8
    """Up to so many scalar operations are written twice in a walk, the second time masked."""
    whole_body: int = 256
    """Up to so many are done on a whole step side by side, more of them piece by piece."""
    piece: int = 32
    """Elements of such a piece: what registers hold, several values of each."""
    contest: int = 32
    """Lanes of a contest: what registers hold, a value and the number of a step of each."""
    lanes_count: bool = False
    """Whether there are registers for each lane to count the steps of a contest by itself."""
    line: int = 64
    """Bytes of a cache line."""
    fetched: int = 128
    """Bytes of a long row of weights of which one line is fetched: processors see what is next."""
    short_row: int = 6 << 10
    """Bytes of a row of weights up to which several rows together look like no stream to a
    processor: they are read one by one, or every line is fetched."""
    near: int = 1 << 19
    """Bytes of weights that may be in a core's cache, where streams do not matter."""
    rows_ahead: int = 16 << 10
    """Bytes at least from weights in short rows to what is fetched with them, by whole rows."""
    far: int = 2 << 10
    """Bytes along a row of weights from what is read to what is fetched, elsewhere."""
    streamed: int = 8 << 20
    """Bytes of a result that a core's cache has no use for: it is written past the caches."""
    long_row: int = 1024
    """Elements of a row that is long enough to be moved to whole cache lines."""
    ahead: int = 8192
    """Bytes from a load to what is fetched with it, in a walk that streams."""
    apart: int = 256
    """Bytes of which one line is fetched in such a walk: processors see what comes after it, and
    too many requests keep them from that."""
    walked: int = 1 << 21
    """Elements from which on such a walk is fetched ahead."""
    next_row: tuple[int, int] = (1 << 7, 1 << 18)
    """Elements of a row that is worth fetching ahead: from, to; longer ones leave the cache."""
    nearest_row: int = 512
    """Elements that lie at least between a load and the row that is fetched with it."""
    first_level: int = 1 << 10
    """A next row so few elements away goes into the first-level cache, others into the second."""
    steps_ahead: int = 8
    """Steps down a band of fibers from a load to what is fetched with it."""
    band: int = 64
    """Fibers of an interior axis that are done side by side; elements that one thread keeps."""
    chains: int = 128
    """Fibers of a chain of products that are done side by side, as sums in registers."""
    narrow_bands: tuple[int, ...] = (8, 1)
    """Bands for what is left when the number of fibers is known only at run time."""
    deep: int = 1024
    """Elements of an interior axis from which on a band of fibers leaves a core's cache."""
    access: int = 9
    """Reading or writing an element takes as long as so many scalar operations."""
    grain: int = 1 << 19
    """Scalar operations that are worth a thread: some 4 microseconds of vector code."""
    many_rows: int = 256
    """Rows that keep any team busy."""
    cheap: int = 4
    """Up to so many scalar operations are repeated rather than kept."""
    costly: int = 128
    """Scalar operations that take as long as writing and reading an element of memory."""
    long_body: int = 1024
    """Scalar operations of one loop; a longer chain is cut, its value stored in between."""
    tile_rows: int = 6
    """Rows of a tile of a matrix product: with its columns, what registers hold."""
    tile_columns: int = 16
    """Columns of such a tile: two vectors."""
    tile_depth: int = 512
    """Elements of k that a tile takes from a panel of columns, which stays in the nearest cache."""
    tiles: int = 32
    """Tiles of a block of rows, whose left factor stays in a core's cache."""
    few_rows: int = 4
    """Up to so many rows are not worth packing columns for."""
    least_columns: int = 8
    """Fewer columns do not fill a tile."""
    dots: Dots | None = None
    """What multiplies small integers; None where there is no such instruction."""
    block_rows: int = 256
    """Rows of a block of a pipeline: enough to read weights once for many. 0: no pipelines."""
    least_block_rows: int = 64
    """Rows that a block has at least, if there are as many."""
    block_bytes: int = 1 << 20
    """Bytes of a block that one thread does alone: what its cache holds."""
    shared_block_bytes: int = 50 << 20
    """Bytes of a block of which all threads do a part."""
    worth_blocks: int = 1 << 20
    """Elements that a pipeline saves at least."""
    links: int = 4
    """Reductions, one after the other, in one kernel: those of two softmaxes or layer norms."""
    small: int = 256
    """Up to so many elements a temporary lives on the stack."""
    stack: int = 2 << 10
    """Bytes of all the temporaries of a function that do."""


USUAL = "usual"
"""The machine of most targets."""
AVX2, AVX2_VNNI = "avx2", "avx2_vnni"
"""x86-64 with registers of 32 bytes, and with dot products of bytes."""
WIDE, WIDE_VNNI = "wide", "wide_vnni"
"""Processors with registers of 64 bytes, and 32 of them; and with dot products of bytes."""
OLD = "old"
"""x86-64-v2 and processors like it."""
SIMD128 = "simd128"
"""WebAssembly: much like it."""
SCALAR = "scalar"
"""Processors without vectors: what is done side by side is done one by one, so less of it."""
_DOTS_OF_32 = Dots(8, "llvm.x86.avx2.pmadd.wd")
_DOTS_OF_64 = Dots(
    16, "llvm.x86.avx512.pmaddw.d.512", tile_rows=14, tile_columns=32, block=160 << 10
)
_WIDE = Machine(
    contest=64,
    lanes_count=True,
    tile_rows=14,
    tile_columns=32,
    tile_depth=1024,
    tiles=24,
    few_rows=8,
    chains=256,
    dots=_DOTS_OF_64,
)


_OLD = Machine(
    has_fma=False,
    has_halves=False,
    masks=False,
    whole_body=2,
    piece=16,
    contest=16,
    tile_rows=2,
    few_rows=1,
    dots=Dots(4, "llvm.x86.sse2.pmadd.wd", tile_columns=8),
)


def _with_vnni(dots: Dots, bits: int) -> Dots:
    """The same tiles by instructions that add four products of bytes, or two of I16."""
    names = (f"llvm.x86.avx512.vpdp{kind}.{bits}" for kind in ("wssd", "busd"))
    pairs, quads = names
    return replace(dots, pairs=pairs, adds_pairs=True, quads=quads)


MACHINES: dict[str, Machine] = {
    USUAL: Machine(),
    AVX2: Machine(dots=_DOTS_OF_32),
    AVX2_VNNI: Machine(dots=_with_vnni(_DOTS_OF_32, 256)),
    WIDE: _WIDE,
    WIDE_VNNI: replace(_WIDE, dots=_with_vnni(_DOTS_OF_64, 512)),
    OLD: _OLD,
    SIMD128: replace(
        _OLD, short_masks=True, short_body=0, dots=Dots(4, "llvm.wasm.dot", tile_columns=8)
    ),
    SCALAR: Machine(
        has_halves=False,
        masks=False,
        short_body=0,
        whole_body=2,
        piece=8,
        contest=8,
        tile_rows=4,
        tile_columns=8,
    ),
}
"""By the name that the pass `schedule-cpu` takes."""
