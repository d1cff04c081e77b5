/* A test double for the ABI of libamdhip64: it computes nothing. It writes down every call it gets, with the bytes
   behind kernelParams, so that a test without an AMD GPU can check what a real runtime would have been given. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int current_device = 0;

static void note(const char *text) {
  FILE *log = fopen(getenv("FAKE_HIP_LOG"), "a");
  fprintf(log, "%s\n", text);
  fclose(log);
}

static int status_of(const char *call) {
  const char *failing = getenv("FAKE_HIP_FAIL"); /* "hipModuleLoadData:209" */
  size_t length = strlen(call);
  if (failing && !strncmp(failing, call, length) && failing[length] == ':') return atoi(failing + length + 1);
  return 0;
}

int hipInit(unsigned flags) { (void)flags; note("hipInit"); return status_of("hipInit"); }

int hipGetDeviceCount(int *count) {
  const char *devices = getenv("FAKE_HIP_DEVICES");
  *count = devices ? atoi(devices) : 1;
  return *count ? status_of("hipGetDeviceCount") : 100;
}

int hipGetDevice(int *device) { *device = current_device; return status_of("hipGetDevice"); }

int hipSetDevice(int device) {
  char text[64];
  snprintf(text, sizeof text, "hipSetDevice %d", device);
  note(text);
  int status = status_of("hipSetDevice");
  if (!status) current_device = device;
  return status;
}

int hipModuleLoadData(void **module, const void *image) {
  char text[64];
  snprintf(text, sizeof text, "hipModuleLoadData %.3s", (const char *)image + 1);
  note(text);
  *module = (void *)(uintptr_t)(0x1000 + current_device);
  return status_of("hipModuleLoadData");
}

int hipModuleGetFunction(void **function, void *module, const char *name) {
  char text[512];
  snprintf(text, sizeof text, "hipModuleGetFunction %p %s", module, name);
  note(text);
  *function = (void *)(uintptr_t)0x2000;
  return status_of("hipModuleGetFunction");
}

int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared_bytes, void *stream, void **params, void **extra) {
  char text[4096];
  int at = snprintf(text, sizeof text, "hipModuleLaunchKernel %p grid %u,%u,%u block %u,%u,%u shared %u stream %p extra %d device %d",
                    function, gx, gy, gz, bx, by, bz, shared_bytes, stream, extra != NULL, current_device);
  const char *sizes = getenv("FAKE_HIP_SIZES"); /* "8,8,4": a real runtime reads them from the code object */
  char copy[256];
  snprintf(copy, sizeof copy, "%s", sizes ? sizes : "");
  int index = 0;
  for (char *size = strtok(copy, ","); size; size = strtok(NULL, ",")) {
    at += snprintf(text + at, sizeof text - at, " ");
    for (int byte = 0; byte < atoi(size); byte++)
      at += snprintf(text + at, sizeof text - at, "%02x", ((unsigned char *)params[index])[byte]);
    index++;
  }
  note(text);
  return status_of("hipModuleLaunchKernel");
}

const char *hipGetErrorName(int status) { return status == 209 ? "hipErrorNoBinaryForGpu" : "hipErrorInvalidValue"; }
const char *hipGetErrorString(int status) { return status == 209 ? "no kernel image is available" : "invalid argument"; }
