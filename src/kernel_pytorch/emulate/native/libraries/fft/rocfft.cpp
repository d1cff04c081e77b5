// rocFFT. Lengths and strides come fastest dimension first, the other way round than hipFFT's.
#include <algorithm>
#include <cstring>

#include "../common/missing.h"
#include "../common/stream.h"
#include "transform.h"

using namespace kpt;

namespace {

enum : int { Success = 0, Failure = 1, InvalidArgument = 2, InvalidDimensions = 3 };

struct Description {
    std::vector<FftInt> stride_in, stride_out;
    FftInt distance_in = 0, distance_out = 0, offset_in = 0, offset_out = 0;
    double scale = 1;
    bool planar = false;
};
struct Plan {
    FftPlan fft;
    bool in_place;
    int sign;
    FftInt offset_in = 0, offset_out = 0;
};
struct Info {
    void *stream = nullptr;
};

std::vector<FftInt> reversed(const size_t *values, size_t count) {
    std::vector<FftInt> out(values, values + count);
    std::reverse(out.begin(), out.end());
    return out;
}

void *moved(void *data, FftInt elements, bool real, bool is_double) {
    return static_cast<char *>(data) + elements * (is_double ? 8 : 4) * (real ? 1 : 2);
}

} // namespace

extern "C" {

int rocfft_setup() { return Success; }
int rocfft_cleanup() { return Success; }
int rocfft_get_version_string(char *buffer, size_t bytes) {
    static constexpr char version[] = "1.0.36";
    if (!buffer || bytes < sizeof(version)) return InvalidArgument;
    std::memcpy(buffer, version, sizeof(version));
    return Success;
}

int rocfft_plan_description_create(void **out) {
    if (!out) return InvalidArgument;
    *out = new Description;
    return Success;
}
int rocfft_plan_description_destroy(void *description) {
    delete static_cast<Description *>(description);
    return Success;
}
int rocfft_plan_description_set_scale_factor(void *description, double scale) {
    if (!description) return InvalidArgument;
    static_cast<Description *>(description)->scale = scale;
    return Success;
}
int rocfft_plan_description_set_data_layout(void *description, int type_in, int type_out, const size_t *offsets_in,
                                            const size_t *offsets_out, size_t count_in, const size_t *strides_in,
                                            size_t distance_in, size_t count_out, const size_t *strides_out,
                                            size_t distance_out) {
    if (!description) return InvalidArgument;
    auto &d = *static_cast<Description *>(description);
    d.planar = type_in == 1 || type_in == 4 || type_out == 1 || type_out == 4;
    if (strides_in) d.stride_in = reversed(strides_in, count_in);
    if (strides_out) d.stride_out = reversed(strides_out, count_out);
    d.distance_in = static_cast<FftInt>(distance_in), d.distance_out = static_cast<FftInt>(distance_out);
    d.offset_in = offsets_in ? static_cast<FftInt>(offsets_in[0]) : 0;
    d.offset_out = offsets_out ? static_cast<FftInt>(offsets_out[0]) : 0;
    return Success;
}

int rocfft_plan_create(void **out, int placement, int type, int precision, size_t dimensions, const size_t *lengths,
                       size_t count, const void *description) {
    if (!out || !lengths || type < 0 || type > 3 || count < 1) return InvalidArgument;
    if (dimensions < 1 || dimensions > 3) return InvalidDimensions;
    if (precision == 2) return unsupported("rocfft_plan_create", "half precision", Failure);
    Plan plan{{}, placement == 0, type == 0 || type == 2 ? -1 : 1};
    plan.fft.kind = type < 2 ? FftKind::ComplexToComplex : type == 2 ? FftKind::RealToComplex : FftKind::ComplexToReal;
    plan.fft.is_double = precision == 1;
    plan.fft.length = reversed(lengths, dimensions);
    plan.fft.batch = static_cast<FftInt>(count);
    if (description) {
        const auto &d = *static_cast<const Description *>(description);
        if (d.planar) return unsupported("rocfft_plan_create", "planar complex data", Failure);
        plan.fft.stride_in = d.stride_in, plan.fft.stride_out = d.stride_out;
        plan.fft.distance_in = d.distance_in, plan.fft.distance_out = d.distance_out;
        plan.fft.scale = d.scale;
        plan.offset_in = d.offset_in, plan.offset_out = d.offset_out;
    }
    plan.fft.fill_defaults(plan.in_place);
    *out = new Plan(plan);
    return Success;
}
int rocfft_plan_destroy(void *plan) {
    delete static_cast<Plan *>(plan);
    return Success;
}
int rocfft_plan_get_work_buffer_size(const void *plan, size_t *bytes) {
    if (!plan || !bytes) return InvalidArgument;
    *bytes = 0;
    return Success;
}

int rocfft_execution_info_create(void **out) {
    if (!out) return InvalidArgument;
    *out = new Info;
    return Success;
}
int rocfft_execution_info_destroy(void *info) {
    delete static_cast<Info *>(info);
    return Success;
}
int rocfft_execution_info_set_stream(void *info, void *stream) {
    if (!info) return InvalidArgument;
    static_cast<Info *>(info)->stream = stream;
    return Success;
}
int rocfft_execution_info_set_work_buffer(void *info, void *, size_t) { return info ? Success : InvalidArgument; }

int rocfft_execute(const void *plan, void **in, void **out, void *info) {
    if (!plan || !in || !in[0]) return InvalidArgument;
    const Plan &p = *static_cast<const Plan *>(plan);
    if (!p.in_place && (!out || !out[0])) return InvalidArgument;
    if (wait_for(info ? static_cast<Info *>(info)->stream : nullptr)) return Failure;
    void *to = p.in_place ? in[0] : out[0];
    run_fft(p.fft, moved(in[0], p.offset_in, p.fft.kind == FftKind::RealToComplex, p.fft.is_double),
            moved(to, p.offset_out, p.fft.kind == FftKind::ComplexToReal, p.fft.is_double), p.sign);
    return Success;
}
}
