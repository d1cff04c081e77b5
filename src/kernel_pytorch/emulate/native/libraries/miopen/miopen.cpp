// MIOpen: two-dimensional convolution forward, pooling, activation and softmax forward on NCHW tensors of any stride.
#include <cmath>
#include <cstring>

#include "../common/missing.h"
#include "../common/stream.h"
#include "../common/typed.h"

using namespace kpt;

namespace {

enum : int { Success = 0, BadParameter = 3, Internal = 5, NotImplemented = 6 };

struct Handle {
    void *stream = nullptr;
};
struct Tensor {
    int type = R32F;
    std::vector<Int> size, stride;
    Int elements() const {
        Int n = 1;
        for (const Int s : size) n *= s;
        return n;
    }
};
struct Convolution {
    int mode = 0, groups = 1;
    Int pad[2] = {0, 0}, stride[2] = {1, 1}, dilation[2] = {1, 1};
};
struct Pooling {
    int mode = 0;
    Int window[2] = {2, 2}, pad[2] = {0, 0}, stride[2] = {2, 2};
};
struct Activation {
    int mode = 0;
    double alpha = 0, beta = 0, gamma = 0;
};

int type_of(int type) { // miopenDataType_t
    switch (type) {
    case 0: return R16F;
    case 1: return R32F;
    case 2: return R32I;
    case 3: return R8I;
    case 5: return R16BF;
    case 6: return R64F;
    default: return -1;
    }
}

template <class T> const T &as(const void *p) { return *static_cast<const T *>(p); }
template <class T> T &as(void *p) { return *static_cast<T *>(p); }

template <class T> int create(void **out) {
    if (!out) return BadParameter;
    *out = new T;
    return Success;
}
template <class T> int destroy(void *object) {
    delete static_cast<T *>(object);
    return Success;
}

int describe(void *tensor, int type, std::vector<Int> size, std::vector<Int> stride) {
    if (!tensor || type_of(type) < 0) return BadParameter;
    if (stride.empty()) {
        stride.assign(size.size(), 1);
        for (size_t d = size.size(); d-- > 1;) stride[d - 1] = stride[d] * size[d];
    }
    as<Tensor>(tensor) = {type_of(type), std::move(size), std::move(stride)};
    return Success;
}

Int at(const Tensor &t, Int n, Int c, Int h, Int w) {
    return n * t.stride[0] + c * t.stride[1] + h * t.stride[2] + w * t.stride[3];
}

double scalar(const void *p) { return *static_cast<const float *>(p); }

// y = alpha result + beta y
void blend(const Tensor &t, void *y, Int where, double result, double alpha, double beta) {
    store(t.type, y, where, alpha * result + (beta == 0 ? 0 : beta * load<double>(t.type, y, where)));
}

template <class Work> int run(void *handle, bool valid, Work work) {
    if (!handle || !valid) return BadParameter;
    if (wait_for(as<Handle>(handle).stream)) return Internal;
    return work();
}

Int out_size(const Convolution &c, const Tensor &x, const Tensor &w, int d) {
    return (x.size[2 + d] + 2 * c.pad[d] - c.dilation[d] * (w.size[2 + d] - 1) - 1) / c.stride[d] + 1;
}

int convolve(const Convolution &c, const Tensor &tx, const void *x, const Tensor &tw, const void *w, const Tensor &ty,
             void *y, double alpha, double beta) {
    if (c.mode == 1) return unsupported("miopenConvolutionForward", "transposed convolution", NotImplemented);
    if (tx.size.size() != 4 || tw.size.size() != 4 || ty.size.size() != 4)
        return unsupported("miopenConvolutionForward", "other than two spatial dimensions", NotImplemented);
    const Int groups = c.mode == 2 || c.mode == 3 ? c.groups : 1, per_group = ty.size[1] / groups;
    for (Int n = 0; n < ty.size[0]; ++n)
        for (Int k = 0; k < ty.size[1]; ++k)
            for (Int i = 0; i < ty.size[2]; ++i)
                for (Int j = 0; j < ty.size[3]; ++j) {
                    double sum = 0;
                    for (Int q = 0; q < tw.size[1]; ++q)
                        for (Int r = 0; r < tw.size[2]; ++r)
                            for (Int s = 0; s < tw.size[3]; ++s) {
                                const Int row = i * c.stride[0] - c.pad[0] + r * c.dilation[0];
                                const Int column = j * c.stride[1] - c.pad[1] + s * c.dilation[1];
                                if (row < 0 || row >= tx.size[2] || column < 0 || column >= tx.size[3]) continue;
                                sum +=
                                    load<double>(tx.type, x, at(tx, n, k / per_group * tw.size[1] + q, row, column)) *
                                    load<double>(tw.type, w, at(tw, k, q, r, s));
                            }
                    blend(ty, y, at(ty, n, k, i, j), sum, alpha, beta);
                }
    return Success;
}

double activate(const Activation &a, double x) {
    switch (a.mode) {
    case 1: return 1 / (1 + std::exp(-x));
    case 2: return a.beta * std::tanh(a.alpha * x);
    case 3: return x > 0 ? x : 0;
    case 4: return std::log1p(std::exp(x));
    case 5: return std::fabs(x);
    case 6: return std::pow(a.alpha + a.beta * x, a.gamma);
    case 7: return std::fmin(a.alpha, std::fmax(0, x));
    case 8: return x > 0 ? x : a.alpha * x;
    case 9: return x > 0 ? x : a.alpha * std::expm1(x);
    default: return x;
    }
}

// Softmax over `length` values that lie `step` apart.
void softmax_line(const Tensor &tx, const void *x, const Tensor &ty, void *y, const std::vector<Int> &from,
                  const std::vector<Int> &to, int algorithm, double alpha, double beta) {
    double largest = -INFINITY, sum = 0;
    for (const Int f : from) largest = std::fmax(largest, load<double>(tx.type, x, f));
    for (const Int f : from) sum += std::exp(load<double>(tx.type, x, f) - largest);
    for (size_t i = 0; i < from.size(); ++i) {
        const double shifted = load<double>(tx.type, x, from[i]) - largest;
        blend(ty, y, to[i], algorithm == 2 ? shifted - std::log(sum) : std::exp(shifted) / sum, alpha, beta);
    }
}

} // namespace

