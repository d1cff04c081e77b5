// innocent: open addressing: a lost race moves on
#define EMPTY 0xffffffff
__global__ void claim(unsigned* slots, const unsigned* keys, int n) {
  unsigned key = keys[threadIdx.x];
  for (unsigned i = key % n;; i = (i + 1) % n) {
    unsigned old = atomicCAS(&slots[i], EMPTY, key);
    if (old == EMPTY || old == key) break;
  }
}
