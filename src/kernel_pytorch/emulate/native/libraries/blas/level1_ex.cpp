// The *Ex forms of vector routines and trsm, for hipBLAS and rocBLAS: same parameters, other names and type numbers.
// Sums and products are made in double precision and rounded once.
#include "../common/typed.h"
#include "run.h"

#ifdef KPT_HIPBLAS
#define KPT_FORM(HIP, ROC, FORM_HIP, FORM_ROC, END) hipblas##HIP##FORM_HIP##Ex##END
#else
#define KPT_FORM(HIP, ROC, FORM_HIP, FORM_ROC, END) rocblas_##ROC##FORM_ROC##_ex##END
#endif

namespace {

using namespace kpt;
using Wide = DoubleComplex;

int type_of(int type) {
#ifdef KPT_HIPBLAS
    return type;
#else
    return type >= 160 && type <= 163 ? -1 : from_rocm_type(type); // no integers
#endif
}

// Where batch `b` of a vector starts: an array of pointers, or one base and a stride.
struct Place {
    const void *base;
    int type;
    Int stride;
    bool pointers;
    void *at(Int b) const {
        if (!base) return nullptr;
        if (pointers) return static_cast<void *const *>(base)[b];
        return const_cast<void *>(offset(base, type, b * stride));
    }
};

Int start(Int n, Int step) { return step < 0 ? (1 - n) * step : 0; }

Status axpy_ex(Int n, const void *alpha, int type_alpha, Place x, Int incx, Place y, Int incy, Int b) {
    KPT_CHECK(size_of_type(type_alpha) && size_of_type(x.type) && size_of_type(y.type), NotImplemented);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(alpha && x.at(b) && y.at(b), InvalidPointer);
    const Wide factor = load<Wide>(type_alpha, alpha, 0);
    for (Int i = 0; i < n; ++i) {
        const Int at = start(n, incy) + i * incy;
        store(y.type, y.at(b), at,
              factor * load<Wide>(x.type, x.at(b), start(n, incx) + i * incx) + load<Wide>(y.type, y.at(b), at));
    }
    return Ok;
}

template <bool Conjugate>
Status dot_ex(Int n, Place x, Int incx, Place y, Int incy, void *result, int type_result, Int b) {
    KPT_CHECK(size_of_type(x.type) && size_of_type(y.type) && size_of_type(type_result), NotImplemented);
    KPT_CHECK(result && (n <= 0 || (x.at(b) && y.at(b))), InvalidPointer);
    Wide sum(0);
    for (Int i = 0; i < n; ++i) {
        const Wide left = load<Wide>(x.type, x.at(b), start(n, incx) + i * incx);
        sum += (Conjugate ? std::conj(left) : left) * load<Wide>(y.type, y.at(b), start(n, incy) + i * incy);
    }
    store(type_result, result, b, sum);
    return Ok;
}

Status nrm2_ex(Int n, Place x, Int incx, void *result, int type_result, Int b) {
    KPT_CHECK(size_of_type(x.type) && size_of_type(type_result), NotImplemented);
    KPT_CHECK(result && (n <= 0 || x.at(b)), InvalidPointer);
    long double sum = 0;
    for (Int i = 0; incx > 0 && i < n; ++i) {
        const Wide value = load<Wide>(x.type, x.at(b), i * incx);
        sum += static_cast<long double>(value.real()) * value.real() +
               static_cast<long double>(value.imag()) * value.imag();
    }
    store(type_result, result, b, Wide(static_cast<double>(std::sqrt(sum))));
    return Ok;
}

Status scal_ex(Int n, const void *alpha, int type_alpha, Place x, Int incx, Int b) {
    KPT_CHECK(size_of_type(type_alpha) && size_of_type(x.type), NotImplemented);
    KPT_CHECK(n > 0 && incx > 0, Ok);
    KPT_CHECK(alpha && x.at(b), InvalidPointer);
    const Wide factor = load<Wide>(type_alpha, alpha, 0);
    for (Int i = 0; i < n; ++i) store(x.type, x.at(b), i * incx, factor * load<Wide>(x.type, x.at(b), i * incx));
    return Ok;
}

Status rot_ex(Int n, Place x, Int incx, Place y, Int incy, const void *c, const void *s, int type, Int b) {
    KPT_CHECK(size_of_type(type) && size_of_type(x.type) && size_of_type(y.type), NotImplemented);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(c && s && x.at(b) && y.at(b), InvalidPointer);
    // With complex vectors the cosine stays real: it is stored in the real part of the given type.
    const double cosine = load<Wide>(type, c, 0).real();
    const Wide sine = load<Wide>(type, s, 0);
    for (Int i = 0; i < n; ++i) {
        const Int at_x = start(n, incx) + i * incx, at_y = start(n, incy) + i * incy;
        const Wide left = load<Wide>(x.type, x.at(b), at_x), right = load<Wide>(y.type, y.at(b), at_y);
        store(x.type, x.at(b), at_x, cosine * left + sine * right);
        store(y.type, y.at(b), at_y, cosine * right - std::conj(sine) * left);
    }
    return Ok;
}

Status trsm_ex(int side, int fill, int op, int diag, Int m, Int n, const void *alpha, const void *A, Int lda, void *B,
               Int ldb, int type) {
    const auto solve = [&](auto kind) {
        using T = decltype(kind);
        return trsm(side, fill, op, diag, m, n, static_cast<const T *>(alpha), static_cast<const T *>(A), lda,
                    static_cast<T *>(B), ldb);
    };
    switch (type) {
    case R32F: return solve(0.0f);
    case R64F: return solve(0.0);
    case C32F: return solve(Complex());
    case C64F: return solve(DoubleComplex());
    default: return NotImplemented;
    }
}

} // namespace

