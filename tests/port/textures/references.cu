// Texture references, which CUDA 12 dropped: bound to linear memory, to pitched memory and to arrays.
#include <cuda_runtime.h>

#include <cstdio>

texture<float, 1, cudaReadModeElementType> line;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> picture;
static texture<float, 2, cudaReadModeElementType> pitched;
texture<float, cudaTextureType2DLayered> layered;
__constant__ cudaTextureObject_t by_constant;

__global__ void read(float* out) {
  int t = threadIdx.x;
  if (t < 8) out[t] = tex1Dfetch(line, t);
  if (t >= 8 && t < 16) out[t] = tex2D(picture, (t - 8 + 0.5f) / 8, 0.75f).y;
  if (t >= 16 && t < 24) out[t] = tex2D(pitched, t - 16 + 1.0f, 1.5f);
  if (t >= 24 && t < 32) out[t] = tex2DLayered(layered, t - 24 + 0.5f, 1.5f, 2);
  if (t >= 32 && t < 40) out[t] = tex2D<float>(by_constant, t - 32 + 0.5f, 0.5f);
}

int main() {
  float host[64], *memory, *out;
  for (int i = 0; i < 64; ++i) host[i] = i * 1.5f;
  cudaMalloc(&memory, 4096);
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemcpy(memory, host, 6 * sizeof(float), cudaMemcpyHostToDevice);
  size_t offset = 7;
  cudaBindTexture(&offset, line, memory, 6 * sizeof(float));

  unsigned char pixels[2 * 8 * 4];
  for (int i = 0; i < 64; ++i) pixels[i] = i * 3;
  cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
  cudaArray* array;
  cudaMallocArray(&array, &desc, 8, 2);
  cudaMemcpyToArray(array, 0, 0, pixels, sizeof pixels, cudaMemcpyHostToDevice);
  picture.normalized = true;
  picture.filterMode = cudaFilterModePoint;
  picture.addressMode[0] = picture.addressMode[1] = cudaAddressModeWrap;
  cudaBindTextureToArray(picture, array);

  size_t pitch;
  float* rows;
  cudaMallocPitch(&rows, &pitch, 8 * sizeof(float), 3);
  cudaMemcpy2D(rows, pitch, host, 8 * sizeof(float), 8 * sizeof(float), 3, cudaMemcpyHostToDevice);
  pitched.filterMode = cudaFilterModeLinear;
  cudaChannelFormatDesc single = cudaCreateChannelDesc<float>();
  cudaBindTexture2D(NULL, &pitched, rows, &single, 8, 3, pitch);

  cudaArray* layers;
  cudaMalloc3DArray(&layers, &single, make_cudaExtent(8, 2, 3), cudaArrayLayered);
  cudaMemcpy3DParms copy = {0};
  copy.srcPtr = make_cudaPitchedPtr(host, 8 * sizeof(float), 8, 2);
  copy.dstArray = layers;
  copy.extent = make_cudaExtent(8, 2, 3);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  cudaBindTextureToArray(layered, layers, single);

  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = rows;
  resource.res.pitch2D.desc = single;
  resource.res.pitch2D.width = 8;
  resource.res.pitch2D.height = 3;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc sampler = {};
  sampler.addressMode[0] = sampler.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t object;
  cudaCreateTextureObject(&object, &resource, &sampler, NULL);
  cudaMemcpyToSymbol(by_constant, &object, sizeof object);

  read<<<1, 64>>>(out);
  float back[40];
  cudaError_t status = cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
  int wrong = status != cudaSuccess;
  for (int i = 0; i < 8; ++i) {
    wrong += back[i] != (i < 6 ? host[i] : 0.0f);
    wrong += back[8 + i] != (unsigned char)((8 + i) * 4 * 3 + 3) / 255.0f;
    wrong += back[16 + i] != (i < 7 ? (host[8 + i] + host[9 + i]) / 2 : host[15]);
    wrong += back[24 + i] != host[2 * 16 + 8 + i];
    wrong += back[32 + i] != host[i];
  }
  cudaUnbindTexture(line);
  cudaDestroyTextureObject(object);
  cudaFreeArray(array);
  printf("offset %d, %d wrong: %s\n", int(offset), wrong, cudaGetErrorString(cudaGetLastError()));
  return wrong != 0;
}
