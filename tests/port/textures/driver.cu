// The driver's arrays, copies and texture objects, read by a kernel of the runtime.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void read(CUtexObject fractions, CUtexObject numbers, CUsurfObject volume, float* out) {
  int t = threadIdx.x;
  out[t] = tex2D<float>(fractions, t + 0.5f, 1.5f);
  out[8 + t] = tex2D<unsigned char>(numbers, (t + 0.5f) / 8, 0.25f);
  out[16 + t] = surf3Dread<float>(volume, t * 4, 1, 2);
}

int main() {
  cudaFree(0);  // makes the context that the driver's calls need
  unsigned char bytes[16], back[16];
  for (int i = 0; i < 16; ++i) bytes[i] = i * 15;
  CUDA_ARRAY_DESCRIPTOR plane;
  memset(&plane, 0, sizeof plane);
  plane.Width = 8, plane.Height = 2, plane.Format = CU_AD_FORMAT_UNSIGNED_INT8, plane.NumChannels = 1;
  CUarray array;
  int failed = cuArrayCreate(&array, &plane) != CUDA_SUCCESS;
  CUDA_MEMCPY2D copy;
  memset(&copy, 0, sizeof copy);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = bytes, copy.srcPitch = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
  copy.WidthInBytes = 8, copy.Height = 2;
  failed += cuMemcpy2D(&copy) != CUDA_SUCCESS;
  failed += cuMemcpyAtoH(back, array, 0, 16) != CUDA_SUCCESS || memcmp(bytes, back, 16) != 0;

  CUDA_RESOURCE_DESC resource;
  memset(&resource, 0, sizeof resource);
  resource.resType = CU_RESOURCE_TYPE_ARRAY, resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC how;
  memset(&how, 0, sizeof how);
  how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
  CUtexObject fractions, numbers;
  failed += cuTexObjectCreate(&fractions, &resource, &how, NULL) != CUDA_SUCCESS;
  how.flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES;
  failed += cuTexObjectCreate(&numbers, &resource, &how, NULL) != CUDA_SUCCESS;

  float values[48];
  for (int i = 0; i < 48; ++i) values[i] = i * 0.5f;
  CUDA_ARRAY3D_DESCRIPTOR box;
  memset(&box, 0, sizeof box);
  box.Width = 8, box.Height = 2, box.Depth = 3, box.Format = CU_AD_FORMAT_FLOAT, box.NumChannels = 1;
  box.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CUarray deep;
  failed += cuArray3DCreate(&deep, &box) != CUDA_SUCCESS;
  CUDA_MEMCPY3D into;
  memset(&into, 0, sizeof into);
  into.srcMemoryType = CU_MEMORYTYPE_HOST, into.srcHost = values, into.srcPitch = 32, into.srcHeight = 2;
  into.dstMemoryType = CU_MEMORYTYPE_ARRAY, into.dstArray = deep;
  into.WidthInBytes = 32, into.Height = 2, into.Depth = 3;
  failed += cuMemcpy3D(&into) != CUDA_SUCCESS;
  resource.res.array.hArray = deep;
  CUsurfObject volume;
  failed += cuSurfObjectCreate(&volume, &resource) != CUDA_SUCCESS;

  float *out, result[24];
  cudaMalloc(&out, sizeof result);
  read<<<1, 8>>>(fractions, numbers, volume, out);
  failed += cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost) != cudaSuccess;
  for (int i = 0; i < 8; ++i) {
    failed += result[i] != bytes[8 + i] / 255.0f;
    failed += result[8 + i] != bytes[i];
    failed += result[16 + i] != values[2 * 16 + 8 + i];
  }
  failed += cuTexObjectDestroy(fractions) != CUDA_SUCCESS || cuArrayDestroy(array) != CUDA_SUCCESS;
  printf("%d failed\n", failed);
  return failed != 0;
}