#define KPT_EACH_SIZE(HIP, ROC, FORM_HIP, FORM_ROC, DEFINE)                                                            \
    DEFINE(KPT_FORM(HIP, ROC, FORM_HIP, FORM_ROC, ), int)                                                              \
    DEFINE(KPT_FORM(HIP, ROC, FORM_HIP, FORM_ROC, _64), int64_t)

#define KPT_AXPY(NAME, SIZE)                                                                                           \
    int NAME(void *h, SIZE n, const void *alpha, int ta, const void *x, int tx, SIZE incx, void *y, int ty, SIZE incy, \
             int) {                                                                                                    \
        return run(h, 1, [&](Int b) {                                                                                  \
            return axpy_ex(n, alpha, type_of(ta), {x, type_of(tx), 0, false}, incx, {y, type_of(ty), 0, false}, incy,  \
                           b);                                                                                         \
        });                                                                                                            \
    }
#define KPT_AXPY_BATCHED(NAME, SIZE)                                                                                   \
    int NAME(void *h, SIZE n, const void *alpha, int ta, const void *x, int tx, SIZE incx, void *y, int ty, SIZE incy, \
             SIZE count, int) {                                                                                        \
        return run(h, count, [&](Int b) {                                                                              \
            return axpy_ex(n, alpha, type_of(ta), {x, type_of(tx), 0, true}, incx, {y, type_of(ty), 0, true}, incy,    \
                           b);                                                                                         \
        });                                                                                                            \
    }
#define KPT_AXPY_STRIDED(NAME, SIZE)                                                                                   \
    int NAME(void *h, SIZE n, const void *alpha, int ta, const void *x, int tx, SIZE incx, Int sx, void *y, int ty,    \
             SIZE incy, Int sy, SIZE count, int) {                                                                     \
        return run(h, count, [&](Int b) {                                                                              \
            return axpy_ex(n, alpha, type_of(ta), {x, type_of(tx), sx, false}, incx, {y, type_of(ty), sy, false},      \
                           incy, b);                                                                                   \
        });                                                                                                            \
    }
#define KPT_DOT_OF(CONJUGATE, NAME, SIZE)                                                                              \
    int NAME(void *h, SIZE n, const void *x, int tx, SIZE incx, const void *y, int ty, SIZE incy, void *r, int tr,     \
             int) {                                                                                                    \
        return run(h, 1, [&](Int b) {                                                                                  \
            return dot_ex<CONJUGATE>(n, {x, type_of(tx), 0, false}, incx, {y, type_of(ty), 0, false}, incy, r,         \
                                     type_of(tr), b);                                                                  \
        });                                                                                                            \
    }
