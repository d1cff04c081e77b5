// hipRAND and rocRAND: the same functions under two sets of names and generator numbers.
#include "../common/missing.h"
#include "../common/stream.h"
#include "generator.h"

#include <sys/mman.h>

using namespace kpt;

#ifdef KPT_HIPRAND
#define KPT_NAME(HIP, ROC) hiprand##HIP
constexpr int launch_failure = 201, not_implemented = 1000;
#else
#define KPT_NAME(HIP, ROC) rocrand_##ROC
constexpr int launch_failure = 107, not_implemented = 108;
#endif

namespace {

enum : int { Success = 0, NotCreated = 101, TypeError = 103, OutOfRange = 104, LengthNotMultiple = 105 };

RandomGenerator *generator_of(void *generator) { return static_cast<RandomGenerator *>(generator); }

bool kind_of(int type, RandomKind *kind) {
#ifdef KPT_HIPRAND
    constexpr int philox = 405, twister = 404;
#else
    constexpr int philox = 404, twister = 407;
#endif
    switch (type) {
    case 400:
    case 401: *kind = RandomKind::Xorwow; return true;
    case 402: *kind = RandomKind::Mrg32k3a; return true;
    case 403:
    case twister: *kind = RandomKind::Mt19937; return true;
    case philox: *kind = RandomKind::Philox; return true;
    case 500:
    case 501: *kind = RandomKind::Sobol32; return true;
    default: return false;
    }
}

int create(void **generator, int type) {
    RandomKind kind;
    if (!generator) return OutOfRange;
    if (!kind_of(type, &kind))
        return unsupported("create generator", "this generator type",
                           type > 399 && type < 506 ? not_implemented : TypeError);
    *generator = new RandomGenerator(kind);
    return Success;
}

// `make` turns `In` numbers into `Out` values; `make_quasi` turns one Sobol number into one value.
template <int In, int Out, class T, class Make, class MakeQuasi>
int generate(void *generator, T *data, size_t n, Make make, MakeQuasi make_quasi) {
    if (!generator) return NotCreated;
    if (!data && n) return OutOfRange;
    RandomGenerator &g = *generator_of(generator);
    if (wait_for(g.stream)) return launch_failure;
    if (!g.is_quasi()) {
        g.fill<In, Out>(data, n, make);
        return Success;
    }
    if (n % g.dimensions) return LengthNotMultiple;
    return g.fill_quasi(data, n, make_quasi)
               ? int(Success)
               : unsupported("generate", "more than 21 dimensions of Sobol numbers", not_implemented);
}

bool is_mrg(void *generator) { return generator && generator_of(generator)->kind == RandomKind::Mrg32k3a; }

float unit(bool mrg, uint32_t v) { return mrg ? uniform_mrg(v) : uniform_float(v); }

// Acklam's rational approximation with one Newton step: quasi-random numbers need the inverse, not Box-Muller.
double inverse_normal(double p) {
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                               1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                               6.680131188771972e+01, -1.328068155288572e+01};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                               -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    double x;
    if (p >= 1) p = 1 - 0x1p-33;
    if (p < 0.02425 || p > 1 - 0.02425) {
        const double q = std::sqrt(-2 * std::log(p < 0.5 ? p : 1 - p));
        x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
            ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
        x = p < 0.5 ? x : -x;
    } else {
        const double q = p - 0.5, r = q * q;
        x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
            (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
    }
    const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
    return x - error * std::sqrt(2 * 3.14159265358979323846) * std::exp(x * x / 2);
}

void box_muller(bool mrg, const uint32_t *in, float *out) {
    const float u = unit(mrg, in[0]);
    const float angle =
        mrg ? uniform_mrg(in[1]) * 6.2831855f : 1.46291807e-09f + static_cast<float>(in[1]) * 1.46291807e-09f;
    const float size = std::sqrt(-2.0f * std::log(u));
    out[0] = std::sin(angle) * size, out[1] = std::cos(angle) * size;
}

void box_muller(const uint32_t *in, double *out) {
    const uint64_t first = in[0] ^ static_cast<uint64_t>(in[1]) << 21, second = in[2] ^ static_cast<uint64_t>(in[3])
                                                                                            << 21;
    const double u = 0x1p-53 + static_cast<double>(first) * 0x1p-53;
    const double w = 0x1p-52 + static_cast<double>(second) * 0x1p-52;
    const double size = std::sqrt(-2 * std::log(u)), angle = w * 3.14159265358979323846;
    out[0] = std::sin(angle) * size, out[1] = std::cos(angle) * size;
}

template <class Finish> int normal_float(void *generator, float *data, size_t n, Finish finish) {
    const bool mrg = is_mrg(generator);
    return generate<2, 2>(
        generator, data, n,
        [&](const uint32_t *in, float *out) {
            box_muller(mrg, in, out);
            out[0] = finish(out[0]), out[1] = finish(out[1]);
        },
        [&](uint32_t v) { return finish(static_cast<float>(inverse_normal(uniform_float(v)))); });
}

template <class Finish> int normal_double(void *generator, double *data, size_t n, Finish finish) {
    const auto quasi = [&](uint32_t v) { return finish(inverse_normal(0x1p-32 + v * 0x1p-32)); };
    if (is_mrg(generator))
        return generate<2, 2>(
            generator, data, n,
            [&](const uint32_t *in, double *out) {
                const double size = std::sqrt(-2 * std::log(static_cast<double>(uniform_mrg(in[0]))));
                const double angle = uniform_mrg(in[1]) * 2.0 * 3.14159265358979323846;
                out[0] = finish(std::sin(angle) * size), out[1] = finish(std::cos(angle) * size);
            },
            quasi);
    return generate<4, 2>(
        generator, data, n,
        [&](const uint32_t *in, double *out) {
            box_muller(in, out);
            out[0] = finish(out[0]), out[1] = finish(out[1]);
        },
        quasi);
}

// The smallest k whose cumulative probability reaches u; a normal approximation where the table would be long.
class Poisson {
public:
    explicit Poisson(double lambda) : lambda_(lambda) {
        if (lambda > 2000) return;
        double sum = 0;
        for (int k = 0; k < 10 || sum < 1 - 1e-12; ++k) {
            sum += std::exp(k * std::log(lambda) - lambda - std::lgamma(k + 1.0));
            cumulative_.push_back(sum);
            if (k > lambda + 60 * std::sqrt(lambda) + 100) break;
        }
    }
    unsigned operator()(uint32_t v) const {
        const double u = 0x1p-32 + v * 0x1p-32;
        if (cumulative_.empty())
            return static_cast<unsigned>(std::fmax(0, std::round(lambda_ + std::sqrt(lambda_) * inverse_normal(u))));
        const auto at = std::lower_bound(cumulative_.begin(), cumulative_.end(), u);
        return static_cast<unsigned>(std::min<size_t>(at - cumulative_.begin(), cumulative_.size() - 1));
    }

private:
    double lambda_;
    std::vector<double> cumulative_;
};

// The direction numbers of the dimensions that the table has, dimension by dimension. A page that cannot be read follows:
// the library has 20,000 dimensions, and one of those must not be read as anything.
template <class Word, int Bits> const Word *direction_vectors() {
    using Vector = std::array<Word, Bits>;
    static const Word *const made = [] {
        constexpr size_t page = 4096, bytes = sobol_dimensions * sizeof(Vector),
                         whole = (bytes + page - 1) / page * page;
        void *place = mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) return static_cast<Word *>(nullptr);
        mprotect(static_cast<char *>(place) + whole, page, PROT_NONE);
        auto *vectors = reinterpret_cast<Vector *>(static_cast<char *>(place) + whole - bytes);
        for (unsigned d = 0; d < sobol_dimensions; ++d) sobol_directions(d, &vectors[d]);
        return vectors->data();
    }();
    return made;
}

