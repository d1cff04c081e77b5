// Atomics and conversions of the 16-bit types.

//: atomicAdd(half) < hip/hip_fp16.h
static __device__ inline __half2 atomicAdd(__half2* p, __half2 v) {
  unsigned int* word = reinterpret_cast<unsigned int*>(p);
  unsigned int old = *word, seen;
  do {
    seen = old;
    __half2 sum = __hadd2(*reinterpret_cast<__half2*>(&seen), v);
    old = atomicCAS(word, seen, *reinterpret_cast<unsigned int*>(&sum));
  } while (seen != old);
  return *reinterpret_cast<__half2*>(&old);
}
static __device__ inline __half atomicAdd(__half* p, __half v) {
  unsigned long long address = reinterpret_cast<unsigned long long>(p);
  unsigned int* word = reinterpret_cast<unsigned int*>(address & ~3ull);
  unsigned int shift = (address & 2) * 8, old = *word, seen;
  do {
    seen = old;
    unsigned short bits = static_cast<unsigned short>(seen >> shift);
    __half sum = __hadd(*reinterpret_cast<__half*>(&bits), v);
    unsigned int placed = static_cast<unsigned int>(*reinterpret_cast<unsigned short*>(&sum)) << shift;
    old = atomicCAS(word, seen, (seen & ~(0xffffu << shift)) | placed);
  } while (seen != old);
  unsigned short result = static_cast<unsigned short>(old >> shift);
  return *reinterpret_cast<__half*>(&result);
}
//: atomicAdd(bfloat16) < hip/hip_bf16.h
static __device__ inline __hip_bfloat162 atomicAdd(__hip_bfloat162* p, __hip_bfloat162 v) {
  unsigned int* word = reinterpret_cast<unsigned int*>(p);
  unsigned int old = *word, seen;
  do {
    seen = old;
    __hip_bfloat162 sum = __hadd2(*reinterpret_cast<__hip_bfloat162*>(&seen), v);
    old = atomicCAS(word, seen, *reinterpret_cast<unsigned int*>(&sum));
  } while (seen != old);
  return *reinterpret_cast<__hip_bfloat162*>(&old);
}
static __device__ inline __hip_bfloat16 atomicAdd(__hip_bfloat16* p, __hip_bfloat16 v) {
  unsigned long long address = reinterpret_cast<unsigned long long>(p);
  unsigned int* word = reinterpret_cast<unsigned int*>(address & ~3ull);
  unsigned int shift = (address & 2) * 8, old = *word, seen;
  do {
    seen = old;
    unsigned short bits = static_cast<unsigned short>(seen >> shift);
    __hip_bfloat16 sum = __hadd(*reinterpret_cast<__hip_bfloat16*>(&bits), v);
    unsigned int placed = static_cast<unsigned int>(*reinterpret_cast<unsigned short*>(&sum)) << shift;
    old = atomicCAS(word, seen, (seen & ~(0xffffu << shift)) | placed);
  } while (seen != old);
  unsigned short result = static_cast<unsigned short>(old >> shift);
  return *reinterpret_cast<__hip_bfloat16*>(&result);
}
//: __bfloat162int_rn __bfloat162int_rz __bfloat162int_rd __bfloat162int_ru __bfloat162uint_rn __bfloat162uint_rz __bfloat162uint_rd __bfloat162uint_ru __bfloat162ll_rn __bfloat162ll_rz __bfloat162ll_rd __bfloat162ll_ru __bfloat162ull_rn __bfloat162ull_rz __bfloat162ull_rd __bfloat162ull_ru < hip/hip_bf16.h
static __device__ inline int __bfloat162int_rn(__hip_bfloat16 x) { return __float2int_rn(__bfloat162float(x)); }
static __device__ inline int __bfloat162int_rz(__hip_bfloat16 x) { return __float2int_rz(__bfloat162float(x)); }
static __device__ inline int __bfloat162int_rd(__hip_bfloat16 x) { return __float2int_rd(__bfloat162float(x)); }
static __device__ inline int __bfloat162int_ru(__hip_bfloat16 x) { return __float2int_ru(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_rn(__hip_bfloat16 x) { return __float2uint_rn(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_rz(__hip_bfloat16 x) { return __float2uint_rz(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_rd(__hip_bfloat16 x) { return __float2uint_rd(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_ru(__hip_bfloat16 x) { return __float2uint_ru(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_rn(__hip_bfloat16 x) { return __float2ll_rn(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_rz(__hip_bfloat16 x) { return __float2ll_rz(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_rd(__hip_bfloat16 x) { return __float2ll_rd(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_ru(__hip_bfloat16 x) { return __float2ll_ru(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_rn(__hip_bfloat16 x) { return __float2ull_rn(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_rz(__hip_bfloat16 x) { return __float2ull_rz(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_rd(__hip_bfloat16 x) { return __float2ull_rd(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_ru(__hip_bfloat16 x) { return __float2ull_ru(__bfloat162float(x)); }
//: __ll2bfloat16_rn __ull2bfloat16_rn __uint2bfloat16_rn __short2bfloat16_rn __ushort2bfloat16_rn < hip/hip_bf16.h
static __device__ inline __hip_bfloat16 __ll2bfloat16_rn(long long x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __ull2bfloat16_rn(unsigned long long x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __uint2bfloat16_rn(unsigned int x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __short2bfloat16_rn(short x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __ushort2bfloat16_rn(unsigned short x) { return __float2bfloat16(static_cast<float>(x)); }
