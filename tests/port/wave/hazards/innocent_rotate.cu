// innocent: 32 is the bits of a word
__device__ unsigned rotl(unsigned x, int n) { return (x << (n & 31)) | (x >> (32 - (n & 31))); }