template <class Word, int Bits> int give_directions(const void **vectors, int set, int wanted) {
    if (!vectors) return OutOfRange;
    if (set == wanted + 1) return unsupported("get direction vectors", "scrambled vectors", not_implemented);
    if (set != wanted) return OutOfRange;
    *vectors = direction_vectors<Word, Bits>();
    return *vectors ? int(Success) : launch_failure;
}

} // namespace

extern "C" {

int KPT_NAME(GetDirectionVectors32, get_direction_vectors32)(const void **vectors, int set) {
    return give_directions<uint32_t, 32>(vectors, set, 101);
}
int KPT_NAME(GetDirectionVectors64, get_direction_vectors64)(const void **vectors, int set) {
    return give_directions<uint64_t, 64>(vectors, set, 103);
}

int KPT_NAME(CreateGenerator, create_generator)(void **generator, int type) { return create(generator, type); }
int KPT_NAME(CreateGeneratorHost, create_generator_host)(void **generator, int type) { return create(generator, type); }
#ifndef KPT_HIPRAND
int rocrand_create_generator_host_blocking(void **generator, int type) { return create(generator, type); }
#endif

int KPT_NAME(DestroyGenerator, destroy_generator)(void *generator) {
    if (!generator) return NotCreated;
    delete generator_of(generator);
    return Success;
}
int KPT_NAME(GenerateSeeds, initialize_generator)(void *generator) { return generator ? Success : NotCreated; }
int KPT_NAME(SetStream, set_stream)(void *generator, void *stream) {
    if (!generator) return NotCreated;
    generator_of(generator)->stream = stream;
    return Success;
}
int KPT_NAME(SetPseudoRandomGeneratorSeed, set_seed)(void *generator, unsigned long long seed) {
    if (!generator) return NotCreated;
    if (generator_of(generator)->is_quasi()) return TypeError;
    generator_of(generator)->seed = seed;
    generator_of(generator)->reset();
    return Success;
}
int KPT_NAME(SetGeneratorOffset, set_offset)(void *generator, unsigned long long offset) {
    if (!generator) return NotCreated;
    if (generator_of(generator)->kind == RandomKind::Mt19937) return TypeError;
    generator_of(generator)->offset = offset;
    generator_of(generator)->reset();
    return Success;
}
int KPT_NAME(SetGeneratorOrdering, set_ordering)(void *generator, int order) {
    if (!generator) return NotCreated;
    if (generator_of(generator)->is_quasi() ? order != 201 : order < 100 || order > 104) return OutOfRange;
    generator_of(generator)->reset();
    return Success;
}
int KPT_NAME(SetQuasiRandomGeneratorDimensions, set_quasi_random_generator_dimensions)(void *generator,
                                                                                       unsigned dimensions) {
    if (!generator) return NotCreated;
    if (!generator_of(generator)->is_quasi()) return TypeError;
    if (dimensions < 1 || dimensions > 20000) return OutOfRange;
    generator_of(generator)->dimensions = dimensions;
    generator_of(generator)->reset();
    return Success;
}
int KPT_NAME(GetVersion, get_version)(int *version) {
    if (!version) return OutOfRange;
    *version = 400200;
    return Success;
}

int KPT_NAME(Generate, generate)(void *g, unsigned *data, size_t n) {
    const bool mrg = is_mrg(g);
    return generate<1, 1>(
        g, data, n, [&](const uint32_t *in, unsigned *out) { *out = mrg ? whole_mrg(*in) : *in; },
        [](uint32_t v) { return v; });
}
int KPT_NAME(GenerateChar, generate_char)(void *g, unsigned char *data, size_t n) {
    const bool mrg = is_mrg(g);
    return generate<1, 4>(
        g, data, n,
        [&](const uint32_t *in, unsigned char *out) {
            const uint32_t v = mrg ? whole_mrg(*in) : *in;
            for (int i = 0; i < 4; ++i) out[i] = static_cast<unsigned char>(v >> (8 * i));
        },
        [](uint32_t v) { return static_cast<unsigned char>(v >> 24); });
}
int KPT_NAME(GenerateShort, generate_short)(void *g, unsigned short *data, size_t n) {
    const bool mrg = is_mrg(g);
    return generate<1, 2>(
        g, data, n,
        [&](const uint32_t *in, unsigned short *out) {
            const uint32_t v = mrg ? whole_mrg(*in) : *in;
            out[0] = static_cast<unsigned short>(v), out[1] = static_cast<unsigned short>(v >> 16);
        },
        [](uint32_t v) { return static_cast<unsigned short>(v >> 16); });
}
int KPT_NAME(GenerateLongLong, generate_long_long)(void *g, unsigned long long *, size_t) {
    return g ? TypeError : NotCreated; // only 64-bit generators have it
}
int KPT_NAME(GenerateUniform, generate_uniform)(void *g, float *data, size_t n) {
    const bool mrg = is_mrg(g);
    return generate<1, 1>(
        g, data, n, [&](const uint32_t *in, float *out) { *out = unit(mrg, *in); },
        [](uint32_t v) { return uniform_float(v); });
}
int KPT_NAME(GenerateUniformDouble, generate_uniform_double)(void *g, double *data, size_t n) {
    const auto quasi = [](uint32_t v) { return 0x1p-32 + v * 0x1p-32; };
    if (is_mrg(g))
        return generate<1, 1>(
            g, data, n, [](const uint32_t *in, double *out) { *out = *in * 2.3283065498378288e-10; }, quasi);
    return generate<2, 1>(
        g, data, n, [](const uint32_t *in, double *out) { *out = uniform_double(in[0], in[1]); }, quasi);
}
int KPT_NAME(GenerateUniformHalf, generate_uniform_half)(void *g, void *data, size_t n) {
    const bool mrg = is_mrg(g);
    const auto half = [](uint32_t v) {
        return Half(1.5258789e-05f + static_cast<float>(v & 0xffffu) * 1.5258789e-05f);
    };
    return generate<1, 2>(
        g, static_cast<Half *>(data), n,
        [&](const uint32_t *in, Half *out) {
            const uint32_t v = mrg ? whole_mrg(*in) : *in;
            out[0] = half(v), out[1] = half(v >> 16);
        },
        [&](uint32_t v) { return half(v >> 16); });
}
int KPT_NAME(GenerateNormal, generate_normal)(void *g, float *data, size_t n, float mean, float deviation) {
    return normal_float(g, data, n, [=](float x) { return mean + x * deviation; });
}
int KPT_NAME(GenerateNormalDouble, generate_normal_double)(void *g, double *data, size_t n, double mean,
                                                           double deviation) {
    return normal_double(g, data, n, [=](double x) { return mean + x * deviation; });
}
int KPT_NAME(GenerateLogNormal, generate_log_normal)(void *g, float *data, size_t n, float mean, float deviation) {
    return normal_float(g, data, n, [=](float x) { return std::exp(mean + x * deviation); });
}
int KPT_NAME(GenerateLogNormalDouble, generate_log_normal_double)(void *g, double *data, size_t n, double mean,
                                                                  double deviation) {
    return normal_double(g, data, n, [=](double x) { return std::exp(mean + x * deviation); });
}
int KPT_NAME(GeneratePoisson, generate_poisson)(void *g, unsigned *data, size_t n, double lambda) {
    if (!(lambda > 0)) return OutOfRange;
    const Poisson poisson(lambda);
    const bool mrg = is_mrg(g);
    return generate<1, 1>(
        g, data, n, [&](const uint32_t *in, unsigned *out) { *out = poisson(mrg ? whole_mrg(*in) : *in); }, poisson);
}
}