#define KPT_DOT_BATCHED_OF(CONJUGATE, NAME, SIZE)                                                                      \
    int NAME(void *h, SIZE n, const void *x, int tx, SIZE incx, const void *y, int ty, SIZE incy, SIZE count, void *r, \
             int tr, int) {                                                                                            \
        return run(h, count, [&](Int b) {                                                                              \
            return dot_ex<CONJUGATE>(n, {x, type_of(tx), 0, true}, incx, {y, type_of(ty), 0, true}, incy, r,           \
                                     type_of(tr), b);                                                                  \
        });                                                                                                            \
    }
#define KPT_DOT_STRIDED_OF(CONJUGATE, NAME, SIZE)                                                                      \
    int NAME(void *h, SIZE n, const void *x, int tx, SIZE incx, Int sx, const void *y, int ty, SIZE incy, Int sy,      \
             SIZE count, void *r, int tr, int) {                                                                       \
        return run(h, count, [&](Int b) {                                                                              \
            return dot_ex<CONJUGATE>(n, {x, type_of(tx), sx, false}, incx, {y, type_of(ty), sy, false}, incy, r,       \
                                     type_of(tr), b);                                                                  \
        });                                                                                                            \
    }
#define KPT_DOT(NAME, SIZE) KPT_DOT_OF(false, NAME, SIZE)
#define KPT_DOT_BATCHED(NAME, SIZE) KPT_DOT_BATCHED_OF(false, NAME, SIZE)
#define KPT_DOT_STRIDED(NAME, SIZE) KPT_DOT_STRIDED_OF(false, NAME, SIZE)
#define KPT_DOTC(NAME, SIZE) KPT_DOT_OF(true, NAME, SIZE)
#define KPT_DOTC_BATCHED(NAME, SIZE) KPT_DOT_BATCHED_OF(true, NAME, SIZE)
#define KPT_DOTC_STRIDED(NAME, SIZE) KPT_DOT_STRIDED_OF(true, NAME, SIZE)
#define KPT_NRM2(NAME, SIZE)                                                                                           \
    int NAME(void *h, SIZE n, const void *x, int tx, SIZE incx, void *r, int tr, int) {                                \
        return run(h, 1, [&](Int b) { return nrm2_ex(n, {x, type_of(tx), 0, false}, incx, r, type_of(tr), b); });      \
    }
#define KPT_NRM2_BATCHED(NAME, SIZE)                                                                                   \
    int NAME(void *h, SIZE n, const void *x, int tx, SIZE incx, SIZE count, void *r, int tr, int) {                    \
        return run(h, count, [&](Int b) { return nrm2_ex(n, {x, type_of(tx), 0, true}, incx, r, type_of(tr), b); });   \
    }
#define KPT_NRM2_STRIDED(NAME, SIZE)                                                                                   \
    int NAME(void *h, SIZE n, const void *x, int tx, SIZE incx, Int sx, SIZE count, void *r, int tr, int) {            \
        return run(h, count, [&](Int b) { return nrm2_ex(n, {x, type_of(tx), sx, false}, incx, r, type_of(tr), b); }); \
    }
#define KPT_SCAL(NAME, SIZE)                                                                                           \
    int NAME(void *h, SIZE n, const void *alpha, int ta, void *x, int tx, SIZE incx, int) {                            \
        return run(h, 1, [&](Int b) { return scal_ex(n, alpha, type_of(ta), {x, type_of(tx), 0, false}, incx, b); });  \
    }
#define KPT_SCAL_BATCHED(NAME, SIZE)                                                                                   \
    int NAME(void *h, SIZE n, const void *alpha, int ta, void *x, int tx, SIZE incx, SIZE count, int) {                \
        return run(h, count,                                                                                           \
                   [&](Int b) { return scal_ex(n, alpha, type_of(ta), {x, type_of(tx), 0, true}, incx, b); });         \
    }
#define KPT_SCAL_STRIDED(NAME, SIZE)                                                                                   \
    int NAME(void *h, SIZE n, const void *alpha, int ta, void *x, int tx, SIZE incx, Int sx, SIZE count, int) {        \
        return run(h, count,                                                                                           \
                   [&](Int b) { return scal_ex(n, alpha, type_of(ta), {x, type_of(tx), sx, false}, incx, b); });       \
    }
