# Derived from in.mk by kpt: the same build with hipcc. HIP_ARCH=gfx942 builds for that GPU.
HIP_ARCH ?= native
# Compiler can be set below, or via environment variable
NVCC      ?= hipcc
ARCH       = sm_80
CFLAGS    := $(EXTRA_CFLAGS) -std=c++17 -Wall -fopenmp --offload-arch=$(HIP_ARCH)
LDFLAGS    = -lhipblas -lm

source = main.hip kernels.hip
obj    = $(source:.hip=.o)

ifeq ($(FAST),yes)
  CFLAGS += -ffp-contract=fast -fno-math-errno
endif

main: $(obj) in.mk.hip
	$(NVCC) $(CFLAGS) $(obj) -fgpu-rdc --hip-link -o $@ $(LDFLAGS)

%.o: %.hip reference.h
	$(NVCC) $(CFLAGS) -fgpu-rdc -c $< -o $@

clean:
	rm -rf main $(obj)

run: main
	./main -t 100 -arch 3
