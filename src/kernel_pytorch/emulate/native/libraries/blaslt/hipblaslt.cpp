// hipBLASLt: D = epilogue(alpha op(A) op(B) + beta C) with layouts, scales and types from descriptors.
#include <cmath>
#include <cstring>

#include "../blas/gemm.h"
#include "../common/missing.h"
#include "../common/stream.h"
#include "../common/typed.h"

using namespace kpt;

namespace {

enum : int { Success = 0, NotInitialized = 1, InvalidArgument = 3, Internal = 6, Unsupported = 7 };
enum Epilogue : uint32_t {
    Relu = 2,
    Bias = 4,
    BiasGradient = 16,
    Gelu = 32,
    Aux = 128,
    GeluGradient = 192,
    BiasGradientA = 256,
    BiasGradientB = 512,
    Swish = 65536,
    Clamp = 131072,
    Sigmoid = 262144,
};

struct Layout {
    int type;
    uint64_t rows, columns;
    Int ld;
    int32_t batches = 1, order = 0;
    Int stride = 0;
    Int row_step() const { return order == 1 ? ld : 1; }
    Int column_step() const { return order == 1 ? 1 : ld; }
};

struct Matmul {
    int compute, scale;
    int32_t op_a = None, op_b = None;
    uint32_t epilogue = 1;
    const void *bias = nullptr;
    int32_t bias_type = -1;
    const void *scale_a = nullptr, *scale_b = nullptr, *scale_c = nullptr, *scale_d = nullptr, *scale_aux = nullptr;
    void *aux = nullptr;
    Int aux_ld = 0, aux_stride = 0;
    int32_t pointer_mode = 0, aux_type = -1;
    void *amax = nullptr;
    uint32_t scale_mode_a = 0, scale_mode_b = 0;
    int32_t input_type_a = 0, input_type_b = 0;
    float argument0 = 0, argument1 = 0;
};

struct Preference {
    uint32_t search = 0;
    uint64_t workspace = 0;
};

struct Transform {
    int scale;
    int32_t pointer_mode = 0, op_a = None, op_b = None;
};

struct Algorithm {
    uint8_t data[16];
    size_t workspace;
};
struct HeuristicResult {
    Algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

struct Field {
    void *address;
    size_t bytes;
};

Field field(Layout &l, int attribute) {
    switch (attribute) {
    case 0: return {&l.batches, 4};
    case 1: return {&l.stride, 8};
    case 2: return {&l.type, 4};
    case 3: return {&l.order, 4};
    case 4: return {&l.rows, 8};
    case 5: return {&l.columns, 8};
    case 6: return {&l.ld, 8};
    default: return {nullptr, 0};
    }
}

Field field(Matmul &m, int attribute) {
    switch (attribute) {
    case 0: return {&m.op_a, 4};
    case 1: return {&m.op_b, 4};
    case 2: return {&m.epilogue, 4};
    case 3: return {&m.bias, 8};
    case 4: return {&m.bias_type, 4};
    case 5: return {&m.scale_a, 8};
    case 6: return {&m.scale_b, 8};
    case 7: return {&m.scale_c, 8};
    case 8: return {&m.scale_d, 8};
    case 9: return {&m.scale_aux, 8};
    case 10: return {&m.aux, 8};
    case 11: return {&m.aux_ld, 8};
    case 12: return {&m.aux_stride, 8};
    case 13: return {&m.pointer_mode, 4};
    case 14: return {&m.amax, 8};
    case 22: return {&m.aux_type, 4};
    case 31: return {&m.scale_mode_a, 4};
    case 32: return {&m.scale_mode_b, 4};
    case 100: return {&m.input_type_a, 4};
    case 101: return {&m.input_type_b, 4};
    case 102: return {&m.argument0, 4};
    case 103: return {&m.argument1, 4};
    default: return {nullptr, 0};
    }
}

Field field(Preference &p, int attribute) {
    return attribute == 0 ? Field{&p.search, 4} : attribute == 1 ? Field{&p.workspace, 8} : Field{nullptr, 0};
}

Field field(Transform &t, int attribute) {
    switch (attribute) {
    case 0: return {&t.scale, 4};
    case 1: return {&t.pointer_mode, 4};
    case 2: return {&t.op_a, 4};
    case 3: return {&t.op_b, 4};
    default: return {nullptr, 0};
    }
}

template <class Description> int set(void *description, int attribute, const void *from, size_t bytes) {
    if (!description || !from) return InvalidArgument;
    const Field to = field(*static_cast<Description *>(description), attribute);
    if (!to.address || bytes < to.bytes) return InvalidArgument;
    std::memcpy(to.address, from, to.bytes);
    return Success;
}

template <class Description> int get(void *description, int attribute, void *to, size_t bytes, size_t *written) {
    if (!description || (!to && !written)) return InvalidArgument;
    const Field from = field(*static_cast<Description *>(description), attribute);
    if (!from.address) return InvalidArgument;
    if (written) *written = from.bytes;
    if (!bytes) return Success;
    if (bytes < from.bytes || !to) return InvalidArgument;
    std::memcpy(to, from.address, from.bytes);
    return Success;
}

// Element step of op(matrix), so that op costs nothing.
struct Operand {
    const void *data;
    int type;
    Int row_step, column_step;
};

Operand operand(const void *data, const Layout &l, int op, Int batch) {
    const void *at = offset(data, l.type, batch * l.stride);
    return op == None ? Operand{at, l.type, l.row_step(), l.column_step()}
                      : Operand{at, l.type, l.column_step(), l.row_step()};
}

double factor(const void *pointer) { return pointer ? *static_cast<const float *>(pointer) : 1.0; }

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

double gelu_slope(double x) {
    const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x), t = std::tanh(inner);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

double activate(const Matmul &m, double x) {
    const uint32_t e = m.epilogue;
    if (e & Sigmoid) return 1 / (1 + std::exp(-x));
    if (e & Swish) return x / (1 + std::exp(-x));
    if (e & Clamp) return std::fmax(m.argument0, std::fmin(x, m.argument1));
    if ((e & GeluGradient) == GeluGradient) // takes its input from the aux matrix, see `finish`
        return x;
    if (e & Gelu) return gelu(x);
    if (e & Relu) return x > 0 ? x : 0;
    return x;
}

// Bias, aux, activation, amax and scale of one result matrix in double precision.
void finish(const Matmul &m, std::vector<double> &out, Int rows, Int columns, Int batch, int type_d) {
    const int bias_type = m.bias_type >= 0 ? m.bias_type : type_d, aux_type = m.aux_type >= 0 ? m.aux_type : type_d;
    void *aux = offset(m.aux, aux_type, batch * m.aux_stride);
    double largest = 0;
    const bool gradient = (m.epilogue & GeluGradient) == GeluGradient;
    for (Int j = 0; j < columns; ++j)
        for (Int i = 0; i < rows; ++i) {
            double &x = out[i + j * rows];
            if ((m.epilogue & Bias) && m.bias) x += load<double>(bias_type, m.bias, i);
            if (gradient)
                x *= gelu_slope(load<double>(aux_type, aux, i + j * m.aux_ld));
            else if ((m.epilogue & Aux) && aux)
                store(aux_type, aux, i + j * m.aux_ld, x * factor(m.scale_aux));
            x = activate(m, x);
            largest = std::fmax(largest, std::fabs(x));
        }
    if (gradient && (m.epilogue & BiasGradient) && m.bias)
        for (Int i = 0; i < rows; ++i) {
            double sum = 0;
            for (Int j = 0; j < columns; ++j) sum += out[i + j * rows];
            store(bias_type, const_cast<void *>(m.bias), i, sum);
        }
    for (double &x : out) x *= factor(m.scale_d);
    if (m.amax)
        *static_cast<float *>(m.amax) =
            static_cast<float>(batch ? std::fmax(largest, *static_cast<float *>(m.amax)) : largest);
}

template <class W>
void multiply(const Matmul &m, const void *alpha, const void *A, const Layout &la, const void *B, const Layout &lb,
              const void *beta, const void *C, const Layout &lc, void *D, const Layout &ld) {
    const Int rows = static_cast<Int>(ld.rows), columns = static_cast<Int>(ld.columns);
    const Int depth = static_cast<Int>(m.op_a == None ? la.columns : la.rows);
    const bool vector_alpha = m.pointer_mode == 4;
    const W b = beta ? load<W>(m.scale, beta, 0) : W(0);
    for (Int batch = 0; batch < std::max(1, ld.batches); ++batch) {
        const Operand a = operand(A, la, m.op_a, la.batches > 1 ? batch : 0);
        const Operand bb = operand(B, lb, m.op_b, lb.batches > 1 ? batch : 0);
        auto left = load_matrix<W>(a.type, a.data, rows, depth, a.row_step, a.column_step);
        const auto right = load_matrix<W>(bb.type, bb.data, depth, columns, bb.row_step, bb.column_step);
        std::vector<W> product(static_cast<size_t>(rows * columns), W(0));
        if (depth)
            gemm_values<W>(None, None, rows, columns, depth, W(1), left.data(), rows, right.data(), depth, W(0),
                           product.data(), rows);
        const Operand c = operand(C, lc, None, lc.batches > 1 ? batch : 0);
        std::vector<double> out(product.size()), row_factor(static_cast<size_t>(rows));
        for (Int i = 0; i < rows; ++i) {
            const bool by_row = m.scale_mode_a == 3 && m.scale_a;
            row_factor[i] = static_cast<double>(load<W>(m.scale, alpha, vector_alpha ? i : 0)) *
                            (by_row ? static_cast<const float *>(m.scale_a)[i] : factor(m.scale_a));
        }
        for (Int j = 0; j < columns; ++j) {
            const bool by_column = m.scale_mode_b == 3 && m.scale_b;
            const double scale_b = by_column ? static_cast<const float *>(m.scale_b)[j] : factor(m.scale_b);
            for (Int i = 0; i < rows; ++i)
                out[i + j * rows] = row_factor[i] * scale_b * static_cast<double>(product[i + j * rows]);
        }
        if (b != W(0)) {
            const double scale_c = static_cast<double>(b) * factor(m.scale_c);
            const auto old = load_matrix<double>(c.type, c.data, rows, columns, c.row_step, c.column_step);
            for (size_t i = 0; i < out.size(); ++i) out[i] += scale_c * old[i];
        }
        if (m.epilogue == BiasGradientA || m.epilogue == BiasGradientB) {
            const bool of_a = m.epilogue == BiasGradientA;
            const int type = m.bias_type >= 0 ? m.bias_type : ld.type;
            for (Int i = 0; i < (of_a ? rows : columns); ++i) {
                double sum = 0;
                for (Int l = 0; l < depth; ++l)
                    sum += static_cast<double>(of_a ? left[i + l * rows] : right[l + i * depth]);
                store(type, const_cast<void *>(m.bias), i, sum);
            }
        }
        finish(m, out, rows, columns, batch, ld.type);
        store_matrix(ld.type, offset(D, ld.type, batch * ld.stride), rows, columns, ld.row_step(), ld.column_step(),
                     out.data());
    }
}

template <class T, class... Arguments> int create(void **out, Arguments... arguments) {
    if (!out) return InvalidArgument;
    *out = new T{arguments...};
    return Success;
}

template <class T> int destroy(const void *description) {
    delete static_cast<const T *>(description);
    return Success;
}

} // namespace

extern "C" {

int hipblasLtCreate(void **handle) { return create<char>(handle, char(0)); }
int hipblasLtDestroy(const void *handle) { return handle ? destroy<char>(handle) : int(InvalidArgument); }
int hipblasLtGetVersion(void *handle, int *version) {
    if (!handle || !version) return InvalidArgument;
    *version = 100200;
    return Success;
}

int hipblasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t ld) {
    return create<Layout>(out, type, rows, columns, ld);
}
int hipblasLtMatrixLayoutDestroy(const void *l) { return destroy<Layout>(l); }
int hipblasLtMatrixLayoutSetAttribute(void *l, int a, const void *from, size_t n) { return set<Layout>(l, a, from, n); }
int hipblasLtMatrixLayoutGetAttribute(void *l, int a, void *to, size_t n, size_t *w) {
    return get<Layout>(l, a, to, n, w);
}

int hipblasLtMatmulDescCreate(void **out, int compute, int scale) { return create<Matmul>(out, compute, scale); }
int hipblasLtMatmulDescDestroy(const void *m) { return destroy<Matmul>(m); }
int hipblasLtMatmulDescSetAttribute(void *m, int a, const void *from, size_t n) { return set<Matmul>(m, a, from, n); }
int hipblasLtMatmulDescGetAttribute(void *m, int a, void *to, size_t n, size_t *w) {
    return get<Matmul>(m, a, to, n, w);
}

int hipblasLtMatmulPreferenceCreate(void **out) { return create<Preference>(out); }
int hipblasLtMatmulPreferenceDestroy(const void *p) { return destroy<Preference>(p); }
int hipblasLtMatmulPreferenceSetAttribute(void *p, int a, const void *from, size_t n) {
    return set<Preference>(p, a, from, n);
}
int hipblasLtMatmulPreferenceGetAttribute(void *p, int a, void *to, size_t n, size_t *w) {
    return get<Preference>(p, a, to, n, w);
}

int hipblasLtMatrixTransformDescCreate(void **out, int scale) { return create<Transform>(out, scale); }
int hipblasLtMatrixTransformDescDestroy(void *t) { return destroy<Transform>(t); }
int hipblasLtMatrixTransformDescSetAttribute(void *t, int a, const void *from, size_t n) {
    return set<Transform>(t, a, from, n);
}
int hipblasLtMatrixTransformDescGetAttribute(void *t, int a, void *to, size_t n, size_t *w) {
    return get<Transform>(t, a, to, n, w);
}

int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *description, void *A, void *B, void *C, void *D,
                                    void *preference, int requested, void *results, int *returned) {
    if (!handle || !description || !A || !B || !C || !D || !preference || requested < 1 || !results || !returned)
        return InvalidArgument;
    HeuristicResult &only = static_cast<HeuristicResult *>(results)[0];
    std::memset(&only, 0, sizeof(only));
    only.waves = 1;
    *returned = 1;
    return Success;
}

