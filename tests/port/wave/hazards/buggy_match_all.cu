// buggy: KP317
__device__ bool uniform(int key) {
  int same;
  __match_all_sync(0xffffffff, key, &same);
  return same;
}
