"""One step of a pursuit for a tile of atoms that stays in vector registers over all levels.

The basis row of a new atom is ``gram[p] - sum_i conj(q_i^H d_p) basis[i]``, divided by its norm. Every tile is loaded
and written once per level. The vectors are LLVM's own, which it splits where a processor has shorter ones.
"""

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_FEATURES = llvmlite.binding.get_host_cpu_features()
_VECTOR_BITS = 512 if _FEATURES.get("avx512f") else 256 if _FEATURES.get("avx2") else 128
_VECTORS = 4
# Atoms of a tile times the bits of a float.
TILE_BITS = _VECTORS * _VECTOR_BITS


@intrinsic
def step_tile(_, gram, basis, places, weights, state, parameters, g, b, level, corr, left, score):
    """Write a row of the basis for the atoms of a tile, and take it out of their correlations and norms.

    A tile of T atoms has T real parts, then T imaginary parts. It begins at ``gram[g]`` and ``state[corr]``; row `i` of
    the basis at ``basis[b + 2 T places[i]]``. ``state[left]`` are the norms left, ``state[score]`` gets the gains, or
    the squares of the correlations. `weights` are the interleaved entries of the new atom in the rows before.
    `parameters` are the inverse norm of the new row, the two parts of its product with the shape, the least norm left
    of atoms that count, and whether to score by correlation.
    """
    bits = gram.dtype.bitwidth
    width = _VECTOR_BITS // bits
    n_tile = _VECTORS * width
    signature = types.void(gram, basis, places, weights, state, parameters, g, b, level, corr, left, score)

    def generate(context, builder, signature, arguments):
        structs = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:6], arguments[:6], strict=True)
        ]
        p_gram, p_basis, p_places, p_weights, p_state, p_parameters = (struct.data for struct in structs)
        g, b, level, corr, left, score = arguments[6:]
        real = ir.DoubleType() if bits == 64 else ir.FloatType()
        vector, index = ir.VectorType(real, width), ir.IntType(64)
        fused = ir.FunctionType(vector, [vector] * 3)
        # Unlike fma, it falls back to a product and a sum where the processor has nothing better.
        multiply_add = cgutils.get_or_insert_function(builder.module, fused, f"llvm.fmuladd.v{width}f{bits}")

        def fma(x, y, z):
            return builder.call(multiply_add, [x, y, z])

        def place(start, offset):
            return builder.add(start, ir.Constant(index, offset))

        def load(pointer, at):
            value = builder.load(builder.bitcast(builder.gep(pointer, [at]), vector.as_pointer()))
            value.align = bits // 8
            return value

        def store(value, pointer, at):
            builder.store(value, builder.bitcast(builder.gep(pointer, [at]), vector.as_pointer())).align = bits // 8

        def splat(scalar):
            undefined = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), width), None))

        def scalar(pointer, at):
            return builder.load(builder.gep(pointer, [at]))

        def row(i):
            return builder.add(b, builder.mul(scalar(p_places, i), ir.Constant(index, 2 * n_tile)))

        parts = [width * v for v in range(2 * _VECTORS)]
        entry = builder.block
        starts = [load(p_gram, place(g, part)) for part in parts]
        head, body, end = (builder.append_basic_block(name) for name in ("head", "body", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        i = builder.phi(index)
        i.add_incoming(ir.Constant(index, 0), entry)
        sums = [builder.phi(vector) for _ in parts]
        for total, start in zip(sums, starts, strict=True):
            total.add_incoming(start, entry)
        builder.cbranch(builder.icmp_signed("<", i, level), body, end)
        builder.position_at_end(body)
        w_re, w_im = (scalar(p_weights, place(builder.add(i, i), part)) for part in range(2))
        minus_re, minus_im, plus_im = splat(builder.fneg(w_re)), splat(builder.fneg(w_im)), splat(w_im)
        at = row(i)
        old = [load(p_basis, place(at, part)) for part in parts]
        old_re, old_im = old[:_VECTORS], old[_VECTORS:]
        sums_re, sums_im = sums[:_VECTORS], sums[_VECTORS:]
        new = [fma(minus_im, im, fma(minus_re, re, s)) for re, im, s in zip(old_re, old_im, sums_re, strict=True)]
        new += [fma(plus_im, re, fma(minus_re, im, s)) for re, im, s in zip(old_re, old_im, sums_im, strict=True)]
        i.add_incoming(place(i, 1), builder.block)
        for total, value in zip(sums, new, strict=True):
            total.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(end)
        values = [scalar(p_parameters, ir.Constant(index, n)) for n in range(5)]
        inverse, t_re, t_im, least = map(splat, values[:4])
        zero, one = (splat(ir.Constant(real, value)) for value in (0.0, 1.0))
        by_correlation = builder.fcmp_ordered("!=", values[4], ir.Constant(real, 0.0))
        at = row(level)
        for re, im, part in zip(sums[:_VECTORS], sums[_VECTORS:], parts, strict=False):
            re, im = builder.fmul(re, inverse), builder.fmul(im, inverse)
            store(re, p_basis, place(at, part))
            store(im, p_basis, place(at, part + n_tile))
            minus_re, minus_im = builder.fneg(re), builder.fneg(im)
            at_re, at_im, at_left = place(corr, part), place(corr, part + n_tile), place(left, part)
            c_re = fma(minus_im, t_im, fma(minus_re, t_re, load(p_state, at_re)))
            c_im = fma(im, t_re, fma(minus_re, t_im, load(p_state, at_im)))
            remaining = fma(minus_im, im, fma(minus_re, re, load(p_state, at_left)))
            store(c_re, p_state, at_re)
            store(c_im, p_state, at_im)
            store(remaining, p_state, at_left)
            square = fma(c_im, c_im, builder.fmul(c_re, c_re))
            gain = builder.fdiv(square, builder.select(by_correlation, one, remaining))
            is_free = builder.fcmp_ordered(">", remaining, least)
            store(builder.select(is_free, gain, zero), p_state, place(score, part))
        return context.get_dummy_value()

    return signature, generate