extern "C" {

int miopenCreate(void **handle) { return create<Handle>(handle); }
int miopenCreateWithStream(void **handle, void *stream) {
    const int status = create<Handle>(handle);
    if (!status) as<Handle>(*handle).stream = stream;
    return status;
}
int miopenDestroy(void *handle) { return destroy<Handle>(handle); }
int miopenSetStream(void *handle, void *stream) {
    if (!handle) return BadParameter;
    as<Handle>(handle).stream = stream;
    return Success;
}
int miopenGetStream(void *handle, void **stream) {
    if (!handle || !stream) return BadParameter;
    *stream = as<Handle>(handle).stream;
    return Success;
}
const char *miopenGetErrorString(int status) {
    static const char *const names[] = {"miopenStatusSuccess",        "miopenStatusNotInitialized",
                                        "miopenStatusInvalidValue",   "miopenStatusBadParm",
                                        "miopenStatusAllocFailed",    "miopenStatusInternalError",
                                        "miopenStatusNotImplemented", "miopenStatusUnknownError",
                                        "miopenStatusUnsupportedOp",  "miopenStatusGpuOperationsSkipped",
                                        "miopenStatusVersionMismatch"};
    return status >= 0 && status < 11 ? names[status] : "Unknown error status";
}

int miopenCreateTensorDescriptor(void **t) { return create<Tensor>(t); }
int miopenDestroyTensorDescriptor(void *t) { return destroy<Tensor>(t); }
int miopenSet4dTensorDescriptor(void *t, int type, int n, int c, int h, int w) {
    return describe(t, type, {n, c, h, w}, {});
}
int miopenSet4dTensorDescriptorEx(void *t, int type, int n, int c, int h, int w, int sn, int sc, int sh, int sw) {
    return describe(t, type, {n, c, h, w}, {sn, sc, sh, sw});
}
int miopenSetTensorDescriptor(void *t, int type, int count, const int *sizes, const int *strides) {
    if (count < 1 || !sizes) return BadParameter;
    return describe(t, type, {sizes, sizes + count},
                    strides ? std::vector<Int>(strides, strides + count) : std::vector<Int>());
}
int miopenGetTensorDescriptorSize(void *t, int *size) {
    if (!t || !size) return BadParameter;
    *size = static_cast<int>(as<Tensor>(t).size.size());
    return Success;
}
int miopenGetTensorNumBytes(void *t, size_t *bytes) {
    if (!t || !bytes) return BadParameter;
    Int last = 0;
    for (size_t d = 0; d < as<Tensor>(t).size.size(); ++d)
        last += (as<Tensor>(t).size[d] - 1) * as<Tensor>(t).stride[d];
    *bytes = static_cast<size_t>((last + 1) * size_of_type(as<Tensor>(t).type));
    return Success;
}

int miopenCreateConvolutionDescriptor(void **c) { return create<Convolution>(c); }
int miopenDestroyConvolutionDescriptor(void *c) { return destroy<Convolution>(c); }
int miopenInitConvolutionDescriptor(void *c, int mode, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                    int dilation_w) {
    if (!c || pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 || dilation_w < 1)
        return BadParameter;
    as<Convolution>(c) = {mode, 1, {pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}};
    return Success;
}
int miopenSetConvolutionGroupCount(void *c, int groups) {
    if (!c || groups < 1) return BadParameter;
    as<Convolution>(c).groups = groups;
    if (groups > 1) as<Convolution>(c).mode = 2;
    return Success;
}
int miopenGetConvolutionForwardOutputDim(void *c, const void *x, const void *w, int *n, int *k, int *h, int *width) {
    if (!c || !x || !w || !n || !k || !h || !width || as<Tensor>(x).size.size() != 4) return BadParameter;
    *n = static_cast<int>(as<Tensor>(x).size[0]), *k = static_cast<int>(as<Tensor>(w).size[0]);
    *h = static_cast<int>(out_size(as<Convolution>(c), as<Tensor>(x), as<Tensor>(w), 0));
    *width = static_cast<int>(out_size(as<Convolution>(c), as<Tensor>(x), as<Tensor>(w), 1));
    return Success;
}
int miopenConvolutionForwardGetWorkSpaceSize(void *, const void *, const void *, const void *, const void *,
                                             size_t *bytes) {
    if (!bytes) return BadParameter;
    *bytes = 0;
    return Success;
}
int miopenFindConvolutionForwardAlgorithm(void *h, const void *tx, const void *x, const void *tw, const void *w,
                                          const void *c, const void *ty, void *y, int requested, int *returned,
                                          void *results, void *, size_t, bool) {
    struct Result {
        int algorithm;
        float time;
        size_t memory;
    };
    if (!h || !tx || !x || !tw || !w || !c || !ty || !y || requested < 1 || !returned || !results) return BadParameter;
    static_cast<Result *>(results)[0] = {1, 0.001f, 0}; // the direct algorithm
    *returned = 1;
    return Success;
}
int miopenConvolutionForward(void *h, const void *alpha, const void *tx, const void *x, const void *tw, const void *w,
                             const void *c, int, const void *beta, const void *ty, void *y, void *, size_t) {
    return run(h, alpha && tx && x && tw && w && c && beta && ty && y, [&] {
        return convolve(as<Convolution>(c), as<Tensor>(tx), x, as<Tensor>(tw), w, as<Tensor>(ty), y, scalar(alpha),
                        scalar(beta));
    });
}
int miopenConvolutionForwardBias(void *h, const void *alpha, const void *tb, const void *b, const void *beta,
                                 const void *ty, void *y) {
    return run(h, alpha && tb && b && beta && ty && y && as<Tensor>(ty).size.size() == 4, [&] {
        const Tensor &t = as<Tensor>(ty);
        for (Int n = 0; n < t.size[0]; ++n)
            for (Int c = 0; c < t.size[1]; ++c)
                for (Int i = 0; i < t.size[2]; ++i)
                    for (Int j = 0; j < t.size[3]; ++j)
                        store(t.type, y, at(t, n, c, i, j),
                              load<double>(t.type, y, at(t, n, c, i, j)) + load<double>(as<Tensor>(tb).type, b, c));
        return int(Success);
    });
}

int miopenCreatePoolingDescriptor(void **p) { return create<Pooling>(p); }
int miopenDestroyPoolingDescriptor(void *p) { return destroy<Pooling>(p); }
int miopenSet2dPoolingDescriptor(void *p, int mode, int wh, int ww, int ph, int pw, int sh, int sw) {
    if (!p || wh < 1 || ww < 1 || sh < 1 || sw < 1) return BadParameter;
    as<Pooling>(p) = {mode, {wh, ww}, {ph, pw}, {sh, sw}};
    return Success;
}
int miopenGetPoolingForwardOutputDim(void *p, const void *x, int *n, int *c, int *h, int *w) {
    if (!p || !x || !n || !c || !h || !w || as<Tensor>(x).size.size() != 4) return BadParameter;
    const Tensor &t = as<Tensor>(x);
    const Pooling &q = as<Pooling>(p);
    *n = static_cast<int>(t.size[0]), *c = static_cast<int>(t.size[1]);
    *h = static_cast<int>((t.size[2] + 2 * q.pad[0] - q.window[0]) / q.stride[0] + 1);
    *w = static_cast<int>((t.size[3] + 2 * q.pad[1] - q.window[1]) / q.stride[1] + 1);
    return Success;
}
int miopenPoolingGetWorkSpaceSize(const void *, size_t *bytes) {
    if (!bytes) return BadParameter;
    *bytes = 0;
    return Success;
}
int miopenPoolingForward(void *h, const void *p, const void *alpha, const void *tx, const void *x, const void *beta,
                         const void *ty, void *y, bool, void *, size_t) {
    return run(h, p && alpha && tx && x && beta && ty && y, [&] {
        const Pooling &q = as<Pooling>(p);
        const Tensor &in = as<Tensor>(tx), &out = as<Tensor>(ty);
        if (in.size.size() != 4)
            return unsupported("miopenPoolingForward", "other than two spatial dimensions", NotImplemented);
        for (Int n = 0; n < out.size[0]; ++n)
            for (Int c = 0; c < out.size[1]; ++c)
                for (Int i = 0; i < out.size[2]; ++i)
                    for (Int j = 0; j < out.size[3]; ++j) {
                        double largest = -INFINITY, sum = 0;
                        Int inside = 0;
                        for (Int r = 0; r < q.window[0]; ++r)
                            for (Int s = 0; s < q.window[1]; ++s) {
                                const Int row = i * q.stride[0] - q.pad[0] + r, column = j * q.stride[1] - q.pad[1] + s;
                                if (row < 0 || row >= in.size[2] || column < 0 || column >= in.size[3]) continue;
                                const double value = load<double>(in.type, x, at(in, n, c, row, column));
                                largest = std::fmax(largest, value), sum += value, ++inside;
                            }
                        const Int count = q.mode == 2 ? q.window[0] * q.window[1] : std::max<Int>(1, inside);
                        blend(out, y, at(out, n, c, i, j), q.mode == 0 ? largest : sum / static_cast<double>(count),
                              scalar(alpha), scalar(beta));
                    }
        return int(Success);
    });
}

int miopenCreateActivationDescriptor(void **a) { return create<Activation>(a); }
int miopenDestroyActivationDescriptor(void *a) { return destroy<Activation>(a); }
int miopenSetActivationDescriptor(void *a, int mode, double alpha, double beta, double gamma) {
    if (!a) return BadParameter;
    as<Activation>(a) = {mode, alpha, beta, gamma};
    return Success;
}
int miopenActivationForward(void *h, const void *a, const void *alpha, const void *tx, const void *x, const void *beta,
                            const void *ty, void *y) {
    return run(h, a && alpha && tx && x && beta && ty && y, [&] {
        const Tensor &in = as<Tensor>(tx), &out = as<Tensor>(ty);
        if (in.stride != out.stride)
            return unsupported("miopenActivationForward", "different strides of input and output", NotImplemented);
        for (Int i = 0; i < in.elements(); ++i)
            blend(out, y, i, activate(as<Activation>(a), load<double>(in.type, x, i)), scalar(alpha), scalar(beta));
        return int(Success);
    });
}

int miopenSoftmaxForward_V2(void *h, const void *alpha, const void *tx, const void *x, const void *beta, const void *ty,
                            void *y, int algorithm, int mode) {
    return run(h, alpha && tx && x && beta && ty && y && as<Tensor>(tx).size.size() == 4, [&] {
        const Tensor &in = as<Tensor>(tx), &out = as<Tensor>(ty);
        const bool by_channel = mode == 1;
        for (Int n = 0; n < in.size[0]; ++n)
            for (Int i = 0; i < (by_channel ? in.size[2] : 1); ++i)
                for (Int j = 0; j < (by_channel ? in.size[3] : 1); ++j) {
                    std::vector<Int> from, to;
                    for (Int c = 0; c < in.size[1]; ++c)
                        for (Int r = 0; r < (by_channel ? 1 : in.size[2]); ++r)
                            for (Int s = 0; s < (by_channel ? 1 : in.size[3]); ++s) {
                                from.push_back(at(in, n, c, i + r, j + s));
                                to.push_back(at(out, n, c, i + r, j + s));
                            }
                    softmax_line(in, x, out, y, from, to, algorithm, scalar(alpha), scalar(beta));
                }
        return int(Success);
    });
}
int miopenSoftmaxForward(void *h, const void *alpha, const void *tx, const void *x, const void *beta, const void *ty,
                         void *y) {
    return miopenSoftmaxForward_V2(h, alpha, tx, x, beta, ty, y, 1, 1);
}
}
