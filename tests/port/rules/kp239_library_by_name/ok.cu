#include <dlfcn.h>

// dlopen("libcuda.so.1") was here.
void *own() { return dlopen("libbarracuda.so", RTLD_NOW); }
void *plugin(const char *path) { return dlopen(path, RTLD_NOW); }
