"""The steps as methods of kernels.

Generated from the steps' declarations by `tests/python_steps.rs`; do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

if TYPE_CHECKING:
    from ._kernel import Kernel

#: One name, or several.
Names = Union[str, Sequence[str]]
#: An argument of a step whose text is its own: text, a number, names, or pairs of a name and text.
Argument = Union[str, int, Sequence[str], Mapping[str, str]]


class Steps:
    """The steps of pipelines, each a method that returns a new kernel.

    Arguments are those of the step's text: `k.split_iname("i", 128, outer="io")` applies
    `split_iname(i, 128, outer=io)`. A sequence of names is written as `["i", "j"]`.
    """

    def _step(self, name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Kernel:
        raise NotImplementedError

    def split_iname(
        self, iname: str, length: int, *, outer: Optional[str] = None, inner: Optional[str] = None
    ) -> Kernel:
        r"""
        `split_iname(i, 128)`: the loop over `i` becomes a loop over `i_outer` around one over
        `i_inner`, which has 128 iterations.

        Meaning
        -------

        The inames `i_outer` and `i_inner` come with `0 <= i_inner < 128` and the definition
        `i = 128*i_outer + i_inner`; expressions and constraints still refer to `i`, so that the
        range of `i_outer` follows from that of `i`. In the loop tree, around instructions and in
        reductions, `i` is replaced by `i_outer, i_inner`.

        Legality
        --------

        A split in place is always legal: executions and their order stay the same, since
        `(i_outer, i_inner) -> i` is a monotone bijection on `0 <= i_inner < 128`. Names that are in
        use, inames that are no longer loops, and tagged inames are refused.

        In text: `split_iname(i, 128)`, `split_iname(i, $block, outer=io, inner=ii)`.
        """
        return self._step("split_iname", (iname, length), {"outer": outer, "inner": inner})

    def tag_inames(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `tag_inames(i_outer: block.x, i_inner: thread.x)`: determines where inames run. The page
        `tags` lists all tags.

        Meaning
        -------

        A parallel tag makes the iname a coordinate of executions: its loop is removed from the loop
        tree and replaced by its body. `unroll`, `partition`, `seq` and `host` keep the loop.

        Legality
        --------

        The step refuses an iname that has another tag, two inames on one axis in one instruction,
        `host` inside a loop that is not a host loop, and lengths that a tag does not allow
        (`thread`, `warp`, `unroll`, `ilp` and `vec` need a constant one, `lane` a power of two up
        to 32). Lanes (`ilp`, `vec`) change the order in a thread and must not reverse a dependence.
        Whether instances may run at the same time in different threads is judged when the kernel is
        lowered.

        In text: `tag_inames(i: block.x, j: thread.x)`; loopy's `g.0`, `l.0`, `unr` mean the same,
        also as `tag_inames("i:g.0, j:l.0")`. An iname may be a pattern:
        `tag_inames(*_inner: unroll)`.
        """
        return self._step("tag_inames", arguments, options)

    def untag_inames(self, *inames: Names) -> Kernel:
        r"""
        `untag_inames(i)`: makes a tagged iname a sequential loop again.

        Meaning
        -------

        A coordinate becomes a node of the loop tree again, around all parts that have it, outside
        the loops that come after it in the instructions' lists of inames.

        Legality
        --------

        The parts that have the iname must be neighbours, so that there is one place for the loop.

        In text: `untag_inames(i, j)`.
        """
        return self._step("untag_inames", (*inames,), {})

    def reorder(self, *inames: Names) -> Kernel:
        r"""
        `reorder(j, i)`: nests the loop over `i` inside the loop over `j`. It is loopy's
        `prioritize_loops`, and is always obeyed.

        Meaning
        -------

        The named loops change places among themselves, so that they nest in the given order,
        outermost first. Loops between them that are not named stay where they are. Inames with
        parallel tags are coordinates, which have no order, and are passed over.

        Legality
        --------

        The loops must be nested perfectly from the first to the last: a part between two of them
        would be executed a different number of times, and is refused. The order of a reduction
        whose operator does not commute is not changed. Two accesses of one cell, one of them a
        write, must keep their order for all values of the parameters; otherwise the step is refused
        with two executions whose order would change.

        In text: `reorder(j, i)`.
        """
        return self._step("reorder", (*inames,), {})

    def unroll(self, *inames: Names) -> Kernel:
        r"""
        `unroll(i)`: unrolls the loop over `i`, whose length must be constant; the same as
        `tag_inames(i: unroll)`.

        Legality
        --------

        The order of executions stays the same, so the step is always legal.

        In text: `unroll(i, j)`.
        """
        return self._step("unroll", (*inames,), {})

    def join_inames(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `join_inames([i, j], k)`: the loops over `i` and `j` inside it become one loop over `k`.

        Meaning
        -------

        With `J` values of `j`, the iname `k` comes with the definitions `i = floor(k/J)` and
        `j = k mod J` (each plus its least value); expressions and constraints still refer to `i`
        and `j`. The first of the inames varies slowest.

        Legality
        --------

        The loops must be nested perfectly, without tags, in the given order. All but the first need
        a constant length; the least value of the first has to be a single function of the
        parameters. Executions and their order stay the same, so the step is always legal.

        In text: `join_inames([i, j], k)`, or `join_inames(i, j, new=k)`; by default the new iname
        is called `i_j`.
        """
        return self._step("join_inames", arguments, options)

    def add_prefetch(
        self, array: str, sweep: Names, *, space: Optional[str] = None, name: Optional[str] = None,
        pad: Optional[int] = None, inames: Optional[Names] = None, readers: Optional[Names] = None,
        accesses: Optional[Names] = None, vec: Optional[int] = None, via: Optional[str] = None,
        onto: Optional[Names] = None
    ) -> Kernel:
        r"""
        `add_prefetch(a, [i_inner, k_inner])`: copies the elements of `a` that are read in the sweep
        over the inames into a buffer of the block first.

        Meaning
        -------

        The *footprint* of all reads under the sweep is a box: on each axis a base, which is a
        function of the names that are not swept, and a constant length; of cells that are
        all a step apart, those between them are left out. `a_tile` has these lengths
        (axes of length 1 are left out), `a_fetch` copies the cells that exist and are needed, and
        the reads become reads of `a_tile`. A stencil's halo is part of the box. The copy is
        directly before the first subtree that reads, inside the innermost sequential loop that its
        base depends on; for a split reduction iname that is between the loops of the reduction. Its
        loops are spread over all threads of the block that are tagged so far.

        Legality
        --------

        Subscripts that are not affine, footprints without a constant length, and bases that differ
        between the threads that would share the buffer are refused. Every read of the buffer must
        see a copy of the cell that it read before, made after the last write of that cell before
        the read and before the next one: if the kernel writes the array, the copy is inside the
        loops around its reads and writes, and the step is refused with a counter-example if that is
        not enough.

        In text: `add_prefetch(a, [i_inner, k_inner])` with the options `space=private`,
        `name=a_tile`, `pad=1` (elements added to each row, against bank conflicts), `inames=[r, c]`
        (of the copy, one for each axis), `readers=[id, ...]` (only their reads),
        `accesses=[a[i, k]]` (only reads with these subscripts, compared as functions of inames),
        `vec=4` (a thread moves four neighbours of a row of `a` at once, where lowering can show
        that rows consist of whole vectors; `explain --lowered` says where it cannot),
        `via=cp_async` (the copies go on while their threads do, which wait for them before the
        barrier that stands before the readers; 4, 8 or 16 bytes at once, from global to shared
        memory, on sm_80 and later), `onto=[r, c]` (the copy runs in loops, or by threads, that
        exist, as of another copy; their inames have to take the values that new ones would take,
        neither more nor fewer).
        """
        return self._step(
            "add_prefetch", (array, sweep), {"space": space, "name": name, "pad": pad,
            "inames": inames, "readers": readers, "accesses": accesses, "vec": vec, "via": via,
            "onto": onto}
        )

    def assume(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `assume(n >= 1 and n % 16 = 0)`: adds assumptions about the parameters.

        Meaning
        -------

        The constraints become part of the kernel: bounds and guards that follow from them are
        omitted, and a launch whose arguments do not satisfy them is refused.

        Legality
        --------

        Only scalar arguments may occur, and the constraints must be satisfiable together with the
        assumptions made so far.

        In text: `assume(n >= 1 and n % 16 = 0)`; commas mean `and`.
        """
        return self._step("assume", arguments, options)

    def assume_legal(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `assume_legal("rows never overlap")`: allows the next step even if it is not known to be
        legal.

        Meaning
        -------

        The kernel records the reason together with the step, and prints it from then on. If the
        next step can be proved after all, nothing is recorded. A step that is refuted by a
        counter-example is refused all the same.

        Legality
        --------

        The user is responsible for it.

        In text: `assume_legal("why")`.
        """
        return self._step("assume_legal", arguments, options)

    def duplicate_inames(
        self, inames: Names, instructions: Names, *, new: Optional[Names] = None
    ) -> Kernel:
        r"""
        `duplicate_inames([i], [second])`: gives the instructions separate loops over copies of the
        inames.

        Meaning
        -------

        The chosen instructions run over new inames with the same range; the loop is split in two,
        and their half comes before or after the rest, according to their position. Each
        instruction's map remembers the value of the declared iname.

        Legality
        --------

        The chosen instructions must all be at the beginning or all at the end of the loop, and no
        dependence may go from the half that comes later to the other one: no access of the later
        half may previously have preceded an access to the same cell by the earlier half where one
        of the two is a write. Otherwise the step is refused with two such executions.

        In text: `duplicate_inames([i], [second, third], new=[i2])`; by default the new iname is
        called `i_dup`.
        """
        return self._step("duplicate_inames", (inames, instructions), {"new": new})

    def fix_parameters(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `fix_parameters(n=64)`: specialises the kernel to one value of a parameter.

        Meaning
        -------

        The value replaces the parameter in domains, shapes and expressions. The argument remains,
        and the assumption `n = 64` is added, so that a launch with another value is refused.

        Legality
        --------

        The step is legal for the launches that the assumption admits. Values that contradict
        earlier assumptions are refused.

        In text: `fix_parameters(n=64, m=$m)`.
        """
        return self._step("fix_parameters", arguments, options)

    def pad_array_axis(
        self, array: str, axis: int, by: int, *, multiple: Optional[int] = None
    ) -> Kernel:
        r"""
        `pad_array_axis(t, 1, 1)`: adds padding after an axis of an array in storage.

        Meaning
        -------

        The strides of outer axes grow. If a row of 32 floats is padded by one, the elements of a
        column are in 32 different banks of shared memory.

        With `multiple=32`, elements are added until their number is a multiple of 32, so that each
        row begins where vectors may. Of a constant length, that is a number. Of another one, a
        temporary gets the multiple as its length, of which nothing accesses the end; an argument
        keeps its shape and gets strides, as those of `tag_array_axes`.

        Legality
        --------

        Always legal: distinct elements stay distinct, and nothing reads the padding. For an
        argument, the padding is part of the kernel's interface.

        In text: `pad_array_axis(t, 1, 1)`: array, axis (0 is the first; -1 the last), elements; or
        `pad_array_axis(t, 1, multiple=32)`. With both, elements are added before the length is
        rounded up.
        """
        return self._step("pad_array_axis", (array, axis, by), {"multiple": multiple})

    def precompute(
        self, temporary: str, sweep: Names, *, space: Optional[str] = None,
        name: Optional[str] = None, pad: Optional[int] = None, inames: Optional[Names] = None,
        onto: Optional[Names] = None, readers: Optional[Names] = None,
        accesses: Optional[Names] = None
    ) -> Kernel:
        r"""
        `precompute(t, [i_inner])`: computes the elements of the temporary `t` that the sweep reads
        directly before it, into a buffer of the block.

        Meaning
        -------

        The footprint of all reads of `t` under the sweep is a box, as for
        `add_prefetch`.
        The instruction that computes `t` is replaced by one that computes the box into `t_tile`
        where it is read; values that several blocks need are computed by each of them. The map of
        the new instruction relates it to the declared instances. Where several instructions write
        `t` (the inside and the ends of a range, or a value in two stages), each is replaced by a
        separate one, in their order.

        Legality
        --------

        With `readers=[id, ...]` or `accesses=[t[i]]` only these reads see the buffer; what computes
        `t` for others stays. The writers of `t` have no predicates. Their subscripts are their
        inames, each once, or do not depend on inames; other loops around them are also around all
        readers. The loops of their reductions are sequential and have nothing else in them, and
        their bounds are functions of the parameters: such a loop moves as a whole. A writer may
        read the cell that it writes, but no other cell of `t`. All other reads of `t` are affine.
        It is proved by following values, or refuted with a counter-example, that each read of the
        buffer sees the value of its declared instance, and that the later computation reads the
        same values as before.

        With `onto=[r, c]` the values are computed in loops, or by threads, that exist: inames of
        other instructions, one for each axis of the buffer, which have to take the values that new
        inames would take, neither more nor fewer: { v : v is a value of `r, c` and not of the new
        inames, or the other way round } is empty. Two copies of the same shape then share their
        loops.

        In text: `precompute(t, [i_inner, j_inner])` with the options `space=private`,
        `name=t_tile`, `pad=1`, `inames=[r, c]` or `onto=[r, c]`, `readers=[id, ...]`,
        `accesses=[t[i + 1]]`.
        """
        return self._step(
            "precompute", (temporary, sweep), {"space": space, "name": name, "pad": pad,
            "inames": inames, "onto": onto, "readers": readers, "accesses": accesses}
        )

    def rename_iname(self, iname: str, new: str) -> Kernel:
        r"""
        `rename_iname(i, row)`: renames an iname everywhere.

        Meaning
        -------

        The iname keeps its place, its range and its tag. Instructions remember the value of the
        declared iname.

        Legality
        --------

        The step is always legal. A name that is in use is refused: two loops become one by fusion,
        not by renaming.

        In text: `rename_iname(i, row)`.
        """
        return self._step("rename_iname", (iname, new), {})

    def set_address_space(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `set_address_space(t, shared)`: moves a temporary to the memory of each thread, of each
        block, or of the launch.

        Meaning
        -------

        A private temporary has one copy per thread, a shared one a copy per block, a global one a
        single copy. Values that other threads read have to be shared, values that other blocks read
        have to be global.

        Legality
        --------

        Arguments remain global. Whether each reader still sees its value, and whether threads
        conflict on a cell, is judged when the kernel is lowered.

        In text: `set_address_space(t, shared)`; `make_global(t)` is short for
        `set_address_space(t, global)`.
        """
        return self._step("set_address_space", arguments, options)

    def set_precision(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `set_precision(fast)`: math functions of the kernel use the hardware's approximations,
        except where a call says otherwise.

        Legality
        --------

        The declared kernel leaves the precision of such calls to this option; results differ within
        the approximation's error.

        In text: `set_precision(fast)`, `set_precision(precise)`.
        """
        return self._step("set_precision", arguments, options)

    def split_reduction_inward(self, *inames: Names) -> Kernel:
        r"""
        `split_reduction_inward(i_inner)`: `sum([i_outer, i_inner], e)` becomes
        `sum(i_outer, sum(i_inner, e))`.

        Meaning
        -------

        The listed inames go to an inner reduction of the same operator, the others stay with the
        outer one. The inner reduction begins inside the loops of the outer one, and its result is
        the input of one update of the outer one.

        Legality
        --------

        The operator's state must be its one input and its one result, as for sum, product, min,
        max, any and all; the loops of the outer reduction must be outside those of the inner one.
        The result is the same up to reassociation.

        In text: `split_reduction_inward(i_inner)`.
        """
        return self._step("split_reduction_inward", (*inames,), {})

    def split_reduction_outward(self, *inames: Names) -> Kernel:
        r"""
        `split_reduction_outward(i_outer)`: `sum([i_outer, i_inner], e)` becomes
        `sum(i_outer, sum(i_inner, e))`.

        As `split_reduction_inward`, but the listed inames stay with
        the outer reduction and the others go to the inner one.

        Legality
        --------

        That of `split_reduction_inward`: the points of the reduction
        are grouped, which its operator has to allow.

        In text: `split_reduction_outward(i_outer)`.
        """
        return self._step("split_reduction_outward", (*inames,), {})

    def tag_array_axes(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `tag_array_axes(x, f)`: chooses the layout of an array in storage.

        Meaning
        -------

        `c` is row-major, `f` column-major; `[N1, N0]` gives the nesting level of each axis, `N0`
        being the densest; `stride:e` gives the stride in elements. For an argument, the layout is
        part of the kernel's interface. Modes that `set_layout` has set are replaced, a swizzle
        stays.

        Legality
        --------

        The levels of the axes without a stride must be `N0`, `N1`, ... without gaps. Subscripts do
        not change, and thus neither do values; that the layout is injective is checked when
        arguments are bound.

        In text: `tag_array_axes(x, f)`, `tag_array_axes(x, [N0, N1])`,
        `tag_array_axes(x, [stride:2*n, stride:1])`.
        """
        return self._step("tag_array_axes", arguments, options)

    def set_layout(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `set_layout(t, (64,16):(17,1))`: gives an array a layout in storage.

        Meaning
        -------

        The layout is in CuTe's notation, in elements, and has a mode for each axis, whose size is
        the axis's length. A mode may itself have several, the first of which runs fastest:
        `((32,3),16):((1,512),32)` has element `[i, j]` at `i % 32 + i / 32 * 512 + j * 32`. It
        replaces what order, padding, strides and a swizzle have said before; a swizzle may be part
        of it, as in `Sw<2,3,3> o 0 o (128,32):(32,1)`.

        Legality
        --------

        Refused if two elements would have one place, with both of them. Subscripts do not change,
        and thus neither do values. The array is shared or private: where an element of global
        memory lies is the sum of its subscripts times strides, axis by axis, by which a launch
        checks the arrays that callers pass.

        In text: `set_layout(t, (64,16):(17,1))`.
        """
        return self._step("set_layout", arguments, options)

    def swizzle(self, array: str, bits: int, base: int, shift: int) -> Kernel:
        r"""
        `swizzle(t, 2, 3, 3)`: permutes the elements of an array in storage, without padding.

        Meaning
        -------

        The element at position `x` of the storage moves to `x ^ ((x & yyy) >> S)`, where `yyy` are
        `B` bits from bit `M + S` on: CuTe's `Sw<B,M,S>`, counted in elements. Blocks of `2^M`
        neighbours stay together. If a row has `2^(M+S)` elements, block `c` of row `r` changes
        places with block `c ^ (r mod 2^B)` of that row, so that the blocks of a column lie in
        different banks of shared memory. A negative `S` exchanges the two groups of bits.

        The pattern of 128 bytes that tensor maps call `128B` is `Sw<3,4,3>` in bytes: for elements
        of two bytes `swizzle(t, 3, 3, 3)`.

        Legality
        --------

        A swizzle is one to one, and subscripts do not change. The storage has to be a multiple of
        `2^(B+M+|S|)` elements, so that none is moved out of it. The array is shared or private. A
        vector of at most `2^M` elements stays one; longer ones are refused where they are made.

        In text: `swizzle(t, 2, 3, 3)`: array, bits, first bit, distance.
        """
        return self._step("swizzle", (array, bits, base, shift), {})

    def map_domain(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `map_domain([t, i] -> [w, t], w = 2*t + i)`: replaces inames by affine functions of them,
        which run over the same points in another order.

        Meaning
        -------

        The loops over the old inames become loops over the new ones, in the order in which these
        are listed. An iname in both lists is kept; for each other new iname, its function of the
        old inames, parameters, inames around all of them and a constant follows the lists.
        Different points need different values: the matrix of the map is square and has an inverse.
        Old inames that are not kept get their value from the inverse map:
        `[t, i] -> [w, t], w = 2*t + i` has `i = w - 2*t`.

        If the determinant is neither 1 nor -1, the new inames skip points: in
        `[t, i] -> [w, i], w = 2*t + i`, where `t = floor((w - i)/2)`, those of which `w - i` is
        odd. Each inverse function with a division adds the condition that nothing remains to the
        domain of the new inames.

        It expresses skewing (`w = t + i`), wavefronts (sequential `w`, the others parallel),
        diamonds (`[t, i] -> [a, b], a = t + i, b = t - i`, in tiles after `tile`), shifts
        (`[i] -> [k], k = i + 1`), reversal (see `reverse`) and interchange. A
        shift by an iname around (`[i] -> [w], w = i - k - 1` of a loop from `k + 1`) makes a loop
        begin at 0: where `k` is a loop of the host, each launch then has the blocks that it has
        work for.

        Legality
        --------

        The loops have to be untagged and nested perfectly, so that each part runs over all of the
        inames or none. The order of a reduction whose operator does not commute is kept. The map is
        legal if for every dependence { x -> y } of the declared kernel the new time of x is before
        the new time of y: { x -> y : M x >= M y lexicographically } is empty.

        In text: as above, with a function for each new iname.
        """
        return self._step("map_domain", arguments, options)

    def index_set_split(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `index_set_split(i, i < k)`: splits the loop over `i` into one over the values where the
        condition holds and one over the others.

        Meaning
        -------

        The loop over `i` with all that it contains is copied. The first copy keeps its names and
        takes the condition; inames and instructions of the other one get a suffix, and it takes the
        negated condition. The direction of the condition determines which of the two loops comes
        first, so that the values of `i` keep their order. Two splits separate a single value:
        `index_set_split(i, i <= k, suffix=_below)`, then `index_set_split(i, i < k, suffix=_at)`.

        Legality
        --------

        Each instance is in exactly one of the copies, `{ S[i] : c }` or `{ S[i] : not c }`, and
        their order does not change, so that the step is legal wherever it applies. Inames of
        reductions, which share one accumulator, tagged inames, and conditions other than
        inequalities of the iname, inames around it and parameters are refused.

        In text: `index_set_split(i, i < k)`, with `suffix=_rest` as the default of its option.
        """
        return self._step("index_set_split", arguments, options)

    def peel(
        self, iname: str, *, first: Optional[int] = None, last: Optional[int] = None
    ) -> Kernel:
        r"""
        `peel(i, first=1, last=1)`: peels the first and the last iterations off a loop into loops of
        their own.

        Meaning
        -------

        The first iterations become a loop over `i_first`, the last ones a loop over `i_last`,
        around copies of the loop's body; `i` keeps the iterations between them. On the outer loop
        of a split, it separates the remainder: after `split_iname(i, 128)`, `peel(i_outer, last=1)`
        leaves tiles in the middle that are known to be full and need no guards.

        Legality
        --------

        It is an `index_set_split`, which keeps all instances and their order:
        `{ S[i] : lo <= i < lo + first }`, `{ S[i] : lo + first <= i <= hi - last }`, `{ S[i] : hi -
        last < i <= hi }`. The first (last) value of the iname has to be a single function of outer
        loops and parameters. It is that of the loop itself: of `0 <= j < n`, the first is 0, also
        if a loop over `k < j` inside has no iteration then.

        In text: `peel(i, first=1)`, `peel(i, last=2)`, or both.
        """
        return self._step("peel", (iname,), {"first": first, "last": last})

    def reverse(self, iname: str, *, new: Optional[str] = None) -> Kernel:
        r"""
        `reverse(i)`: runs a loop from its greatest value to its least one.

        Meaning
        -------

        A new iname counts upwards, and `i` is defined as `i = lo + hi - i_rev`, or as `i = -i_rev`
        if `lo` or `hi` is not a single function of parameters.

        Legality
        --------

        The iname is untagged, and no reduction over it has an operator that does not commute. The
        step is legal if no dependence is carried by the loop:
        `{ S[i] -> T[i'] : i < i' and one needs the other }` is empty for equal values of the loops
        around.

        In text: `reverse(i)`, with `new=i_rev` as the default of its option.
        """
        return self._step("reverse", (iname,), {"new": new})

    def tile(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `tile([i, j], [16, 32])`: splits each iname and nests all loops over tiles outside of all
        loops within a tile.

        Meaning
        -------

        It is `split_iname(i, 16)`, `split_iname(j, 32)` and
        `reorder(i_outer, j_outer, i_inner, j_inner)`.

        Legality
        --------

        The splits keep the order. The new nesting is legal if it reverses no dependence, which
        holds for all tile sizes if the loops are *permutable*: no dependence distance is negative
        in any of them. Skew a wavefront first with `map_domain`.

        In text: `tile([i, j], [16, 32])`.
        """
        return self._step("tile", arguments, options)

    def distribute(
        self, iname: str, *, before: Optional[Names] = None, new: Optional[Names] = None
    ) -> Kernel:
        r"""
        `distribute(i)`: gives each child of a loop a separate loop, one after the other.

        Meaning
        -------

        The body of the loop is cut between its children, or only before the instructions of
        `before=[...]`. The first piece keeps the iname; the others run over copies of it, called
        `i_2`, `i_3`, ... by default. This is loop distribution (or fission), the inverse of
        `fuse_loops`.

        Legality
        --------

        The parts of one instruction stay together: a reduction cannot be cut. A cut is legal if no
        dependence goes backwards across it: { x in a later piece -> y in an earlier piece : y needs
        x, x at an earlier value of the iname } is empty.

        In text: `distribute(i)`, `distribute(i, before=[second], new=[i_second])`.
        """
        return self._step("distribute", (iname,), {"before": before, "new": new})

    def fuse_loops(self, *inames: Names, new: Optional[str] = None) -> Kernel:
        r"""
        `fuse_loops([i, j])`: fuses adjacent loops into one, with their bodies one after the other.

        Meaning
        -------

        The loops become one loop over the first iname, or over `new=...`, at the place of the first
        of them; the bodies follow in the order in which the inames are listed. Each instruction's
        map remembers the value of its declared iname. It is the inverse of
        `distribute`.

        Legality
        --------

        The loops are children of one loop, with nothing between them. The values of the iname for
        which each part runs must not change: bounds that one loop has and another one lacks must be
        implied for each part, `{ S[i] : bounds of S } = { S[i] : bounds of S and of the fused loop
        }`. (A shift or a split with `map_domain` or `index_set_split` makes ranges equal.) The new
        order is legal if no dependence goes backwards in it: { x in a later body -> y in an earlier
        body : y needs x, x at an equal or earlier value } loses none that was kept before.

        In text: `fuse_loops([i, j])`, `fuse_loops([i, j], new=k)`.
        """
        return self._step("fuse_loops", (*inames,), {"new": new})

    def move_statement(
        self, what: str, *, before: Optional[str] = None, after: Optional[str] = None
    ) -> Kernel:
        r"""
        `move_statement(id, before=other)`: moves a statement, or a whole loop, to another place in
        the order of the loop in which it stands.

        Meaning
        -------

        What is moved, and what it is moved before or after (`after=other`), are given by the id of
        an instruction or by the iname of a loop. In the innermost loop around both, or outside of
        all loops, the first goes directly before or behind the second, with the loops in it. So a
        nest comes next to another one with which it is to be fused, and a load in front of what it
        is loaded for.

        Legality
        --------

        In that loop, the loops around what is moved contain nothing else: cut them with
        `distribute` first. With M the executions of what is moved, and P those
        of what it passes, the step is legal if { (m, p) : m in M, p in P, in one iteration of the
        loops around, both access one cell, one of them writes } is empty.

        In text: `move_statement(load, before=store)`, `move_statement(i, after=j)`.
        """
        return self._step("move_statement", (what,), {"before": before, "after": after})

    def split_live_range(self, temporary: str, first: str, *, new: Optional[str] = None) -> Kernel:
        r"""
        `split_live_range(t, id)`: from the instruction `id` on, which writes the temporary `t`, its
        values are in a temporary of their own.

        Meaning
        -------

        The new temporary has the shape, the type and the memory of the old one, and is called
        `t_2`, or as `new=...` says. `id` writes it, and all instructions behind `id` in the order
        of the loop tree access it; what `id` itself reads is the old one. A scalar that a kernel
        uses for two things so stops tying them together: their loops can be distributed, moved and
        fused apart.

        Legality
        --------

        `t` bounds no loop, and no step has made copies of it. The step is legal if every read still
        sees the value that it saw: { w -> r : r sees what w wrote to `t`, one of them is behind the
        cut and the other one is not } is empty. A value that is carried around a loop to an earlier
        instruction, or that `id` writes in some instances only, is refused with such a pair.

        In text: `split_live_range(t, id)`, `split_live_range(t, id, new=u)`.
        """
        return self._step("split_live_range", (temporary, first), {"new": new})

    def privatize_temporary(self, temporary: str, *inames: Names) -> Kernel:
        r"""
        `privatize_temporary(t, [i])`: gives a temporary a copy for each value of an iname.

        Meaning
        -------

        The temporary gets a leading axis for each of the inames, as long as its range, and each
        access the subscripts `i - lo`: `t` becomes `t[i]`. This is scalar expansion, which enables
        `distribute`, lanes, or threads that share the temporary. A layout that
        `set_layout` has set is that of each copy.

        Legality
        --------

        Each instruction that accesses the temporary runs over the inames. For a private or shared
        temporary, the inames need a constant length. The step is legal if no value flows from one
        iteration to another: { w -> r : w writes t, r reads what w wrote, i(w) != i(r) } is empty.

        In text: `privatize_temporary(t, [i, j])`.
        """
        return self._step("privatize_temporary", (temporary, *inames), {})

    def unprivatize_temporary(self, temporary: str, axis: int) -> Kernel:
        r"""
        `unprivatize_temporary(t, 0)`: removes an axis of a temporary, so that all cells along it
        become one.

        Meaning
        -------

        The axis is removed from the shape, and its subscript from each access. It is the inverse of
        `privatize_temporary`: array contraction. The other axes keep
        the modes that `set_layout` has set.

        Legality
        --------

        The temporary has the axis. The step is legal if no value is overwritten before its last
        read: { w -> r, v : r reads what w wrote, v writes a cell that differs from r's on this axis
        only, w < v < r } is empty.

        In text: `unprivatize_temporary(t, 0)`, the axis counted from 0.
        """
        return self._step("unprivatize_temporary", (temporary, axis), {})

    def alias_temporaries(self, *temporaries: Names) -> Kernel:
        r"""
        `alias_temporaries([a, b])`: merges several temporaries into one.

        Meaning
        -------

        All accesses go to the first one, and the others disappear. Consecutive phases can thus use
        the same shared memory.

        Legality
        --------

        The temporaries have the same type, address space and number of axes, and the first one is
        at least as long as the others on each axis. It keeps its layout, in which the cells of the
        others lie from then on; `map_array` gives a temporary another shape
        before. The step is legal if no value is overwritten before its last read: { w -> r, v : r
        reads what w wrote into one of them, v writes the same cell of another one, w < v < r } is
        empty, for any two threads that share the storage.

        In text: `alias_temporaries([a, b])`.
        """
        return self._step("alias_temporaries", (*temporaries,), {})

    def chunk_iname(
        self, iname: str, chunks: int, *, outer: Optional[str] = None, inner: Optional[str] = None
    ) -> Kernel:
        r"""
        `chunk_iname(i, 4)`: splits an iname of constant length into 4 chunks whose lengths differ
        by one at most.

        Meaning
        -------

        With L values from `lo` on and K chunks, chunk `c` begins at `lo + floor(L*c/K)`: `i = lo +
        floor(L*c/K) + j`, where `j` runs until the next chunk begins. `split_iname(i, ceil(L/K))`
        may leave the last piece short or empty; these chunks are balanced.

        Legality
        --------

        The iname is untagged and its length is constant. With a symbolic length L, chunk `c` would
        begin at `floor(L*c/K)` or, with a parameter for the length of a chunk, at `c` times that: a
        product of two variables, which is not affine, so that no set with it can be decided. Pieces
        of a fixed number are affine if they are interleaved: `split_iname(i, K)` makes
        `i = K*i_outer + i_inner`, where `i_inner` is the number of the piece, and the pieces are
        balanced, too. The values keep their order, since { i -> (c, j) } is one-to-one and
        monotone.

        In text: `chunk_iname(i, 4)`, with `outer=` and `inner=` for the names, by default `i_outer`
        and `i_inner`.
        """
        return self._step("chunk_iname", (iname, chunks), {"outer": outer, "inner": inner})

    def double_buffer(self, temporary: str, iname: str) -> Kernel:
        r"""
        `double_buffer(a_tile, k_outer)`: fetches a tile one iteration ahead, into the half of the
        buffer that is not in use.

        Meaning
        -------

        The temporary is written by one copy in the loop. It gets two slots (an axis of length 2 in
        front), used alternately: iteration `k` reads slot `(k - lo) mod 2`. The copy is moved one
        iteration ahead: a copy before the loop (the prologue) fills slot 0, and the one in the loop
        fetches for `k + 1`, if there is such an iteration. Loads overlap with the computation, and
        one barrier per iteration suffices.

        Legality
        --------

        One plain instruction writes the temporary, inside the sequential loop and in loops that
        contain nothing else, and all accesses are inside the loop. The first value of the iname is
        a single function of outer loops and parameters. The step is legal if the cells that the
        copy reads keep their values for one more iteration, { v : v writes a cell that copy(k + 1)
        reads, copy(k) < v < copy(k + 1) } is empty, and if iteration k reads only what was fetched
        for it.

        In text: `double_buffer(a_tile, k_outer)`.
        """
        return self._step("double_buffer", (temporary, iname), {})

    def pipeline(
        self, iname: str, temporaries: Names, *, stages: Optional[int] = None,
        issue: Optional[str] = None
    ) -> Kernel:
        r"""
        `pipeline(k_outer, [a_tile, b_tile], stages=3)`: fetches tiles several iterations ahead,
        into slots of their buffers that are not in use.

        Meaning
        -------

        Each temporary is written by one copy in the loop. It gets `stages` slots (an axis in
        front), of which iteration `k` reads the one with the number `(k - lo) mod stages`. The
        copies are moved `stages - 1` iterations ahead: those for the first iterations stand before
        the loop, and those in the loop fetch for `k + stages - 1`, if there is such an iteration.
        One barrier per iteration suffices. If the copies are asynchronous
        (`add_prefetch(..., via=cp_async)`), they go on during the computation: each iteration waits
        only for the copies that the next one reads. Two stages are
        `double_buffer`.

        With `issue=last` the copies in the loop stand at the end of its body. Loads of shared
        memory that the computation begins with do not queue behind them then; with two stages,
        nothing would be left to hide the copies behind.

        With `issue=staged`, copies that are not asynchronous are split: `a_fetch_load` loads the
        elements of a thread into registers, `a_stage`, where the copy stands, and `a_fetch` stores
        them behind everything else in the loop. So the loads go on during the computation without
        `cp.async`, for elements that it cannot copy, such as single ones of two bytes.

        Legality
        --------

        One plain instruction writes each temporary, inside the sequential loop and in loops that
        contain nothing else, and all accesses are inside the loop. The first value of the iname is
        a single function of outer loops and parameters. The step is legal if the cells that a copy
        reads keep their values for so many iterations, and if iteration k reads only what was
        fetched for it.

        In text: `pipeline(k_outer, [a_tile, b_tile], stages=3)`, with the option `issue=last` or
        `issue=staged`; at least two stages.
        """
        return self._step("pipeline", (iname, temporaries), {"stages": stages, "issue": issue})

    def advance(self, iname: str, instructions: Names) -> Kernel:
        r"""
        `advance(k, [load])`: executes instructions one iteration ahead, behind everything else in
        the loop.

        Meaning
        -------

        For the first iteration they stand before the loop; those in the loop are executed at the
        end of its body, for the next iteration, if there is one. What they write keeps its place:
        unlike `pipeline`, the step adds no slots, so that everything that needs
        the values of this iteration has to be done by then.

        It is for loads that are moved ahead along an inner loop already. After
        `pipeline(k_inner, [x_reg], stages=2)`, the loads of the first inner iteration stand before
        the inner loop; `advance(k_outer, [x_load_first])` lets them begin behind the last inner
        iteration of the outer iteration before, in front of its barrier.

        Legality
        --------

        Each is a plain instruction with a single target, in loops that contain nothing else inside
        the sequential loop. The first value of the iname is a single function of outer loops and
        parameters. The step is legal if what an instruction reads has its values an iteration
        earlier, and if nothing reads an element that it writes between its new and its old place.

        In text: `advance(k, [load])`.
        """
        return self._step("advance", (iname, instructions), {})

    def prefetch_fragments(self, instruction: str) -> Kernel:
        r"""
        `prefetch_fragments(product)`: the fragments of a product by a hardware instruction are
        loaded by instructions of their own, which other steps can move ahead of the product.

        Meaning
        -------

        The instruction has its updates done by an atom (see `tensorize`). For
        each factor there is a private array, for `a_tile` it is `a_fragment`, with an axis for each
        lane of the thread that the factor depends on, and one for the atom's `k`. `a_load` copies
        what a box needs into it, directly before the loop over `k`, and the product reads the
        array.

        In the kernel each thread has all elements that its results need. In the program a warp
        shares them: a thread holds its part of each fragment, as the atom's placements say, and
        `a_load` is a load of fragments (`ldmatrix` where rows of shared memory allow it). The final
        check shows, lane by lane and element by element, that the instruction finds what the kernel
        reads.

        `pipeline` with two stages then loads the fragments of the next step
        while the products of this one run, and `advance` does so across the edge
        of a tile. Loops whose iterations take turns with the slots have to be unrolled, so that
        registers have constant numbers.

        Legality
        --------

        The copies are judged as those of `add_prefetch` are. Lanes need
        constant lengths. Lowering refuses such an array if anything but loads of fragments writes
        it, or anything but products by one kind of atom reads it.

        In text: `prefetch_fragments(product)`.
        """
        return self._step("prefetch_fragments", (instruction,), {})

    def buffer_array(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `buffer_array(c, [k])`: keeps the cells of an array that a sweep reads and writes in a
        buffer, loads them before and stores them after.

        Meaning
        -------

        The footprint of all accesses under the sweep is a box, as for
        `add_prefetch`. `c_buf` has its lengths; `c_load` copies the cells
        before the first access, and `c_store` copies the written ones back after the last one; all
        accesses go to the buffer. With `init=none` nothing is loaded, which is for cells that are
        written before they are read. A sum that is kept in memory moves into a register: `c[i] =
        c[i] + a[i, k]` with `k` swept.

        Legality
        --------

        All accesses of the array are affine and under the sweep, with a constant footprint. The
        step is legal if no other instruction reads a cell that is not yet stored or writes one that
        is loaded: { v -> r : the cell of r is in the buffer when v writes the array }, { store -> v
        : a stale cell is stored over what v wrote } are empty.

        In text: `buffer_array(c, [k])` with the options `space=shared` (private by default),
        `name=c_buf`, `init=none`, `vec=4` (a thread moves vectors, as in
        `add_prefetch`).
        """
        return self._step("buffer_array", arguments, options)

    def pack_array(
        self, array: str, *, name: Optional[str] = None, separate: Optional[int] = None
    ) -> Kernel:
        r"""
        `pack_array(x)`: gives an argument a copy in global memory, which the kernel uses instead
        and whose layout is free.

        Meaning
        -------

        `x_pack` has the shape of `x`, and all accesses go to it. `x_load`, a nest of loops over
        `x_f0`, `x_f1`, ... in front of everything else, copies all cells of `x` to it; `x_store`, a
        nest over `x_s0`, ... behind everything else, copies all of them back, if the kernel writes
        the array. The caller passes the array as before. As a temporary, the copy takes every
        layout: `map_array` splits, joins and permutes its axes,
        `pad_array_axis` pads them. The nests are split and tagged like others:
        spread over blocks, they become kernels of their own.

        With `separate=1`, each value of that axis has an array of its own, `x_pack_0`, `x_pack_1`,
        ..., as `separate_axis` makes them, and an instruction of its own,
        `x_load_0`, ..., in one nest over the other axes: an array of structures that the caller
        passes is a structure of arrays to the kernel.

        Cells of which the kernel reads what the caller has left in them, and those that it does not
        write, need the first nest. It is left out where the kernel is proved to write each cell
        before it reads it: then `x` remains an array that is only written.

        Legality
        --------

        Always legal. The copy has all cells before the first access, and what it is afterwards goes
        back to all of them, so that cells that the kernel leaves alone get the values that they
        had: { c : c is a cell of `x` that no instance copies, or that two copy back } is empty.
        Without the first nest, the step is proved by following values, as for
        `buffer_array`. Facts are declared of arguments, and would not be known
        of a copy: an array that has some is refused.

        In text: `pack_array(x)` with the options `name=x_pack` and `separate=1`.
        """
        return self._step("pack_array", (array,), {"name": name, "separate": separate})

    def map_array(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `map_array(t, [x, y] -> [y, x + y])`: gives the cells of a temporary new subscripts, which
        are quasi-affine functions of the old ones.

        Meaning
        -------

        Each access `t[e, f]` becomes an access to the cell given by the functions of `e` and `f`,
        minus the least value of each function. The new shape is the bounding box of the image of
        the old one, so that a skewed array has unused cells. Order and padding are reset to the
        defaults. With a layout that `set_layout` or
        `SwizzleArray` has set, elements stay where they are in storage: the
        new layout is the composition of that with the inverse of the map. The step expresses
        transposed, skewed and reversed storage, splitting an axis (`[x] -> [x // 4, x % 4]`) and
        joining two (`[x, y] -> [8*x + y]`).

        Legality
        --------

        A one-to-one map of cells preserves which accesses are to the same cell, and thus every
        conflict and its order; nothing else is required. It is proved that the functions f are
        one-to-one on the whole shape, or else on the accessed cells: { (c, d) : c and d are
        accessed, c != d, f(c) = f(d) } is empty. Otherwise the step is refused with two cells that
        would coincide. Only temporaries can be mapped, since the caller allocates arguments: map a
        copy that `pack_array` makes, or use
        `tag_array_axes` for the layout of the argument itself.

        In text: `map_array(t, [x, y] -> [y, x + y])`; the names on the left stand for the old
        subscripts, parameters may be used.
        """
        return self._step("map_array", arguments, options)

    def separate_axis(self, array: str, axis: int, *, names: Optional[Names] = None) -> Kernel:
        r"""
        `separate_axis(t, 0)`: makes a temporary of its own of each value of an axis.

        Meaning
        -------

        `t[0, i]` becomes `t_0[i]`, `t[1, i]` becomes `t_1[i]`, and so on: an array of structures
        becomes a structure of arrays, and private elements become scalars. Order and padding of the
        other axes stay; strides, modes and swizzles are reset. Values of the axis that nothing
        accesses get no temporary.

        Legality
        --------

        The axis has a constant length of at most 64, and each subscript on it has one value, as
        `1`, or as an iname of which `index_set_split` or
        `peel` has left one. Then { (c, d) : c and d are different cells of `t` and
        are one cell afterwards } is empty, and each access is to the cell that it was to: the step
        is always legal. An argument can be separated while it is declared, by
        `LoopKernel::separated`, since the caller has to know; or a copy of it that
        `pack_array` makes.

        In text: `separate_axis(t, 0)`: array, axis (0 is the first; -1 the last), with the option
        `names=[a, b]`.
        """
        return self._step("separate_axis", (array, axis), {"names": names})

    def concatenate_arrays(
        self, temporaries: Names, *, axis: Optional[int] = None, name: Optional[str] = None
    ) -> Kernel:
        r"""
        `concatenate_arrays([a, b])`: makes one temporary of several, behind one another along an
        axis.

        Meaning
        -------

        `a` stays where it begins, and `b[i]` becomes `a_cat[i + n]` with the length `n` of `a`: one
        allocation for all, in which each keeps its cells. The new temporary is row-major, without
        padding. `alias_temporaries` lets them share cells instead.

        Legality
        --------

        The temporaries have the same type, address space and number of axes, and the same lengths
        on all axes but the one; the lengths on that one are affine functions of parameters, which
        the assumptions keep from being negative. Then { (c, d) : c and d are cells of two of them,
        and lie at one place } is empty, and each access is to the cell that it was to. Of private
        temporaries, each of the lanes that write one (`ilp`, `vec`) has its own; where those of one
        are not those of another, they would come to share cells, and the step is proved only if
        that makes no difference.

        In text: `concatenate_arrays([a, b])` with the options `axis=1` (negative ones count from
        the end) and `name=both`.
        """
        return self._step("concatenate_arrays", (temporaries,), {"axis": axis, "name": name})

    def fuse_maximal(self, *inames: Names) -> Kernel:
        r"""
        `fuse_maximal(i, j, k)`: fuses several consecutive loops into as few as can be proved legal.

        Meaning
        -------

        The candidates are taken in the order of the text. Each is fused with the loop before it, as
        by `fuse_loops`, if that applies and is proved; otherwise it stays, and
        those after it are fused with it. Each fused loop has the name of its first candidate.
        Candidates that can be one loop can also be fused without the first or last of them, so that
        no other choice of neighbours leaves fewer loops.
        `Pipeline::explain` shows which loops were kept apart, and why.

        Legality
        --------

        As for each fusion: { x in a later body -> y in an earlier body : y needs x, x at an equal
        or earlier value } loses none that was kept before; each is judged by itself. If no two can
        be fused, the step is refused with the reason for the first two.

        In text: `fuse_maximal(i, j, k)`.
        """
        return self._step("fuse_maximal", (*inames,), {})

    def realize_scan(self, sweep: str, point: str) -> Kernel:
        r"""
        `realize_scan(i, j)`: turns a sum over `0 <= j <= i`, recomputed for each `i`, into a
        running total.

        Meaning
        -------

        The reductions over `j` keep their accumulator from one `i` to the next: `init` moves out of
        the loop over `i`, and each iteration adds its one new point: `j = i` for an inclusive scan,
        `j = i - 1` for an exclusive one (`0 <= j < i`). Any operator can be scanned, including one
        that does not commute or whose state has several values, since the order of the points is
        kept.

        Other ranges are scanned in reversed loops. `i <= j < n` shrinks, and both loops are
        reversed first, as by `reverse(i)` and `reverse(j)`: later steps find the loop of the scan
        as `i_rev`. `0 <= j < n - i` takes `reverse(i)`, and `n - i <= j < n`, which grows from its
        end, `reverse(j)`.

        Later steps determine how it runs. A loop over `i` is sequential. With `i` split and its
        inner part on the threads of a block, the threads scan their points together by shuffles and
        shared memory, whatever their number; a loop over the outer part carries the total from tile
        to tile. Lanes (`vec`, `ilp`) inside the threads give each thread several neighbouring
        points. With the outer part on an axis of the grid, each block scans a tile and looks back
        over the tiles before its own, all in one launch, ahead of which a short one resets what
        tiles pass on; the rounding of floating-point sums then depends on the time at which blocks
        run.

        Legality
        --------

        With U the points `(w, i, j)` of the reduction, I its instances `(w, i)`, and a constant
        `c`, the step is legal by theorem if

        * `{ (w, i, j) in U : j > i + c or (w, j - c, j) not in U }` and `{ (w, i, j) : (w, i) in I
          and (w, j - c, j) in U and j - c <= i and (w, i, j) not in U }` are empty: each `i` has
          the points that those up to it add, the last point of each; `i` may go in steps, as in
          `0 <= i < n and i mod 3 = 0` with `0 <= j <= i and j mod 3 = 0`;
        * the reduced expression does not depend on `i`;
        * `{ x writes what is read for j : x < (w, i, j), not x < (w, j - c, j) }` is empty: the
          value that the first instance reads for a point is the one that all later ones read.

        Where loops are reversed, this has to hold of the reversed ones, and reversing is judged as
        [`Reverse`] is: no dependence may be carried by `i`, and the operator has to commute. Tagged
        inames, predicates, and loops between `i` and `j` that are not part of the scan are refused.
        A step that changes the order of a scan is judged like any other. Which scans can go along
        blocks is decided by lowering (`look-back`).

        In text: `realize_scan(i, j)`.
        """
        return self._step("realize_scan", (sweep, point), {})

    def recognize_reduction(self, id: str, iname: str) -> Kernel:
        r"""
        `recognize_reduction(id, k)`: a loop in which an instruction adds to one element becomes a
        reduction.

        Meaning
        -------

        `acc = acc + e`, executed for all `k`, becomes `acc = acc + sum(k, e)`, executed once: a
        reduction, which other steps can split, spread over threads and blocks, and scan. The
        operator may be `+`, `-`, `*`, or `min` and `max` of integers. An update, `acc += e`,
        becomes one by the reduction, `acc += sum(k, e)`. The declared kernel changes in the same
        way, and keeps its `origin`, with which `run --verify` compares.

        Floating-point values are then added to the sum of the others, which begins with zero,
        instead of to `acc`, and later steps may add them in any order: they are rounded
        differently, and a negative zero that nothing is added to becomes a positive one.

        Legality
        --------

        The loop over `k` is untagged and contains nothing but the instruction, in the declared
        kernel as well. Where it contains others, it is cut as `distribute`
        cuts it, in both: the instruction gets a loop over an iname of its own, behind the others or
        ahead of them, and inside of the loops that it is in. { (x, y) : y needs x, and is before it
        then } has to be empty. The element does not depend on `k`, neither `e` nor the element's
        subscripts read its array, and there is no condition. So { (e, f) : e, f write other
        elements than the one, or read what the loop writes } is empty, and the values are combined
        with the element and nothing else. Where the loop may have no iteration, the element is read
        and written all the same: then its subscripts are functions of inames and sizes, which
        differ wherever tagged inames around the loop do, and a temporary has been assigned before.
        The types of the element and of `e` are both integers or both floating-point, the element's
        of at least 32 bits; sums and products of integers are the same modulo a power of two in any
        order.

        In text: `recognize_reduction(id, k)`.
        """
        return self._step("recognize_reduction", (id, iname), {})

    def privatize_updates(
        self, id: str, iname: str, *, chunk: Optional[int] = None, copies: Optional[int] = None,
        each: Optional[int] = None, name: Optional[str] = None, outer: Optional[str] = None
    ) -> Kernel:
        r"""
        `privatize_updates(count, i, chunk=8192)`: each chunk of a loop updates elements of its own,
        in shared memory, with which those of the array are updated at its end.

        Meaning
        -------

        The loop over `i` is cut into chunks. For each of them a temporary, of the array's shape,
        gets the neutral element of the update, the instruction updates the temporary, and every
        element of the array is updated with that of the temporary, unless that is neutral still.
        Copies of floating-point sums begin with -0.0, which changes no number that it is added to,
        and are added in any case: they may be 0.0, which makes a positive zero of a negative one.
        A histogram is then counted in shared memory, one copy for each block, and updates global
        memory once for each block and bin. Axes of the array whose subscripts do not change in the
        loop are left out of the temporary. Without `chunk` the whole loop is one.

        With `copies=8, each=512` the temporary has a leading axis of 8, and groups of 512
        neighbours of `i` take its elements in turn: for warps that read 16 neighbours a lane, each
        of 8 warps has a copy. The copies are combined by a reduction, before the array is updated;
        floating-point sums are added one after the other to -0.0, since a reduction begins with
        0.0.

        The declared kernel changes in the same way, and keeps its `origin`, with which `run
        --verify` compares.

        Legality
        --------

        Updates of an element by one sign are in no order, and may be grouped; floating-point sums
        are rounded in another order. The loop runs nothing but this instruction, so that nothing
        reads the array between its updates: { (u, r, v) : u and v are updates of the loop, r is
        another access of the array, u < r < v } is empty; neither do the instruction's own
        expressions. The operator is one of the signs, whose neutral elements are known, or one of
        the library. The axes that are kept have constant lengths, and no step has changed the loops
        of the instruction yet.

        In text: `privatize_updates(count, i)` with the options `chunk=8192`, `copies=8`,
        `each=512`, `name=counts_own`, and `outer=i_outer` for the loop over chunks.
        """
        return self._step(
            "privatize_updates", (id, iname), {"chunk": chunk, "copies": copies, "each": each,
            "name": name, "outer": outer}
        )

    def save_reload(self, temporary: str, *, name: Optional[str] = None) -> Kernel:
        r"""
        `save_reload(t)`: saves a private or shared temporary in global memory where a device kernel
        ends, and reloads it in later ones.

        Meaning
        -------

        If blocks depend on one another, a device kernel ends and another one begins, and private
        and shared values are lost. `t_saved` is a global temporary of the launch with an axis for
        each iname that owns the cells of `t` (all parallel inames of the writer for a private
        temporary, those on blocks for a shared one), before the axes of `t`. The instruction that
        writes `t` is followed by a copy into it; if a device kernel reads the value of an earlier
        one, it begins with a copy from `t_saved` into a new temporary, `t_reload`. Readers in the
        kernel that writes `t` stay as they are.

        Legality
        --------

        One instruction without a predicate writes `t`, before all that read it. Like any step that
        copies, it is legal if every read sees what it is declared to see: with f the declared
        definition of a read, `{ r : the last copy before r holds another definition than f(r) }` is
        empty. A temporary whose value no later device kernel needs is refused.

        In text: `save_reload(t)`, with `name=t_saved` as the default of its option.
        """
        return self._step("save_reload", (temporary,), {"name": name})

    def flatten_ragged(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `flatten_ragged(s, i)`: divides segments of unequal length into chunks of equal work.

        Meaning
        -------

        The points `offsets[s] <= i < offsets[s + 1]` of all segments are numbered consecutively
        together with the ends of the segments, each of which counts as several points: these are
        *steps*. Warps take equal numbers of steps, so that neither one giant segment nor millions
        of empty ones leave them idle, and accesses are contiguous whatever the lengths. Partial
        results of a segment that is spread over several lanes are joined in the order of its
        points: results are bitwise reproducible, and the operator need not commute.

        A block has `threads` threads (128). Each of its warps processes a *chunk* of `tiles` tiles
        (16), each of 32 times `items` points (8, 16 or 32; default 16): it loads them by vector
        accesses if the values are read at the points' numbers, and reduces them in shared memory,
        of which a block needs `threads * items` mapped values plus an eighth, and a byte for each.
        Warps do not wait for each other. Lowering generates three launches: one that finds the
        beginning of each chunk by bisection, one that processes the chunks, and one that joins the
        blocks' partial results of common segments.

        Blocks take the chunks in their order. Chunks of equal size do not take equal time: points
        inside a long segment cost less than ends of short ones. A guided schedule (OpenMP's term)
        balances this with two sizes: the first `full_chunks` chunks have `tiles` tiles, and those
        of the tail `tail_tiles`. If there are as many full ones as warps resident on the device,
        with nine tenths of all steps, warps that finish early process the remainder in small
        chunks.

        Legality
        --------

        Legal by theorem (`loopwright_legality::flat_nest`) where `monotone(offsets)` is declared
        with a range; the bounds of `i` are exactly `lo <= i < hi`, loaded from neighbouring offsets
        in the loop over `0 <= s < N`; that loop has only host loops around it, and contains only
        loads of scalars and one reduction over `i`; different segments write different elements;
        and the nest writes nothing that it reads. Lowering checks these conditions again for the
        finished kernel, so that a later step that violates them is refused.

        In text: `flatten_ragged(s, i, threads=128, items=16, tiles=16)`, followed by
        `full_chunks=4224, tail_tiles=1` for a guided schedule. `runs` and `rest` are older names of
        these two, accepted until 1.0.
        """
        return self._step("flatten_ragged", arguments, options)

    def cache_streaming(self, array: str) -> Kernel:
        r"""
        `cache_streaming(x)`: loads and stores of an array in global memory are evict-first.

        Meaning
        -------

        Data that are accessed once would evict data that are reused. The accesses become `__ldcs`
        and `__stcs` (PTX's `ld.global.cs` and `st.global.cs`, also for vectors): evict-first,
        likely accessed once. This is a hint that changes no value and that the emulator ignores. It
        slows down accesses to arrays that several blocks reuse, such as the factors of a product or
        offsets that are searched.

        Legality
        --------

        Legal by theorem for any array in global memory: arguments, and temporaries moved there by
        `set_address_space`.

        In text: `cache_streaming(x)`, one step for each array.
        """
        return self._step("cache_streaming", (array,), {})

    def cache_waves(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `cache_waves(out, window=335872, windows=8)`: stores to an array in global memory are
        written back to memory in waves.

        Meaning
        -------

        A few writes among many reads cost more than their bytes: the memory switches between
        reading and writing for every few lines that the L2 cache evicts. On one H200, 1 % of evenly
        distributed writes costs 7 % of the read bandwidth; the same bytes written in bulk cost 2 %
        (`benches/RESULTS.md`). This step divides the elements of an array, in storage order, into
        waves of `windows` windows of `window` elements. The cache is asked to keep the stores to
        all windows of a wave but the last, and to evict the lines at the same position of these
        windows when a line of the last one is stored, so that the lines of a wave are written back
        within the time of one window, with only reads between two waves.

        It suits results that are stored approximately in storage order, by kernels that read much
        more than they write. The lines that are kept, a wave without its last window, have to fit
        into the part of the cache for persisting lines (`cudaLimitPersistingL2CacheSize`: 11.25 MiB
        on an H200 by default). Stores at the end that do not fill a wave have no hint, so that
        nothing is kept after the kernel. The hints (PTX's `evict_last` and `applypriority`, from
        sm_80 on) change no value, and the emulator ignores them. One-byte elements are stored
        without hints.

        Legality
        --------

        Legal by theorem for any array in global memory: arguments, and temporaries moved there by
        `set_address_space`.

        In text: `cache_waves(out, window=335872, windows=8)`, one step for each array. The number
        of elements of a window is a multiple of 128; a wave has 2 to 64 windows (default 8).
        """
        return self._step("cache_waves", arguments, options)

    def reduce_atomically(self, instruction: str) -> Kernel:
        r"""
        `reduce_atomically(total)`: blocks that share the reduction of an instruction combine their
        partial results by atomic updates.

        Meaning
        -------

        A reduction over inames on the axes of the grid leaves each block with a partial result. By
        default these go to a separate array, and a second kernel joins them in a fixed order. With
        this step, a kernel launched before sets the result to the neutral element, and each block
        ends with an `atomicAdd`, `atomicMin` or `atomicMax`, or exchanges the smaller or the
        greater floating-point number, or what another operator makes of the two, by
        compare-and-swap; the array and the launch afterwards are not needed. If no iname of the
        reduction is on the grid, nothing changes.

        The updates happen in the order in which the blocks finish. Sums of floating-point numbers
        may therefore differ in their last bits from run to run; integer sums, minima and maxima do
        not. The emulator runs the blocks of such a kernel in order.

        Legality
        --------

        Legal by theorem: partial results of a reduction may be joined in any order. The value is a
        single reduction and does not read the target: a sum, a minimum or a maximum into an array
        of `i32`, `u32`, `i64`, `u64`, `f32` or `f64`, or a reduction by another operator that
        commutes, with one value of that type as its state and its result, and whose lift is the
        input. Everything else is refused here: `argmin`, several values, narrower types. An array
        that is not in global memory is refused by the step that distributes the reduction over
        several blocks: this one, `tag_inames`, or `buffer_array` of the result. Lowering also
        refuses an array whose type is not that in which the reduction accumulates.

        In text: `reduce_atomically(total)`. `join_atomically` is its older name, accepted until
        1.0.
        """
        return self._step("reduce_atomically", (instruction,), {})

    def set_update_scope(self, instruction: str, scope: str) -> Kernel:
        r"""
        `set_update_scope(count, block)`: an update is one step among the threads of a block, of the
        device, or of the whole system.

        Meaning
        -------

        An update reads an element and writes it, and no other access to it by those in the scope
        comes between. The scope is the device unless said, which is right for any kernel. `block`
        is narrower: the threads of one block alone update the element during a launch, as where
        each block has a row of bins, so that nothing has to be kept in order with other blocks.
        `system` is wider: the host or other devices may update the same array while the kernel
        runs. It is printed as `atomicAdd_block` or `atomicAdd_system`.

        An update that no other thread can meet is a plain read and write, whatever its scope, but
        for `system`: there, those who may come between are no part of the kernel. Shared memory is
        a block's, so that its updates have no other scope.

        Legality
        --------

        A scope changes no order. That no two blocks of a launch update one element, where it is
        `block`, depends on the tags; it is proved when the kernel is lowered, and once more of the
        program: { (x, y) : same cell, different blocks, same launch } is empty, or the kernel is
        refused (`update-scope`, or a launch ends between two instructions). For `system`, the array
        is the caller's, and nothing else in the kernel accesses it: what others change at any time
        has no value that a read could be in order with. A kernel that is declared with `system`
        says so of the caller's memory, and keeps it.

        In text: `set_update_scope(count, block)`; in a kernel `out[k] += v {scope=block}`.
        """
        return self._step("set_update_scope", (instruction, scope), {})

    def min_blocks_per_multiprocessor(self, blocks: int) -> Kernel:
        r"""
        `min_blocks_per_multiprocessor(8)`: the least number of blocks that a multiprocessor has to
        have registers for, at the same time.

        Meaning
        -------

        The registers of a multiprocessor are divided among the threads of the blocks that it runs
        at the same time, so that more blocks mean fewer registers for each thread. Otherwise the
        compiler is free to use any number. The number becomes the second argument of CUDA's
        `__launch_bounds__`, for each device kernel that the kernel is lowered to; a compiler that
        cannot satisfy it, because that many blocks do not fit on a multiprocessor, warns and
        ignores it. HIP C++ has no such argument.

        A nest of `flatten_ragged` chooses a number itself for the launch
        that processes the points; this number replaces it.

        Legality
        --------

        Legal by theorem for any kernel: registers change no value.

        In text: `min_blocks_per_multiprocessor(8)`; the last one counts.
        """
        return self._step("min_blocks_per_multiprocessor", (blocks,), {})

    def begin_launch(self, instruction: str) -> Kernel:
        r"""
        `begin_launch(norm)`: a launch begins with what contains the instruction.

        Meaning
        -------

        Statements and loops at the host's level (the top of the loop tree, and the bodies of loops
        tagged `host`) share a launch as long as blocks do not depend on one another. Unrelated ones
        then share the shape of the block and of the grid, too, so that the smaller one has threads
        without work. With this step, the one that contains the instruction's first part begins
        another launch, unless nothing comes before it. The shapes of its blocks and of its grid are
        those of its own inames.

        Legality
        --------

        Legal by theorem: launches run one after the other, in the order of the text, so that
        nothing is reordered: { (x, y) : x < y before, not x < y after } is empty. Values of private
        and shared memory end with a launch: lowering refuses what reads them in a later one
        (`ends-with-kernel`; see `save_reload`), and a launch that would begin
        between the parts of another instruction's reduction.

        In text: `begin_launch(norm)`.
        """
        return self._step("begin_launch", (instruction,), {})

    def map_to_atom(self, instruction: str) -> Kernel:
        r"""
        `map_to_atom(product)`: the updates of a sum of products are done by the first hardware
        instruction (*atom*) that fits.

        Meaning
        -------

        As `tensorize`, with an atom and loops that are searched for: of all
        atoms, the kernel's own first and then the library's, each after those with larger boxes;
        for `m` and `n` the loops around the instruction, outermost first, and for `k` those of its
        reduction. An atom fits if loops have the lengths of its box, if the instruction is the
        atom's product, and if it is added in the atom's type. `explain` shows which was chosen.

        Legality
        --------

        That of `tensorize`. If no atom fits, the refusal says for each of them which condition does
        not hold.

        In text: `map_to_atom(product)`.
        """
        return self._step("map_to_atom", (instruction,), {})

    def tensorize(self, *arguments: Argument, **options: Argument) -> Kernel:
        r"""
        `tensorize(product, mma_m16n8k16_bf16, m=i_in, n=j_in, k=k_in)`: the updates of a sum of
        products are done by a hardware instruction (an *atom*), a box of `m`, `n` and `k` at a
        time.

        Meaning
        -------

        `m` and `n` are loops of the lengths of the atom's box around the instruction, and `k` is a
        loop of its reduction with the length of the box. The results are distributed over the lanes
        of a warp and the registers of a lane as the atom's placement of `d` says: `m` and `n` are
        split into digits, those of the lane's number are joined to an iname tagged `lane`, the
        others are tagged `ilp`. The accumulator of a result lies in the lane that owns it, so that
        it is initialised and used by ordinary statements of that lane. The instruction's option
        `atom=NAME(m, n, k)` says that the loop over `k` and the lanes around it are run by the
        atom.

        Each lane loads its parts of the two factors from shared or global memory, by words of four
        bytes where neighbouring elements of a fragment are neighbours in memory, and the warp
        multiplies them together. The block's x axis is the 32 lanes of a warp; other axes number
        the warps (`warp` or `thread.y`).

        With `lanes=apart` the digits of the lane's number stay inames of their own, on the block's
        axes x, y and z, the least significant one on x, and the warps are on what axis is left. A
        sum or a maximum over the columns of the results can then join the lanes that hold parts of
        the same row, which are along x: let its loop have the same digits, with the same tags. The
        results are in a private array that it reads (the last example).

        Built-in atoms: `mma_m16n8k16_f16`, `mma_m16n8k16_bf16`, `mma_m16n8k8_f16`,
        `mma_m16n8k8_bf16` (products of `f16` or `bf16`, added in `f32`), `mma_m16n8k16_f16_f16`
        (added in `f16`, by an operator whose state is `f16`), `mma_m16n8k8_tf32`,
        `mma_m16n8k4_tf32` (of `to_tf32` of `f32`), these with `_truncated` (of `truncate_to_tf32`,
        which costs no instruction), `mma_m16n8k32_s8`, `mma_m16n8k32_u8` (of bytes, in `i32`),
        `mma_m8n8k4_f64`, from sm_80 on; `mma_m16n8k32_e4m3`, `mma_m16n8k32_e5m2`,
        `mma_m16n8k32_e5m2_e4m3`, `mma_m16n8k32_e4m3_e5m2` (added in `f32`, of which devices may
        keep fewer bits), from sm_89 on; `mma_m16n8k4_f64`, `mma_m16n8k8_f64` and
        `mma_m16n8k16_f64`, from sm_90 on; `mma_m16n16k4_f16` (Volta's box of 8 x 8 x 4 for each
        quad pair), from sm_70 on. A kernel's text may declare others (`atom NAME { ... }`).

        Legality
        --------

        The instances stay what they are; their distribution over lanes and registers is judged as
        that by `split_iname`, `join_inames` and `tag_inames` is. The order in which an atom adds
        products is its own, as in any reassociation of a reduction. The step refuses an instruction
        that is not the atom's product, with the equation that does not hold. In a partial tile
        zeros take the place of factors that do not exist: `add_prefetch` fills them in, or the
        lanes that load them from global memory, one by one. Lowering refuses updates under other
        guards that may differ between the instances of a box. The final check shows, lane by lane
        and element by element, that what is loaded and multiplied is what the instruction says.

        In text: `tensorize(product, mma_m16n8k16_bf16, m=i_in, n=j_in, k=k_in)`, and with
        `lanes=apart`.
        """
        return self._step("tensorize", arguments, options)

    def store_matrices(self, instruction: str) -> Kernel:
        r"""
        `store_matrices(product)`: the lanes of a warp store the results of an instruction to shared
        memory together, as matrices of eight rows of 16 bytes (`stmatrix`, from sm_90 on).

        Meaning
        -------

        Results of a product by an atom lie in the lanes of a warp, two neighbours of a row in each.
        Stored by itself, each lane writes four bytes. With this step a lane gives what it has of
        one, two or four matrices of 8 x 8 elements and the address of a row of one of them, and the
        warp stores these together: a row is written at once, and each store has as many as there
        are neighbours along a lane of the thread. Where the columns of the results are the rows of
        the array, matrices are transposed on the way. What the instruction computes of the sum
        before it is stored, a scale or a conversion, remains code of each lane.

        The target is an array in shared memory, which `buffer_array` makes, of
        elements of two bytes (`bf16`, `f16`, `i16`). Rows are aligned to 16 bytes; padding by eight
        elements, or a swizzle from bit 3 on, keeps them in different banks.

        Legality
        --------

        Which thread has computed what is stored does not change, nor does where it is stored. The
        instruction has one target, in shared memory, and no predicate. Lowering refuses results
        that are not distributed as those of an atom are (`tensorize`), rows
        that are not aligned, and guards that may cut a matrix (`matrix-store`). Partial tiles have
        such guards unless boxes may be stored as a whole: the array has room for them, and nothing
        reads the elements behind the end afterwards. Where what is computed of a sum reads memory,
        a lane stores zeros in place of results that do not exist. The final check shows this, and
        lane by lane and element by element that what is stored is what the instruction says.

        In text: `store_matrices(product)`. The instruction's option `via=stmatrix` says so.
        """
        return self._step("store_matrices", (instruction,), {})

    def extract_subst(self, rule: str, parameters: Names, value: str) -> Kernel:
        r"""
        `extract_subst(f, [i, j], x[i, j]*w[j])`: names a form of expressions, as a rule.

        Meaning
        -------

        The kernel gets the line `rule f(i, j) = x[i, j]*w[j]`. Its expressions stay what they are:
        rules are names for expressions that a kernel has, and a rule of the text is replaced by its
        value when it is read. Steps that take a rule find its uses by comparison, in which
        subscripts count as functions: `x[k + 1, 0]*w[0]` is `f(k + 1, 0)`.

        Legality
        --------

        It is legal wherever it applies: nothing but the text changes, and { r : an instance r reads
        or computes something else than before } is empty by the replacement itself. It is refused
        if no expression has this form.

        In text: `extract_subst(f, [i, j], x[i, j]*w[j])`: the rule's name, its parameters, its
        value.
        """
        return self._step("extract_subst", (rule, parameters, value), {})

    def assignment_to_subst(self, temporary: str) -> Kernel:
        r"""
        `assignment_to_subst(t)`: replaces the reads of the temporary `t` by the expression that
        computes it.

        Meaning
        -------

        The instruction that writes `t` and the temporary are gone; each read is the instruction's
        expression at the instance that wrote what it read. The value is computed again for each
        read, in the type of `t`: where the context could decide another one, it is in a `cast`. The
        kernel keeps the expression as a rule `t(i)`. The declared kernel changes in the same way,
        so that later steps relate to it; it keeps its own origin, with which `run --verify`
        compares. If the expression has reductions, those of each read run over copies of their
        inames, directly before what reads; the first read takes the inames themselves where nothing
        else has them.

        Legality
        --------

        One instruction without a predicate writes `t`, at subscripts that are inames
        of its own, each once. Each read of `t` outside of subscripts and bounds has to see the
        instance of that instruction which its subscripts name, in the declared kernel: { r -> w : w
        is the last write before r of the cell that r reads } contains only pairs with w =
        subscripts(r). Where the kernel writes what the expression reads, each operand, read at r,
        has to see the definition that it saw at w, and the transformed kernel is judged against the
        new declared one. All of this is decided by dataflow; where a read may see something else,
        the refusal shows one. No copy of `t` may have been made. Of a reduction, nothing may write
        what it reads, and the bounds of its inames are functions of the kernel's parameters.

        In text: `assignment_to_subst(t)`.
        """
        return self._step("assignment_to_subst", (temporary,), {})

    def subst_to_assignment(self, rule: str) -> Kernel:
        r"""
        `subst_to_assignment(f)`: computes the values of the rule `f` that the kernel uses into a
        temporary `f`, ahead of everything else.

        Meaning
        -------

        Along each parameter, the arguments of all uses lie in a range, which is a function of the
        kernel's parameters. A new instruction `f`, before all others, computes the rule's values in
        the box of these ranges into a temporary in global memory, and each use reads its element.
        The rule is gone. The declared kernel changes in the same way, so that later steps relate to
        it: `precompute` moves the computation to the uses, tile by tile.

        Legality
        --------

        The rule's value reads only arguments that the kernel does not write, at affine subscripts;
        it divides no integer by a variable; its parameters stand in subscripts only, and its type,
        f32, f64 or an integer, does not depend on where it is used: of an integer type it is a cast
        or an element, since sums of integers are computed as wide as they are wanted. It may be a
        sum, product, minimum or maximum, or have such reductions in it, over inames whose bounds
        are functions of the kernel's parameters: the new instruction has loops of its own over
        copies of them. Uses have affine arguments and are not themselves in subscripts; reductions
        are compared up to the names of inames with equal bounds. The box has to be within the
        arrays that the value reads, as the declared kernel of a text has to prove: { (b, e) : the
        value at the point b of the box reads e, which is outside of its array, or which the kernel
        writes } is empty.

        In text: `subst_to_assignment(f)`.
        """
        return self._step("subst_to_assignment", (rule,), {})

    def simplify(self, instructions: Names) -> Kernel:
        r"""
        `simplify([a, b])`: writes the expressions of instructions shorter, where their values stay
        the same, bit for bit.

        Meaning
        -------

        In sums and products of integers, terms are collected: `2*3*k - k` becomes `5*k`, and
        `(k // 10)*10 + k % 10` becomes `k`. Of floating-point numbers, products and quotients by 1,
        differences with 0 and double negations go, and literals whose result is exact in every type
        become one: `2.0*4.0*x[i]*1.0` is `8.0*x[i]`. Subscripts are written as the functions that
        they are. Where domain and assumptions decide a condition, as `i >= 0` where `i` counts from
        0, the value that is always chosen stays, and a predicate that always holds goes. What would
        not become shorter stays. The declared kernel changes in the same way, and keeps its
        `origin`, with which `run --verify` compares.

        Conditions that hold in a part of a loop stay, as `i == 0` of `0 <= i < n`, since the
        declared instruction has both parts; the note of the step (`explain`) names them. `peel` or
        `index_set_split` gives a part a loop of its own. Lowering then folds what it compares as
        numbers there, as in the first iteration, and the compiler sees the bounds of the others.

        Lowering and compilers do most of this by themselves. The step is for the kernel's text, and
        for steps that compare expressions as they are written, such as
        `assign_common_subexpressions`.

        Legality
        --------

        Integers wrap: sums and products are the same modulo a power of two, and a quotient rounded
        down, multiplied again, and its remainder add up to the dividend. Floating-point operations
        are left out only where the result is exact; terms are not collected, since `x + x + x` and
        `3.0*x` are rounded differently (`collect_common_factors` does
        such things). So { (e, p) : e has another value at the instance p than before } is empty. If
        steps came before, the transformed kernel is judged against the new declared one.

        In text: `simplify([a, b])`.
        """
        return self._step("simplify", (instructions,), {})

    def collect_common_factors(self, id: str, *, rounding: Optional[str] = None) -> Kernel:
        r"""
        `collect_common_factors(id, rounding=any)`: multiplies once by what terms of a sum have as a
        common factor.

        Meaning
        -------

        In the value of the instruction `sum(j, c*a)` becomes `c*sum(j, a)`, if `c` does not depend
        on `j`, and `c*a + c*b` becomes `c*(a + b)`; of several factors the one that most terms have
        comes first. Factors are compared as they are written. The declared kernel changes in the
        same way, and keeps its `origin`, with which `run --verify` compares.

        Legality
        --------

        All terms and factors have the type of the sum. Sums and products of integers wrap, and are
        the same modulo a power of two in either form. Those of floating-point numbers are rounded
        elsewhere, and differ more where terms cancel, overflow or are infinite, and where a sum has
        no terms and its factor is infinite: the step takes them with `rounding=any` only.

        A factor is read where the sum ends rather than for each term, and also where the sum has no
        terms. One that reads a temporary, what the loops of the sum write, or an element by a
        subscript from data, or that divides by what may be 0, stays in the sum: { (f, p) : the
        factor f, read at the end of the sum at p, has another value than for one of its terms } is
        empty. If steps came before, the transformed kernel is judged against the new declared one.

        In text: `collect_common_factors(id)` with the option `rounding=any`.
        """
        return self._step("collect_common_factors", (id,), {"rounding": rounding})

    def assign_common_subexpressions(
        self, instructions: Names, *, name: Optional[str] = None
    ) -> Kernel:
        r"""
        `assign_common_subexpressions([a, b])`: computes what expressions of the instructions have
        in common once in each iteration, into private scalars.

        Meaning
        -------

        Expressions that occur twice or more in the values of the instructions, as they are written,
        become scalars `common`, `common_2`, ..., the largest ones first. A scalar is computed
        directly before the first instruction that uses it. What is inside of subscripts, sums and
        branches of `if` does not count, since it is computed for other points or not at all. The
        declared kernel changes in the same way, and keeps its `origin`, with which `run --verify`
        compares.

        Compilers do this too, but for what is read from arrays that they cannot tell apart. Other
        steps take the scalar as a value of its own.

        Legality
        --------

        The expressions are operations and functions on integers, f32 or f64, of instructions
        without conditions with the same inames. Each use computes them in the type of the scalar:
        an `i32` product in an `i64` sum does not wrap as one in an `i32` sum does, and stays. { w :
        w writes what the expression reads, between the first and the last of these instructions }
        is empty; where something does, they are two expressions. If steps came before, the
        transformed kernel is judged against the new declared one.

        In text: `assign_common_subexpressions([a, b])` with the option `name=common`.
        """
        return self._step("assign_common_subexpressions", (instructions,), {"name": name})
