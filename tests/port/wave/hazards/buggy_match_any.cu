// buggy: KP317
__device__ int same_key(int key) {
  unsigned peers = __match_any_sync(0xffffffff, key);
  return __popc(peers);
}
