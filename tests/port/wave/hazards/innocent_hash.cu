// innocent: 0xffffffff in a hash
__device__ unsigned mix(unsigned h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  return (h ^ (h >> 13)) & 0xffffffff;
}
