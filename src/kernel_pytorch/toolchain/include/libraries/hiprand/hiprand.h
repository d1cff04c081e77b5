// Declarations of hiprand, made by scripts/build_library_headers.py from what its public headers declare.
// For machines without ROCm. Types and functions only: nothing is implemented here.
#pragma once
#include <hip/hip_runtime_api.h>
#include <hip/library_types.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#else
#include <kpt/types_in_c.h>
#endif

#define HIPRAND_VERSION 300100
#define ROCRAND_VERSION 400200
#define ROCRAND_DEFAULT_MAX_BLOCK_SIZE 256
#define HIPRAND_DEFAULT_MAX_BLOCK_SIZE 256
#define HIPRAND_DEFAULT_MIN_WARPS_PER_EU 1
#ifdef __cplusplus
extern "C" {
#endif
typedef struct rocrand_discrete_distribution_st rocrand_discrete_distribution_st;
struct rocrand_discrete_distribution_st { unsigned int size; unsigned int offset; unsigned int* alias; double* probability; double* cdf; };
typedef struct rocrand_discrete_distribution_st* rocrand_discrete_distribution;
typedef struct rocrand_generator_base_type rocrand_generator_base_type;
struct rocrand_generator_base_type;
typedef struct rocrand_generator_base_type* rocrand_generator;
typedef __half half;
enum rocrand_status { ROCRAND_STATUS_SUCCESS = 0, ROCRAND_STATUS_VERSION_MISMATCH = 100, ROCRAND_STATUS_NOT_CREATED = 101, ROCRAND_STATUS_ALLOCATION_FAILED = 102, ROCRAND_STATUS_TYPE_ERROR = 103, ROCRAND_STATUS_OUT_OF_RANGE = 104, ROCRAND_STATUS_LENGTH_NOT_MULTIPLE = 105, ROCRAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106, ROCRAND_STATUS_LAUNCH_FAILURE = 107, ROCRAND_STATUS_INTERNAL_ERROR = 108 };
typedef enum rocrand_status rocrand_status;
enum rocrand_rng_type { ROCRAND_RNG_PSEUDO_DEFAULT = 400, ROCRAND_RNG_PSEUDO_XORWOW = 401, ROCRAND_RNG_PSEUDO_MRG32K3A = 402, ROCRAND_RNG_PSEUDO_MTGP32 = 403, ROCRAND_RNG_PSEUDO_PHILOX4_32_10 = 404, ROCRAND_RNG_PSEUDO_MRG31K3P = 405, ROCRAND_RNG_PSEUDO_LFSR113 = 406, ROCRAND_RNG_PSEUDO_MT19937 = 407, ROCRAND_RNG_PSEUDO_THREEFRY2_32_20 = 408, ROCRAND_RNG_PSEUDO_THREEFRY2_64_20 = 409, ROCRAND_RNG_PSEUDO_THREEFRY4_32_20 = 410, ROCRAND_RNG_PSEUDO_THREEFRY4_64_20 = 411, ROCRAND_RNG_QUASI_DEFAULT = 500, ROCRAND_RNG_QUASI_SOBOL32 = 501, ROCRAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 502, ROCRAND_RNG_QUASI_SOBOL64 = 504, ROCRAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 505 };
typedef enum rocrand_rng_type rocrand_rng_type;
enum rocrand_ordering { ROCRAND_ORDERING_PSEUDO_BEST = 100, ROCRAND_ORDERING_PSEUDO_DEFAULT = 101, ROCRAND_ORDERING_PSEUDO_SEEDED = 102, ROCRAND_ORDERING_PSEUDO_LEGACY = 103, ROCRAND_ORDERING_PSEUDO_DYNAMIC = 104, ROCRAND_ORDERING_QUASI_DEFAULT = 201 };
typedef enum rocrand_ordering rocrand_ordering;
enum rocrand_direction_vector_set { ROCRAND_DIRECTION_VECTORS_32_JOEKUO6 = 101, ROCRAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102, ROCRAND_DIRECTION_VECTORS_64_JOEKUO6 = 103, ROCRAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104 };
typedef enum rocrand_direction_vector_set rocrand_direction_vector_set;
rocrand_status rocrand_create_generator(rocrand_generator*, rocrand_rng_type);
rocrand_status rocrand_create_generator_host(rocrand_generator*, rocrand_rng_type);
rocrand_status rocrand_create_generator_host_blocking(rocrand_generator*, rocrand_rng_type);
rocrand_status rocrand_destroy_generator(rocrand_generator);
rocrand_status rocrand_generate(rocrand_generator, unsigned int*, size_t);
rocrand_status rocrand_generate_long_long(rocrand_generator, unsigned long long*, size_t);
rocrand_status rocrand_generate_char(rocrand_generator, unsigned char*, size_t);
rocrand_status rocrand_generate_short(rocrand_generator, unsigned short*, size_t);
rocrand_status rocrand_generate_uniform(rocrand_generator, float*, size_t);
rocrand_status rocrand_generate_uniform_double(rocrand_generator, double*, size_t);
rocrand_status rocrand_generate_uniform_half(rocrand_generator, half*, size_t);
rocrand_status rocrand_generate_normal(rocrand_generator, float*, size_t, float, float);
rocrand_status rocrand_generate_normal_double(rocrand_generator, double*, size_t, double, double);
rocrand_status rocrand_generate_normal_half(rocrand_generator, half*, size_t, half, half);
rocrand_status rocrand_generate_log_normal(rocrand_generator, float*, size_t, float, float);
rocrand_status rocrand_generate_log_normal_double(rocrand_generator, double*, size_t, double, double);
rocrand_status rocrand_generate_log_normal_half(rocrand_generator, half*, size_t, half, half);
rocrand_status rocrand_generate_poisson(rocrand_generator, unsigned int*, size_t, double);
rocrand_status rocrand_initialize_generator(rocrand_generator);
rocrand_status rocrand_set_stream(rocrand_generator, hipStream_t);
rocrand_status rocrand_set_seed(rocrand_generator, unsigned long long);
rocrand_status rocrand_set_seed_uint4(rocrand_generator, uint4);
rocrand_status rocrand_set_offset(rocrand_generator, unsigned long long);
rocrand_status rocrand_set_ordering(rocrand_generator, rocrand_ordering);
rocrand_status rocrand_set_quasi_random_generator_dimensions(rocrand_generator, unsigned int);
rocrand_status rocrand_get_version(int*);
rocrand_status rocrand_create_poisson_distribution(double, rocrand_discrete_distribution*);
rocrand_status rocrand_create_discrete_distribution(const double*, unsigned int, unsigned int, rocrand_discrete_distribution*);
rocrand_status rocrand_destroy_discrete_distribution(rocrand_discrete_distribution);
rocrand_status rocrand_get_direction_vectors32(const unsigned int**, rocrand_direction_vector_set);
rocrand_status rocrand_get_direction_vectors64(const unsigned long long**, rocrand_direction_vector_set);
rocrand_status rocrand_get_scramble_constants32(const unsigned int**);
rocrand_status rocrand_get_scramble_constants64(const unsigned long long**);
typedef struct rocrand_generator_base_type hiprandGenerator_st;
typedef struct rocrand_discrete_distribution_st hiprandDiscreteDistribution_st;
typedef unsigned int hiprandDirectionVectors32_t[32];
typedef unsigned long long hiprandDirectionVectors64_t[64];
typedef hiprandGenerator_st* hiprandGenerator_t;
typedef hiprandDiscreteDistribution_st* hiprandDiscreteDistribution_t;
enum hiprandStatus { HIPRAND_STATUS_SUCCESS = 0, HIPRAND_STATUS_VERSION_MISMATCH = 100, HIPRAND_STATUS_NOT_INITIALIZED = 101, HIPRAND_STATUS_ALLOCATION_FAILED = 102, HIPRAND_STATUS_TYPE_ERROR = 103, HIPRAND_STATUS_OUT_OF_RANGE = 104, HIPRAND_STATUS_LENGTH_NOT_MULTIPLE = 105, HIPRAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106, HIPRAND_STATUS_LAUNCH_FAILURE = 201, HIPRAND_STATUS_PREEXISTING_FAILURE = 202, HIPRAND_STATUS_INITIALIZATION_FAILED = 203, HIPRAND_STATUS_ARCH_MISMATCH = 204, HIPRAND_STATUS_INTERNAL_ERROR = 999, HIPRAND_STATUS_NOT_IMPLEMENTED = 1000 };
typedef enum hiprandStatus hiprandStatus;
typedef enum hiprandStatus hiprandStatus_t;
enum hiprandRngType { HIPRAND_RNG_TEST = 0, HIPRAND_RNG_PSEUDO_DEFAULT = 400, HIPRAND_RNG_PSEUDO_XORWOW = 401, HIPRAND_RNG_PSEUDO_MRG32K3A = 402, HIPRAND_RNG_PSEUDO_MTGP32 = 403, HIPRAND_RNG_PSEUDO_MT19937 = 404, HIPRAND_RNG_PSEUDO_PHILOX4_32_10 = 405, HIPRAND_RNG_QUASI_DEFAULT = 500, HIPRAND_RNG_QUASI_SOBOL32 = 501, HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 502, HIPRAND_RNG_QUASI_SOBOL64 = 503, HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 504 };
typedef enum hiprandRngType hiprandRngType;
typedef enum hiprandRngType hiprandRngType_t;
enum hiprandOrdering { HIPRAND_ORDERING_PSEUDO_BEST = 100, HIPRAND_ORDERING_PSEUDO_DEFAULT = 101, HIPRAND_ORDERING_PSEUDO_SEEDED = 102, HIPRAND_ORDERING_PSEUDO_LEGACY = 103, HIPRAND_ORDERING_PSEUDO_DYNAMIC = 104, HIPRAND_ORDERING_QUASI_DEFAULT = 201 };
typedef enum hiprandOrdering hiprandOrdering;
typedef enum hiprandOrdering hiprandOrdering_t;
enum hiprandDirectionVectorSet { HIPRAND_DIRECTION_VECTORS_32_JOEKUO6 = 101, HIPRAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102, HIPRAND_DIRECTION_VECTORS_64_JOEKUO6 = 103, HIPRAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104 };
typedef enum hiprandDirectionVectorSet hiprandDirectionVectorSet;
typedef enum hiprandDirectionVectorSet hiprandDirectionVectorSet_t;
hiprandStatus_t hiprandCreateGenerator(hiprandGenerator_t*, hiprandRngType_t);
hiprandStatus_t hiprandCreateGeneratorHost(hiprandGenerator_t*, hiprandRngType_t);
hiprandStatus_t hiprandDestroyGenerator(hiprandGenerator_t);
hiprandStatus_t hiprandGenerate(hiprandGenerator_t, unsigned int*, size_t);
hiprandStatus_t hiprandGenerateChar(hiprandGenerator_t, unsigned char*, size_t);
hiprandStatus_t hiprandGenerateShort(hiprandGenerator_t, unsigned short*, size_t);
hiprandStatus_t hiprandGenerateLongLong(hiprandGenerator_t, unsigned long long*, size_t);
hiprandStatus_t hiprandGenerateUniform(hiprandGenerator_t, float*, size_t);
hiprandStatus_t hiprandGenerateUniformDouble(hiprandGenerator_t, double*, size_t);
hiprandStatus_t hiprandGenerateUniformHalf(hiprandGenerator_t, half*, size_t);
hiprandStatus_t hiprandGenerateNormal(hiprandGenerator_t, float*, size_t, float, float);
hiprandStatus_t hiprandGenerateNormalDouble(hiprandGenerator_t, double*, size_t, double, double);
hiprandStatus_t hiprandGenerateNormalHalf(hiprandGenerator_t, half*, size_t, half, half);
hiprandStatus_t hiprandGenerateLogNormal(hiprandGenerator_t, float*, size_t, float, float);
hiprandStatus_t hiprandGenerateLogNormalDouble(hiprandGenerator_t, double*, size_t, double, double);
hiprandStatus_t hiprandGenerateLogNormalHalf(hiprandGenerator_t, half*, size_t, half, half);
hiprandStatus_t hiprandGeneratePoisson(hiprandGenerator_t, unsigned int*, size_t, double);
hiprandStatus_t hiprandGenerateSeeds(hiprandGenerator_t);
hiprandStatus_t hiprandSetStream(hiprandGenerator_t, hipStream_t);
hiprandStatus_t hiprandSetPseudoRandomGeneratorSeed(hiprandGenerator_t, unsigned long long);
hiprandStatus_t hiprandSetGeneratorOffset(hiprandGenerator_t, unsigned long long);
hiprandStatus_t hiprandSetGeneratorOrdering(hiprandGenerator_t, hiprandOrdering_t);
hiprandStatus_t hiprandSetQuasiRandomGeneratorDimensions(hiprandGenerator_t, unsigned int);
hiprandStatus_t hiprandGetVersion(int*);
hiprandStatus_t hiprandCreatePoissonDistribution(double, hiprandDiscreteDistribution_t*);
hiprandStatus_t hiprandDestroyDistribution(hiprandDiscreteDistribution_t);
hiprandStatus_t hiprandGetDirectionVectors32(hiprandDirectionVectors32_t**, hiprandDirectionVectorSet_t);
hiprandStatus_t hiprandGetDirectionVectors64(hiprandDirectionVectors64_t**, hiprandDirectionVectorSet_t);
hiprandStatus_t hiprandGetScrambleConstants32(const unsigned int**);
hiprandStatus_t hiprandGetScrambleConstants64(const unsigned long long**);
#ifdef __cplusplus
}
#endif
