// HIP's own textures, surfaces and texture references, as a program for RDNA or MI200 has them. Prints what is wrong.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>

#define CHECK(call)                                                       \
  do {                                                                    \
    hipError_t status = (call);                                           \
    if (status != hipSuccess) {                                           \
      printf("%s: %s\n", #call, hipGetErrorName(status));                 \
      return 1;                                                           \
    }                                                                     \
  } while (0)

constexpr int kWidth = 13, kHeight = 6, kLayers = 3, kThreads = 64;
texture<float, 1, hipReadModeElementType> line;
texture<unsigned char, 2, hipReadModeNormalizedFloat> picture;

struct Objects {
  hipTextureObject_t floats, pixels, layers, memory, pitched;
  hipSurfaceObject_t words;
};

__global__ void fetch(Objects o, float* out) {
  const int t = threadIdx.x;
  float* mine = out + 12 * t;
  if (t % 3 == 2) return;  // some lanes are off
  const float4 pixel = tex2D<float4>(o.pixels, (t % 10) / 8.0f - 0.2f, 0.7f);
  mine[0] = tex2D<float>(o.floats, t % 17 - 2.0f, t % 5 + 0.5f);
  mine[1] = pixel.x, mine[2] = pixel.w;
  mine[3] = tex2DLayered<float>(o.layers, t % 8 + 0.5f, t % 5 + 0.5f, t % 3);
  mine[4] = tex1Dfetch<float>(o.memory, t % 20);
  mine[5] = tex2D<float>(o.pitched, t % 9 + 0.5f, t % 4 + 0.5f);
  mine[6] = tex1Dfetch(line, t % 11);
  mine[7] = tex2D(picture, t % 12 + 0.5f, 1.5f);
  unsigned word;
  surf2Dread(&word, o.words, (t % 15 - 1) * int(sizeof(unsigned)), t % 4);
  mine[8] = float(word);
#if defined(__gfx90a__)  // it has no instruction with a level of detail: clang makes nothing of the call
  mine[9] = mine[0];
#else
  mine[9] = tex2DLod<float>(o.floats, t % 17 - 2.0f, t % 5 + 0.5f, 2.0f);
#endif
}
__global__ void write(hipSurfaceObject_t words) {
  const int t = threadIdx.x;
  surf2Dwrite(1000u + t, words, (t % 16 - 1) * int(sizeof(unsigned)), t / 16 + 3);
}

static float clamped(const float* from, int pitch, int width, int height, int x, int y) {
  x = x < 0 ? 0 : x >= width ? width - 1 : x, y = y < 0 ? 0 : y >= height ? height - 1 : y;
  return from[y * pitch + x];
}

int main() {
  float floats[kLayers * kHeight * kWidth], *memory, *rows;
  unsigned char pixels[kHeight * kWidth * 4];
  unsigned words[kHeight * kWidth];
  for (int i = 0; i < kLayers * kHeight * kWidth; ++i) floats[i] = i * 0.75f - 20;
  for (int i = 0; i < kHeight * kWidth * 4; ++i) pixels[i] = i * 7;
  for (int i = 0; i < kHeight * kWidth; ++i) words[i] = i * 3;
  const hipChannelFormatDesc real = hipCreateChannelDesc<float>(), four = hipCreateChannelDesc<uchar4>(),
                             one = hipCreateChannelDesc<unsigned>(), byte = hipCreateChannelDesc<unsigned char>();
  hipArray_t array[4], layered;
  CHECK(hipMallocArray(&array[0], &real, kWidth, kHeight));
  CHECK(hipMallocArray(&array[1], &four, kWidth, kHeight));
  CHECK(hipMallocArray(&array[2], &one, kWidth, kHeight, hipArraySurfaceLoadStore));
  CHECK(hipMallocArray(&array[3], &byte, kWidth, kHeight));
  CHECK(hipMemcpy2DToArray(array[0], 0, 0, floats, kWidth * 4, kWidth * 4, kHeight, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2DToArray(array[1], 0, 0, pixels, kWidth * 4, kWidth * 4, kHeight, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2DToArray(array[2], 0, 0, words, kWidth * 4, kWidth * 4, kHeight, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2DToArray(array[3], 0, 0, pixels, kWidth, kWidth, kHeight, hipMemcpyHostToDevice));
  CHECK(hipMalloc3DArray(&layered, &real, make_hipExtent(kWidth, kHeight, kLayers), hipArrayLayered));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(floats, kWidth * 4, kWidth, kHeight);
  copy.dstArray = layered;
  copy.extent = make_hipExtent(kWidth, kHeight, kLayers);
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  size_t pitch;
  CHECK(hipMalloc(&memory, 20 * sizeof(float)));
  CHECK(hipMemcpy(memory, floats, 20 * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMallocPitch(reinterpret_cast<void**>(&rows), &pitch, 9 * sizeof(float), 4));
  CHECK(hipMemcpy2D(rows, pitch, floats, 9 * 4, 9 * 4, 4, hipMemcpyHostToDevice));

  Objects o;
  hipResourceDesc resource = {};
  hipTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = hipAddressModeClamp;
  resource.res.array.array = array[0];
  CHECK(hipCreateTextureObject(&o.floats, &resource, &how, nullptr));
  resource.res.array.array = layered;
  CHECK(hipCreateTextureObject(&o.layers, &resource, &how, nullptr));
  resource.res.array.array = array[2];
  CHECK(hipCreateSurfaceObject(&o.words, &resource));
  how.normalizedCoords = 1, how.filterMode = hipFilterModeLinear, how.readMode = hipReadModeNormalizedFloat;
  how.addressMode[0] = hipAddressModeWrap;
  resource.res.array.array = array[1];
  CHECK(hipCreateTextureObject(&o.pixels, &resource, &how, nullptr));
  hipTextureDesc plain = {};
  hipResourceDesc linear = {};
  linear.resType = hipResourceTypeLinear;
  linear.res.linear = {memory, real, 20 * sizeof(float)};
  CHECK(hipCreateTextureObject(&o.memory, &linear, &plain, nullptr));
  linear.resType = hipResourceTypePitch2D;
  linear.res.pitch2D = {rows, real, 9, 4, pitch};
  CHECK(hipCreateTextureObject(&o.pitched, &linear, &plain, nullptr));
  size_t offset = 9;
  CHECK(hipBindTexture(&offset, &line, memory, &real, 20 * sizeof(float)));
  CHECK(hipBindTextureToArray(&picture, array[3], &byte));

  float *out, host[12 * kThreads];
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemset(out, 0, sizeof host));
  fetch<<<1, kThreads>>>(o, out);
  write<<<1, kThreads>>>(o.words);
  CHECK(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
  int wrong[12] = {};
  for (int t = 0; t < kThreads; ++t) {
    const float* got = host + 12 * t;
    if (t % 3 == 2) continue;
    float wanted[12] = {};
    wanted[0] = wanted[9] = clamped(floats, kWidth, kWidth, kHeight, t % 17 - 2, t % 5);
    // u is where the texels' middles are whole numbers; HIP takes the first axis' mode for both.
    const double u = std::floor((((t % 10) / 8.0f - 0.2f) * double(kWidth) - 0.5) * 256 + 0.5) / 256;
    const double v = std::floor((0.7f * double(kHeight) - 0.5) * 256 + 0.5) / 256;
    for (int channel : {0, 3}) {
      double sum = 0;
      for (int corner = 0; corner < 4; ++corner) {
        const int x = (int(std::floor(u)) + corner % 2 + kWidth) % kWidth, y = int(v) + corner / 2;
        const double a = u - std::floor(u), b = v - std::floor(v);
        sum += (corner % 2 ? a : 1 - a) * (corner / 2 ? b : 1 - b) * pixels[(y * kWidth + x) * 4 + channel] / 255.0;
      }
      wanted[channel ? 2 : 1] = float(sum);
    }
    wanted[3] = clamped(floats + t % 3 * kWidth * kHeight, kWidth, kWidth, kHeight, t % 8, t % 5);
    wanted[4] = floats[t % 20];
    wanted[5] = floats[t % 4 * 9 + t % 9];
    wanted[6] = floats[t % 11];
    wanted[7] = pixels[kWidth + t % 12] / 255.0f;
    const int x = t % 15 - 1;
    wanted[8] = x < 0 || x >= kWidth ? 0 : float(words[t % 4 * kWidth + x]);
    for (int i = 0; i < 10; ++i) wrong[i] += std::fabs(got[i] - wanted[i]) > 1e-6f;
  }
  unsigned after[kHeight * kWidth];
  CHECK(hipMemcpy2DFromArray(after, kWidth * 4, array[2], 0, 0, kWidth * 4, kHeight, hipMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const unsigned wanted = y < 3 ? words[y * kWidth + x] : 1000u + (y - 3) * 16 + x + 1;
      wrong[11] += after[y * kWidth + x] != wanted;
    }
  CHECK(hipUnbindTexture(&line));
  CHECK(hipDestroyTextureObject(o.pixels));
  printf("offset %zu, wrong:", offset);
  for (int one : wrong) printf(" %d", one);
  printf("\n");
  return 0;
}