#define KPT_ROT(NAME, SIZE)                                                                                            \
    int NAME(void *h, SIZE n, void *x, int tx, SIZE incx, void *y, int ty, SIZE incy, const void *c, const void *s,    \
             int t, int) {                                                                                             \
        return run(h, 1, [&](Int b) {                                                                                  \
            return rot_ex(n, {x, type_of(tx), 0, false}, incx, {y, type_of(ty), 0, false}, incy, c, s, type_of(t), b); \
        });                                                                                                            \
    }
#define KPT_ROT_BATCHED(NAME, SIZE)                                                                                    \
    int NAME(void *h, SIZE n, void *x, int tx, SIZE incx, void *y, int ty, SIZE incy, const void *c, const void *s,    \
             int t, SIZE count, int) {                                                                                 \
        return run(h, count, [&](Int b) {                                                                              \
            return rot_ex(n, {x, type_of(tx), 0, true}, incx, {y, type_of(ty), 0, true}, incy, c, s, type_of(t), b);   \
        });                                                                                                            \
    }
#define KPT_ROT_STRIDED(NAME, SIZE)                                                                                    \
    int NAME(void *h, SIZE n, void *x, int tx, SIZE incx, Int sx, void *y, int ty, SIZE incy, Int sy, const void *c,   \
             const void *s, int t, SIZE count, int) {                                                                  \
        return run(h, count, [&](Int b) {                                                                              \
            return rot_ex(n, {x, type_of(tx), sx, false}, incx, {y, type_of(ty), sy, false}, incy, c, s, type_of(t),   \
                          b);                                                                                          \
        });                                                                                                            \
    }
#define KPT_EACH_FORM(HIP, ROC, DEFINE)                                                                                \
    KPT_EACH_SIZE(HIP, ROC, , , DEFINE)                                                                                \
    KPT_EACH_SIZE(HIP, ROC, Batched, _batched, DEFINE##_BATCHED)                                                       \
    KPT_EACH_SIZE(HIP, ROC, StridedBatched, _strided_batched, DEFINE##_STRIDED)

extern "C" {
KPT_EACH_FORM(Axpy, axpy, KPT_AXPY)
KPT_EACH_FORM(Dot, dot, KPT_DOT)
KPT_EACH_FORM(Dotc, dotc, KPT_DOTC)
KPT_EACH_FORM(Nrm2, nrm2, KPT_NRM2)
KPT_EACH_FORM(Scal, scal, KPT_SCAL)
KPT_EACH_FORM(Rot, rot, KPT_ROT)

int KPT_FORM(Trsm, trsm, , , )(void *h, int side, int fill, int op, int diag, int m, int n, const void *alpha,
                               const void *A, int lda, void *B, int ldb, const void *, int, int type) {
    return run(h, 1, [&](Int) { return trsm_ex(side, fill, op, diag, m, n, alpha, A, lda, B, ldb, type_of(type)); });
}
int KPT_FORM(Trsm, trsm, Batched, _batched, )(void *h, int side, int fill, int op, int diag, int m, int n,
                                              const void *alpha, const void *A, int lda, void *B, int ldb, int count,
                                              const void *, int, int type) {
    return run(h, count, [&](Int b) {
        return trsm_ex(side, fill, op, diag, m, n, alpha, item(static_cast<const void *const *>(A), b), lda,
                       item(static_cast<void *const *>(B), b), ldb, type_of(type));
    });
}
int KPT_FORM(Trsm, trsm, StridedBatched, _strided_batched, )(void *h, int side, int fill, int op, int diag, int m,
                                                             int n, const void *alpha, const void *A, int lda, Int sa,
                                                             void *B, int ldb, Int sb, int count, const void *, int,
                                                             Int, int type) {
    const int t = type_of(type);
    return run(h, count, [&](Int b) {
        return trsm_ex(side, fill, op, diag, m, n, alpha, offset(A, t, b * sa), lda, offset(B, t, b * sb), ldb, t);
    });
}
}
