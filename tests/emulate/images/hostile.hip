// Textures that are none: what their memory holds is no descriptor, or one of memory that is gone.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void fetch(hipTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 0.5f);
}
__global__ void fetch_linear(hipTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
}

__global__ void write(hipSurfaceObject_t surface) {
  surf2Dwrite(float(blockIdx.x), surface, int(threadIdx.x * sizeof(float)), 1);
}

int main(int, char** arguments) {
  const char* kind = arguments[1];
  hipChannelFormatDesc real = hipCreateChannelDesc<float>();
  hipArray_t array;
  float *out, *memory;
  unsigned words[20] = {};
  if (hipMallocArray(&array, &real, 32, 4) || hipMalloc(&out, 128) || hipMalloc(&memory, 4096)) return 2;
  hipResourceDesc resource = {};
  hipTextureDesc how = {};
  resource.res.array.array = array;
  hipTextureObject_t texture;
  if (hipCreateTextureObject(&texture, &resource, &how, nullptr)) return 3;
  if (!strcmp(kind, "unwritten")) {
    // The array has no texels yet.
  } else if (!strcmp(kind, "race")) {
    hipSurfaceObject_t surface;
    if (hipCreateSurfaceObject(&surface, &resource)) return 5;
    write<<<2, 32>>>(surface);
    return hipDeviceSynchronize() != hipSuccess;
  } else if (!strcmp(kind, "freed")) {
    (void)hipFreeArray(array);
  } else if (!strcmp(kind, "destroyed")) {
    (void)hipDestroyTextureObject(texture);
  } else if (!strcmp(kind, "linear")) {
    resource.resType = hipResourceTypeLinear;
    resource.res.linear = {memory, real, 4096};
    if (hipCreateTextureObject(&texture, &resource, &how, nullptr)) return 4;
  } else if (!strcmp(kind, "zeros") || !strcmp(kind, "random")) {
    if (!strcmp(kind, "random")) srand(unsigned(atoi(arguments[2])));
    for (unsigned& word : words) word = strcmp(kind, "zeros") ? unsigned(rand()) * 2654435761u : 0;
    (void)hipMemcpy(memory, words, sizeof words, hipMemcpyHostToDevice);
    texture = reinterpret_cast<hipTextureObject_t>(memory);
  }
  if (!strcmp(kind, "array"))
    fetch_linear<<<1, 32>>>(texture, out);
  else
    fetch<<<1, 32>>>(texture, out);
  printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  return 0;
}