int hipblasLtMatmul(void *handle, void *description, const void *alpha, const void *A, void *layout_a, const void *B,
                    void *layout_b, const void *beta, const void *C, void *layout_c, void *D, void *layout_d,
                    const void *, void *, size_t, void *stream) {
    if (!handle || !description || !alpha || !beta || !A || !B || !C || !D || !layout_a || !layout_b || !layout_c ||
        !layout_d)
        return InvalidArgument;
    const Matmul &m = *static_cast<Matmul *>(description);
    const Layout &la = *static_cast<Layout *>(layout_a), &lb = *static_cast<Layout *>(layout_b);
    const Layout &lc = *static_cast<Layout *>(layout_c), &ld = *static_cast<Layout *>(layout_d);
    const uint64_t rows = m.op_a == None ? la.rows : la.columns, depth = m.op_a == None ? la.columns : la.rows;
    const uint64_t columns = m.op_b == None ? lb.columns : lb.rows;
    if (rows != ld.rows || columns != ld.columns || depth != (m.op_b == None ? lb.rows : lb.columns))
        return InvalidArgument;
    for (const Layout *l : {&la, &lb, &lc, &ld}) {
        if (!size_of_type(l->type) || complex_type(l->type))
            return unsupported("hipblasLtMatmul", "this data type", Unsupported);
        if (l->order > 1) return unsupported("hipblasLtMatmul", "a swizzled layout", Unsupported);
        if (l->ld < static_cast<Int>(l->order == 1 ? l->columns : l->rows)) return InvalidArgument;
    }
    if ((m.scale_mode_a && m.scale_mode_a != 3) || (m.scale_mode_b && m.scale_mode_b != 3))
        return unsupported("hipblasLtMatmul", "this scaling mode", Unsupported);
    if (wait_for(stream)) return Internal;
    if (m.compute == 7 || m.compute == 8)
        multiply<double>(m, alpha, A, la, B, lb, beta, C, lc, D, ld);
    else if (m.compute == 9 || m.compute == 10)
        multiply<int32_t>(m, alpha, A, la, B, lb, beta, C, lc, D, ld);
    else
        multiply<float>(m, alpha, A, la, B, lb, beta, C, lc, D, ld);
    return Success;
}

