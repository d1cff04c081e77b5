// hipFFT.
#include <cstddef>
#include <initializer_list>

#include "../common/missing.h"
#include "../common/stream.h"
#include "transform.h"

using namespace kpt;

namespace {

enum : int { Success = 0, InvalidPlan = 1, InvalidType = 3, InvalidArgument = 4, ExecFailed = 6, InvalidSize = 8 };
enum : int { R2C = 0x2a, C2R = 0x2c, C2C = 0x29, D2Z = 0x6a, Z2D = 0x6c, Z2Z = 0x69 };

struct Handle {
    FftPlan plan;
    bool made = false;
    void *stream = nullptr;
};

Handle *handle_of(void *handle) { return static_cast<Handle *>(handle); }

template <class Integer>
int make(void *handle, int rank, const Integer *n, const Integer *embed_in, Integer stride_in, Integer distance_in,
         const Integer *embed_out, Integer stride_out, Integer distance_out, int type, Integer batch, size_t *work) {
    if (!handle) return InvalidPlan;
    if (rank < 1 || rank > 3 || !n || batch < 1) return rank < 1 || rank > 3 || !n ? InvalidArgument : InvalidSize;
    FftPlan plan;
    switch (type) {
    case C2C:
    case Z2Z: plan.kind = FftKind::ComplexToComplex; break;
    case R2C:
    case D2Z: plan.kind = FftKind::RealToComplex; break;
    case C2R:
    case Z2D: plan.kind = FftKind::ComplexToReal; break;
    default: return InvalidType;
    }
    plan.is_double = type >= Z2Z;
    plan.batch = batch;
    plan.scale = handle_of(handle)->plan.scale;
    for (int d = 0; d < rank; ++d) {
        if (n[d] < 1) return InvalidSize;
        plan.length.push_back(n[d]);
    }
    // Without both embeddings strides and distances are ignored, as in cuFFT.
    if (embed_in && embed_out) {
        plan.stride_in.assign(static_cast<size_t>(rank), stride_in);
        plan.stride_out.assign(static_cast<size_t>(rank), stride_out);
        for (int d = rank - 1; d > 0; --d) {
            plan.stride_in[d - 1] = plan.stride_in[d] * embed_in[d];
            plan.stride_out[d - 1] = plan.stride_out[d] * embed_out[d];
        }
        plan.distance_in = distance_in, plan.distance_out = distance_out;
    }
    handle_of(handle)->plan = plan;
    handle_of(handle)->made = true;
    if (work) *work = 0;
    return Success;
}

int make_dense(void *handle, std::initializer_list<int> sizes, int type, int batch, size_t *work) {
    return make<int>(handle, static_cast<int>(sizes.size()), sizes.begin(), nullptr, 1, 0, nullptr, 1, 0, type, batch,
                     work);
}

int execute(void *handle, void *in, void *out, int direction) {
    if (!handle || !handle_of(handle)->made) return InvalidPlan;
    if (!in || !out || (direction != -1 && direction != 1)) return InvalidArgument;
    if (wait_for(handle_of(handle)->stream)) return ExecFailed;
    FftPlan plan = handle_of(handle)->plan;
    plan.fill_defaults(in == out);
    run_fft(plan, in, out, direction);
    return Success;
}

int execute_as(void *handle, FftKind kind, bool is_double, void *in, void *out, int direction) {
    if (handle && handle_of(handle)->made &&
        (handle_of(handle)->plan.kind != kind || handle_of(handle)->plan.is_double != is_double))
        return InvalidType;
    return execute(handle, in, out, direction);
}

template <class Make> int create_and(void **handle, Make make_plan) {
    if (!handle) return InvalidArgument;
    *handle = new Handle;
    const int status = make_plan(*handle);
    if (status) {
        delete handle_of(*handle);
        *handle = nullptr;
    }
    return status;
}

int no_work(size_t *work) {
    if (!work) return InvalidArgument;
    *work = 0;
    return Success;
}

} // namespace

