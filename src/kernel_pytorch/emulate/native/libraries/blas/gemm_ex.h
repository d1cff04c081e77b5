// D = alpha op(A) op(B) + beta C with every type chosen by the caller.
#pragma once

#include "../common/typed.h"
#include "gemm.h"

namespace kpt {

struct GemmEx {
    int op_a, op_b;
    Int m, n, k;
    const void *alpha;
    const void *A;
    int type_a;
    Int lda;
    const void *B;
    int type_b;
    Int ldb;
    const void *beta;
    const void *C;
    int type_c;
    Int ldc;
    void *D;
    int type_d;
    Int ldd;
    int compute; // the type products are summed in: R32F, R64F, R32I, C32F or C64F
    int scale;   // the type of alpha and beta
};

template <class W> void gemm_ex_in(const GemmEx &g) {
    const W alpha = load<W>(g.scale, g.alpha, 0), beta = load<W>(g.scale, g.beta, 0);
    std::vector<W> out(static_cast<size_t>(g.m * g.n), W(0));
    if (beta != W(0)) out = load_matrix<W>(g.type_c, g.C, g.m, g.n, 1, g.ldc);
    if (alpha != W(0) && g.k > 0) {
        auto left = g.op_a == None ? load_matrix<W>(g.type_a, g.A, g.m, g.k, 1, g.lda)
                                   : load_matrix<W>(g.type_a, g.A, g.m, g.k, g.lda, 1);
        auto right = g.op_b == None ? load_matrix<W>(g.type_b, g.B, g.k, g.n, 1, g.ldb)
                                    : load_matrix<W>(g.type_b, g.B, g.k, g.n, g.ldb, 1);
        for (W &value : left) value = g.op_a == ConjugateTranspose ? conjugate(value) : value;
        for (W &value : right) value = g.op_b == ConjugateTranspose ? conjugate(value) : value;
        gemm_values<W>(None, None, g.m, g.n, g.k, alpha, left.data(), g.m, right.data(), g.k, beta, out.data(), g.m);
    } else {
        for (W &value : out) value = beta * value;
    }
    store_matrix(g.type_d, g.D, g.m, g.n, 1, g.ldd, out.data());
}

inline Status gemm_ex(const GemmEx &g) {
    KPT_CHECK(valid_op(g.op_a) && valid_op(g.op_b), InvalidEnum);
    KPT_CHECK(g.m >= 0 && g.n >= 0 && g.k >= 0, InvalidSize);
    KPT_CHECK(g.lda >= std::max<Int>(1, g.op_a == None ? g.m : g.k) &&
                  g.ldb >= std::max<Int>(1, g.op_b == None ? g.k : g.n) && g.ldc >= std::max<Int>(1, g.m) &&
                  g.ldd >= std::max<Int>(1, g.m),
              InvalidSize);
    KPT_CHECK(g.m > 0 && g.n > 0, Ok);
    KPT_CHECK(g.alpha && g.beta && g.D, InvalidPointer);
    KPT_CHECK(load<DoubleComplex>(g.scale, g.alpha, 0) == 0.0 || g.k == 0 || (g.A && g.B), InvalidPointer);
    KPT_CHECK(load<DoubleComplex>(g.scale, g.beta, 0) == 0.0 || g.C, InvalidPointer);
    for (const int type : {g.type_a, g.type_b, g.type_c, g.type_d, g.scale})
        KPT_CHECK(size_of_type(type) > 0, NotImplemented);
    switch (g.compute) {
    case R32F: gemm_ex_in<float>(g); return Ok;
    case R64F: gemm_ex_in<double>(g); return Ok;
    case R32I: gemm_ex_in<int32_t>(g); return Ok;
    case C32F: gemm_ex_in<Complex>(g); return Ok;
    case C64F: gemm_ex_in<DoubleComplex>(g); return Ok;
    default: return NotImplemented;
    }
}

} // namespace kpt