int hipblasLtMatrixTransform(void *handle, void *description, const void *alpha, const void *A, void *layout_a,
                             const void *beta, const void *B, void *layout_b, void *C, void *layout_c, void *stream) {
    if (!handle || !description || !C || !layout_c || (A && !layout_a) || (B && !layout_b)) return InvalidArgument;
    const Transform &t = *static_cast<Transform *>(description);
    const Layout &lc = *static_cast<Layout *>(layout_c);
    if (wait_for(stream)) return Internal;
    for (Int batch = 0; batch < std::max(1, lc.batches); ++batch) {
        const Operand a = A ? operand(A, *static_cast<Layout *>(layout_a), t.op_a, batch) : Operand{};
        const Operand b = B ? operand(B, *static_cast<Layout *>(layout_b), t.op_b, batch) : Operand{};
        for (Int j = 0; j < static_cast<Int>(lc.columns); ++j)
            for (Int i = 0; i < static_cast<Int>(lc.rows); ++i) {
                double sum = 0;
                if (A && alpha)
                    sum += load<double>(t.scale, alpha, 0) *
                           load<double>(a.type, a.data, i * a.row_step + j * a.column_step);
                if (B && beta)
                    sum += load<double>(t.scale, beta, 0) *
                           load<double>(b.type, b.data, i * b.row_step + j * b.column_step);
                store(lc.type, offset(C, lc.type, batch * lc.stride), i * lc.row_step() + j * lc.column_step(), sum);
            }
    }
    return Success;
}
}