extern "C" {

int hipfftCreate(void **handle) {
    return create_and(handle, [](void *) { return int(Success); });
}
int hipfftDestroy(void *handle) {
    if (!handle) return InvalidPlan;
    delete handle_of(handle);
    return Success;
}
int hipfftSetStream(void *handle, void *stream) {
    if (!handle) return InvalidPlan;
    handle_of(handle)->stream = stream;
    return Success;
}
int hipfftSetWorkArea(void *handle, void *) { return handle ? Success : InvalidPlan; }
int hipfftSetAutoAllocation(void *handle, int) { return handle ? Success : InvalidPlan; }
int hipfftExtPlanScaleFactor(void *handle, double scale) {
    if (!handle) return InvalidPlan;
    handle_of(handle)->plan.scale = scale;
    return Success;
}
int hipfftGetVersion(int *version) {
    if (!version) return InvalidArgument;
    *version = 10022;
    return Success;
}
int hipfftGetProperty(int which, int *value) {
    if (!value || which < 0 || which > 2) return InvalidArgument;
    *value = which == 0 ? 1 : which == 1 ? 0 : 22;
    return Success;
}

int hipfftPlan1d(void **h, int nx, int type, int batch) {
    return create_and(h, [&](void *p) { return make_dense(p, {nx}, type, batch, nullptr); });
}
int hipfftPlan2d(void **h, int nx, int ny, int type) {
    return create_and(h, [&](void *p) { return make_dense(p, {nx, ny}, type, 1, nullptr); });
}
int hipfftPlan3d(void **h, int nx, int ny, int nz, int type) {
    return create_and(h, [&](void *p) { return make_dense(p, {nx, ny, nz}, type, 1, nullptr); });
}
int hipfftPlanMany(void **h, int rank, int *n, int *ei, int si, int di, int *eo, int so, int d, int type, int batch) {
    return create_and(h, [&](void *p) { return make<int>(p, rank, n, ei, si, di, eo, so, d, type, batch, nullptr); });
}
int hipfftMakePlan1d(void *h, int nx, int type, int batch, size_t *work) {
    return make_dense(h, {nx}, type, batch, work);
}
int hipfftMakePlan2d(void *h, int nx, int ny, int type, size_t *work) { return make_dense(h, {nx, ny}, type, 1, work); }
int hipfftMakePlan3d(void *h, int nx, int ny, int nz, int type, size_t *work) {
    return make_dense(h, {nx, ny, nz}, type, 1, work);
}
int hipfftMakePlanMany(void *h, int rank, int *n, int *ei, int si, int di, int *eo, int so, int d, int type, int batch,
                       size_t *work) {
    return make<int>(h, rank, n, ei, si, di, eo, so, d, type, batch, work);
}
int hipfftMakePlanMany64(void *h, int rank, long long *n, long long *ei, long long si, long long di, long long *eo,
                         long long so, long long d, int type, long long batch, size_t *work) {
    return make<long long>(h, rank, n, ei, si, di, eo, so, d, type, batch, work);
}
int hipfftXtMakePlanMany(void *h, int rank, long long *n, long long *ei, long long si, long long di, int type_in,
                         long long *eo, long long so, long long d, int type_out, long long batch, size_t *work, int) {
    // hipDataType: 0 and 1 are real, 4 and 5 complex; odd ones are double precision.
    const bool real_in = type_in < 2, real_out = type_out < 2, is_double = type_in % 2;
    if ((type_in != 0 && type_in != 1 && type_in != 4 && type_in != 5) || type_out % 2 != type_in % 2)
        return unsupported("hipfftXtMakePlanMany", "half precision", 14);
    const int type = real_in ? (is_double ? D2Z : R2C) : real_out ? (is_double ? Z2D : C2R) : is_double ? Z2Z : C2C;
    return make<long long>(h, rank, n, ei, si, di, eo, so, d, type, batch, work);
}

int hipfftEstimate1d(int, int, int, size_t *work) { return no_work(work); }
int hipfftEstimate2d(int, int, int, size_t *work) { return no_work(work); }
int hipfftEstimate3d(int, int, int, int, size_t *work) { return no_work(work); }
int hipfftEstimateMany(int, int *, int *, int, int, int *, int, int, int, int, size_t *work) { return no_work(work); }
int hipfftGetSize(void *h, size_t *work) { return h ? no_work(work) : int(InvalidPlan); }
int hipfftGetSize1d(void *, int, int, int, size_t *work) { return no_work(work); }
int hipfftGetSize2d(void *, int, int, int, size_t *work) { return no_work(work); }
int hipfftGetSize3d(void *, int, int, int, int, size_t *work) { return no_work(work); }
int hipfftGetSizeMany(void *, int, int *, int *, int, int, int *, int, int, int, int, size_t *work) {
    return no_work(work);
}

int hipfftExecC2C(void *h, void *in, void *out, int direction) {
    return execute_as(h, FftKind::ComplexToComplex, false, in, out, direction);
}
int hipfftExecZ2Z(void *h, void *in, void *out, int direction) {
    return execute_as(h, FftKind::ComplexToComplex, true, in, out, direction);
}
int hipfftExecR2C(void *h, void *in, void *out) { return execute_as(h, FftKind::RealToComplex, false, in, out, -1); }
int hipfftExecD2Z(void *h, void *in, void *out) { return execute_as(h, FftKind::RealToComplex, true, in, out, -1); }
int hipfftExecC2R(void *h, void *in, void *out) { return execute_as(h, FftKind::ComplexToReal, false, in, out, 1); }
int hipfftExecZ2D(void *h, void *in, void *out) { return execute_as(h, FftKind::ComplexToReal, true, in, out, 1); }
int hipfftXtExec(void *h, void *in, void *out, int direction) { return execute(h, in, out, direction); }
}
