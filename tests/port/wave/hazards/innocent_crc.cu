// innocent: 0xffffffff in a checksum
__device__ unsigned crc(unsigned c, const unsigned* table, unsigned byte) { return table[(c ^ byte) & 0xff] ^ (c >> 8) ^ 0xffffffff; }
